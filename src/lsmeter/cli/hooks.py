# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter hooks`: where the cost comes from. Each command is added to `app` by its own file."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lsmeter.cli.console import SCREEN
from lsmeter.cli.live import LiveTasks
from lsmeter.cli.show import FormatOption, OutputOption, deliver, show

if TYPE_CHECKING:
    from lsmeter.hooks.source.config import Config
    from lsmeter.hooks.source.model import SourceAnalysis

app = typer.Typer(name="hooks", no_args_is_help=True, help="Show where the cost comes from.")

NO_CONFIG = "none"


def add_to(whole: typer.Typer) -> None:
    """Add the group of commands."""
    whole.add_typer(app)


class GraphFormat(StrEnum):
    """How `--explain` shows the ways from a system call to a hook."""

    TEXT = "text"
    DOT = "dot"


@app.command("source")
def source(
    tree: Annotated[Path, typer.Argument(help="The top folder of a kernel's source.")],
    form: FormatOption = "table",
    output: OutputOption = None,
    config: Annotated[
        str | None,
        typer.Option(
            help="Count what this configuration compiles: a file, a kernel's name (debian:6.12),"
            " or `none`. Default: .config of the tree, where it has one.",
            metavar="FILE|KERNEL|none",
        ),
    ] = None,
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
    """List the hooks of a kernel's source, who implements them, and what reaches them.

    No build is needed; any kernel from 5.3 on is understood. A configuration leaves out what is
    not compiled; without one every option is taken to be on.

        lsmeter hooks source linux-6.12 --config debian:6.12
        lsmeter hooks source linux-6.12 --explain open inode_permission
    """
    from lsmeter.hooks.source import document as documents

    named = (filesystem,) if filesystem is not None else ()
    found = analysed(tree, config, named, cache=cache)
    if explain is None:
        show(documents.document(found, filesystem), form, output)
        return
    chain, dot = documents.explain(found, *explain, filesystem)
    if graph is GraphFormat.TEXT:
        show(chain, form, output)
    else:
        deliver(dot, output)


def analysed(
    tree: Path, config: str | None, filesystems: Iterable[str], *, cache: bool = True
) -> SourceAnalysis:
    """Analyse a source for the usual file systems and for others, and show that it goes on."""
    from lsmeter.hooks.source.analysis import analyse
    from lsmeter.hooks.source.files import DEFAULT_FILESYSTEMS

    wanted = (*DEFAULT_FILESYSTEMS, *filesystems)
    with LiveTasks(SCREEN.err) as progress:
        chosen = _configuration(tree, config)
        return analyse(tree, config=chosen, progress=progress, cache=cache, filesystems=wanted)


def _configuration(tree: Path, named: str | None) -> Config:
    """Return the configuration that is asked for: a file's, a kernel's, or the tree's own."""
    from lsmeter.base.errors import UsageError
    from lsmeter.hooks.source.config import EVERYTHING, Config, read_config
    from lsmeter.kernels.resolve import resolve

    own = tree / ".config"
    if named == NO_CONFIG or (named is None and not own.is_file()):
        return EVERYTHING
    path = own if named is None else Path(named)
    if named is None or path.is_file():
        return read_config(path)
    try:
        kernel = resolve(named)
    except UsageError as error:
        title = error.title.removeprefix("--kernel: ")
        raise UsageError(f"--config: no such file, and {title}", hint=error.hint) from error
    return Config(dict(kernel.config), named, ".".join(kernel.release.split(".")[:2]))
