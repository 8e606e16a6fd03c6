# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter compare`: line up two runs, for example of two kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lsmeter.cli.report import FormatOption, OutputOption, show


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


def compare(
    run_a: Annotated[Path, typer.Argument(help="Run directory: the baseline.")],
    run_b: Annotated[Path, typer.Argument(help="Run directory: what is compared with it.")],
    form: FormatOption = "table",
    output: OutputOption = None,
) -> None:
    """Line up two runs, each setup with the setup of the same name: RUN_A is the baseline.

    Use it for two kernels, two versions of a patch, two conditions. Runs of different
    instruments are refused: instructions and nanoseconds are not comparable.

        lsmeter compare runs/before runs/after --format commit
    """
    from lsmeter.analysis import compare_runs
    from lsmeter.report.render import find_format
    from lsmeter.results.directory import read_run

    find_format(form)
    show(compare_runs(read_run(run_a), read_run(run_b)), form, output)
