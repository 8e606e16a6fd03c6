# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter import`: results of other programs become runs, with the same statistics and reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from lsmeter.cli.console import SCREEN
from lsmeter.cli.names import offer
from lsmeter.cli.options import AllOption, argument, declared
from lsmeter.cli.show import show_run
from lsmeter.core.errors import UsageError
from lsmeter.core.printable import printable

_LONGEST = 100


def import_(
    program: Annotated[
        str, argument("FORMAT", "lmbench, unixbench or phoronix.", offer("imports"))
    ],
    files: Annotated[list[Path], argument("FILE...", "Results; a file is a replicate.")],
    setup: Annotated[str, declared("only_setup", text="What they were measured under.")],
    system: Annotated[str | None, declared("import.system")] = None,
    run_dir: Annotated[Path | None, declared("import.run_dir")] = None,
    everything: AllOption = False,
) -> int:
    """Import results of lmbench, UnixBench or the Phoronix Test Suite.

    Every file is one replicate of a setup; a second import into the same directory adds files or
    another setup, and the first setup is the baseline. Six files of each setup are the
    least for a verdict. Setup and machine are what you say: lsmeter did not see them. The
    instrument is `imported`; each number has its own unit, and positive overhead is worse,
    for throughput and index too.

        lsmeter import lmbench off/host.* --setup capability --run-dir r
        lsmeter import lmbench on/host.* --setup selinux-enforcing --run-dir r
        lsmeter import phoronix composite.xml --setup selinux --system node1
    """
    from lsmeter.core.storage import need_dir
    from lsmeter.measure.results.held import describe_making, held, new_directory
    from lsmeter.questions.importing import find_format
    from lsmeter.questions.importing.run import add, check, read_source

    found = find_format(program)
    if not setup.strip() or printable(setup) != setup or len(setup) > _LONGEST:
        raise UsageError("--setup: a name of 1 to 100 printable characters", hint="selinux")
    sources = [read_source(path, found, system or "") for path in files]
    if run_dir is not None:
        need_dir(run_dir.parent, "--run-dir")
    check(run_dir, found, sources)
    home = run_dir or new_directory(found.name)
    with held(home):
        add(home, found, setup.strip(), sources, describe_making("imported"))
    for source in sources:
        for text in source.parsed.left_out:
            SCREEN.say(f"{source.path}: left out: {text}")
    SCREEN.say(f"{found.name}: {found.covers}")
    show_run(home, everything=everything)
    return 0
