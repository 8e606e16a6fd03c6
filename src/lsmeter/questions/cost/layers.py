# SPDX-License-Identifier: GPL-2.0-or-later
"""Hook overhead and policy evaluation told apart, layer upon layer; pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from lsmeter.core.groups import grouped
from lsmeter.core.model import Place
from lsmeter.core.model.setup import Layer
from lsmeter.questions.attribution.tables import layer_sentence
from lsmeter.questions.cells.layers import LayerCost, LayeredCost
from lsmeter.questions.cost.model import Report
from lsmeter.tables import numbers
from lsmeter.tables.model import Detail, Kind, Section, Shown, Table, Value, columns
from lsmeter.tables.values import change, count, percent

HEADING = "Hook overhead and policy evaluation"
BASE = "base"
_ODD = numbers.UNREPEATED_MARK
_WORDS = {
    Layer.HOOKS: "hooks",
    Layer.PERMISSIVE: "permissive policy",
    Layer.POLICY: "policy",
    Layer.NETWORK: "labelled packets",
    Layer.AUDIT: "audit",
    Layer.INTEGRITY: "integrity",
}


@dataclass(frozen=True)
class Stack:
    """One tested setup in one place: benchmarks whose cost has the same layers.

    heads name the layers from below, the base first.
    """

    place: Place
    heads: tuple[str, ...]
    costs: tuple[LayeredCost, ...]


def stacks(report: Report) -> tuple[Stack, ...]:
    """Arrange the layered costs of a report.

    A setup that is but a lower part of another is shown as that one's layers only.
    """
    groups = grouped(
        ((item.place, item.chain, tuple(of.adds for of in item.layers), item.base.kernel), item)
        for item in report.layers
    )
    return tuple(
        Stack(
            group[0].place,
            _heads(group[0]),
            tuple(item for part in numbers.by_operation(group).values() for item in part),
        )
        for group in groups.values()
        if not _is_part(group, groups.values())
    )


def _is_part(group: list[LayeredCost], groups: Iterable[list[LayeredCost]]) -> bool:
    def surroundings(item: LayeredCost) -> tuple[Place, str]:
        return replace(item.place, setup=""), item.base.kernel

    first = group[0]
    return any(
        other is not group
        and surroundings(other[0]) == surroundings(first)
        and len(other[0].chain) > len(first.chain)
        and other[0].chain[: len(first.chain)] == first.chain
        and {item.benchmark.id for item in group} <= {item.benchmark.id for item in other}
        for other in groups
    )


def _heads(item: LayeredCost) -> tuple[str, ...]:
    """Name the layers; those that add the same are told apart by the module that is added."""
    adds = [layer.adds for layer in item.layers]
    heads = [f"+ {layer_words(*pair)}" for pair in zip(adds, [(), *adds], strict=False)]
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


def section(report: Report, detail: Detail) -> Section:
    """Show what each layer of each setup costs; a single one only where there is much room."""
    rule = (
        f"A layer's cost is the difference of the {report.words.typical} "
        f"{'counts' if report.words.repeats else 'times'} of two setups, in "
        f"{numbers.unit_word(report.unit)} and in % of the base; the layers sum to the "
        f"{report.words.typical} cost of the tested setup. A layer below zero is a gain."
    )
    full = detail is Detail.FULL
    found = (item for item in stacks(report) if full or not _is_single(report, item))
    tables = () if detail is Detail.SHORT else tuple(_table(report, s, full=full) for s in found)
    return Section(HEADING, (rule,), tables, key="layers")


def brief(report: Report) -> Iterator[str]:
    """Say in one line what the layers of each setup cost: medians, in % of the base."""
    texts = []
    for stack in stacks(report):
        if not _is_single(report, stack):
            costs = [cost.layers for cost in stack.costs if not cost.benchmark.control]
            layers = ", ".join(
                f"{head[2:]} {percent(_median(each))}"
                for head, *each in zip(stack.heads[1:], *costs, strict=True)
            )
            texts.append(f"{stack.place.setup} = {stack.costs[0].base.setup} + {layers}")
    if texts:
        yield f"Layers of the cost, medians in % of the base: {'; '.join(texts)}."


def _median(found: Iterable[LayerCost]) -> float:
    shares = [item.share for item in found if item.share is not None]
    return statistics.median(shares or [math.nan])


def _is_single(report: Report, stack: Stack) -> bool:
    """Say whether a stack is one layer over the baseline: the overheads show it already."""
    below = replace(stack.place, setup=report.baseline_setup)
    return len(stack.heads) == 2 and stack.costs[0].base == below


def _table(report: Report, stack: Stack, *, full: bool) -> Table:
    odd = any(not layer.repeats for item in stack.costs for layer in item.layers)
    return Table(
        "layers",
        stack.place.label,
        (*columns(Kind.NAME, "benchmark"), *columns(Kind.COUNT, *stack.heads, "total")),
        tuple(_row(item, full=full, mark=" " * odd) for item in stack.costs),
        lead=(_legend(stack),),
        more=tuple(_origins(report, stack)),
    )


def _legend(stack: Stack) -> str:
    first = stack.costs[0]
    base = first.base.setup
    if first.base.kernel != stack.place.kernel:
        base += f" on {first.base.kernel}"
    parts = [f"{BASE} = {base}"]
    parts += [
        f"{head} = {layer.setup} over {layer.over}"
        for head, layer in zip(stack.heads[1:], first.layers, strict=True)
    ]
    return "; ".join(parts) + "."


def largest(found: Iterable[Stack]) -> tuple[str, ...]:
    """Return, for each operation, the variant to which the layers of any stack add most."""
    costs = [item for stack in found for item in stack.costs]
    return tuple(
        max(group, key=lambda item: abs(item.value - item.base_value)).benchmark.id
        for group in numbers.by_operation(costs).values()
    )


def _row(item: LayeredCost, *, full: bool, mark: str) -> tuple[Value, ...]:
    """Write one cost; mark stands where a number repeats, so that digits stand below digits."""

    def cell(value: float, text: str, share: float | None, mark: str) -> Shown:
        if full:
            return Shown(value, text, detail=f"{percent(share)}{mark.strip()}")
        return Shown(value, f"{text} {percent(share, space='')}{mark}")

    share = (item.value - item.base_value) / item.base_value if item.base_value else None
    layers = (
        cell(part.difference, change(part.difference), part.share, mark if part.repeats else _ODD)
        for part in item.layers
    )
    return (
        item.benchmark.id,
        item.base_value,
        *layers,
        cell(item.value, count(item.value), share, ""),
    )


def _origins(report: Report, stack: Stack) -> Iterator[str]:
    """Say where each layer's cost lies, in runs that were made to tell."""
    for head, layer in zip(stack.heads[1:], stack.costs[0].layers, strict=True):
        place = replace(stack.place, setup=layer.setup)
        for item in report.layer_origins:
            if item.place == place and item.baseline.cell.place.setup == layer.over:
                yield f"The layer {head}: {layer_sentence(item)}"
