# SPDX-License-Identifier: GPL-2.0-or-later
"""Words and rows that tell hooking and deciding apart, layer upon layer; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from lsmeter.layers import LayeredCost
from lsmeter.policy import Layer
from lsmeter.report import numbers
from lsmeter.report.listing import Chapter, Column, Listing, Saying, names
from lsmeter.report.model import Report

if TYPE_CHECKING:
    from lsmeter.hooks.attribution.layer import LayerOrigin

HEADING = "Hooking and deciding"
BASE = "base"
_MANY = 120  # rows, of which a terminal shows the largest of each operation
_WORDS = {
    Layer.HOOKS: "hooks",
    Layer.PERMISSIVE: "permissive policy",
    Layer.POLICY: "policy",
    Layer.AUDIT: "audit",
    Layer.INTEGRITY: "integrity",
}


@dataclass(frozen=True)
class Stack:
    """One tested setup in one place: benchmarks whose cost has the same layers.

    heads name the layers from below, the base first.
    """

    kernel: str
    setup: str
    filesystem: str
    user: str
    heads: tuple[str, ...]
    costs: tuple[LayeredCost, ...]

    @property
    def title(self) -> str:
        """Name the setup and where it was measured."""
        return f"{self.setup} on {self.kernel} ({self.filesystem}, user {self.user})"


def stacks(report: Report) -> tuple[Stack, ...]:
    """Arrange the layered costs of a report.

    A setup that is but a lower part of another is shown as that one's layers only.
    """
    groups: dict[tuple[object, ...], list[LayeredCost]] = {}
    for item in report.layers:
        adds = tuple(layer.adds for layer in item.layers)
        key = (item.kernel, item.filesystem, item.user, item.benchmark.suite, item.chain, adds)
        groups.setdefault((*key, item.base_kernel), []).append(item)
    whole = [group for group in groups.values() if not _is_part(group, groups.values())]
    return tuple(
        Stack(
            kernel=group[0].kernel,
            setup=group[0].setup,
            filesystem=group[0].filesystem,
            user=group[0].user,
            heads=_heads(group[0]),
            costs=tuple(chain.from_iterable(_by_operation(group))),
        )
        for group in whole
    )


def _is_part(group: list[LayeredCost], groups: Iterable[list[LayeredCost]]) -> bool:
    return any(
        other is not group
        and _place(other[0]) == _place(group[0])
        and len(other[0].chain) > len(group[0].chain)
        and other[0].chain[: len(group[0].chain)] == group[0].chain
        and {item.benchmark.id for item in group} <= {item.benchmark.id for item in other}
        for other in groups
    )


def _place(item: LayeredCost) -> tuple[str, ...]:
    return (item.kernel, item.base_kernel, item.filesystem, item.user, item.benchmark.suite)


def _heads(item: LayeredCost) -> tuple[str, ...]:
    """Name the layers; those that add the same are told apart by the module that is added."""
    heads: list[str] = []
    below: tuple[Layer, ...] = ()
    for layer in item.layers:
        heads.append(f"+ {layer_words(layer.adds, below)}")
        below = layer.adds
    named = (
        f"{head}: {layer.setup.rpartition('+')[2]}" if heads.count(head) > 1 else head
        for head, layer in zip(heads, item.layers, strict=True)
    )
    return (BASE, *named)


def layer_words(adds: tuple[Layer, ...], below: tuple[Layer, ...] = ()) -> str:
    """Name what a layer adds; below is what the layer under it adds.

    An enforced policy decides as one that only logs does: over that one it adds enforcing only.
    """
    kinds = [kind for kind in adds if not (kind is Layer.PERMISSIVE and Layer.POLICY in adds)]
    if kinds == [Layer.POLICY] and Layer.PERMISSIVE in below:
        return "enforcing"
    found = [_WORDS[kind] for kind in kinds]
    return " and ".join(filter(None, (", ".join(found[:-1]), *found[-1:]))) or "a change"


def chapter(report: Report, *, short: bool = False, narrow: bool = False) -> Chapter:
    """Show what each layer of each setup costs."""
    found = stacks(report)
    rule = (
        "A layer's cost is the difference of the typical counts of two setups, in "
        f"{numbers.unit_word(report.unit)} and in per cent of the base; the layers sum to the "
        "typical cost of the tested setup. A layer below zero makes the operation cheaper."
    )
    told = [item for item in found if narrow and _is_told(report, item)]
    rest = [item for item in found if item not in told]
    few = short or (narrow and sum(len(item.costs) for item in rest) > _MANY)
    listings = [_listing(report, item, short=few, narrow=narrow) for item in rest]
    if told:
        listings.append(_briefly(told))
    return Chapter("layers", HEADING, rule, tuple(listings))


def _is_told(report: Report, stack: Stack) -> bool:
    """Say whether a stack is one layer over the baseline, which the overheads show already."""
    base = (stack.costs[0].base_setup, stack.costs[0].base_kernel)
    return len(stack.heads) == 2 and base == (report.baseline_setup, stack.kernel)


def _briefly(found: Iterable[Stack]) -> Listing:
    names = dict.fromkeys(f"{item.setup} ({item.heads[1]})" for item in found)
    text = f"The overhead in the tables above is the cost of one layer: {', '.join(names)}."
    return Listing("Setups of one layer", (), (), sayings=(Saying(text),))


def _listing(report: Report, stack: Stack, *, short: bool, narrow: bool) -> Listing:
    shown = dearest((stack,)) if short else ()
    costs = [item for item in stack.costs if not short or item.benchmark.id in shown]
    odd = any(not layer.repeats for item in costs for layer in item.layers)
    lead = [_legend(stack)]
    if short:
        lead.append(
            "For each operation the variant with the largest cost above the base; markdown and "
            "HTML have all."
        )
    return Listing(
        stack.title,
        (*names("benchmark"), *map(Column, stack.heads), Column("in all")),
        tuple(_row(item, narrow=narrow, mark=" " * (narrow and odd)) for item in costs),
        lead=tuple(lead),
        more=tuple(_origins(report, stack)),
    )


def _legend(stack: Stack) -> str:
    first = stack.costs[0]
    base = first.base_setup
    if first.base_kernel != first.kernel:
        base += f" on {first.base_kernel}"
    parts = [f"{BASE} = {base}"]
    parts += [
        f"{head} = {layer.setup} over {layer.over}"
        for head, layer in zip(stack.heads[1:], first.layers, strict=True)
    ]
    return "; ".join(parts) + "."


def _by_operation(costs: Iterable[LayeredCost]) -> Iterable[list[LayeredCost]]:
    return numbers.by_operation(costs, lambda item: item.benchmark).values()


def dearest(found: Iterable[Stack]) -> tuple[str, ...]:
    """Return, for each operation, the variant to which the layers of any stack add most."""
    costs = [item for stack in found for item in stack.costs]
    return tuple(
        max(group, key=lambda item: abs(item.value - item.base_value)).benchmark.id
        for group in _by_operation(costs)
    )


def _row(item: LayeredCost, *, narrow: bool, mark: str) -> tuple[str, ...]:
    """Write one cost; mark stands where a number repeats, so that digits stand below digits."""
    added = item.value - item.base_value
    share = added / item.base_value if item.base_value else None
    whole = f"{numbers.count(item.value)}{_share(share, narrow=narrow)}"
    layers = (
        f"{numbers.change(layer.difference)}{_share(layer.share, narrow=narrow)}"
        f"{mark if layer.repeats else numbers.UNREPEATED_MARK}"
        for layer in item.layers
    )
    return (item.benchmark.id, numbers.count(item.base_value), *layers, whole)


def _share(share: float | None, *, narrow: bool) -> str:
    if narrow:
        return f" {numbers.percent(share, space='')}"
    return f" ({numbers.percent(share)})"


def _origins(report: Report, stack: Stack) -> Iterator[str]:
    """Say where each layer's cost lies, in runs that were made to tell."""
    for head, layer in zip(stack.heads[1:], stack.costs[0].layers, strict=True):
        for item in report.layer_origins:
            place = (item.kernel, item.filesystem, item.user, item.setup, item.over)
            wanted = (stack.kernel, stack.filesystem, stack.user, layer.setup, layer.over)
            if place == wanted:
                yield f"The layer {head}: {_origin(item)}"


def _origin(item: LayerOrigin) -> str:
    hooks = [
        f"{line.hook} {line.difference_insns:+,} ({numbers.percent(line.share, sign=False)})"
        for line in item.hooks
    ]
    functions = [
        f"{line.function} [{line.module or 'kernel'}] {line.difference_insns:+,}"
        for line in item.functions
    ]
    return (
        f"{item.difference_insns:+,} instructions over {item.operations} operations. "
        f"Hooks: {_list(hooks, item.more_hooks)}. "
        f"Functions by their own instructions: {_list(functions, item.more_functions)}."
    )


def _list(found: list[str], more: int) -> str:
    text = ", ".join(found) or "none changed"
    return f"{text}, and {more:,} more" if more else text
