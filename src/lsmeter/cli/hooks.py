# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter hooks`: where the cost comes from. Each command is added to `app` by its own file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lsmeter.cli.console import SCREEN
from lsmeter.cli.live import LiveTasks

app = typer.Typer(name="hooks", no_args_is_help=True, help="Show where the cost comes from.")

_MIN_WIDTH = 160  # of tables that go to a file or a pipe


def add_to(whole: typer.Typer) -> None:
    """Add the group of commands."""
    whole.add_typer(app)


@app.callback()
def _group() -> None:
    """Keep `hooks` a group of commands while it has only one."""


class Format(StrEnum):
    """How `lsmeter hooks source` shows what it found."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


class GraphFormat(StrEnum):
    """How `--explain` shows the ways from a system call to a hook."""

    TEXT = "text"
    DOT = "dot"
    SVG = "svg"


@app.command("source")
def source(
    tree: Annotated[Path, typer.Argument(help="The top folder of a kernel's source.")],
    shown: Annotated[
        Format, typer.Option("--format", help="How to show what was found.")
    ] = Format.TABLE,
    explain: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Show how this system call comes to this hook.", metavar="SYSCALL HOOK"),
    ] = None,
    graph: Annotated[
        GraphFormat, typer.Option(help="With --explain: a chain, or the graph of all ways.")
    ] = GraphFormat.TEXT,
    filesystem: Annotated[
        str | None,
        typer.Option(help="For files on this one: ext4, or any name under fs/, or tmpfs."),
    ] = None,
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Use what an earlier call has found.")
    ] = True,
) -> None:
    """Say which hooks a kernel's source has, who implements them, and what reaches them.

    No build is needed; any kernel from 5.3 on is understood.
    """
    from lsmeter.hooks.source import analyse, output
    from lsmeter.hooks.source.explain import explain as explained
    from lsmeter.hooks.source.files import DEFAULT_FILESYSTEMS
    from lsmeter.hooks.source.tables import all_tables

    filesystems: tuple[str, ...] = DEFAULT_FILESYSTEMS
    if filesystem is not None and filesystem not in filesystems:
        filesystems = (*filesystems, filesystem)
    with LiveTasks(SCREEN.err) as progress:
        found = analyse(tree, progress=progress, cache=cache, filesystems=filesystems)
    if explain is not None:
        _say(_drawn(explained(found, *explain, filesystem), graph))
        return
    if shown is Format.JSON:
        _say(output.as_json(found))
        return
    tables = all_tables(found, filesystem)
    if shown is Format.CSV:
        _say(output.as_csv(tables))
    elif shown is Format.MARKDOWN:
        _say(output.as_markdown(tables, found))
    else:
        console = SCREEN.out if SCREEN.out.is_terminal else Console(width=_MIN_WIDTH)
        for table in tables:
            console.print(output.as_rich(table))
        for note in (*found.notes, *(f"problem: {problem}" for problem in found.problems)):
            console.print(note, markup=False, style="dim", soft_wrap=True)


def _drawn(explanation: object, graph: GraphFormat) -> str:
    from lsmeter.hooks.source.explain import Explanation, as_dot, as_svg, as_text

    assert isinstance(explanation, Explanation)  # noqa: S101  (imported late: a slow start)
    draw = {GraphFormat.TEXT: as_text, GraphFormat.DOT: as_dot, GraphFormat.SVG: as_svg}
    return draw[graph](explanation)


def _say(text: str) -> None:
    """Write text as it is: other programs read it."""
    typer.echo(text, nl=False)
