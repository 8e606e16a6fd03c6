# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter selftest`: shows that an instrument says what is true, by costs that are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lsmeter.base.errors import ExitCode, InfrastructureError
from lsmeter.base.limits import BOOT_S
from lsmeter.cli import options
from lsmeter.cli.console import SCREEN
from lsmeter.cli.options import Asked
from lsmeter.cli.show import FormatOption, OutputOption

if TYPE_CHECKING:
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
    run: options.RunArgument = None,
    boots: Annotated[int, typer.Option(metavar="N", min=2, help="Boots of each setup.")] = 2,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Seed of orders and random numbers.")
    ] = 42,
    jobs: options.JobsOption = None,
    fresh: options.FreshOption = False,
    run_dir: options.RunDirOption = None,
    boot_deadline: options.BootDeadlineOption = BOOT_S,
    form: FormatOption = "table",
    output: OutputOption = None,
) -> int:
    """Inject known costs into a kernel, measure them, and check every number against them.

    The kernel is the smallest one that runs the probe, with a security module that costs
    what it is set to: in all calls or in some, at once or in an RCU callback, in a hook or
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
    from lsmeter.cli.measure import showing
    from lsmeter.cli.show import show
    from lsmeter.selftest.report import document

    code = ExitCode.OK
    if run is None:
        run, code = _measured(
            boots, seed, Asked(jobs=jobs, fresh=fresh, run_dir=run_dir, boot_deadline=boot_deadline)
        )
    with showing(code):
        report = _judged(run)
        show(document(report), form, output)
        if output is not None:
            SCREEN.say(report.summary)
        SCREEN.say(f"results {run}")
        if code is not ExitCode.INTERRUPTED:
            return int(ExitCode.OK if report.passed else ExitCode.SELFTEST)
    return int(code)


def _measured(boots: int, seed: int, how: Asked) -> tuple[Path, ExitCode]:
    from lsmeter.cli.live import LiveTasks
    from lsmeter.cli.measure import measure
    from lsmeter.selftest.scenarios import selftest_experiment, selftest_kernel

    with LiveTasks(SCREEN.err) as tasks:
        kernel = selftest_kernel(tasks)
    return measure([selftest_experiment(kernel.name, boots, seed)], "selftest", how)


def _judged(path: Path) -> SelftestReport:
    """Judge the run at `path`; damaged attribution names no function, which is a failure."""
    from lsmeter.attribution.load import run_cells
    from lsmeter.results.directory import read_run
    from lsmeter.selftest.report import selftest_report

    run = read_run(path)
    try:
        attributed = run_cells(run)
    except InfrastructureError as error:
        SCREEN.say(error.title)
        attributed = ()
    return selftest_report(run, attributed)
