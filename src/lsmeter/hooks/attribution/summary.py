# SPDX-License-Identifier: GPL-2.0-or-later
"""Sums over operations: what each hook, each module and each function costs; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lsmeter.hooks.attribution.explain import (
    Cost,
    FunctionChange,
    HookChange,
    Parts,
    function_changes,
    hook_changes,
    merge_functions,
    merge_hooks,
    take_apart,
)
from lsmeter.hooks.attribution.profile import Function, Tree

Trees = Mapping[str, Tree]  # by benchmark id


@dataclass(frozen=True)
class HookShare:
    """One hook over all operations of two setups, each operation counted once.

    share is its part of the whole difference (0.25 = 25 %), None when nothing changed.
    """

    change: HookChange
    share: float | None
    operations: tuple[str, ...]  # that call it in either setup

    @property
    def insns_per_call(self) -> float:
        """Inclusive instructions of one call in the tested setup, on average."""
        calls = self.change.tested_calls
        return self.change.tested_insns / calls if calls else 0.0


@dataclass(frozen=True)
class FunctionCost:
    """A function over all operations: calls, own instructions, and those of all below it."""

    function: Function
    calls: int
    self_insns: int
    inclusive_insns: int


@dataclass(frozen=True)
class OperationDiff:
    """What changed in one operation between two runs."""

    benchmark: str
    difference: int  # instructions of one operation: b - a
    hooks: tuple[HookChange, ...]  # those that changed
    functions: tuple[FunctionChange, ...]  # those that changed, in and outside hooks


@dataclass(frozen=True)
class RunDiff:
    """What changed between two runs: by operation, and summed over the operations of both."""

    operations: tuple[OperationDiff, ...]
    hooks: tuple[HookChange, ...]
    functions: tuple[FunctionChange, ...]
    only_a: tuple[str, ...]  # operations that only one of them has
    only_b: tuple[str, ...]


def hook_shares(baseline: Trees, tested: Trees) -> tuple[HookShare, ...]:
    """Return every hook over the operations that both have, the largest change first."""
    names = sorted(baseline.keys() & tested.keys())
    before = {name: take_apart(baseline[name]) for name in names}
    after = {name: take_apart(tested[name]) for name in names}
    whole = sum(tested[name].insns - baseline[name].insns for name in names)
    return tuple(
        HookShare(
            change=change,
            share=change.difference / whole if whole else None,
            operations=tuple(
                name
                for name in names
                if change.hook in before[name].hooks or change.hook in after[name].hooks
            ),
        )
        for change in hook_changes(
            merge_hooks(before[name].hooks for name in names),
            merge_hooks(after[name].hooks for name in names),
        )
    )


def function_costs(trees: Iterable[Tree]) -> tuple[FunctionCost, ...]:
    """Return every function that ran, the largest own cost first.

    A recursive function's inclusive instructions are counted once, in its outermost call.
    """
    own: dict[Function, Cost] = {}
    inclusive: dict[Function, int] = {}
    for tree in trees:
        below = _inclusive(tree)
        outermost = _outermost(tree)
        for index, node in enumerate(tree.nodes):
            function = node.function
            own[function] = own.get(function, Cost()) + Cost(node.calls, node.self_insns)
            if outermost[index]:
                inclusive[function] = inclusive.get(function, 0) + below[index]
    costs = (
        FunctionCost(function, cost.calls, cost.self_insns, inclusive[function])
        for function, cost in own.items()
    )
    return tuple(sorted(costs, key=lambda item: (-item.self_insns, item.function.name)))


def module_functions(trees: Iterable[Tree], module: str) -> tuple[FunctionCost, ...]:
    """Return the functions of one security module, the largest own cost first."""
    return tuple(cost for cost in function_costs(trees) if cost.function.module == module)


def diff(run_a: Trees, run_b: Trees) -> RunDiff:
    """Say which hook and which function changed between two runs of the same setup."""
    names = sorted(run_a.keys() & run_b.keys())
    before = {name: take_apart(run_a[name]) for name in names}
    after = {name: take_apart(run_b[name]) for name in names}
    operations = tuple(
        OperationDiff(
            benchmark=name,
            difference=run_b[name].insns - run_a[name].insns,
            hooks=_changed(hook_changes(before[name].hooks, after[name].hooks)),
            functions=function_changes(_everywhere(before[name]), _everywhere(after[name])),
        )
        for name in names
    )
    return RunDiff(
        operations=operations,
        hooks=_changed(
            hook_changes(
                merge_hooks(before[name].hooks for name in names),
                merge_hooks(after[name].hooks for name in names),
            )
        ),
        functions=function_changes(
            merge_functions(_everywhere(before[name]) for name in names),
            merge_functions(_everywhere(after[name]) for name in names),
        ),
        only_a=tuple(sorted(run_a.keys() - run_b.keys())),
        only_b=tuple(sorted(run_b.keys() - run_a.keys())),
    )


def _everywhere(parts: Parts) -> dict[Function, Cost]:
    return merge_functions((parts.outside, *(hook.functions for hook in parts.hooks.values())))


def _changed(hooks: Iterable[HookChange]) -> tuple[HookChange, ...]:
    return tuple(
        hook
        for hook in hooks
        if hook.difference or hook.baseline_calls != hook.tested_calls or hook.functions
    )


def _inclusive(tree: Tree) -> Sequence[int]:
    """Return the instructions of each node and all below it."""
    below = [node.self_insns for node in tree.nodes]
    for index in range(len(tree.nodes) - 1, -1, -1):
        parent = tree.nodes[index].parent
        if parent >= 0:
            below[parent] += below[index]
    return below


def _outermost(tree: Tree) -> Sequence[bool]:
    """Say of each node whether its function is not among its callers."""
    children: list[list[int]] = [[] for _ in tree.nodes]
    roots: list[int] = []
    for index, node in enumerate(tree.nodes):
        (children[node.parent] if node.parent >= 0 else roots).append(index)
    flags = [True] * len(tree.nodes)
    active: set[Function] = set()
    work = [(index, False) for index in roots]
    while work:
        index, leaving = work.pop()
        function = tree.nodes[index].function
        if leaving:
            active.discard(function)
            continue
        flags[index] = function not in active
        if flags[index]:
            active.add(function)
            work.append((index, True))
        work += [(child, False) for child in children[index]]
    return flags
