# SPDX-License-Identifier: GPL-2.0-or-later
"""One number for a suite, as UnixBench has it: the geometric mean against a reference; pure.

An index of 100 is the reference's own; a lower one is always slower.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lsmeter.model import Place
from lsmeter.model.conclusion import Estimate, WholeCost

FULL = 100.0


@dataclass(frozen=True)
class Bounded:
    """A number and what it may be as well."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Index:
    """How fast a setup is on a suite, beside a reference.

    whole is the same from whole costs, None where not every benchmark has one on both sides.
    missing are the benchmarks of which only one side has a number: they are in no index.
    """

    place: Place
    reference: Place
    typical: Bounded
    whole: Bounded | None
    benchmarks: int
    missing: tuple[str, ...]


def indices(
    estimates: Iterable[Estimate], reference: Iterable[Estimate], setup: str
) -> tuple[Index, ...]:
    """Compare each place with the setup `setup` of the reference; all else is the same.

    The kernel need not be the same: where the reference has the place's own, it is taken, else its
    only one. Controls count for nothing; places without a counterpart have no index.
    """
    against: dict[tuple[str, ...], dict[str, dict[str, Estimate]]] = {}
    for item in reference:
        if item.place.setup == setup:
            kernels = against.setdefault(_kind(item.place), {})
            kernels.setdefault(item.place.kernel, {})[item.benchmark.id] = item
    places: dict[Place, dict[str, Estimate]] = {}
    for item in estimates:
        places.setdefault(item.place, {})[item.benchmark.id] = item
    found = []
    for place, own in places.items():
        kernels = against.get(_kind(place), {})
        only = next(iter(kernels.values())) if len(kernels) == 1 else None
        other = kernels.get(place.kernel, only)
        if other and (index := _index(place, own, other)):
            found.append(index)
    return tuple(found)


def _kind(place: Place) -> tuple[str, ...]:
    return place.beside[1:]


def _index(place: Place, own: dict[str, Estimate], other: dict[str, Estimate]) -> Index | None:
    pairs = [
        (item, other[name])
        for name, item in own.items()
        if name in other and not item.benchmark.control and min(item.low, other[name].low) > 0
    ]
    if not pairs:
        return None
    # One that may be nothing at all has no ratio, and leaves the suite without an index of wholes.
    whole = [
        _ratio(_bounds(a.whole), _bounds(b.whole), a)
        for a, b in pairs
        if a.whole and b.whole and min(a.whole.low, b.whole.low) > 0
    ]
    either = {*own, *other}
    missing = sorted(name for name in either if (name in own) != (name in other))
    return Index(
        place,
        pairs[0][1].place,
        _mean([_typical(a, b) for a, b in pairs]),
        _mean(whole) if len(whole) == len(pairs) else None,
        len(pairs),
        tuple(missing),
    )


_Three = tuple[float, float, float]


def _typical(own: Estimate, other: Estimate) -> _Three:
    return _ratio((own.centre, own.low, own.high), (other.centre, other.low, other.high), own)


def _bounds(whole: WholeCost) -> _Three:
    return whole.value, whole.low, whole.high


def _ratio(own: _Three, other: _Three, of: Estimate) -> _Three:
    """Return how fast one side is beside the other: its value, and the least and most it may be."""
    if of.benchmark.metric.better == "higher":
        own, other = other, own
    return other[0] / own[0], other[1] / own[2], other[2] / own[1]


def _mean(ratios: Sequence[_Three]) -> Bounded:
    """Return the geometric mean; its bounds are those of all benchmarks at once, the widest."""
    value, low, high = (
        FULL * math.exp(math.fsum(map(math.log, column)) / len(ratios))
        for column in zip(*ratios, strict=True)
    )
    return Bounded(value, low, high)
