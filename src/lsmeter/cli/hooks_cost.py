# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter hooks cost` and `lsmeter hooks diff`: what attributed runs say of hooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lsmeter.base.errors import ExitCode, UsageError
from lsmeter.cli import options
from lsmeter.cli.console import SCREEN
from lsmeter.cli.options import Asked
from lsmeter.cli.show import FormatOption, OutputOption, show

if TYPE_CHECKING:
    from lsmeter.attribution.account import Account

_TITLE = "Where the cost of each operation comes from"

_Attributed = Annotated[Path, typer.Argument(help="A run that was made with --attribute.")]
_Setups = Annotated[list[str] | None, typer.Option(help="Only these setups. Repeat for more.")]


def add_to(group: typer.Typer) -> None:
    """Add the commands to `lsmeter hooks`."""
    group.command("cost")(cost)
    group.command("diff")(diff)


@options.measuring
def cost(
    asked: Asked,
    run: options.RunArgument = None,
    form: FormatOption = "table",
    output: OutputOption = None,
    graphs: Annotated[
        Path | None,
        typer.Option(help="Also write flame graphs (SVG) and folded stacks to this directory."),
    ] = None,
) -> int:
    """Show which hooks and which functions the cost of each operation comes from.

    Without RUN it measures capability and selinux. With RUN, a run that was made with
    --attribute, --setup shows only these setups of it.

        lsmeter hooks cost --setup selinux --setup smack --run-dir r
        lsmeter hooks cost r --setup smack --graphs smack-graphs
    """
    from lsmeter.attribution.account import run_accounts
    from lsmeter.attribution.load import load_run
    from lsmeter.attribution.tables import cost_document
    from lsmeter.cli.measure import measure, showing

    code, only = ExitCode.OK, asked.setup
    if run is None:
        words = asked.words(title=_TITLE, task="attribute", setups=["capability", "selinux"])
        run, code = measure([options.experiment(words)], "hooks-cost", asked)
        only = None
    with showing(code):
        data, cells = load_run(run)
        accounts = _only(run_accounts(cells, data.manifest.baseline_setup), only)
        if not accounts:
            raise UsageError(
                f"{run}: no setup to explain against the baseline {data.manifest.baseline_setup}",
                hint="the run needs the baseline and one more setup, both with attribution",
            )
        _write_graphs(accounts, graphs)
        show(cost_document(accounts), form, output)
    return int(code)


def _only(accounts: Sequence[Account], setups: Sequence[str] | None) -> Sequence[Account]:
    """Return the accounts of these setups; UsageError for one that the run does not have."""
    from lsmeter.base.registry import unknown

    known = {item.place.setup for item in accounts}
    for name in setups or ():
        if name not in known:
            raise unknown("setup", name, known, where="--setup")
    return [item for item in accounts if not setups or item.place.setup in setups]


def _write_graphs(accounts: Iterable[Account], folder: Path | None) -> None:
    from lsmeter.attribution.flame import graph_files
    from lsmeter.base.storage import write_atomic

    if folder is None:
        return
    for name, text in graph_files(accounts).items():
        write_atomic(folder / name, text.encode())
        SCREEN.say(f"written to {folder / name}")


def diff(
    run_a: _Attributed,
    run_b: _Attributed,
    setup: _Setups = None,
    form: FormatOption = "table",
    output: OutputOption = None,
) -> None:
    """Show which hook and which function changed between two runs, per operation and per call.

    Setups of the same name are compared: two kernels, or a kernel before and after a patch.

        lsmeter hooks diff before after
    """
    from lsmeter.attribution.account import counterparts
    from lsmeter.attribution.load import load_run
    from lsmeter.attribution.tables import diff_document

    accounts = counterparts(load_run(run_a)[1], load_run(run_b)[1])
    chosen = [item for item in accounts if not setup or item.place.setup in setup]
    if not chosen:
        raise UsageError(
            f"{run_a} and {run_b} have no setup in common"
            + (f" among {', '.join(setup)}" if setup else ""),
            hint="compare runs of the same setups, file systems and users",
        )
    show(diff_document(chosen, str(run_a), str(run_b)), form, output)
