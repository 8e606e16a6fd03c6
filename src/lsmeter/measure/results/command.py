# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter pack`: a run as one file to hand on."""

from __future__ import annotations

from pathlib import Path

from lsmeter.cli.console import SCREEN
from lsmeter.cli.options import LatestRunArgument
from lsmeter.cli.show import the_latest, write


def pack(run: LatestRunArgument = None) -> int:
    """Make one anonymous file of a run.

    It leaves out files of your own, paths, hosts, users, and the ids of machines and boots.
    Every command that reads a run reads the file as well, and checks it first.

        lsmeter pack runs/2026-11-20T10-00-00-main
        lsmeter pack runs/2026-11-20T10-00-00-main -o main.lsmeter
        lsmeter report main.lsmeter
    """
    from lsmeter.core.scratch import scratch
    from lsmeter.measure.results.anonymous import write_anonymous
    from lsmeter.measure.results.directory import read_run
    from lsmeter.measure.results.pack import SUFFIX, packed
    from lsmeter.questions.cells.verify import damage_code

    run = run or the_latest()
    data = read_run(run)
    with scratch("pack") as home:
        without = write_anonymous(data, home)
        paths = sorted(path for path in home.rglob("*") if path.is_file())
        content = packed({str(path.relative_to(home)): path.read_bytes() for path in paths})
    if SCREEN.piped:
        SCREEN.write_bytes(content)
    else:
        name = run.resolve().name.removesuffix(SUFFIX)
        write(SCREEN.output or Path(f"{name}{SUFFIX}"), content)
    if without:
        SCREEN.say(f"{without} of {len(data.boots)} boots without raw results: they name the host")
    return damage_code(data)
