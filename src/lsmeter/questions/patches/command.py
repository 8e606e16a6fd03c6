# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter patches`: measure each commit of a series, and write its cover letter's part."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Annotated

from lsmeter.cli.console import SCREEN
from lsmeter.cli.options import (
    CalibrationOption,
    argument,
    but,
    declared,
    make_experiment,
)
from lsmeter.core.errors import ExitCode
from lsmeter.questions.bisect.options_command import CommitOptions

LETTER = "cover-letter.txt"


def patches(
    options: Annotated[CommitOptions, but("kernel", run_dir="runs/patches-…")],
    tree: Annotated[Path, argument("TREE", "A kernel's git work tree; only read.")],
    series: Annotated[list[str], argument("RANGE|FILE", "A..B, or patches as files.")],
    base: Annotated[str, declared("patches.base")] = "HEAD",
    events: Annotated[bool, declared("patches.events")] = False,
    calibration: CalibrationOption = None,
) -> int:
    """Measure each commit of a series, and write a cover letter's part.

    Each commit is built and held against the one before it: old, new and difference of each call,
    its whole cost, the hook and the function. A commit that changes nothing says so; one that does
    not apply, build or boot is named, and the rest goes on. Without -b, the benchmarks are those
    that run the functions that the series changes, as attribution finds them; all, where that
    cannot be told. Without -s, the setups are the security modules whose files it changes, else
    capability. Files of patches are applied in a repository of lsmeter's own. With --events, and a
    calibration, it predicts what each call takes more in nanoseconds.

        lsmeter patches ~/linux v6.12..my-series -s selinux -b 'open*'
        lsmeter patches ~/linux 0001-*.patch 0002-*.patch --base v6.12 -f text

    Exit code 0: every commit has a number; 1: some have none.
    """
    from lsmeter.cli.show import check_calibration, show
    from lsmeter.core.storage import locked, write_atomic
    from lsmeter.measure.results.held import HOME
    from lsmeter.questions.bisect.history import find_history
    from lsmeter.questions.bisect.workshop_command import Workshop, check_machine, held_workshop
    from lsmeter.questions.patches.document import document, letter
    from lsmeter.questions.patches.figures import NO_NUMBER
    from lsmeter.questions.patches.visit_command import measure_series, read_series, touched_setups
    from lsmeter.tables.render import render

    task = "events" if events else "attribute"
    check_calibration(calibration, task)
    history = find_history(tree)
    with locked(f"bisect-{history.key}"):
        found = read_series(history, series, base)
        keys = options.commit_keys(*touched_setups(found)) | {"task": task}
        check_machine(options, make_experiment(dict(keys)))  # before anything is built
        said = (found.base, found.patches, sorted(keys.items()), options.configs)
        digest = hashlib.sha256(repr((history.key, said)).encode()).hexdigest()
        home = options.run_dir or HOME / f"patches-{digest[:10]}"
        with held_workshop(home, "series", LETTER):
            shop = Workshop(found.history, home, options, keys)
            result = measure_series(shop, found, calibration)
            write_atomic(home / LETTER, render(letter(result), "text").encode())
    show(partial(document, result))
    SCREEN.say(f"results {home}, the text of a cover letter in {home / LETTER}")
    lost = any(member.outcome in NO_NUMBER for member in result.members)
    return int(ExitCode.INCOMPLETE if lost else ExitCode.OK)
