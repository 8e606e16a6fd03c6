# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs on disk, made by the real plan and the real execution, with guests that are recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lsmeter.base.limits import Limits
from lsmeter.experiment.asked import build_experiment
from lsmeter.experiment.plan import Plan, PlannedBoot, joined, make_plan
from lsmeter.guest.capture import Capture, Ending
from lsmeter.machines import Machine, OnResults
from lsmeter.model import Benchmark, Boot, Cell, Kernel
from lsmeter.results.directory import RunData, create_run, read_run
from lsmeter.results.manifest import Circumstances, make_manifest
from lsmeter.run.execute import Settings, execute

Answer = bytes | Capture


@dataclass
class Scripted(Machine):
    """Answers each guest with what `answer` returns for its cell, and remembers its guests."""

    answer: Callable[[Cell], Answer]
    booted: list[Cell] = field(default_factory=list)
    finished: list[int | None] = field(default_factory=list)
    name = "scripted"
    title = "a test"

    def identity(self, *, attribute: bool = False) -> Mapping[str, str]:
        return {"attribute": str(attribute)}

    def command(self, cell: Cell) -> tuple[str, ...]:
        return (cell.setup.name,)

    async def run(self, boot: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        self.booted.append(boot.cell)
        found = self.answer(boot.cell)
        capture = (
            found if isinstance(found, Capture) else Capture(found, b"", Ending.EXITED, 0, 12.5)
        )
        assert len(capture.results) < limits.results_bytes
        self.finished.append(on_results(capture.results))
        return capture


class Watching:
    """Remembers what boots ended as."""

    def __init__(self) -> None:
        self.ends: list[tuple[Boot, bool]] = []

    def started(self, boot: PlannedBoot) -> None:
        pass

    def advanced(self, boot: PlannedBoot, benchmarks: int) -> None:
        pass

    def ended(self, boot: PlannedBoot, result: Boot, *, reused: bool) -> None:
        assert boot.cell.hash == result.cell_hash
        self.ends.append((result, reused))


def plan_of(
    kernels: Sequence[Kernel], benchmarks: Sequence[Benchmark], *words: Mapping[str, Any]
) -> Plan:
    """Plan experiments as one run."""
    return joined(
        [
            make_plan(
                build_experiment({"boots": 1, "seed": 1, **item}, where="test"),
                kernels,
                benchmarks,
                {},
                ("tmpfs", "ext4"),
            )
            for item in words
        ]
    )


def carry_out(plan: Plan, path: Path, machine: Machine, *, fresh: bool = False) -> Watching:
    """Carry a plan out into a run directory."""
    where = Circumstances("0", "2026-01-01T00:00:00+00:00", "lsmeter", "scripted", (), ())
    create_run(path, make_manifest(plan, where, {cell.hash: () for cell in plan.cells}))
    watching = Watching()
    asyncio.run(execute(plan, path, machine, Settings(1, fresh=fresh), watching))
    return watching


def run_of(plan: Plan, path: Path, answer: Callable[[Cell], Answer]) -> RunData:
    """Carry a plan out with scripted guests, and read the run."""
    carry_out(plan, path, Scripted(answer))
    return read_run(path)


def with_facts(boot: Boot, **facts: str) -> Boot:
    """Replace facts of a boot; an underscore stands for a dot."""
    named = {key.replace("_", "."): value for key, value in facts.items()}
    return replace(boot, facts=tuple({**dict(boot.facts), **named}.items()))
