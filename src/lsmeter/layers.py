# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells hooking and deciding apart: a setup's cost as layers, each the difference of two setups.

SELinux with an enforced policy is SELinux that only logs, which is SELinux without a policy,
which is capabilities, each with something added. Pure; every sum is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from lsmeter.conclusion import Estimate
from lsmeter.model import Benchmark, Setup
from lsmeter.policy import Layer

MAX_LINKS = 32  # of one chain: a file that says more is wrong


@dataclass(frozen=True)
class Link:
    """What a setup adds to the one below it; over is "" where there is none."""

    setup: str
    over: str
    adds: tuple[Layer, ...]


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

    base_kernel is another one where the base is a kernel without security modules.
    """

    kernel: str
    setup: str
    filesystem: str
    user: str
    benchmark: Benchmark
    base_setup: str
    base_kernel: str
    base_value: float
    layers: tuple[LayerCost, ...]
    value: float

    @property
    def chain(self) -> tuple[str, ...]:
        """The setups from the base to the tested one."""
        return (self.base_setup, *(layer.setup for layer in self.layers))


def make_links(setups: Iterable[Setup], find: Callable[[str], Setup | None]) -> tuple[Link, ...]:
    """Return a link for each setup and for each that lies below one of them.

    find returns the setup that a name stands for, None where nothing knows it.
    """
    found: dict[str, Link] = {}
    waiting = list(setups)
    while waiting:
        setup = waiting.pop(0)
        if setup.name in found:
            continue
        below = find(setup.over) if setup.over else None
        over = below.name if below is not None else setup.over
        found[setup.name] = Link(setup.name, over, _adds(setup, find))
        if below is not None:
            waiting.append(below)
    return tuple(found.values())


def _adds(setup: Setup, find: Callable[[str], Setup | None]) -> tuple[Layer, ...]:
    """Name the layers that a setup adds.

    A stack adds all of its last module: `yama+selinux-enforcing` has the hooks of SELinux as
    well, which `yama` has not. Audit and integrity come without a module.
    """
    if setup.layer is None:
        return ()
    last = setup.name.rpartition("+")[2]
    if last == setup.name or setup.layer in (Layer.AUDIT, Layer.INTEGRITY):
        return (setup.layer,)
    alone: dict[str, Setup] = {}
    below = find(last)
    while below is not None and below.name not in alone and below.name != "capability":
        alone[below.name] = below
        below = find(below.over) if below.over else None
    adds = (item.layer for item in reversed(alone.values()) if item.layer is not None)
    return tuple(dict.fromkeys(adds)) or (setup.layer,)


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
    known = _Known(estimates, versions)
    found = (_layered(item, by_name, known) for item in known.estimates)
    return tuple(item for item in found if item is not None and _decides(item))


class _Known:
    """The estimates of a run, found by what they are of."""

    def __init__(self, estimates: Iterable[Estimate], versions: Mapping[str, str]) -> None:
        self.estimates = tuple(estimates)
        self._versions = versions
        self._here: dict[tuple[str, ...], Estimate] = {}
        self._anywhere: dict[tuple[str, ...], Estimate] = {}
        for item in self.estimates:
            place = self._place(item)
            self._here[(item.kernel, item.setup, *place)] = item
            version = versions.get(item.kernel, item.kernel)
            self._anywhere.setdefault((version, item.setup, *place), item)

    def of(self, link: Link, tested: Estimate) -> Estimate | None:
        """Return the estimate of the link's setup in the place of `tested`."""
        place = self._place(tested)
        here = self._here.get((tested.kernel, link.setup, *place))
        if here is not None or link.over:
            return here
        version = self._versions.get(tested.kernel, tested.kernel)
        return self._anywhere.get((version, link.setup, *place))

    @staticmethod
    def _place(item: Estimate) -> tuple[str, ...]:
        return (item.filesystem, item.user, item.benchmark.suite, item.benchmark.id)


def _layered(tested: Estimate, links: Mapping[str, Link], known: _Known) -> LayeredCost | None:
    storeys = tuple(_storeys(chain(tested.setup, links), tested, known))
    if len(storeys) < 2:
        return None
    _, base = storeys[-1]
    layers: list[LayerCost] = []
    for place in range(len(storeys) - 1, 0, -1):
        (adds, upper), (_, lower) = storeys[place - 1], storeys[place]
        difference = upper.value - lower.value
        layers.append(
            LayerCost(
                setup=upper.setup,
                over=lower.setup,
                adds=adds,
                difference=difference,
                share=difference / base.value if base.value else None,
                repeats=upper.repeats and lower.repeats,
            )
        )
    return LayeredCost(
        kernel=tested.kernel,
        setup=tested.setup,
        filesystem=tested.filesystem,
        user=tested.user,
        benchmark=tested.benchmark,
        base_setup=base.setup,
        base_kernel=base.kernel,
        base_value=base.value,
        layers=tuple(layers),
        value=tested.value,
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


def _decides(item: LayeredCost) -> bool:
    return any(layer is not Layer.HOOKS for part in item.layers for layer in part.adds)
