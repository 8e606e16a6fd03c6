# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells hook overhead from policy evaluation: a cost as layers, each the difference of two setups.

SELinux with an enforced policy is SELinux that only logs, which is SELinux without a policy,
which is capabilities, each with something added. Pure; every sum is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from lsmeter.model import Benchmark, Place
from lsmeter.model.conclusion import Estimate
from lsmeter.model.setup import Layer, Link

MAX_LINKS = 32  # of one chain: a file that says more is wrong


@dataclass(frozen=True)
class LayerCost:
    """What one layer costs in one operation, in the unit of its benchmark; it may be negative.

    setup is the one that has it, over the one that has not. share is a fraction of the base,
    None where the base costs nothing.
    """

    setup: str
    over: str
    adds: tuple[Layer, ...]
    difference: float
    share: float | None
    repeats: bool


@dataclass(frozen=True)
class LayeredCost:
    """What one operation costs under one setup: the base, and layer upon layer up to value.

    The base is in the place of another kernel where that has no security modules.
    """

    place: Place
    base: Place
    benchmark: Benchmark
    base_value: float
    layers: tuple[LayerCost, ...]
    value: float

    @property
    def chain(self) -> tuple[str, ...]:
        """The setups from the base to the tested one."""
        return (self.base.setup, *(layer.setup for layer in self.layers))


def chain(setup: str, links: Mapping[str, Link]) -> tuple[Link, ...]:
    """Return a setup's links from itself downwards; a circle ends where it closes."""
    found: dict[str, Link] = {}
    name = setup
    while name in links and name not in found and len(found) < MAX_LINKS:
        found[name] = links[name]
        name = links[name].over
    return tuple(found.values())


def layered_costs(
    links: Iterable[Link], estimates: Iterable[Estimate], versions: Mapping[str, str]
) -> tuple[LayeredCost, ...]:
    """Take apart the cost of each setup that does more than call hooks.

    Where a setup of the chain has no number, the layer above it holds its part too, and says so
    by what it adds. versions name the version of each kernel: a kernel without security modules
    is the base of all others of its version.
    """
    by_name = {link.setup: link for link in links}
    known = _Known(tuple(estimates), versions)
    found = (_layered(item, by_name, known) for item in known.estimates)
    return tuple(item for item in found if item is not None and _evaluates(item))


class _Known:
    """The estimates of a run, found by what they are of."""

    def __init__(self, estimates: tuple[Estimate, ...], versions: Mapping[str, str]) -> None:
        self.estimates = estimates
        self._versions = versions
        self._here = {(item.place, item.benchmark.id): item for item in estimates}
        self._anywhere: dict[tuple[Place, str], Estimate] = {}
        for (place, benchmark), item in self._here.items():
            self._anywhere.setdefault((self._sibling(place), benchmark), item)

    def of(self, link: Link, tested: Estimate) -> Estimate | None:
        """Return the estimate of the link's setup in the place of `tested`."""
        place = replace(tested.place, setup=link.setup)
        here = self._here.get((place, tested.benchmark.id))
        if here is not None or link.over:
            return here
        return self._anywhere.get((self._sibling(place), tested.benchmark.id))

    def _sibling(self, place: Place) -> Place:
        """Return the place that kernels of one version share."""
        return replace(place, kernel=self._versions.get(place.kernel, place.kernel))


def _layered(tested: Estimate, links: Mapping[str, Link], known: _Known) -> LayeredCost | None:
    storeys = tuple(_storeys(chain(tested.place.setup, links), tested, known))
    if len(storeys) < 2:
        return None
    _, base = storeys[-1]
    layers = (
        LayerCost(
            setup=upper.place.setup,
            over=lower.place.setup,
            adds=adds,
            difference=upper.centre - lower.centre,
            share=(upper.centre - lower.centre) / base.centre if base.centre else None,
            repeats=upper.repeats and lower.repeats,
        )
        for (adds, upper), (_, lower) in pairwise(storeys)
    )
    return LayeredCost(
        place=tested.place,
        base=base.place,
        benchmark=tested.benchmark,
        base_value=base.centre,
        layers=tuple(layers)[::-1],
        value=tested.centre,
    )


def _storeys(
    found: tuple[Link, ...], tested: Estimate, known: _Known
) -> Iterator[tuple[tuple[Layer, ...], Estimate]]:
    """Pair each setup that has a number with what it adds to the next one that has."""
    adds: tuple[Layer, ...] = ()
    upper: Estimate | None = None
    for link in found:
        here = known.of(link, tested)
        if here is not None:
            if upper is not None:
                yield tuple(dict.fromkeys(adds)), upper
            upper, adds = here, ()
        adds = (*link.adds, *adds)
    if upper is not None:
        yield (), upper


def _evaluates(item: LayeredCost) -> bool:
    return any(layer is not Layer.HOOKS for part in item.layers for layer in part.adds)
