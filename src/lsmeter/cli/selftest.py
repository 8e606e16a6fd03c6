# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter selftest`: shows that an instrument says what is true, by costs that are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lsmeter.cli.console import SCREEN
from lsmeter.cli.measure import BootDeadlineOption, carry_out, default_out, plan_for
from lsmeter.cli.report import OutputOption
from lsmeter.errors import ExitCode, InfrastructureError
from lsmeter.limits import BOOT_S, Limits

if TYPE_CHECKING:
    from lsmeter.model import Kernel
    from lsmeter.selftest.report import SelftestReport

app = typer.Typer(
    name="selftest",
    no_args_is_help=True,
    help="Show that an instrument says what is true, by costs that are known.",
)


def add_to(parent: typer.Typer) -> None:
    """Add the group of commands."""
    parent.add_typer(app)


@app.callback()
def _group() -> None:
    """Keep `selftest` a group of commands while it has only one."""


@app.command("exact")
def exact(
    boots: Annotated[int, typer.Option(metavar="N", min=2, help="Boots of each setup.")] = 2,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Seed of orders and random numbers.")
    ] = 42,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Guests at a time; default: the cores.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "--run-dir", metavar="DIR", help="Run directory to write."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is known.")] = False,
    boot_deadline: BootDeadlineOption = BOOT_S,
    form: Annotated[str, typer.Option("--format", "-f", help="table, markdown or json.")] = "table",
    output: OutputOption = None,
) -> int:
    """Inject known costs into a kernel, measure them, and hold what lsmeter says against them.

    The kernel is the smallest one that runs the probe, with a security module that costs
    what it is told: in all calls or in some, at once or in an RCU callback, in a hook or
    outside of hooks. It is built once, which takes a minute or two. Each row is one such
    cost with what every number and the verdict say of it, and with the functions that are
    charged with it. A cost that is called equivalent, a whole cost that is wrong, or another
    function's name fails the test. The run is kept: `lsmeter report`, `lsmeter hooks cost`
    and the like read it as any other.

        lsmeter selftest exact
        lsmeter selftest exact --boots 4 --fresh
        lsmeter selftest exact --format json -o selftest.json

    Exit code 0 if all of it is as it should be, 8 if any is not.
    """
    from lsmeter.backend import find_backend
    from lsmeter.cli.show import show_plan
    from lsmeter.registry import unknown
    from lsmeter.selftest.experiment import selftest_experiment
    from lsmeter.selftest.report import FORMATS

    if form not in FORMATS:
        raise unknown("format", form, FORMATS, where="--format")
    runner = find_backend("attributed")
    plan = plan_for(selftest_experiment(_kernel().name, boots, seed), runner)
    show_plan(plan, runner, commands=False)
    where = out or default_out("selftest")
    code = carry_out(plan, runner, where, (jobs, fresh, Limits(boot_s=boot_deadline)))
    if code is ExitCode.INTERRUPTED:
        return int(code)
    report = _judged(where)
    _show(report, form, output)
    SCREEN.say(f"results {where}")
    return int(ExitCode.OK if report.passed else ExitCode.SELFTEST)


def _kernel() -> Kernel:
    from lsmeter.cli.live import LiveTasks
    from lsmeter.selftest.kernel import selftest_kernel

    with LiveTasks(SCREEN.err) as tasks:
        return selftest_kernel(tasks)


def _judged(path: Path) -> SelftestReport:
    """Judge the run at `path`; damaged attribution names no function, which is a failure."""
    from lsmeter.hooks.attribution.load import run_cells
    from lsmeter.results.directory import read_run
    from lsmeter.selftest.experiment import selftest_report

    run = read_run(path)
    try:
        attributed = run_cells(run)
    except InfrastructureError as error:
        SCREEN.say(error.title)
        attributed = ()
    return selftest_report(run, attributed)


def _show(report: SelftestReport, form: str, output: Path | None) -> None:
    from lsmeter.cli.show import print_text
    from lsmeter.report.format import RenderOptions
    from lsmeter.selftest.report import FORMATS
    from lsmeter.storage import write_atomic

    colour = SCREEN.colour and output is None
    text = FORMATS[form](report, RenderOptions(width=SCREEN.out.width, colour=colour))
    if output is None:
        print_text(text)
        return
    write_atomic(output, text.encode())
    SCREEN.say(f"written to {output}")
    SCREEN.say(report.summary)
