# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter validate`: where prediction and measurement can meet, they do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from lsmeter.cli import names
from lsmeter.cli.options import MEASURED, AllOption, Options, argument, but, option
from lsmeter.core.errors import ExitCode, UsageError
from lsmeter.questions.time.calibrate_command import (
    BLOCKS,
    DEFAULTS,
    SETUPS,
    WITHOUT,
    BlocksOption,
    both_runs,
)


def validate(
    options: Annotated[Options, but(*WITHOUT, **DEFAULTS)],
    runs: Annotated[
        list[Path] | None,
        argument("RUN", "TIMED_RUN EVENTS_RUN: two that were made before.", names.runs),
    ] = None,
    setup: Annotated[
        list[str] | None,
        option(
            "SETUP",
            "Setups that need no reboot: landlock:layers=2.",
            *("--setup", "-s"),
            group=MEASURED,
            default="Landlock, seccomp",
            offer=names.setups,
        ),
    ] = None,
    boots: BlocksOption = BLOCKS,
    everything: AllOption = False,
) -> int:
    """Predict what Landlock and seccomp cost here, and measure it.

    Times operations on this machine with and without each setup, and counts their events in
    a guest on the kernel nearest to it. Weights are fitted to the operations without a setup
    only; what a setup adds is predicted by them from its events.

        lsmeter validate
        lsmeter validate -s landlock:layers=2 -b open -b stat -b read
        lsmeter validate --format markdown
    """
    from lsmeter.cli.measure import showing
    from lsmeter.cli.show import show
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.time.fitting import fitted
    from lsmeter.questions.time.validated import document
    from lsmeter.questions.time.validation import validated

    if runs and len(runs) != 2:
        raise UsageError("validate: name both runs, TIMED_RUN EVENTS_RUN, or none")
    chosen = tuple(setup or SETUPS)
    timed, counted, code = both_runs(runs or (), options, boots, chosen, "validate")
    if code is ExitCode.INTERRUPTED:
        return int(code)
    with showing(code):
        data = read_run(timed), read_run(counted)
        calibration = fitted(*data)
        found = validated(*data, calibration)
        if not found:
            raise UsageError(
                f"{timed} and {counted} have no setup in common",
                hint="measure the same setups in both: lsmeter validate does it",
            )
        show(lambda detail: document(found, calibration, detail), everything=everything)
    return int(code)
