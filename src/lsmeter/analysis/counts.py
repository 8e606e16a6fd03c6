# SPDX-License-Identifier: GPL-2.0-or-later
"""From a run that counted hooks to how often each one runs; pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lsmeter.analysis.cells import benchmarks_of, boot_problem
from lsmeter.model import Benchmark, BootStatus, Place, Problem
from lsmeter.results.directory import RunData
from lsmeter.tasks.count import HookCount, hook_counts, watched


@dataclass(frozen=True)
class Counts:
    """All counts of a run.

    watched is how many functions the kernel let be counted; benchmarks are those that ended well,
    those that ran no hook included.
    """

    watched: tuple[tuple[Place, int], ...]
    benchmarks: tuple[tuple[Place, Benchmark], ...]
    counts: tuple[HookCount, ...]
    problems: tuple[Problem, ...]

    def of(self, place: Place, benchmark: Benchmark) -> tuple[HookCount, ...]:
        """Return the counts of one benchmark, the most frequent hook first."""
        found = (c for c in self.counts if (c.place, c.benchmark) == (place, benchmark))
        return tuple(sorted(found, key=lambda count: (-count.runs, count.hook)))


def find_counts(run: RunData) -> Counts:
    """Gather the counts of all cells of a run that counted."""
    seen: list[tuple[Place, int]] = []
    benchmarks: list[tuple[Place, Benchmark]] = []
    counts: list[HookCount] = []
    problems = list(run.manifest.problems)
    for cell in run.manifest.cells:
        place = cell.place
        for boot in run.boots_of(cell) if cell.task.name == "count" else ():
            found: list[Problem] = []
            if boot.status is not BootStatus.OK:
                found.append(boot_problem(cell, boot))
            if boot.status.usable:
                asked = benchmarks_of(run.manifest, cell)
                here, unclear = hook_counts(boot, asked, place)
                counts += here
                found += unclear
                done = {item.benchmark for item in boot.samples if item.values}
                benchmarks += ((place, item) for item in asked if item.id in done)
                seen.append((place, watched(boot)))
            problems += (replace(p, kernel=place.kernel, setup=place.setup) for p in found)
    return Counts(tuple(seen), tuple(benchmarks), tuple(counts), tuple(problems))
