# SPDX-License-Identifier: GPL-2.0-or-later
"""From what a guest counted around each reading to what a module looked up; pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from lsmeter.guest.protocol import UNREAD
from lsmeter.guest.session import Session
from lsmeter.model import Benchmark, BenchmarkStatus, Problem
from lsmeter.slopes.model import LookUp

_MAX_COUNTERS = 32
_FACT = "counter."
_NAME = re.compile(r"[a-z0-9_.]{1,63}")


def lookups(
    session: Session, benchmarks: Sequence[Benchmark], *, kernel: str, setup: str
) -> tuple[tuple[LookUp, ...], tuple[Problem, ...]]:
    """Return how far each counter of a module went in one run of each benchmark.

    Readings that differ, or could not be taken, and benchmarks that did not end well give a
    Problem.
    """
    names = _names(session)
    problems = [
        Problem(
            f"{item.benchmark}: no look-ups: {item.status}",
            benchmark=item.benchmark,
            detail=item.detail,
        )
        for item in session.samples
        if item.status is not BenchmarkStatus.OK
    ]
    if not names:
        return (), (*problems, Problem("the guest named no counters"))
    readings = {(item.benchmark, item.hook): item.runs for item in session.counts}
    good = {item.benchmark for item in session.samples if item.values}
    found: list[LookUp] = []
    for benchmark in benchmarks:
        for name in names if benchmark.id in good else ():
            runs = readings.get((benchmark.id, name), (0,))
            if UNREAD in runs:
                problems.append(_of(benchmark, f"{name} could not be read around each reading"))
                continue
            if len(set(runs)) > 1:
                odd = ", ".join(f"{n} in {times}" for n, times in Counter(runs).most_common())
                problems.append(_of(benchmark, f"{name} differs between readings: {odd}"))
            steady = len(set(runs)) == 1
            found.append(LookUp(kernel, setup, benchmark, name, _most_frequent(runs), steady))
    return tuple(found), tuple(problems)


def _names(session: Session) -> tuple[str, ...]:
    """Return the names of a guest's counters, in their files' order."""
    facts = dict(session.facts)
    numbered = (facts.get(f"{_FACT}{number}") for number in range(1, _MAX_COUNTERS + 1))
    return tuple(name for name in numbered if name and _NAME.fullmatch(name))


def _of(benchmark: Benchmark, what: str) -> Problem:
    return Problem(f"{benchmark.id}: {what}", benchmark=benchmark.id)


def _most_frequent(runs: Iterable[int]) -> int:
    """Return the most frequent number; of several, the smallest."""
    counts = Counter(runs)
    return min(counts, key=lambda number: (-counts[number], number))
