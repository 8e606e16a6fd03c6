# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter hooks cost` and `lsmeter hooks diff`: what attributed runs say of hooks."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from lsmeter.cli.console import SCREEN
from lsmeter.errors import UsageError

if TYPE_CHECKING:
    from lsmeter.hooks.attribution.load import AttributedCell, ExplainedSetup
    from lsmeter.hooks.source.tables import Table

_MIN_WIDTH = 160  # of tables that go to a file or a pipe
_LEFT = frozenset(
    {
        *("operation", "hook", "hooks", "function", "module", "by module", "context", "cause"),
        "functions that changed",
    }
)

RunArgument = Annotated[Path, typer.Argument(help="A run that was made with --attribute.")]


class Format(StrEnum):
    """How costs are shown."""

    TABLE = "table"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to show it.")]
SetupOption = Annotated[list[str] | None, typer.Option(help="Only these setups. Repeat for more.")]


def add_to(group: typer.Typer) -> None:
    """Add the commands to `lsmeter hooks`."""
    group.command("cost")(cost)
    group.command("diff")(diff)


def cost(
    run: RunArgument,
    setup: SetupOption = None,
    shown: FormatOption = Format.TABLE,
    graphs: Annotated[
        Path | None,
        typer.Option(help="Also write flame graphs (SVG) and folded stacks to this directory."),
    ] = None,
) -> None:
    """Say which hooks and which functions the cost of each operation comes from.

    lsmeter run --attribute --setup selinux --setup smack --out r
    lsmeter hooks cost r
    lsmeter hooks cost r --setup smack --graphs smack-graphs
    """
    from lsmeter.hooks.attribution.load import explain_run, load_run
    from lsmeter.hooks.attribution.tables import cost_document, cost_tables
    from lsmeter.registry import unknown

    data, cells = load_run(run)
    explained = explain_run(data, cells)
    for name in setup or ():
        known = {item.tested.cell.setup for item in explained}
        if name not in known:
            raise unknown("setup", name, known, where="--setup")
    chosen = [item for item in explained if not setup or item.tested.cell.setup in setup]
    if not chosen:
        raise UsageError(
            f"{run}: no setup to explain against the baseline {data.manifest.baseline_setup}",
            hint="the run needs the baseline and one more setup, both with attribution",
        )
    if graphs is not None:
        for item in chosen:
            _write_graphs(item, graphs)
    if shown is Format.JSON:
        typer.echo(cost_document(chosen), nl=False)
        return
    for item in chosen:
        _print(cost_tables(item))
        _say_missing(item.tested, item.baseline)


def diff(
    run_a: RunArgument,
    run_b: RunArgument,
    setup: SetupOption = None,
    shown: FormatOption = Format.TABLE,
) -> None:
    """Say which hook and which function changed between two runs, per operation and per call.

    Setups of the same name are compared: two kernels, or a kernel before and after a patch.

        lsmeter hooks diff before after
    """
    from lsmeter.hooks.attribution.load import explain_wholes, load_run, paired_trees
    from lsmeter.hooks.attribution.summary import diff as difference
    from lsmeter.hooks.attribution.tables import SetupDiff, diff_document, diff_tables
    from lsmeter.hooks.attribution.whole_summary import whole_total
    from lsmeter.hooks.attribution.whole_tables import whole_diff_tables

    cells = _counterparts(load_run(run_a)[1], load_run(run_b)[1])
    chosen = [pair for pair in cells if not setup or pair[0].cell.setup in setup]
    if not chosen:
        raise UsageError(
            f"{run_a} and {run_b} have no setup in common"
            + (f" among {', '.join(setup)}" if setup else ""),
            hint="compare runs of the same setups, file systems and users",
        )
    found = []
    for old, new in chosen:
        pairs = paired_trees(old, new)
        before = {**old.trees, **{name: pair.baseline for name, pair in pairs.items()}}
        after = {**new.trees, **{name: pair.tested for name, pair in pairs.items()}}
        wholes = explain_wholes(old, new)
        total = whole_total(old.wholes, new.wholes, wholes)
        found.append(SetupDiff(old.cell.setup, difference(before, after), wholes, total))
    if shown is Format.JSON:
        typer.echo(diff_document(found), nl=False)
        return
    for item in found:
        where = f"{item.setup}, {run_a} → {run_b}"
        _print(diff_tables(item.inline, where))
        _print(whole_diff_tables(item.wholes, item.total, where))
    for old, new in chosen:
        _say_missing(old, new)


def _counterparts(
    before: Sequence[AttributedCell], after: Sequence[AttributedCell]
) -> list[tuple[AttributedCell, AttributedCell]]:
    """Pair cells of the same setup, suite, file system and user.

    Where each run has one kernel they may differ; else a kernel has its namesake.
    """
    single = len({item.cell.kernel for item in before}) == 1 == len({i.cell.kernel for i in after})

    def key(item: AttributedCell) -> tuple[str, ...]:
        cell = item.cell
        kernel = "" if single else cell.kernel
        return (kernel, cell.setup, cell.suite, cell.filesystem, cell.user)

    return [(old, new) for old in before for new in after if key(old) == key(new)]


def _write_graphs(item: ExplainedSetup, folder: Path) -> None:
    from lsmeter.hooks.attribution.flame import difference_flame_graph, flame_graph
    from lsmeter.hooks.attribution.folded import folded, folded_difference
    from lsmeter.storage import write_atomic

    cell, base = item.tested.cell, item.baseline.cell
    before, after = item.before, item.after
    title = f"{cell.setup} on {cell.kernel}: instructions, every operation once"
    change = f"{cell.setup} over {base.setup} on {cell.kernel}: instructions"
    stem = "".join(char if char.isalnum() or char in "-+" else "-" for char in cell.setup)
    files = {
        f"{stem}.svg": flame_graph(after.values(), title=title),
        f"{stem}-difference.svg": difference_flame_graph(
            before.values(), after.values(), title=change
        ),
        f"{stem}.folded": folded(after),
        f"{stem}-difference.folded": folded_difference(before, after),
    }
    for name, text in files.items():
        write_atomic(folder / name, text.encode())
        SCREEN.say(f"written to {folder / name}")


def _say_missing(*cells: AttributedCell) -> None:
    for item in cells:
        if item.missing:
            SCREEN.say(f"{item.cell.setup}: no attribution for {', '.join(item.missing)}")


def _print(tables: Sequence[Table]) -> None:
    console = SCREEN.out if SCREEN.out.is_terminal else Console(width=_MIN_WIDTH)
    for table in tables:
        drawn = RichTable(
            title=escape(table.title),
            title_justify="left",
            title_style="bold",
            caption=escape(table.note) or None,
            caption_justify="left",
            box=box.SIMPLE_HEAD,
        )
        for column in table.columns:
            left = column in _LEFT or column.startswith("largest")
            drawn.add_column(escape(column), justify="left" if left else "right")
        for row in table.rows:
            drawn.add_row(*map(escape, row))
        console.print(drawn)
