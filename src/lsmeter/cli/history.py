# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter history`: one list of setups over several kernels."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lsmeter.cli.console import SCREEN
from lsmeter.cli.measure import BootDeadlineOption, carry_out, default_out, plan_for
from lsmeter.cli.report import OutputOption
from lsmeter.cli.show import print_text, show_plan
from lsmeter.errors import ExitCode, UsageError
from lsmeter.limits import BOOT_S, Limits

if TYPE_CHECKING:
    from lsmeter.history import History

_KERNELS = ("debian:6.1", "debian:6.12", "debian:7.2")
_SETUPS = ("capability", "selinux", "apparmor", "tomoyo", "landlock", "bpf")
_FORMATS = ("table", "markdown", "json")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("history")(history)


def history(
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN]", help="A run over several kernels; without one, measure first."
        ),
    ] = None,
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KERNEL", help=f"Kernel; repeat for more. Default: {', '.join(_KERNELS)}."
        ),
    ] = None,
    setup: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SETUP", help=f"Setup; repeat for more. Default: {', '.join(_SETUPS)}."
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Only these, as in `run`.")
    ] = None,
    boots: Annotated[int, typer.Option(metavar="N", help="Boots of each cell.")] = 2,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Run directory to write.")] = None,
    boot_deadline: BootDeadlineOption = BOOT_S,
    form: Annotated[str, typer.Option("--format", "-f", help="table, markdown or json.")] = "table",
    output: OutputOption = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the plot, too: .svg or .png.")
    ] = None,
) -> int:
    """Show what each setup cost over kernel versions: oldest kernel first.

    lsmeter history
    lsmeter history --kernel built:6.1-lsm-all --kernel built:7.2-lsm-all --setup smack
    lsmeter history runs/2026-11-20T10-00-00-history --plot history.svg
    """
    from lsmeter.analysis import make_report
    from lsmeter.history import make_history
    from lsmeter.registry import unknown
    from lsmeter.results.directory import read_run

    if form not in _FORMATS:
        raise unknown("format", form, _FORMATS, where="--format")
    if plot is not None and plot.suffix not in {".svg", ".png"}:
        raise UsageError(f"--plot: {plot} is no .svg or .png file")
    code = ExitCode.OK
    if run is None:
        run = out or default_out("history")
        asked = {
            "kernels": list(kernel or _KERNELS),
            "setups": list(setup or _SETUPS),
            "benchmarks": benchmark or ["*"],
            "boots": boots,
        }
        code = _measure(run, asked, Limits(boot_s=boot_deadline))
    made = make_history(make_report(read_run(run)))
    show(made, form, output)
    if plot is not None:
        _draw(made, plot)
    return int(code)


def _measure(run: Path, words: dict[str, Any], limits: Limits) -> ExitCode:
    from lsmeter.backend import find_backend
    from lsmeter.experiment import build_experiment

    title = "Overhead of security modules over kernel versions"
    asked = build_experiment({"title": title, **words}, where="command line")
    backend = find_backend(asked.instrument)
    plan = plan_for(asked, backend)
    show_plan(plan, backend, commands=False)
    code = carry_out(plan, backend, run, (None, False, limits))
    SCREEN.say(f"results {run}")
    return code


def show(made: History, form: str, output: Path | None) -> None:
    """Write the history as table, markdown or json to a file, or print it."""
    from lsmeter.history import as_data
    from lsmeter.storage import write_atomic

    if form == "json":
        text = json.dumps(as_data(made), indent=1) + "\n"
    else:
        text = _markdown(made) if form == "markdown" else _table(made, colour=output is None)
    if output is None:
        print_text(text)
        return
    write_atomic(output, text.encode())
    SCREEN.say(f"written to {output}")


def _heading(made: History, setup: str) -> str:
    return (
        f"{setup}: typical overhead over {made.baseline_setup}, median of an operation's variants "
        f"({made.unit}, {made.instrument} instrument; positive is worse)"
    )


def _markdown(made: History) -> str:
    from lsmeter.history import rows_of

    lines: list[str] = []
    for setup in made.setups:
        lines += [_heading(made, setup), "", f"| | {' | '.join(made.kernels)} |"]
        lines.append("|---|" + "---:|" * len(made.kernels))
        lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in rows_of(made, setup)]
        lines.append("")
    return "\n".join(lines)


def _table(made: History, *, colour: bool) -> str:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from lsmeter.history import rows_of

    text = io.StringIO()
    terminal = colour and SCREEN.colour
    console = Console(file=text, width=SCREEN.out.width, force_terminal=terminal, highlight=False)
    for setup in made.setups:
        # Not the table's own title, which would be broken at the width of the table.
        console.print(escape(_heading(made, setup)), style="table.title")
        rows = rows_of(made, setup)
        table = Table(box=None)
        table.add_column("", no_wrap=True, min_width=max(len(name) for name, _ in rows))
        for index, kernel in enumerate(made.kernels):
            # A long name of a kernel is broken; what it stands above is not.
            width = max(len(cells[index]) for _, cells in rows)
            table.add_column(escape(kernel), justify="right", overflow="fold", min_width=width)
        for name, cells in rows:
            table.add_row(name, *cells)
        console.print(table)
        console.print()
    return text.getvalue()


def _draw(made: History, path: Path) -> None:
    import vl_convert

    from lsmeter.history import plot
    from lsmeter.storage import write_atomic

    described = plot(made)
    if path.suffix == ".png":
        drawn: bytes = vl_convert.vegalite_to_png(described, allowed_base_urls=[])
    else:
        drawn = vl_convert.vegalite_to_svg(described, allowed_base_urls=[]).encode()
    write_atomic(path, drawn)
    SCREEN.say(f"written to {path}")
