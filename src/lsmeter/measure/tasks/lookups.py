# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading a module's own counters around each operation: what it looks up in its cache."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lsmeter.core.model import Benchmark, Boot, Place, Problem, Sampling
from lsmeter.core.model.boot import UNREAD
from lsmeter.measure.tasks import TaskKind
from lsmeter.measure.tasks.count import Count, count_of, counting, failures, spread

_MAX_COUNTERS = 32
_FACT = "counter."
_NAME = re.compile(r"[a-z0-9_.]{1,63}")

# A counter moves equally far each time, or not: more readings would say nothing new.
TASK = TaskKind(
    "lookups",
    "a module's own counters around each operation",
    counting,
    sampling=Sampling(samples=8, warmup=3),
)


def lookups(
    boot: Boot, benchmarks: Sequence[Benchmark], place: Place
) -> tuple[tuple[Count, ...], tuple[Problem, ...]]:
    """Return how far each counter of a module went in one run of each benchmark.

    Readings that differ, or could not be taken, and benchmarks that did not end well give a
    Problem.
    """
    problems = list(failures(boot, benchmarks, ": no look-ups"))
    names = _names(boot)
    if not names:
        return (), (*problems, Problem("the guest named no counters"))
    readings = {(item.benchmark, item.hook): item.runs for item in boot.counts}
    good = {item.benchmark for item in boot.samples if item.values}
    found: list[Count] = []
    for benchmark in benchmarks:
        for name in names if benchmark.id in good else ():
            runs = readings.get((benchmark.id, name), (0,))
            if UNREAD in runs:
                problems.append(_of(benchmark, f"{name} could not be read around each reading"))
                continue
            found.append(count_of(place, benchmark, name, runs))
            if not found[-1].steady:
                problems.append(_of(benchmark, f"{name} differs between readings: {spread(runs)}"))
    return tuple(found), tuple(problems)


def _names(boot: Boot) -> tuple[str, ...]:
    """Return the names of a guest's counters, in their files' order."""
    facts = dict(boot.facts)
    numbered = (facts.get(f"{_FACT}{number}") for number in range(1, _MAX_COUNTERS + 1))
    return tuple(name for name in numbered if name and _NAME.fullmatch(name))


def _of(benchmark: Benchmark, what: str) -> Problem:
    return Problem(f"{benchmark.id}: {what}", benchmark=benchmark.id)
