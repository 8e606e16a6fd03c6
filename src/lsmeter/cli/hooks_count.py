# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter hooks count`: how often each hook runs in one operation, counted by the kernel."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lsmeter import __version__
from lsmeter.cli.console import SCREEN
from lsmeter.cli.measure import BootDeadlineOption, kernels_and_benchmarks
from lsmeter.cli.report import OutputOption
from lsmeter.errors import ExitCode
from lsmeter.limits import BOOT_S

if TYPE_CHECKING:
    from lsmeter.backend import Backend
    from lsmeter.hooks.count.model import CountReport
    from lsmeter.model import Benchmark, Cell, Problem
    from lsmeter.run.count import Counted, Settings

_SUITE = "file"


def add_to(group: typer.Typer) -> None:
    """Add the command to `lsmeter hooks`."""
    group.command("count")(count)


def count(
    kernel: Annotated[
        list[str] | None,
        typer.Option(help="Kernel: debian:6.1, a path. Repeat for more. Default: debian:6.1."),
    ] = None,
    setup: Annotated[
        list[str] | None,
        typer.Option(help="Security setup. Repeat for more. Default: capability."),
    ] = None,
    benchmark: Annotated[
        list[str] | None, typer.Option(help="Only these: an operation or a pattern: 'open*'.")
    ] = None,
    filesystem: Annotated[str, typer.Option(help="tmpfs or ext4.")] = "tmpfs",
    user: Annotated[str, typer.Option(help="Who calls: root or user.")] = "root",
    seed: Annotated[int, typer.Option(help="Seed of the guest's random numbers.")] = 1,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Guests at a time; default: the cores.")
    ] = None,
    boot_deadline: BootDeadlineOption = BOOT_S,
    form: Annotated[str, typer.Option("--format", "-f", help="table, markdown or json.")] = "table",
    output: OutputOption = None,
) -> int:
    """Let an unmodified kernel count how often each of its hooks runs in one operation.

    Only the measured system call is counted, not what sets it up or undoes it.

        lsmeter hooks count
        lsmeter hooks count --kernel debian:7.2 --setup selinux --benchmark open
        lsmeter hooks count --format json -o counts.json
    """
    from lsmeter.backend import find_backend
    from lsmeter.guest.request import USERS
    from lsmeter.hooks.count.formats import FORMATS
    from lsmeter.hooks.count.plan import plan_cells
    from lsmeter.host import cores
    from lsmeter.model import Cell, Conditions, Instrument
    from lsmeter.registry import unknown
    from lsmeter.run.count import LIMITS, SAMPLING, Settings
    from lsmeter.setup import parse_setup

    if form not in FORMATS:
        raise unknown("format", form, FORMATS, where="--format")
    if user not in USERS:
        raise unknown("user", user, USERS, where="--user")
    backend = find_backend(Instrument.EXACT.value)
    if filesystem not in backend.filesystems():
        raise unknown("file system", filesystem, backend.filesystems(), where="--filesystem")
    setups = {item.name: item for item in map(parse_setup, setup or ["capability"])}
    kernels, benchmarks = kernels_and_benchmarks(
        kernel or ["debian:6.1"], _SUITE, benchmark or ["*"]
    )
    template = Cell(
        kernel=kernels[0],
        setup=next(iter(setups.values())),
        suite=_SUITE,
        filesystem=filesystem,
        user=user,
        instrument=Instrument.EXACT,
        conditions=Conditions(),
        sampling=SAMPLING,
        benchmarks=tuple(item.id for item in benchmarks),
        identity=tuple(sorted(backend.identity().items())),
    )
    cells, problems = plan_cells(kernels, tuple(setups.values()), template)
    settings = Settings(jobs or cores(), replace(LIMITS, boot_s=boot_deadline))
    counted = _count(cells, benchmarks, backend, seed, settings)
    report = _report(counted, problems, template)
    _show(report, form, output)
    return int(ExitCode.INCOMPLETE if report.problems else ExitCode.OK)


def _count(
    cells: Sequence[Cell],
    benchmarks: Sequence[Benchmark],
    backend: Backend,
    seed: int,
    settings: Settings,
) -> tuple[Counted, ...]:
    from lsmeter.cli.live import LiveTasks
    from lsmeter.run.count import count_cells

    with LiveTasks(SCREEN.err) as tasks:

        def show(cell: Cell, finished: int) -> None:
            name = f"{cell.setup.name} on {cell.kernel.name}"
            tasks.update(name, finished, len(cell.benchmarks), unit="benchmarks")
            if finished == len(cell.benchmarks):
                tasks.finish(name)

        return asyncio.run(
            count_cells(
                cells,
                benchmarks,
                backend,
                seed=seed,
                settings=settings,
                on_finished=show,
            )
        )


def _report(counted: Sequence[Counted], problems: Sequence[Problem], template: Cell) -> CountReport:
    from lsmeter.hooks.count.model import CountReport
    from lsmeter.report.heading import Heading

    return CountReport(
        heading=Heading(
            title="Runs of each hook in one operation, counted in the running kernel",
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            lsmeter_version=__version__,
            command=shlex.join(["lsmeter", *sys.argv[1:]]),
            filesystem=template.filesystem,
            user=template.user,
        ),
        watched=tuple(
            (item.cell.kernel.name, item.cell.setup.name, item.watched)
            for item in counted
            if item.watched
        ),
        benchmarks=tuple(
            (item.cell.kernel.name, item.cell.setup.name, benchmark)
            for item in counted
            for benchmark in item.counted
        ),
        counts=tuple(found for item in counted for found in item.counts),
        problems=(*problems, *(problem for item in counted for problem in item.problems)),
        notes=tuple(
            f"{item.cell.setup.name} on {item.cell.kernel.name}: one guest, {item.wall_s:.1f} s"
            for item in counted
        ),
    )


def _show(report: CountReport, form: str, output: Path | None) -> None:
    from lsmeter.cli.show import print_text
    from lsmeter.hooks.count.formats import FORMATS
    from lsmeter.report.format import RenderOptions
    from lsmeter.storage import write_atomic

    colour = SCREEN.colour and output is None
    text = FORMATS[form](report, RenderOptions(width=SCREEN.out.width, colour=colour))
    if output is None:
        print_text(text)
    else:
        write_atomic(output, text.encode())
        SCREEN.say(f"written to {output}")
