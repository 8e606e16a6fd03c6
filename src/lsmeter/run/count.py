# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs guests whose kernels count the hooks that each benchmark runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lsmeter.backend import Backend
from lsmeter.guest.events import End
from lsmeter.guest.protocol import Parser
from lsmeter.guest.session import parse_session
from lsmeter.hooks.count.model import HookCount
from lsmeter.hooks.count.readings import hook_counts, watched
from lsmeter.limits import Limits
from lsmeter.model import Benchmark, BootStatus, Cell, Problem, Sampling
from lsmeter.plan import PlannedBoot
from lsmeter.run.conclude import conclude
from lsmeter.run.together import each_cell

OnFinished = Callable[[Cell, int], None]

# A hook runs equally often each time, or not: more readings would say nothing new. The warm-up
# is what makes the paths known to the kernel, as when costs are measured.
SAMPLING = Sampling(samples=8, warmup=3)

# Attaching some 300 programs takes a kernel seconds in which it says nothing, and a minute where
# other work leaves QEMU a tenth of a core.
LIMITS = Limits(silence_s=240.0)


@dataclass(frozen=True)
class Settings:
    """Guests at a time, and what each may take."""

    jobs: int
    limits: Limits = LIMITS


@dataclass(frozen=True)
class Counted:
    """The counts of one cell, what could not be counted, and the wall-clock seconds it took.

    counted are the benchmarks that ended well, those without any hook included; watched is how
    many functions the kernel let be counted.
    """

    cell: Cell
    counts: tuple[HookCount, ...]
    problems: tuple[Problem, ...]
    wall_s: float
    counted: tuple[Benchmark, ...] = ()
    watched: int = 0


async def count_cells(
    cells: Sequence[Cell],
    benchmarks: Sequence[Benchmark],
    backend: Backend,
    *,
    seed: int,
    settings: Settings,
    on_finished: OnFinished,
) -> tuple[Counted, ...]:
    """Count the hooks of each cell, some guests at a time; on_finished as for count_hooks."""

    async def one(cell: Cell) -> Counted:
        return await count_hooks(
            cell,
            benchmarks,
            backend,
            seed=seed,
            limits=settings.limits,
            on_finished=on_finished,
        )

    return await each_cell(cells, settings.jobs, one)


async def count_hooks(
    cell: Cell,
    benchmarks: Sequence[Benchmark],
    backend: Backend,
    *,
    seed: int = 1,
    limits: Limits = LIMITS,
    on_finished: OnFinished = lambda _cell, _finished: None,
) -> Counted:
    """Run one guest of `cell`, counting; benchmarks must hold those that the cell names.

    on_finished is told how many benchmarks have finished. A guest that fails, or whose kernel
    cannot count, gives problems, never an exception.
    """
    cell = replace(cell, count_hooks=True)
    parser = Parser()
    finished = 0

    def on_results(data: bytes) -> int:
        nonlocal finished
        finished += sum(isinstance(event, End) for event in parser.feed(data))
        on_finished(cell, finished)
        return finished

    planned = PlannedBoot(cell, 0, seed)
    capture = await backend.run(planned, limits, on_results)
    boot = conclude(planned, capture)
    problems: list[Problem] = []
    if boot.status is not BootStatus.OK:
        problems.append(Problem(f"{boot.status}: {boot.detail}", log_tail=boot.console_tail))
    if boot.status not in (BootStatus.OK, BootStatus.PARTIAL):
        return Counted(cell, (), _named(cell, problems), boot.wall_s)
    session = parse_session(capture.complete_lines, cell.benchmarks)
    kernel, setup = cell.kernel.name, cell.setup.name
    counts, unclear = hook_counts(session, benchmarks, kernel=kernel, setup=setup)
    done = {item.benchmark for item in session.samples if item.values}
    return Counted(
        cell=cell,
        counts=counts,
        problems=_named(cell, (*problems, *unclear)),
        wall_s=boot.wall_s,
        counted=tuple(item for item in benchmarks if item.id in done),
        watched=watched(session),
    )


def _named(cell: Cell, problems: Sequence[Problem]) -> tuple[Problem, ...]:
    return tuple(
        replace(problem, kernel=cell.kernel.name, setup=cell.setup.name) for problem in problems
    )
