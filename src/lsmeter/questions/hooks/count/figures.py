# SPDX-License-Identifier: GPL-2.0-or-later
"""From a run that counted hooks to how often each one runs; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsmeter.core.model import Benchmark, Boot, Place, Problem
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import ManifestCell
from lsmeter.measure.tasks.count import Count, hook_counts, watched
from lsmeter.questions.cells.cells import read_boots


@dataclass(frozen=True)
class Counts:
    """All counts of a run.

    watched is how many functions the kernel let be counted; benchmarks are those that ended well,
    those that ran no hook included.
    """

    watched: tuple[tuple[Place, int], ...]
    benchmarks: tuple[tuple[Place, Benchmark], ...]
    counts: tuple[Count, ...]
    problems: tuple[Problem, ...]

    def of(self, place: Place, benchmark: Benchmark) -> tuple[Count, ...]:
        """Return the counts of one benchmark, the most frequent hook first."""
        found = (c for c in self.counts if (c.place, c.benchmark) == (place, benchmark))
        return tuple(sorted(found, key=lambda count: (-count.runs, count.name)))


def find_counts(run: RunData) -> Counts:
    """Gather the counts of all cells of a run that counted."""
    seen: list[tuple[Place, int]] = []
    benchmarks: list[tuple[Place, Benchmark]] = []
    counts: list[Count] = []

    def read(cell: ManifestCell, boot: Boot, asked: Sequence[Benchmark]) -> tuple[Problem, ...]:
        found, problems = hook_counts(boot, asked, cell.place)
        done = {item.benchmark for item in boot.samples if item.values}
        counts.extend(found)
        benchmarks.extend((cell.place, item) for item in asked if item.id in done)
        seen.append((cell.place, watched(boot)))
        return problems

    problems = read_boots(run, {"count": read})
    return Counts(tuple(seen), tuple(benchmarks), tuple(counts), problems)
