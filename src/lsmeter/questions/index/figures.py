# SPDX-License-Identifier: GPL-2.0-or-later
"""One number for a suite, as UnixBench has it: the geometric mean against a reference, as 100."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lsmeter.core.groups import grouped
from lsmeter.core.model import Place
from lsmeter.core.model.conclusion import Estimate, WholeCost
from lsmeter.measure.instruments import find_instrument
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import Manifest
from lsmeter.questions.cells.cells import CellResult, cell_results, versions
from lsmeter.statistics.blocks import Interval

FULL = 100.0
_MOST_LOG = 700.0  # beyond, a float has no room
_OF_OTHERS = "index"  # the unit of what a program itself made of its other numbers
_Pairs = Sequence[tuple[Estimate, Estimate]]


@dataclass(frozen=True)
class Index:
    """How fast a setup is on a suite, beside a reference.

    whole is the same from whole costs, None where not every benchmark has one on both sides; mean
    that from the means of readings, of an instrument whose replicates tell of it. missing are the
    benchmarks of which only one side has a number, or one that has no ratio: they are in no index.
    """

    place: Place
    reference: Place
    typical: Interval
    whole: Interval | None
    mean: Interval | None
    benchmarks: int
    missing: tuple[str, ...]


def run_indices(own: RunData, reference: RunData, setup: str) -> tuple[Index, ...]:
    """Compare each place of a run with a setup of another run, or of itself."""
    instrument = find_instrument(own.manifest.instrument)
    sides = cell_results(own), cell_results(reference)
    together = None
    if instrument.index is not None:
        readings = tuple(map(_readings, sides))
        together = partial(_together, instrument.index, readings, is_one_run=own is reference)
    estimates, against = ([x for result in side for x in result.estimates] for side in sides)
    alike = partial(_alike, own.manifest, reference.manifest)
    return indices(estimates, against, setup, together, alike)


def _alike(own: Manifest, reference: Manifest, name: str, other: str) -> bool:
    """Whether a kernel may stand beside another: of one architecture, in one run of one version."""
    arches = [{kernel.name: kernel.arch for kernel in run.kernels} for run in (own, reference)]
    if arches[0][name] != arches[1][other]:
        return False
    return own is not reference or versions(own)[name] == versions(own)[other]


_Readings = Mapping[tuple[Place, str], Sequence[Any]]


def _readings(results: Iterable[CellResult]) -> _Readings:
    return {
        (result.cell.place, name): values
        for result in results
        for name, values in result.readings.items()
    }


def _together(
    index: Callable[..., tuple[Interval, Interval]],
    readings: Sequence[_Readings],
    pairs: _Pairs,
    *,
    is_one_run: bool,
) -> tuple[Interval, Interval]:
    """Return the indices of typical costs and of means, by the replicates of all benchmarks."""
    mine, theirs = readings
    sides = [(theirs[b.place, b.benchmark.id], mine[a.place, a.benchmark.id]) for a, b in pairs]
    better = [a.benchmark.metric.better for a, _ in pairs]
    typical, mean = index(sides, better, together=is_one_run)
    return _from_log(typical), _from_log(mean)


def _from_log(slower: Interval) -> Interval:
    """Return the index of what takes so many times as long."""
    ends = (-slower.value, -slower.high, -slower.low)
    return Interval(*(math.inf if end >= _MOST_LOG else FULL * math.exp(end) for end in ends))


def indices(
    estimates: Iterable[Estimate],
    reference: Iterable[Estimate],
    setup: str,
    together: Callable[[_Pairs], tuple[Interval, Interval]] | None = None,
    alike: Callable[[str, str], bool] = lambda own, other: True,  # noqa: ARG005
) -> tuple[Index, ...]:
    """Compare each place with the setup `setup` of the reference; all else is the same.

    The kernel need not be the same: where the reference has the place's own, it is taken, else its
    only one of those that are alike. Controls count for nothing; places without a counterpart have
    no index. together gives the indices of typical costs and means where replicates of all
    benchmarks tell of them.
    """
    against = _by_place(item for item in reference if item.place.setup == setup)
    found = []
    for place, own in _by_place(estimates).items():
        kernels = {
            at.kernel: of
            for at, of in against.items()
            if at.beside[1:] == place.beside[1:] and alike(place.kernel, at.kernel)
        }
        only = next(iter(kernels.values())) if len(kernels) == 1 else None
        other = kernels.get(place.kernel, only)
        if other and (index := _index(place, own, other, together)):
            found.append(index)
    return tuple(found)


def _by_place(estimates: Iterable[Estimate]) -> dict[Place, dict[str, Estimate]]:
    places = grouped((item.place, (item.benchmark.id, item)) for item in estimates)
    return {place: dict(items) for place, items in places.items()}


def _index(
    place: Place,
    own: dict[str, Estimate],
    other: dict[str, Estimate],
    together: Callable[[_Pairs], tuple[Interval, Interval]] | None,
) -> Index | None:
    pairs = [
        (item, other[name])
        for name, item in own.items()
        if name in other and _counts(item) and min(item.centre, other[name].centre) > 0
    ]
    if not pairs:
        return None
    # One that may be nothing at all has no ratio, and leaves the suite without an index of wholes.
    whole = [
        _ratio(a.whole, b.whole, a)
        for a, b in pairs
        if a.whole and b.whole and min(a.whole.low, b.whole.low) > 0
    ]
    either = {name: item for name, item in (*own.items(), *other.items()) if _counts(item)}
    missing = sorted(either.keys() - {a.benchmark.id for a, _ in pairs})
    typical, mean = together(pairs) if together else (None, None)
    if typical is None or not math.isfinite(typical.high):
        # No replicates have all benchmarks, or too few of them: each has its own, and counts.
        typical, mean = _mean([_ratio(_typical(a), _typical(b), a) for a, b in pairs]), None
    return Index(
        place,
        pairs[0][1].place,
        typical,
        _mean(whole) if len(whole) == len(pairs) else None,
        mean if mean is not None and math.isfinite(mean.value) else None,
        len(pairs),
        tuple(missing),
    )


def _counts(item: Estimate) -> bool:
    """Whether a benchmark has a part in an index: a control has none, nor has another index."""
    return not item.benchmark.control and item.benchmark.metric.unit != _OF_OTHERS


def _typical(item: Estimate) -> Interval:
    return Interval(item.centre, item.low, item.high)


def _ratio(own: Interval | WholeCost, other: Interval | WholeCost, of: Estimate) -> Interval:
    """Return how fast one side is beside the other: its value, and the least and most it may be."""
    if of.benchmark.metric.better == "higher":
        own, other = other, own
    low, high = max(other.low, 0.0) / own.high, math.inf
    if own.low > 0:
        high = other.high / own.low
    return Interval(other.value / own.value, low, high)


def _mean(ratios: Sequence[Interval]) -> Interval:
    """Return the geometric mean; its bounds are those of all benchmarks at once, the widest."""
    columns = (np.array([getattr(item, name) for item in ratios]) for name in vars(ratios[0]))
    with np.errstate(divide="ignore"):  # a bound may be 0, where one replicate tells of a side
        return Interval(*(FULL * float(np.exp(np.log(each).mean())) for each in columns))
