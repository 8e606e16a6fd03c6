# SPDX-License-Identifier: GPL-2.0-or-later
"""What one operation costs by context, hook and function, and how two such costs differ; pure.

There are two averages: the typical call (the tree of the most frequent sample) and the whole cycle
(the trees of many cycles back to back and of what they left to be done, divided
by N). Either way every instruction belongs to exactly one site, so that the parts always sum to
the whole. Costs of a typical call are integers and stay so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import fsum
from typing import NamedTuple, TypeVar

from lsmeter.questions.attribution.profile import (
    INTERRUPT,
    Context,
    Function,
    Node,
    Tree,
    contexts,
)
from lsmeter.sources.kernels.functions import base_name

# What a security module's function is called by that runs later: the hook whose work it ends.
_CONTINUED = {"inode_free_by_rcu": "security_inode_free"}
_INTERRUPTS = Function(INTERRUPT)
_LEAST = 1e-9  # instructions, or calls; below it is rounding


class Amount(NamedTuple):
    """Calls and instructions of one operation."""

    calls: float = 0
    insns: float = 0


class Site(NamedTuple):
    """Where instructions are spent: hook is the outermost one in the context, "" for none."""

    context: Context
    hook: str
    function: Function


@dataclass(frozen=True)
class Cost:
    """The instructions of one operation by site.

    hook_calls are the calls of each hook in each context, but those from inside of a hook.
    """

    sites: Mapping[Site, Amount]
    hook_calls: Mapping[tuple[Context, str], float]

    @cached_property
    def insns(self) -> float:
        """All instructions of one operation."""
        return exact_sum(amount.insns for amount in self.sites.values())


@dataclass(frozen=True)
class Change:
    """How the cost of one hook or function changed in one context, per operation."""

    context: Context
    hook: str
    baseline_calls: float
    baseline_insns: float
    tested_calls: float
    tested_insns: float

    @property
    def deferred(self) -> bool:
        """Whether the caller does not wait for it."""
        return not self.context.inline

    @property
    def difference_insns(self) -> float:
        """Instructions: tested - baseline."""
        return self.tested_insns - self.baseline_insns

    @property
    def difference_per_call(self) -> float | None:
        """Difference of the instructions per call; None when one side never called it."""
        if self.baseline_calls <= 0 or self.tested_calls <= 0:
            return None
        return self.tested_insns / self.tested_calls - self.baseline_insns / self.baseline_calls


@dataclass(frozen=True)
class FunctionChange(Change):
    """How a function's own instructions changed, below one hook or outside of hooks."""

    function: str
    module: str


def exact_sum(values: Iterable[float]) -> float:
    """Sum integers to an integer, and floats without losing digits."""
    found = list(values)
    return sum(found) if all(isinstance(item, int) for item in found) else fsum(found)


def typical_cost(tree: Tree) -> Cost:
    """Return the cost of the call that a tree is of.

    Interrupts that fell into it are one site without hooks; all else is in line.
    """
    return _counted(tree, typical=True)


def whole_cost(parts: Iterable[tuple[Tree, float]]) -> Cost:
    """Return what one cycle costs: the sum of trees of windows, each times its factor.

    User space is left out.
    """
    return combined((_counted(tree, typical=False), factor) for tree, factor in parts)


def combined(parts: Iterable[tuple[Cost, float]]) -> Cost:
    """Return the sum of costs, each times its factor."""
    calls: dict[tuple[Context, str], float] = {}
    sites: list[tuple[Site, float, float]] = []
    for cost, factor in parts:
        for hook, count in cost.hook_calls.items():
            calls[hook] = calls.get(hook, 0) + count * factor
        sites += ((key, i.calls * factor, i.insns * factor) for key, i in cost.sites.items())
    return Cost(_summed(sites), calls)


K = TypeVar("K")


def _summed(parts: Iterable[tuple[K, float, float]]) -> dict[K, Amount]:
    """Sum calls and instructions by key."""
    found: dict[K, Amount] = {}
    for key, calls, insns in parts:
        known = found.get(key, Amount())
        found[key] = Amount(known.calls + calls, known.insns + insns)
    return found


def by_function(cost: Cost) -> Cost:
    """Return the in-line cost of functions, no matter in which hook they run."""
    inline = (item for item in cost.sites.items() if item[0].context.inline)
    return Cost(_summed((Site(Context.CALL, "", i.function), *both) for i, both in inline), {})


def function_changes(before: Cost, after: Cost) -> tuple[FunctionChange, ...]:
    """Return every function at every site that changed, the largest change first.

    A function is the same on both sides when its name is; only its module may be known better
    on one of them.
    """
    old, new = _by_name(before), _by_name(after)
    names = {_key(site): site.function for side in (before, after) for site in sorted(side.sites)}
    changes = []
    for key, function in names.items():
        was, now = old.get(key, Amount()), new.get(key, Amount())
        if max(abs(now.insns - was.insns), abs(now.calls - was.calls)) > _LEAST:
            changes.append(FunctionChange(*key[:2], *was, *now, *function))
    changes.sort(key=lambda i: (-abs(i.difference_insns), i.function, i.context, i.hook))
    return tuple(changes)


def _key(site: Site) -> tuple[Context, str, str]:
    return site.context, site.hook, site.function.name


def _by_name(cost: Cost) -> dict[tuple[Context, str, str], Amount]:
    return _summed((_key(site), *amount) for site, amount in cost.sites.items())


def _counted(tree: Tree, *, typical: bool) -> Cost:
    """Give each instruction of a tree to its site; user space is left out."""
    parts: list[tuple[Site, int, int]] = []
    calls: dict[tuple[Context, str], float] = {}
    for node, site, entered in locate_nodes(tree, typical=typical):
        if entered:
            key = (site.context, site.hook)
            calls[key] = calls.get(key, 0) + node.calls
        if site.context is not Context.USER:
            parts.append((site, node.calls, node.self_insns))
    return Cost(_summed(parts), calls)


def locate_nodes(tree: Tree, *, typical: bool) -> Iterator[tuple[Node, Site, bool]]:
    """Yield each node with its site, and whether it is what the site's hook begins with.

    The tree is of a typical call, whose interrupts are not looked into, or of a window.
    """
    known = _of_call(tree) if typical else contexts(tree)
    owners: list[str] = []  # of each node: the hook above it in its context, "" for none
    for node, context in zip(tree.nodes, known, strict=True):
        closed = context is Context.INTERRUPT and typical
        # Work that happens to run below a hook, but in a context of its own, is not the hook's.
        same = node.parent >= 0 and known[node.parent] is context
        above = owners[node.parent] if same else ""
        owner = above or ("" if closed else _hook(node.function, context))
        owners.append(owner)
        site = Site(context, owner, _INTERRUPTS if closed else node.function)
        yield node, site, bool(owner) and not above


def _of_call(tree: Tree) -> list[Context]:
    found: list[Context] = []
    for node in tree.nodes:
        root = Context.INTERRUPT if node.function.name == INTERRUPT else Context.CALL
        found.append(root if node.parent < 0 else found[node.parent])
    return found


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


@dataclass(frozen=True)
class Kept:
    """A tree that the plugin kept, and how many samples had its total."""

    tree: Tree
    samples: int

    @cached_property
    def cost(self) -> Cost:
        """What the call costs."""
        return typical_cost(self.tree)

    @cached_property
    def outside(self) -> dict[str, float]:
        """Instructions of the functions that are in no hook and of no security module, by name."""
        return {
            site.function.name: amount.insns
            for site, amount in self.cost.sites.items()
            if site.context.inline and not site.hook and not site.function.module
        }
