# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells hook overhead from policy evaluation: a cost as layers, each the difference of two setups.

SELinux with an enforced policy is SELinux that only logs, which is SELinux without a policy,
which is capabilities, each with something added. Pure; every sum is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from lsmeter.core.model import Benchmark, Place
from lsmeter.core.model.conclusion import Estimate
from lsmeter.core.model.setup import Layer, Link

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
    here = {(item.place, item.benchmark.id): item for item in estimates}

    def versioned(place: Place) -> Place:
        return replace(place, kernel=versions.get(place.kernel, place.kernel))

    anywhere = {(versioned(place), name): item for (place, name), item in reversed(here.items())}

    def known(link: Link, tested: Estimate) -> Estimate | None:
        """Return the estimate of the link's setup in the place of `tested`."""
        place, name = replace(tested.place, setup=link.setup), tested.benchmark.id
        sibling = None if link.over else anywhere.get((versioned(place), name))
        return here.get((place, name), sibling)

    found = (
        _layered(item, [(link, known(link, item)) for link in chain(item.place.setup, by_name)])
        for item in here.values()
    )
    return tuple(item for item in found if item is not None and _evaluates(item))


def _layered(tested: Estimate, found: Iterable[tuple[Link, Estimate | None]]) -> LayeredCost | None:
    """Take one cost apart; found has the estimate of each link of its setup, from itself down."""
    storeys: list[Estimate] = []
    adds: list[tuple[Layer, ...]] = []  # what each storey adds to the next one
    for link, estimate in found:
        if estimate is not None:
            storeys.append(estimate)
            adds.append(())
        adds[-1] = (*link.adds, *adds[-1])
    if len(storeys) < 2:
        return None
    base = storeys[-1]
    layers = [
        LayerCost(
            upper.place.setup,
            lower.place.setup,
            tuple(dict.fromkeys(added)),
            difference=upper.centre - lower.centre,
            share=(upper.centre - lower.centre) / base.centre if base.centre else None,
            repeats=upper.repeats and lower.repeats,
        )
        for added, (upper, lower) in zip(adds, pairwise(storeys), strict=False)
    ]
    place, kind = tested.place, tested.benchmark
    return LayeredCost(place, base.place, kind, base.centre, tuple(layers[::-1]), tested.centre)


def _evaluates(item: LayeredCost) -> bool:
    return any(layer is not Layer.HOOKS for part in item.layers for layer in part.adds)
