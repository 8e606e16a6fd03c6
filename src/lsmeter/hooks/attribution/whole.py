# SPDX-License-Identifier: GPL-2.0-or-later
"""What an operation costs in all, deferred work included, by context, hook and function; pure.

The tree of a bulk window has N operations back to back and all that they left to be done later.
What the same guest does when it is idle is subtracted, function by function; the rest is divided
by N. User space is left out. Every instruction of the kernel belongs to exactly one place: a
context, the outermost hook above it in that context (or none), and the function. So the parts
always sum to the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import fsum
from typing import NamedTuple

from lsmeter.hooks.attribution.contexts import Context, contexts
from lsmeter.hooks.attribution.modules import base_name
from lsmeter.hooks.attribution.profile import Function, Tree

# What a security module's function is called by that runs later: the hook whose work it ends.
_CONTINUED = {"inode_free_by_rcu": "security_inode_free"}


@dataclass(frozen=True)
class Amount:
    """Calls and instructions of one operation, on average over a window."""

    calls: float = 0.0
    insns: float = 0.0


class Place(NamedTuple):
    """Where instructions are spent: hook is "" outside of hooks, and function a name."""

    context: Context
    hook: str
    function: str


@dataclass(frozen=True)
class WholeCost:
    """The kernel's instructions of one operation by place.

    hook_calls are the calls of each hook in each context, but those from inside of a hook.
    modules are the security modules of functions, by name, of those that belong to one.
    """

    places: Mapping[Place, Amount]
    hook_calls: Mapping[tuple[Context, str], float]
    modules: Mapping[str, str]

    @property
    def insns(self) -> float:
        """All instructions of the kernel that one operation costs."""
        return fsum(amount.insns for amount in self.places.values())

    def by_context(self) -> dict[Context, float]:
        """Return the instructions of each context in which any ran."""
        return sum_by_context(
            (place.context, amount.insns) for place, amount in self.places.items()
        )


@dataclass(frozen=True)
class Idle:
    """What a guest spends on itself by place, in each instruction of its time."""

    rate: WholeCost


def idle_cost(windows: Iterable[Tree]) -> Idle:
    """Return what the guest of these windows, in which it does nothing, spends on itself."""
    known = list(windows)
    insns = sum(tree.insns for tree in known)
    share = 1 / insns if insns > 0 else 0.0
    return Idle(combined((_counted(tree), share) for tree in known))


def whole_cost(
    bulk: Tree, operations: int, idle: Idle | None = None, *, window_insns: int | None = None
) -> WholeCost:
    """Return what one of the `operations` in a bulk window costs.

    What an idle guest spends is subtracted. window_insns is the window's length on the clock;
    without it, what the tree has. Raises ValueError where there are no operations.
    """
    if operations < 1:
        raise ValueError(f"a bulk window of {operations} operations")
    parts = [(_counted(bulk), 1 / operations)]
    if idle is not None:
        window = bulk.insns if window_insns is None else window_insns
        parts.append((idle.rate, -window / operations))
    return combined(parts)


def mean_cost(costs: Iterable[WholeCost]) -> WholeCost:
    """Return the mean over boots, or windows; ValueError for none."""
    known = list(costs)
    if not known:
        raise ValueError("no window")
    return known[0] if len(known) == 1 else combined((cost, 1 / len(known)) for cost in known)


def combined(parts: Iterable[tuple[WholeCost, float]]) -> WholeCost:
    """Return the sum of costs, each times its factor."""
    places: dict[Place, list[float]] = {}
    hook_calls: dict[tuple[Context, str], float] = {}
    modules: dict[str, str] = {}
    for cost, factor in parts:
        for place, amount in cost.places.items():
            both = places.setdefault(place, [0.0, 0.0])
            both[0] += amount.calls * factor
            both[1] += amount.insns * factor
        for key, count in cost.hook_calls.items():
            hook_calls[key] = hook_calls.get(key, 0.0) + count * factor
        modules.update(cost.modules)
    amounts = {place: Amount(calls, insns) for place, (calls, insns) in places.items()}
    return WholeCost(amounts, hook_calls, modules)


def sum_by_context(parts: Iterable[tuple[Context, float]]) -> dict[Context, float]:
    """Sum instructions by context, in the order of the contexts."""
    found: dict[Context, list[float]] = {}
    for context, insns in parts:
        found.setdefault(context, []).append(insns)
    return {context: fsum(found[context]) for context in Context if context in found}


def _counted(tree: Tree) -> WholeCost:
    """Give each instruction of a window to its place; user space is left out."""
    places: dict[Place, list[int]] = {}
    calls: dict[tuple[Context, str], float] = {}
    modules: dict[str, str] = {}
    owners: list[str] = []  # of each node: the hook above it in its context, "" for none
    found = contexts(tree)
    for node, context in zip(tree.nodes, found, strict=True):
        # Work that happens to run below a hook, but in a context of its own, is not the hook's.
        same = node.parent >= 0 and found[node.parent] is context
        owner = owners[node.parent] if same else ""
        if not owner:
            owner = _hook(node.function, context)
            if owner:
                calls[context, owner] = calls.get((context, owner), 0.0) + node.calls
        owners.append(owner)
        if context is Context.USER:
            continue
        if node.function.module:
            modules[node.function.name] = node.function.module
        both = places.setdefault(Place(context, owner, node.function.name), [0, 0])
        both[0] += node.calls
        both[1] += node.self_insns
    amounts = {place: Amount(count, insns) for place, (count, insns) in places.items()}
    return WholeCost(amounts, calls, modules)


@lru_cache(maxsize=1 << 16)
def _hook(function: Function, context: Context) -> str:
    """Return the hook that this function is, or stands for: "" for none.

    What a security module has done later is called by others than hooks, so that the first of
    its functions stands for the hook.
    """
    name = base_name(function.name)
    if function.hook:
        return name
    if context.inline:
        return ""
    return _CONTINUED.get(name, name if function.module else "")
