# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter report`: show a run in one of the report formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lsmeter.cli.console import SCREEN
from lsmeter.cli.show import print_text
from lsmeter.report.model import Report

FormatOption = Annotated[
    str,
    typer.Option("--format", "-f", help="table, markdown, commit, csv, json or html."),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write to this file instead.")
]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    run: Annotated[Path, typer.Argument(help="Run directory, as `lsmeter run` printed it.")],
    form: FormatOption = "table",
    output: OutputOption = None,
) -> None:
    """Show a run again: as a table, for a commit message, as a page, as data.

    lsmeter report runs/2026-11-20T10-00-00-main --format commit
    lsmeter report runs/2026-11-20T10-00-00-main --format html -o page.html
    """
    from lsmeter.report.render import find_format
    from lsmeter.run.report import read_report

    find_format(form)
    show(read_report(run), form, output)


def show(content: Report, form: str, output: Path | None) -> None:
    """Render a Report and print it, or write it to a file."""
    from lsmeter.report.format import RenderOptions
    from lsmeter.report.render import render
    from lsmeter.storage import write_atomic

    colour = SCREEN.colour and output is None
    text = render(content, form, RenderOptions(width=SCREEN.out.width, colour=colour))
    if output is None:
        print_text(text)
        return
    write_atomic(output, text.encode())
    SCREEN.say(f"written to {output}")
