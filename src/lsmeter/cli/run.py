# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter run`: plan, measure, report."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lsmeter import __version__
from lsmeter.cli.console import SCREEN
from lsmeter.cli.show import show_plan, show_run
from lsmeter.errors import ExitCode, UsageError
from lsmeter.host import cores, host_facts
from lsmeter.model import Boot, BootStatus

if TYPE_CHECKING:
    from lsmeter.backend import Backend, Limits
    from lsmeter.cli.live import LiveRun
    from lsmeter.experiment import Experiment
    from lsmeter.plan import Plan, PlannedBoot
    from lsmeter.run.execute import Settings

_CONDITIONS_HELP = (
    "KEY=VALUE; what changes counts without being the setup: mitigations=off|auto, "
    "init_on_alloc=true|false, tick=nohz|periodic, slabs=single|default, icount_shift=N, memory_mib=N, cpu=MODEL."
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)


def run(
    experiment: Annotated[
        Path | None,
        typer.Argument(
            help="Experiment file (TOML); options are laid over it.", show_default=False
        ),
    ] = None,
    kernel: Annotated[
        list[str] | None, typer.Option(help="Kernel: debian:6.1, host, a path. Repeat for more.")
    ] = None,
    setup: Annotated[
        list[str] | None,
        typer.Option(help="Setup: selinux, landlock:layers=2, apparmor+bpf. Repeat for more."),
    ] = None,
    suite: Annotated[list[str] | None, typer.Option(help="Suite of benchmarks.")] = None,
    benchmark: Annotated[
        list[str] | None, typer.Option(help="Only these: an operation or a pattern: 'open*'.")
    ] = None,
    filesystem: Annotated[list[str] | None, typer.Option(help="tmpfs or ext4.")] = None,
    user: Annotated[list[str] | None, typer.Option(help="root or user (uid 1000).")] = None,
    instrument: Annotated[str | None, typer.Option(help="How cost is read.")] = None,
    backend: Annotated[str | None, typer.Option(hidden=True)] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Setup that the others are compared with.")
    ] = None,
    boots: Annotated[int | None, typer.Option(help="Boots of each cell.")] = None,
    samples: Annotated[int | None, typer.Option(help="Samples of a benchmark in a boot.")] = None,
    warmup: Annotated[int | None, typer.Option(help="Samples thrown away before.")] = None,
    cold: Annotated[
        bool | None, typer.Option("--cold/--warm", help="Drop the kernel's caches each time.")
    ] = None,
    condition: Annotated[list[str] | None, typer.Option(help=_CONDITIONS_HELP)] = None,
    margin: Annotated[
        float | None, typer.Option(help="Overheads within ± this fraction are equivalent.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of orders and random numbers.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Guests at a time; default: the cores.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Run directory to write.")] = None,
    boot_deadline: Annotated[
        float, typer.Option(min=1, help="Seconds that one boot may take.")
    ] = 180.0,
    attribute: Annotated[
        bool, typer.Option("--attribute", help="Also find which hook and function it comes from.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is known.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and stop.")] = False,
) -> int:
    """Boot kernels with different security setups and measure what each operation costs.

    Without any words it runs the main experiment: Debian's 6.1 kernel, every module that
    it has, the file-access suite, counted in instructions. It can be stopped at any time
    (Ctrl-C); the same words go on where it stopped, and nothing is measured twice.

        lsmeter run
        lsmeter run --kernel debian:6.1 --kernel debian:7.2 --setup selinux --setup apparmor
        lsmeter run --setup 'landlock:layers=4,rules=16' --benchmark open --filesystem ext4
        lsmeter run experiments/main.toml --boots 3
    """
    from lsmeter.backend import Limits, find_backend
    from lsmeter.experiment import build_experiment, merge, read_experiment

    words: dict[str, Any] = {
        "kernels": kernel,
        "setups": setup,
        "suites": suite,
        "benchmarks": benchmark,
        "filesystems": filesystem,
        "users": user,
        "instrument": instrument,
        "baseline": baseline,
        "boots": boots,
        "margin": margin,
        "seed": seed,
        "sampling": {"samples": samples, "warmup": warmup, "cold": cold},
        "conditions": _conditions(condition or []),
    }
    data = read_experiment(experiment) if experiment is not None else {}
    asked = build_experiment(merge(data, words), where=str(experiment or "command line"))
    runner = find_backend(backend or ("attributed" if attribute else asked.instrument))
    plan = _plan(asked, runner)
    show_plan(plan, runner, commands=dry_run)
    if dry_run:
        return int(ExitCode.OK)
    limits = Limits(boot_s=boot_deadline)
    return _carry_out(plan, runner, out or _default_out(experiment), (jobs, fresh, limits))


def _conditions(settings: list[str]) -> dict[str, Any]:
    """Read KEY=VALUE words into what TOML would have given."""
    found: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--condition: '{setting}' is not KEY=VALUE", hint=_CONDITIONS_HELP)
        value: Any = text
        if text in {"true", "false"}:
            value = text == "true"
        elif text.isdigit():
            value = int(text)
        found[key] = value
    return found


def _plan(asked: Experiment, backend: Backend) -> Plan:
    from lsmeter.cli.live import LiveTasks
    from lsmeter.guest.probe import catalogue, find_probe
    from lsmeter.kernels.resolve import resolve
    from lsmeter.plan import make_plan

    identity = backend.identity()
    benchmarks = catalogue(find_probe())
    with LiveTasks(SCREEN.err) as tasks:
        kernels = [resolve(name, progress=tasks) for name in dict.fromkeys(asked.kernels)]
    return make_plan(asked, kernels, benchmarks, identity, backend.filesystems())


def _default_out(experiment: Path | None) -> Path:
    stem = experiment.stem if experiment is not None else "run"
    return Path("runs") / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}-{stem}"


def _carry_out(
    plan: Plan, backend: Backend, out: Path, how: tuple[int | None, bool, Limits]
) -> int:
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
    show_run(out)
    if stopped:
        SCREEN.say("stopped; what was measured is kept, and the same command goes on from there")
        return int(ExitCode.INTERRUPTED)
    return int(ExitCode.INCOMPLETE if failed or plan.problems else ExitCode.OK)


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
        self.failed |= any(samples.status.value != "ok" for samples in result.samples)
        self._live.ended(boot, result, reused=reused)
