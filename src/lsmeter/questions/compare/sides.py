# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs beside each other: what only one of them has, and how each setup's overhead moved; pure.

Where each run has one kernel they may differ; else a kernel is compared with its namesake.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace

from lsmeter.core.groups import grouped
from lsmeter.core.model import Benchmark, Place
from lsmeter.core.model.conclusion import Change, Comparison, Number
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.cells import cell_results, compare_results, pair_places, within_run
from lsmeter.questions.workload.figures import (
    asked_alike,
    compare_setups,
    find_workloads,
    has_workloads,
)
from lsmeter.statistics.blocks import Interval

_Numbers = Mapping[tuple[Place, str], Benchmark]


@dataclass(frozen=True)
class Only:
    """What one run has and the other has not, so that it is not compared.

    factors are names by the field of a place (setup, filesystem), benchmarks those of places that
    both have; by_setup has those that the other run lacks in some of them.
    """

    factors: Mapping[str, tuple[str, ...]]
    benchmarks: tuple[Benchmark, ...]
    by_setup: Mapping[str, tuple[Benchmark, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.factors or self.benchmarks or self.by_setup)


@dataclass(frozen=True)
class OverheadChange:
    """One number of one setup's overhead over its baseline in either run.

    points is the difference of the overheads (0.01: one percentage point), difference that of what
    the setup adds to the baseline, in the benchmark's unit.
    """

    place: Place
    benchmark: Benchmark
    before: Comparison
    after: Comparison
    number: Number = Number.TYPICAL

    @property
    def sides(self) -> tuple[Change, Change]:
        """The number in either run."""
        first, then = (getattr(item, self.number.value) for item in (self.before, self.after))
        return first, then

    @property
    def overheads(self) -> tuple[float, float]:
        """The overhead in either run, of the same number."""
        first, then = self.sides
        return first.overhead, then.overhead

    @property
    def points(self) -> Interval:
        """The difference of the overheads."""
        sides = (Interval(x.overhead, x.overhead_low, x.overhead_high) for x in self.sides)
        return _between(*sides)

    @property
    def difference(self) -> Interval:
        """The difference of what the setup costs."""
        return _between(*(Interval(x.difference, x.low, x.high) for x in self.sides))

    @property
    def repeats(self) -> bool:
        """Whether all four counts are known to repeat."""
        return self.before.repeats and self.after.repeats


def _between(first: Interval, then: Interval) -> Interval:
    """Return the difference of two independent numbers, with its interval by those of both.

    Zou and Donner (2008): each side adds what it is off by in its own direction.
    """
    middle = then.value - first.value
    below = math.hypot(then.value - then.low, first.high - first.value)
    above = math.hypot(then.high - then.value, first.value - first.low)
    return Interval(middle, middle - below, middle + above)


def only_in_one(before: RunData, after: RunData) -> tuple[Only, Only]:
    """Return what only the first and only the second run has numbers of."""
    alike = pair_places(before.manifest, after.manifest)
    first, second = _measured(before, alike), _measured(after, alike)
    return _only(first, second), _only(second, first)


def only_before(before: RunData, after: RunData) -> Iterator[tuple[Place, Benchmark]]:
    """Yield what only the first run has numbers of, where the second one would have them."""
    alike = pair_places(before.manifest, after.manifest)
    known = _measured(after, alike)
    for (place, name), item in _measured(before, alike).items():
        if (place, name) not in known:
            yield replace(place, kernel=place.kernel or after.manifest.kernels[0].name), item


def overhead_changes(before: RunData, after: RunData) -> tuple[OverheadChange, ...]:
    """Compare the overhead of each setup in two runs, over the baseline of the second one.

    There is a change for each number that both have.
    """
    alike, base = pair_places(before.manifest, after.manifest), after.manifest.baseline_setup
    first = _overheads(before, base)
    known = {(alike(item.place), item.benchmark.id): item for item in first}
    is_alike = asked_alike(before.manifest, after.manifest)
    return tuple(
        OverheadChange(item.place, item.benchmark, old, item, number)
        for item in _overheads(after, base)
        if (old := known.get((alike(item.place), item.benchmark.id))) is not None
        if is_alike(old, item)
        for number in Number
        if all(side.has(number) for side in (old, item))
    )


def _overheads(run: RunData, base: str) -> tuple[Comparison, ...]:
    """Compare each setup of a run with that setup."""
    manifest = replace(run.manifest, baseline_setup=base)
    measured = find_workloads(run).measured if has_workloads(run) else ()
    services, _ = compare_setups(measured, manifest)
    own = base == run.manifest.baseline_setup
    calls = within_run(run) if own else compare_results(manifest, cell_results(run))
    return (*calls, *(item.comparison for item in services))


def _measured(run: RunData, alike: Callable[[Place], Place]) -> _Numbers:
    each = [(item.place, item.benchmark) for cell in cell_results(run) for item in cell.estimates]
    if has_workloads(run):
        each += [(item.place, item.benchmark) for item in find_workloads(run).measured]
    return {(alike(place), benchmark.id): benchmark for place, benchmark in each}


def _only(here: _Numbers, there: _Numbers) -> Only:
    factors: dict[str, tuple[str, ...]] = {}
    for of in fields(Place):
        mine, others = ([str(getattr(at, of.name)) for at, _ in side] for side in (here, there))
        if names := tuple(name for name in dict.fromkeys(mine) if name not in others):
            factors[of.name] = names
    shared = {place for place, _ in here} & {place for place, _ in there}
    other = {name for place, name in there if place in shared}
    lost = {key: item for key, item in here.items() if key[0] in shared and key not in there}
    every = {name: item for (_, name), item in lost.items() if name not in other}
    some = grouped((place.setup, item) for (place, name), item in lost.items() if name not in every)
    by_setup = {setup: tuple(dict.fromkeys(items)) for setup, items in some.items()}
    return Only(factors, tuple(every.values()), by_setup)
