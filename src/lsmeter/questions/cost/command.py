# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter report` and `lsmeter compare`: show a run, or line up two."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from lsmeter.cli.names import runs
from lsmeter.cli.options import (
    AllOption,
    BenchmarkOption,
    BesideOption,
    CalibrationOption,
    LatestRunArgument,
    SetupOption,
    argument,
    declared,
)
from lsmeter.cli.show import calibration_for, show, studies_of, the_latest
from lsmeter.core.errors import InfrastructureError

if TYPE_CHECKING:
    from lsmeter.measure.results.directory import RunData
    from lsmeter.tables.model import Detail, Document


def report(
    run: LatestRunArgument = None,
    setup: SetupOption = None,
    benchmark: BenchmarkOption = None,
    baseline: Annotated[str | None, declared("report.baseline")] = None,
    events: Annotated[bool, declared("report.events")] = False,
    calibration: CalibrationOption = None,
    beside: BesideOption = None,
    everything: AllOption = False,
    nameless: Annotated[bool, declared("report.nameless")] = False,
    verify: Annotated[bool, declared("report.verify")] = False,
) -> int:
    """Show a run as a table, as text for a mail, as a page, or as data.

    Nothing is measured: --setup and --benchmark leave out the rest of the run, and --baseline
    compares with another setup of it. --events are those of a run --events; --verify checks
    each file against its digest.

        lsmeter report
        lsmeter report -s selinux -b 'open*' --baseline apparmor
        lsmeter report runs/2026-11-20T10-00-00-main -f html -o page.html
        lsmeter report --beside lomac2001 --beside own.toml
        lsmeter report main.lsmeter
    """
    from lsmeter.measure.results.anonymous import anonymous
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.cells.verify import damage_code, verification
    from lsmeter.questions.cost.document import document_of
    from lsmeter.questions.cost.narrow import chosen_cells, narrowed

    studies = studies_of(beside)
    wanted = partial(chosen_cells, setups=setup or (), baseline=baseline)
    data = read_run(run or the_latest(), None if verify else wanted)
    data = anonymous(data) if nameless else data
    if verify:
        document, code = verification(data)
        show(document)
        return code
    found = narrowed(data, setup or (), benchmark or (), baseline)
    by = calibration_for(calibration, found)
    show(_events_of(found) if events else document_of(found, by, studies), everything=everything)
    return damage_code(found)


def _events_of(run: RunData) -> Callable[[Detail], Document]:
    from lsmeter.questions.cost.build import events_report
    from lsmeter.questions.events import document as events
    from lsmeter.questions.events.figures import was_counted

    report = events_report(run)
    if not report.events and any(was_counted(cell) for cell in run.manifest.cells):
        why = next((f": {item.detail}" for item in (*report.problems, *run.damaged)), "")
        what = f"{run.title}: none of its events can be read{why}"
        raise InfrastructureError(what, hint="measure again: the same command with --fresh")
    return partial(
        events.document, report.title, report.events, report.baseline_setup, report.problems
    )


def compare(
    run_a: Annotated[Path, argument("RUN_A", "Run directory: the baseline.", runs)],
    run_b: Annotated[Path, argument("RUN_B", "Run directory: what is compared with it.", runs)],
    everything: AllOption = False,
    calibration: CalibrationOption = None,
) -> int:
    """Compare two runs, each setup with its namesake.

    RUN_A is the baseline. It is called before, or the first run, and RUN_B after, or the second.
    First what the runs are, and what only one of them has; then each setup against itself, and how
    its overhead over the baseline setup changed. Use it for two kernels, two versions of a patch,
    two conditions. Runs of different instruments or architectures are refused: their units are not
    comparable. Of runs with --events it predicts what calls take more, as this machine or
    --calibration tells it.

        lsmeter compare runs/before runs/after --format text
    """
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.cells.verify import damage_code, refuse_arches
    from lsmeter.questions.compare.document import document

    runs = read_run(run_a), read_run(run_b)
    refuse_arches(*runs)
    by = calibration_for(calibration, *runs)
    show(partial(document, *runs, calibration=by), everything=everything)
    return max(map(damage_code, runs))
