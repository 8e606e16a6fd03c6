# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter hooks agree`: what source, counting, attribution and slopes say, side by side."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from lsmeter.cli.console import SCREEN
from lsmeter.cli.live import LiveTasks
from lsmeter.errors import UsageError

if TYPE_CHECKING:
    from lsmeter.hooks.agreement.gather import Inputs
    from lsmeter.hooks.agreement.model import Agreement
    from lsmeter.hooks.source.tables import Table

_MIN_WIDTH = 180  # of tables that go to a file or a pipe
_LEFT = frozenset(
    {
        *("benchmark", "benchmarks", "hooks", "views", "outcome", "reason"),
        *("policy hooks", "all hooks"),
    }
)


class Format(StrEnum):
    """How the agreement is shown."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"


def add_to(group: typer.Typer) -> None:
    """Add the command to `lsmeter hooks`."""
    group.command("agree")(agree)


def agree(
    run: Annotated[Path | None, typer.Option(help="A run that was made with --attribute.")] = None,
    counts: Annotated[
        Path | None, typer.Option(help="What `lsmeter hooks count --format json` wrote.")
    ] = None,
    slopes: Annotated[
        Path | None, typer.Option(help="What `lsmeter slopes --format json` wrote.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option(help="The top folder of the kernel's source.")
    ] = None,
    save: Annotated[
        bool, typer.Option("--save", help="Keep it with the run: its report then shows it.")
    ] = False,
    shown: Annotated[Format, typer.Option("--format", "-f", help="How to show it.")] = Format.TABLE,
) -> None:
    """Compare what several ways say of how often each hook runs; explain what differs.

    Give at least two of them. What is not given is shown as not measured.

        lsmeter hooks agree --run r --slopes slopes.json --source linux-6.1
        lsmeter hooks agree --run r --counts counts.json --source linux-6.1 --save
    """
    from lsmeter.hooks.agreement import tables
    from lsmeter.hooks.agreement.gather import agree as compared
    from lsmeter.hooks.agreement.store import save_agreement

    given = [item for item in (run, counts, slopes, source) if item is not None]
    if len(given) < 2:
        raise UsageError(
            "nothing to compare: at least two of --run, --counts, --slopes, --source are needed",
            hint="lsmeter hooks agree --run RUN --source TREE",
        )
    if save and run is None:
        raise UsageError("--save needs the run to keep it with", hint="add --run RUN")
    found = compared(_read(run, counts, slopes, source))
    if not found.places:
        raise UsageError("there is no benchmark to compare in what was given")
    if save and run is not None:
        SCREEN.say(f"written to {save_agreement(run, found)}")
    if shown is Format.JSON:
        typer.echo(tables.as_json(found), nl=False)
    elif shown is Format.MARKDOWN:
        typer.echo(tables.as_markdown(found), nl=False)
    else:
        _print(found, tables.agreement_tables(found))


def _read(
    run: Path | None, counts: Path | None, slopes: Path | None, source: Path | None
) -> Inputs:
    from lsmeter.hooks.agreement.gather import Inputs
    from lsmeter.hooks.agreement.read import read_counts, read_slopes
    from lsmeter.hooks.attribution.load import load_run
    from lsmeter.hooks.source import analyse

    # The small files first: a wrong word is told before a tree is read.
    counted, problems = read_counts(counts) if counts else ((), ())
    sloped = read_slopes(slopes) if slopes else ()
    data, cells = load_run(run) if run else (None, ())
    with LiveTasks(SCREEN.err) as progress:
        analysis = analyse(source, progress=progress) if source else None
    releases = {item.name: item.release for item in data.manifest.kernels} if data else {}
    return Inputs(
        cells=cells,
        counts=counted,
        slopes=sloped,
        source=analysis,
        releases=releases,
        problems=problems,
    )


def _print(found: Agreement, drawn: tuple[Table, ...]) -> None:
    console = SCREEN.out if SCREEN.out.is_terminal else Console(width=_MIN_WIDTH)
    for table in drawn:
        shown = RichTable(
            title=escape(table.title),
            title_justify="left",
            title_style="bold",
            caption=escape(table.note) or None,
            caption_justify="left",
            box=box.SIMPLE_HEAD,
        )
        for column in table.columns:
            shown.add_column(escape(column), justify="left" if column in _LEFT else "right")
        for row in table.rows:
            shown.add_row(*map(escape, row))
        console.print(shown)
    for note in found.notes:
        console.print(note, markup=False, style="dim", soft_wrap=True)
