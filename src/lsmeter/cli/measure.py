# SPDX-License-Identifier: GPL-2.0-or-later
"""What the commands that measure share: planning, carrying out, and stopping cleanly."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lsmeter import __version__
from lsmeter.cli.console import SCREEN
from lsmeter.errors import ExitCode
from lsmeter.host import cores, host_facts
from lsmeter.limits import Limits
from lsmeter.model import Boot, BootStatus

if TYPE_CHECKING:
    from lsmeter.backend import Backend
    from lsmeter.cli.live import LiveRun, LiveTasks
    from lsmeter.experiment import Experiment
    from lsmeter.model import Benchmark, Kernel
    from lsmeter.plan import Plan, PlannedBoot
    from lsmeter.policy import Image
    from lsmeter.run.execute import Settings

# For every command that boots guests, with BOOT_S as its default.
BootDeadlineOption = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        min=1,
        help="What a guest may take that finishes no benchmark. One that goes on finishing them "
        "may take an hour, or 20 times this.",
    ),
]


def kernels_and_benchmarks(
    kernels: Sequence[str], suite: str, patterns: Sequence[str]
) -> tuple[tuple[Kernel, ...], tuple[Benchmark, ...]]:
    """Make the kernels ready and choose the benchmarks, for a command without an experiment."""
    from lsmeter.cli.live import LiveTasks
    from lsmeter.guest.probe import catalogue, find_probe
    from lsmeter.kernels.resolve import resolve
    from lsmeter.plan import select_benchmarks

    benchmarks = select_benchmarks(catalogue(find_probe()), (suite,), patterns)
    with LiveTasks(SCREEN.err) as tasks:
        found = tuple(resolve(name, progress=tasks) for name in dict.fromkeys(kernels))
    return found, benchmarks


def plan_for(asked: Experiment, backend: Backend) -> Plan:
    """Make the kernels ready and plan the experiment on them."""
    from lsmeter.cli.live import LiveTasks
    from lsmeter.guest.probe import catalogue, find_probe
    from lsmeter.guest.programs import find_program
    from lsmeter.kernels.resolve import resolve
    from lsmeter.plan import images_needed, make_plan, programs_needed

    identity = backend.identity()
    benchmarks = catalogue(find_probe())
    programs = {name: find_program(name).sha256 for name in programs_needed(asked)}
    with LiveTasks(SCREEN.err) as tasks:
        kernels = [resolve(name, progress=tasks) for name in dict.fromkeys(asked.kernels)]
        images = images_for(images_needed(asked), asked.image, tasks)
    filesystems = backend.filesystems()
    return make_plan(asked, kernels, benchmarks, identity, filesystems, images, programs)


def images_for(needed: Sequence[str], own: str | None, tasks: LiveTasks) -> dict[str, Image]:
    """Make ready the images that the setups need; the user's own, if named, serves for all."""
    if not needed:
        return {}
    from lsmeter.image.build import resolve_image

    return {name: resolve_image(own or name, tasks) for name in needed}


def default_out(stem: str) -> Path:
    """Return the run directory for a run that was not given one."""
    return Path("runs") / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}-{stem}"


def carry_out(
    plan: Plan, backend: Backend, out: Path, how: tuple[int | None, bool, Limits]
) -> ExitCode:
    """Measure into the run directory `out`; how is (jobs, fresh, limits).

    Returns OK, INCOMPLETE when something gave no number, or INTERRUPTED.
    """
    from lsmeter.cli.live import LiveRun
    from lsmeter.results.directory import create_run
    from lsmeter.results.manifest import Circumstances, make_manifest
    from lsmeter.run.execute import Settings

    jobs, fresh, limits = how
    circumstances = Circumstances(
        lsmeter_version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=shlex.join(["lsmeter", *sys.argv[1:]]),
        backend=backend.name,
        host=host_facts(),
        tools=tuple(backend.identity().items()),
    )
    commands = {cell.hash: backend.command(cell) for cell in plan.cells}
    create_run(out, make_manifest(plan, circumstances, commands))
    settings = Settings(jobs=jobs or cores(), fresh=fresh, limits=limits)
    with LiveRun(SCREEN.err, plan) as live:
        failed, stopped = asyncio.run(_until_done_or_stopped(plan, out, backend, settings, live))
    if stopped:
        SCREEN.say("stopped; what was measured is kept, and the same command goes on from there")
        return ExitCode.INTERRUPTED
    return ExitCode.INCOMPLETE if failed or plan.problems else ExitCode.OK


async def _until_done_or_stopped(
    plan: Plan, out: Path, backend: Backend, settings: Settings, live: LiveRun
) -> tuple[bool, bool]:
    """Run the plan; on Ctrl-C or a termination signal kill the guests and keep what is done."""
    from lsmeter.run.execute import execute

    watch = _Watch(live)
    task = asyncio.ensure_future(execute(plan, out, backend, settings, watch))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return watch.failed, True
    return watch.failed, False


class _Watch:
    """Passes on what happens, and remembers whether any boot or benchmark gave no number."""

    def __init__(self, live: LiveRun) -> None:
        self._live = live
        self.failed = False

    def started(self, boot: PlannedBoot) -> None:
        self._live.started(boot)

    def advanced(self, boot: PlannedBoot, benchmarks: int) -> None:
        self._live.advanced(boot, benchmarks)

    def ended(self, boot: PlannedBoot, result: Boot, *, reused: bool) -> None:
        self.failed |= result.status is not BootStatus.OK
        self.failed |= any(
            samples.status.value != "ok" or (samples.whole and samples.whole.status.value != "ok")
            for samples in result.samples
        )
        self._live.ended(boot, result, reused=reused)
