# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of the timed instrument with a known truth, planned and stored as real ones are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from lsmeter.core.limits import Limits
from lsmeter.core.model import Benchmark, BenchmarkStatus, Boot, Cell, Samples
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.capture import Capture, Ending
from lsmeter.machines import Machine, OnResults
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import PlannedBoot, make_plan
from lsmeter.measure.results.directory import RunData
from lsmeter.statistics.family import Looks
from tests.unit.guest.lines import lines
from tests.unit.model_builders import benchmark, kernel
from tests.unit.run_builders import ended, stored

HZ = 2_000_000_000
EMPTY_NS = 20.0
GETPPID = replace(benchmark("getppid"), control=True, cycle="getppid")
EMPTY = benchmark("empty")
STAT = replace(benchmark("stat", depth=1), cycle="stat")
READ = replace(benchmark("read"), cycle="read")
COSTS_NS = {GETPPID.id: 60.0, STAT.id: 500.0, READ.id: 200.0}

Draw = Callable[[np.random.Generator, PlannedBoot, str, int], Any]


def noise(draw: np.random.Generator, _planned: PlannedBoot, _name: str, count: int) -> Any:
    """Vary readings by 3 %, blocks by 0.5 %."""
    return np.exp(draw.normal(0, 0.005) + draw.normal(0, 0.03, count))


def run(
    path: Path,
    factors: Mapping[tuple[str, str], float],
    *,
    blocks: int = 12,
    readings: int = 40,
    seed: int = 1,
    vary: Draw = noise,
    looks: Looks | None = None,
    facts: Mapping[str, str] | None = None,
    setups: tuple[str, ...] = ("capability", "landlock"),
    benchmarks: tuple[Benchmark, ...] = (EMPTY, GETPPID, STAT, READ),
) -> RunData:
    """Write and read a run; factors has what (setup, benchmark) costs more than the baseline."""
    words = {
        "kernels": ["vmlinux"],
        "setups": [*setups],
        "boots": blocks,
        "instrument": "timed",
        "sampling": {"samples": readings, "whole_ppm": 0},
    }
    built = kernel("vmlinux", SECURITY_LANDLOCK="y", SECCOMP_FILTER="y")
    plan = make_plan(build_experiment(words, where="test"), [built], benchmarks, {}, ("tmpfs",))
    draw = np.random.default_rng(seed)
    said = {"timing.clock": "tsc", "timing.hz": str(HZ), **(facts or {})}

    def boot(planned: PlannedBoot) -> tuple[Boot, Mapping[str, bytes]]:
        samples = []
        for name in planned.cell.benchmarks:
            cost = COSTS_NS.get(name, 0.0) * factors.get((planned.cell.setup.name, name), 1.0)
            varied = cost * vary(draw, planned, name, readings)
            ns = varied + EMPTY_NS * np.exp(draw.normal(0, 0.01, readings))
            ticks = np.round(ns * HZ / 1e9).astype(int).tolist()
            samples.append(Samples(name, BenchmarkStatus.OK, tuple(ticks)))
        return ended(planned, samples, facts=tuple(said.items())), {}

    return stored(plan, path, boot, "here", looks=looks)


@dataclass
class Clocked(Machine):
    """Answers each block with times whose truth is known, and remembers which it was asked for."""

    factors: Mapping[tuple[str, str], float]
    booted: list[tuple[str, int]] = field(default_factory=list)
    name = "clocked"
    title = "a test"

    def identity(self, plugins: Iterable[str] = ()) -> Mapping[str, str]:  # noqa: ARG002
        return {}

    def command(self, cell: Cell) -> tuple[str, ...]:
        return (cell.setup.name,)

    async def run(self, boot: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        del limits
        cell = boot.cell
        self.booted.append((cell.setup.name, boot.index))
        draw = np.random.default_rng([boot.seed, len(self.booted)])
        said = [
            *(f"fact filesystem {cell.filesystem}", "fact worker.uid 0"),
            f"fact kernel.release {cell.kernel.release}",
            *("fact lsm capability", f"fact timing.hz {HZ}"),
            *(f"fact {item.fact} {item.value}" for item in cell.setup.expect),
        ]
        asked = make_request(cell, boot.seed)
        for index in range(asked.units):
            name, _ = asked.unit(index)
            cost = COSTS_NS.get(name, 0.0) * self.factors.get((cell.setup.name, name), 1.0)
            ns = cost * noise(draw, boot, name, cell.sampling.samples) + EMPTY_NS
            ticks = ",".join(f"{tick}x1" for tick in np.round(ns * HZ / 1e9).astype(int))
            said += [f"begin {index} {quote(name, safe='=')}", f"samples {index} {ticks}"]
            said += [f"end {index} status=ok n={len(ns)} failures=0 errno=0 detail="]
        results = lines(*said, f"bye {asked.units}")
        on_results(results)
        return Capture(results, b"", Ending.EXITED, 0, 0.1)
