# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter report` and `lsmeter compare`: show a run, or line up two."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from lsmeter.cli.show import FormatOption, OutputOption, show


def report(
    run: Annotated[Path, typer.Argument(help="Run directory of any command.")],
    form: FormatOption = "table",
    output: OutputOption = None,
) -> None:
    """Show any run again: as a table, for a mail or commit message, as a page, as data.

    lsmeter report runs/2026-11-20T10-00-00-main --format text
    lsmeter report runs/2026-11-20T10-00-00-main --format html -o page.html
    """
    from lsmeter.report.document import document_of
    from lsmeter.results.directory import read_run

    show(document_of(read_run(run)), form, output)


def compare(
    run_a: Annotated[Path, typer.Argument(help="Run directory: the baseline.")],
    run_b: Annotated[Path, typer.Argument(help="Run directory: what is compared with it.")],
    form: FormatOption = "table",
    output: OutputOption = None,
) -> None:
    """Line up two runs, each setup with the setup of the same name: RUN_A is the baseline.

    Use it for two kernels, two versions of a patch, two conditions. Runs of different
    instruments are refused: instructions and nanoseconds are not comparable.

        lsmeter compare runs/before runs/after --format text
    """
    from lsmeter.report.build import compare_runs
    from lsmeter.report.document import report_document
    from lsmeter.results.directory import read_run

    compared = compare_runs(read_run(run_a), read_run(run_b))
    show(partial(report_document, compared), form, output)
