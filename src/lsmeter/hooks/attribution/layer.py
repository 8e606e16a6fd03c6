# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a layer's cost lies: the hooks and functions that grew from one setup to the next; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lsmeter.hooks.attribution.account import FunctionLine, HookLine
from lsmeter.hooks.attribution.load import AttributedCell, paired_trees
from lsmeter.hooks.attribution.pairs import Pair
from lsmeter.hooks.attribution.profile import Function, Tree
from lsmeter.hooks.attribution.summary import diff, hook_shares
from lsmeter.layers import LayeredCost

_SHOWN = 5  # hooks, and functions


@dataclass(frozen=True)
class LayerOrigin:
    """Where the cost of one layer lies, summed over operations, each counted once.

    setup has the layer, over has not. difference_insns is that of all operations that both have.
    hooks are inclusive; functions count their own instructions, inside hooks and outside. Both
    are the largest ones; more_hooks and more_functions say how many are left out.
    """

    kernel: str
    setup: str
    over: str
    filesystem: str
    user: str
    operations: int
    difference_insns: int
    hooks: tuple[HookLine, ...]
    more_hooks: int
    functions: tuple[FunctionLine, ...]
    more_functions: int


def layer_origins(
    layers: Iterable[LayeredCost], cells: Iterable[AttributedCell]
) -> tuple[LayerOrigin, ...]:
    """Return where each layer's cost lies, for layers of which both setups have attribution."""
    known: dict[tuple[str, str, str, str], list[AttributedCell]] = {}
    for item in cells:
        cell = item.cell
        place = (cell.kernel, cell.setup, cell.filesystem, cell.user)
        known.setdefault(place, []).append(item)
    pairs: dict[tuple[str, ...], LayerOrigin | None] = {}
    for cost in layers:
        kernels = (cost.base_kernel, *(cost.kernel for _ in cost.layers))
        for below, layer in zip(kernels, cost.layers, strict=False):
            key = (cost.kernel, layer.setup, layer.over, cost.filesystem, cost.user)
            if key in pairs:
                continue
            before = known.get((below, layer.over, cost.filesystem, cost.user), [])
            after = known.get((cost.kernel, layer.setup, cost.filesystem, cost.user), [])
            pairs[key] = _origin(key, *_trees(before, after))
    return tuple(item for item in pairs.values() if item is not None)


def _trees(
    before: Iterable[AttributedCell], after: Iterable[AttributedCell]
) -> tuple[dict[str, Tree], dict[str, Tree]]:
    """Return the trees of both sides, of the same peak, by benchmark."""
    tested = list(after)
    found: dict[str, Pair] = {}
    for old in before:
        for new in tested:
            if old.cell.suite == new.cell.suite:
                found.update(paired_trees(old, new))
    baseline = {name: pair.baseline for name, pair in found.items()}
    return baseline, {name: pair.tested for name, pair in found.items()}


def _origin(
    key: tuple[str, str, str, str, str], before: Mapping[str, Tree], after: Mapping[str, Tree]
) -> LayerOrigin | None:
    names = sorted(before.keys() & after.keys())
    if not names:
        return None
    kernel, setup, over, filesystem, user = key
    hooks = [
        HookLine(
            item.change.hook,
            item.change.baseline_calls,
            item.change.tested_calls,
            item.change.difference,
            item.share,
        )
        for item in hook_shares(before, after)
        if item.change.difference
    ]
    functions = _functions(before, after)
    return LayerOrigin(
        kernel=kernel,
        setup=setup,
        over=over,
        filesystem=filesystem,
        user=user,
        operations=len(names),
        difference_insns=sum(after[name].insns - before[name].insns for name in names),
        hooks=tuple(hooks[:_SHOWN]),
        more_hooks=max(0, len(hooks) - _SHOWN),
        functions=tuple(functions[:_SHOWN]),
        more_functions=max(0, len(functions) - _SHOWN),
    )


def _functions(before: Mapping[str, Tree], after: Mapping[str, Tree]) -> list[FunctionLine]:
    def line(function: Function, difference: int) -> FunctionLine:
        return FunctionLine(function.name, function.module, difference)

    found = [
        line(change.function, change.difference)
        for change in diff(before, after).functions
        if change.difference
    ]
    return sorted(found, key=lambda item: -abs(item.difference_insns))
