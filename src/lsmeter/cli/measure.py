# SPDX-License-Identifier: GPL-2.0-or-later
"""What the commands that measure share: planning, carrying out, and stopping cleanly."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from lsmeter import __version__
from lsmeter.base.errors import ExitCode, LsmeterError, UsageError
from lsmeter.base.host import cores, host_facts
from lsmeter.base.limits import Limits
from lsmeter.cli.console import SCREEN

if TYPE_CHECKING:
    from lsmeter.cli.live import LiveRun, LiveTasks
    from lsmeter.cli.options import Asked
    from lsmeter.experiment.asked import Experiment
    from lsmeter.experiment.plan import Plan
    from lsmeter.machines.machine import Machine
    from lsmeter.model import Image, Kernel
    from lsmeter.run.execute import Settings

_PLOTS = (".svg", ".png")


def measure(
    asked: Sequence[Experiment] | Callable[[Sequence[Kernel]], Sequence[Experiment]],
    stem: str,
    how: Asked,
    *,
    kernels: Sequence[str] = (),
    dry_run: bool = False,
) -> tuple[Path, ExitCode]:
    """Plan experiments as one run, show the plan, and carry it out.

    A function lays out the experiments once the kernels that are named are known. Returns the run
    directory, and OK, INCOMPLETE when something gave no number, or INTERRUPTED.
    """
    from lsmeter.cli.live import LiveTasks
    from lsmeter.cli.show import show_plan
    from lsmeter.kernels.resolve import resolve
    from lsmeter.machines.machine import find_machine

    machine = find_machine(how.machine or "emulation")
    names = kernels or [name for item in asked for name in item.kernels]  # type: ignore[union-attr]
    with LiveTasks(SCREEN.err) as tasks:
        found = {name: resolve(name, progress=tasks) for name in dict.fromkeys(names)}
        experiments = asked(tuple(found.values())) if callable(asked) else asked
        plan = _plan(experiments, found, machine, tasks)
    show_plan(plan, machine, commands=dry_run)
    where = how.run_dir or Path("runs") / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}-{stem}"
    if dry_run:
        return where, ExitCode.OK
    if not plan.boots and not plan.problems:
        raise UsageError("nothing to measure")
    return where, _carry_out(plan, machine, where, how)


def _plan(
    experiments: Sequence[Experiment],
    kernels: dict[str, Kernel],
    machine: Machine,
    tasks: LiveTasks,
) -> Plan:
    from lsmeter.experiment.plan import images_needed, joined, make_plan, programs_needed
    from lsmeter.guest.probe import catalogue, find_probe, find_program
    from lsmeter.tasks import find_task

    benchmarks = catalogue(find_probe())
    plans = []
    for item in experiments:
        programs = {name: find_program(name).sha256 for name in programs_needed(item)}
        images = images_for(images_needed(item), item.image, tasks)
        identity = machine.identity(attribute=find_task(item.task).plugin)
        mine = [kernels[name] for name in dict.fromkeys(item.kernels)]
        plans.append(
            make_plan(item, mine, benchmarks, identity, machine.filesystems, images, programs)
        )
    return joined(plans)


def images_for(needed: Sequence[str], own: str | None, tasks: LiveTasks) -> dict[str, Image]:
    """Make ready the images that the setups need; the user's own, if named, serves for all."""
    if not needed:
        return {}
    from lsmeter.images.build import resolve_image

    return {name: resolve_image(own or name, tasks) for name in needed}


def _carry_out(plan: Plan, machine: Machine, out: Path, how: Asked) -> ExitCode:
    from lsmeter.cli.live import LiveRun
    from lsmeter.instruments import find_instrument
    from lsmeter.results.directory import create_run
    from lsmeter.results.manifest import Circumstances, make_manifest
    from lsmeter.run.execute import Settings
    from lsmeter.tasks import find_task

    attribute = any(find_task(cell.task.name).plugin for cell in plan.cells)
    instrument = find_instrument(plan.experiment.instrument)
    circumstances = Circumstances(
        lsmeter_version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=shlex.join(["lsmeter", *sys.argv[1:]]),
        machine=machine.name,
        host=host_facts(),
        tools=tuple(machine.identity(attribute=attribute).items()),
    )
    commands = {cell.hash: machine.command(cell) for cell in plan.cells}
    create_run(out, make_manifest(plan, circumstances, commands))
    jobs = (how.jobs or cores()) if instrument.side_by_side else 1
    fresh = how.fresh or not instrument.reusable
    settings = Settings(jobs=jobs, fresh=fresh, limits=Limits(boot_s=how.boot_deadline))
    with LiveRun(SCREEN.err, plan) as live:
        stopped = asyncio.run(_stopped(plan, out, machine, settings, live))
    if stopped:
        SCREEN.say("stopped; what was measured is kept, and the same command resumes it")
        return ExitCode.INTERRUPTED
    return ExitCode.INCOMPLETE if live.failed or plan.problems else ExitCode.OK


@contextmanager
def showing(code: ExitCode) -> Iterator[None]:
    """Show what was measured; once interrupted, it is no error if that is too little to show."""
    try:
        yield
    except LsmeterError as error:
        if code is not ExitCode.INTERRUPTED:
            raise
        SCREEN.say(f"nothing to show yet: {error.title}")


async def _stopped(
    plan: Plan, out: Path, machine: Machine, settings: Settings, live: LiveRun
) -> bool:
    """Run the plan; on Ctrl-C or a termination signal kill the guests and keep what is done."""
    from lsmeter.run.execute import execute

    task = asyncio.ensure_future(execute(plan, out, machine, settings, live))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


def check_plot(plot: Path | None) -> None:
    """Refuse a plot's file whose name ends in no known form."""
    if plot is not None and plot.suffix not in _PLOTS:
        raise UsageError(f"--plot: {plot} is no {' or '.join(_PLOTS)} file")


def draw(plot: Path | None, specification: Callable[[], dict[str, object]]) -> None:
    """Write a Vega-Lite plot to a file, if one was asked for."""
    if plot is None:
        return
    import vl_convert

    from lsmeter.base.storage import write_atomic

    if plot.suffix == ".png":
        drawn: bytes = vl_convert.vegalite_to_png(specification(), allowed_base_urls=[])
    else:
        drawn = vl_convert.vegalite_to_svg(specification(), allowed_base_urls=[]).encode()
    write_atomic(plot, drawn)
    SCREEN.say(f"written to {plot}")
