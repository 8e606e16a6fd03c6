# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs guests that sweep the latency of a policy, or count look-ups; says what they found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from lsmeter.backend import Backend, Capture
from lsmeter.guest.events import End
from lsmeter.guest.protocol import Parser
from lsmeter.guest.session import Session, parse_session
from lsmeter.limits import Limits
from lsmeter.model import Benchmark, BootStatus, Cell, Problem
from lsmeter.plan import PlannedBoot
from lsmeter.run.conclude import conclude
from lsmeter.run.sweep_store import find_sweep, store_sweep
from lsmeter.run.together import each_cell
from lsmeter.slopes.fit import fit_slopes, sweeps
from lsmeter.slopes.lookups import lookups
from lsmeter.slopes.model import LookUp, Slope
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
    """The slopes of one cell, or what was looked up in it, and what could not be measured.

    wall_s are the wall-clock seconds that its guest took; reused says that it ran earlier.
    """

    cell: Cell
    problems: tuple[Problem, ...]
    wall_s: float
    reused: bool = False
    slopes: tuple[Slope, ...] = ()
    lookups: tuple[LookUp, ...] = ()


async def sweep_cells(
    cells: Sequence[Cell],
    benchmarks: Sequence[Benchmark],
    backend: Backend,
    *,
    seed: int,
    settings: Settings,
    on_finished: OnFinished,
) -> tuple[Swept, ...]:
    """Run one guest for each cell, or take what it said from the store.

    Each cell must have a sweep, or read counters. on_finished is told how many benchmarks a cell
    has finished, over all delays. A guest that fails gives problems, never an exception.
    """

    async def one(cell: Cell) -> Swept:
        planned = PlannedBoot(cell, 0, seed)
        known = None if settings.fresh else find_sweep(planned)
        capture = known or await _capture(planned, backend, settings.limits, on_finished)
        return _concluded(planned, capture, benchmarks, reused=known is not None)

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


def _concluded(
    planned: PlannedBoot, capture: Capture, benchmarks: Sequence[Benchmark], *, reused: bool
) -> Swept:
    """Say what a guest's words mean, and keep them if it ended well."""
    cell = planned.cell
    boot = conclude(planned, capture)
    if boot.status is BootStatus.OK and not reused:
        store_sweep(planned, capture)
    found = Swept(cell, (), boot.wall_s, reused)
    if boot.status in (BootStatus.OK, BootStatus.PARTIAL):
        session = parse_session(capture.complete_lines, cell.benchmarks)
        mine = [item for item in benchmarks if item.id in cell.benchmarks]
        found = _fitted(found, session, mine) if cell.sweep else _looked_up(found, session, mine)
    problems = list(found.problems)
    if boot.status is not BootStatus.OK:
        problems.insert(0, Problem(f"{boot.status}: {boot.detail}", log_tail=boot.console_tail))
    named = (
        replace(problem, kernel=cell.kernel.name, setup=cell.setup.name) for problem in problems
    )
    return replace(found, problems=tuple(named))


def _fitted(swept: Swept, session: Session, benchmarks: Sequence[Benchmark]) -> Swept:
    cell = swept.cell
    found, unclear = readings(session)
    lines, missing = sweeps(
        found,
        benchmarks,
        cell.sweep.delays_ns if cell.sweep else (),
        ns_per_insn=1 << cell.conditions.icount_shift,
    )
    slopes = fit_slopes(lines, kernel=cell.kernel.name, setup=cell.setup.name)
    return replace(swept, slopes=slopes, problems=(*unclear, *missing))


def _looked_up(swept: Swept, session: Session, benchmarks: Sequence[Benchmark]) -> Swept:
    cell = swept.cell
    found, problems = lookups(session, benchmarks, kernel=cell.kernel.name, setup=cell.setup.name)
    return replace(swept, lookups=found, problems=problems)
