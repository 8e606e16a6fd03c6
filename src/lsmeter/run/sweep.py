# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs guests that sweep the latency of policy decisions, and fits what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from lsmeter.backend import Backend, Capture
from lsmeter.guest.protocol import End, Parser
from lsmeter.guest.session import parse_session
from lsmeter.limits import Limits
from lsmeter.model import Benchmark, BootStatus, Cell, Problem
from lsmeter.plan import PlannedBoot
from lsmeter.run.conclude import conclude
from lsmeter.run.sweep_store import find_sweep, store_sweep
from lsmeter.run.together import each_cell
from lsmeter.slopes.fit import fit_slopes, sweeps
from lsmeter.slopes.model import Slope
from lsmeter.slopes.readings import readings


@dataclass(frozen=True)
class Settings:
    """Guests at a time, and whether stored sweeps may serve."""

    jobs: int
    fresh: bool = False
    limits: Limits = field(default_factory=Limits)


OnFinished = Callable[[Cell, int], None]


@dataclass(frozen=True)
class Swept:
    """The slopes of one cell, and what could not be measured.

    wall_s are the wall-clock seconds that its guest took; reused says that it ran earlier.
    """

    cell: Cell
    slopes: tuple[Slope, ...]
    problems: tuple[Problem, ...]
    wall_s: float
    reused: bool = False


async def sweep_cells(
    cells: Sequence[Cell],
    benchmarks: Sequence[Benchmark],
    backend: Backend,
    *,
    seed: int,
    settings: Settings,
    on_finished: OnFinished,
) -> tuple[Swept, ...]:
    """Run one guest for each cell, or take what it said from the store; each must have a sweep.

    on_finished is told how many benchmarks a cell has finished, over all delays. A guest that
    fails gives problems, never an exception.
    """

    async def one(cell: Cell) -> Swept:
        planned = PlannedBoot(cell, 0, seed)
        known = None if settings.fresh else find_sweep(planned)
        capture = known or await _capture(planned, backend, settings.limits, on_finished)
        return _fitted(planned, capture, benchmarks, reused=known is not None)

    return await each_cell(cells, settings.jobs, one)


async def _capture(
    planned: PlannedBoot, backend: Backend, limits: Limits, on_finished: OnFinished
) -> Capture:
    """Run the guest of a sweep."""
    parser = Parser()
    finished = 0

    def on_results(data: bytes) -> int:
        nonlocal finished
        finished += sum(isinstance(event, End) for event in parser.feed(data))
        on_finished(planned.cell, finished)
        return finished

    return await backend.run(planned, limits, on_results)


def _fitted(
    planned: PlannedBoot, capture: Capture, benchmarks: Sequence[Benchmark], *, reused: bool
) -> Swept:
    """Say what a guest's words mean, and keep them if it ended well."""
    cell = planned.cell
    if cell.sweep is None:
        raise ValueError(f"{cell.setup.name} on {cell.kernel.name}: a cell without a sweep")
    boot = conclude(planned, capture)
    if boot.status is BootStatus.OK and not reused:
        store_sweep(planned, capture)
    problems: list[Problem] = []
    if boot.status is not BootStatus.OK:
        problems.append(Problem(f"{boot.status}: {boot.detail}", log_tail=boot.console_tail))
    if boot.status not in (BootStatus.OK, BootStatus.PARTIAL):
        return _swept(cell, (), problems, boot.wall_s, reused=reused)
    found, unclear = readings(parse_session(capture.complete_lines, cell.benchmarks))
    lines, missing = sweeps(
        found,
        [item for item in benchmarks if item.id in cell.benchmarks],
        cell.sweep.delays_ns,
        ns_per_insn=1 << cell.conditions.icount_shift,
    )
    slopes = fit_slopes(lines, kernel=cell.kernel.name, setup=cell.setup.name)
    problems += [*unclear, *missing]
    return _swept(cell, slopes, problems, boot.wall_s, reused=reused)


def _swept(
    cell: Cell,
    slopes: tuple[Slope, ...],
    problems: Sequence[Problem],
    wall_s: float,
    *,
    reused: bool,
) -> Swept:
    named = (
        replace(problem, kernel=cell.kernel.name, setup=cell.setup.name) for problem in problems
    )
    return Swept(cell, slopes, tuple(named), wall_s, reused)
