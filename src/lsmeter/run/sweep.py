# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs guests that sweep the latency of policy decisions, and fits what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lsmeter.backend import Backend, Limits
from lsmeter.guest.protocol import End, Parser
from lsmeter.guest.session import parse_session
from lsmeter.model import Benchmark, BootStatus, Cell, Problem
from lsmeter.plan import PlannedBoot
from lsmeter.run.conclude import conclude
from lsmeter.run.together import each_cell
from lsmeter.slopes.fit import fit_slopes, sweeps
from lsmeter.slopes.model import Slope
from lsmeter.slopes.readings import readings

OnFinished = Callable[[Cell, int], None]


@dataclass(frozen=True)
class Swept:
    """The slopes of one cell, what could not be measured, and the wall-clock seconds it took."""

    cell: Cell
    slopes: tuple[Slope, ...]
    problems: tuple[Problem, ...]
    wall_s: float


async def sweep_cells(
    cells: Sequence[Cell],
    benchmarks: Sequence[Benchmark],
    backend: Backend,
    *,
    seed: int,
    jobs: int,
    limits: Limits,
    on_finished: OnFinished,
) -> tuple[Swept, ...]:
    """Run one guest for each cell, `jobs` at a time; each cell must have a sweep.

    on_finished is told how many benchmarks a cell has finished, over all delays. A guest that
    fails gives problems, never an exception.
    """

    async def one(cell: Cell) -> Swept:
        return await _sweep(cell, benchmarks, backend, seed, limits, on_finished)

    return await each_cell(cells, jobs, one)


async def _sweep(
    cell: Cell,
    benchmarks: Sequence[Benchmark],
    backend: Backend,
    seed: int,
    limits: Limits,
    on_finished: OnFinished,
) -> Swept:
    if cell.sweep is None:
        raise ValueError(f"{cell.setup.name} on {cell.kernel.name}: a cell without a sweep")
    parser = Parser()
    finished = 0

    def on_results(data: bytes) -> None:
        nonlocal finished
        finished += sum(isinstance(event, End) for event in parser.feed(data))
        on_finished(cell, finished)

    planned = PlannedBoot(cell, 0, seed)
    capture = await backend.run(planned, limits, on_results)
    boot = conclude(planned, capture)
    problems: list[Problem] = []
    if boot.status is not BootStatus.OK:
        problems.append(Problem(f"{boot.status}: {boot.detail}", log_tail=boot.console_tail))
    if boot.status not in (BootStatus.OK, BootStatus.PARTIAL):
        return _swept(cell, (), problems, boot.wall_s)
    found, unclear = readings(parse_session(capture.results, cell.benchmarks))
    lines, missing = sweeps(
        found,
        [item for item in benchmarks if item.id in cell.benchmarks],
        cell.sweep.delays_ns,
        ns_per_insn=1 << cell.conditions.icount_shift,
    )
    slopes = fit_slopes(lines, kernel=cell.kernel.name, setup=cell.setup.name)
    return _swept(cell, slopes, (*problems, *unclear, *missing), boot.wall_s)


def _swept(
    cell: Cell, slopes: tuple[Slope, ...], problems: Sequence[Problem], wall_s: float
) -> Swept:
    named = (
        replace(problem, kernel=cell.kernel.name, setup=cell.setup.name) for problem in problems
    )
    return Swept(cell, slopes, tuple(named), wall_s)
