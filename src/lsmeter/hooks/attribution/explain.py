# SPDX-License-Identifier: GPL-2.0-or-later
"""Explains a difference to the last instruction: hooks, and what remains, by function; pure.

Every instruction of a call tree belongs to exactly one of: the outermost hook above it, the
interrupts that fell into the sample, or the function that runs outside of both. So the parts
always sum to the whole, whatever the trees look like.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from lsmeter.hooks.attribution.causes import Cause, Delta, find_causes
from lsmeter.hooks.attribution.profile import INTERRUPT, Function, Tree


@dataclass(frozen=True)
class Cost:
    """Calls, and the instructions of the function itself."""

    calls: int = 0
    self_insns: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.calls + other.calls, self.self_insns + other.self_insns)


@dataclass(frozen=True)
class HookCost:
    """What one hook cost in one tree: functions holds all that ran below it, and itself.

    calls are those from outside of any hook; a hook that another hook calls is part of it.
    """

    calls: int
    functions: Mapping[Function, Cost]

    @property
    def insns(self) -> int:
        """Inclusive instructions of all calls."""
        return sum(cost.self_insns for cost in self.functions.values())

    def by_module(self) -> dict[str, int]:
        """Return the instructions of each module below the hook."""
        found: dict[str, int] = {}
        for function, cost in self.functions.items():
            found[function.module] = found.get(function.module, 0) + cost.self_insns
        return found


@dataclass(frozen=True)
class Parts:
    """A tree taken apart; the three parts sum to its total."""

    hooks: Mapping[str, HookCost]
    outside: Mapping[Function, Cost]
    interrupt_insns: int


@dataclass(frozen=True)
class FunctionChange:
    """How the cost of one function changed, in one place or over many."""

    function: Function
    baseline: Cost
    tested: Cost

    @property
    def difference(self) -> int:
        """Instructions of its own: tested - baseline."""
        return self.tested.self_insns - self.baseline.self_insns

    @property
    def per_call(self) -> float | None:
        """Difference of its own instructions per call; None when one side never called it."""
        if not self.baseline.calls or not self.tested.calls:
            return None
        return (
            self.tested.self_insns / self.tested.calls
            - self.baseline.self_insns / self.baseline.calls
        )


@dataclass(frozen=True)
class HookChange:
    """How the inclusive cost of one hook changed, and the functions below it that changed."""

    hook: str
    baseline_calls: int
    tested_calls: int
    baseline_insns: int
    tested_insns: int
    modules: tuple[tuple[str, int], ...]  # difference by module, largest first
    functions: tuple[FunctionChange, ...]  # those that changed, largest first

    @property
    def difference(self) -> int:
        """Inclusive instructions: tested - baseline."""
        return self.tested_insns - self.baseline_insns

    @property
    def per_call(self) -> float | None:
        """Difference of inclusive instructions per call; None when one side never called it."""
        if not self.baseline_calls or not self.tested_calls:
            return None
        return self.tested_insns / self.tested_calls - self.baseline_insns / self.baseline_calls


@dataclass(frozen=True)
class Explanation:
    """Where the difference between two setups comes from, in one operation.

    difference = hooks + residue + interrupts + unseen. residue is what changed outside of the
    hooks, by function, and causes say why, where the trees prove it. unseen is what the clock
    counted and the trees do not have; it is 0 when the difference is not given. doubt says why
    the trees may not be those of the difference (a side does not repeat), and is empty if they are.
    """

    difference: int
    hooks: tuple[HookChange, ...] = ()
    residue: tuple[FunctionChange, ...] = ()
    interrupt_insns: int = 0
    unseen_insns: int = 0
    causes: tuple[Cause, ...] = ()
    doubt: str = ""
    hook_insns: int = field(init=False)
    residue_insns: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hook_insns", sum(hook.difference for hook in self.hooks))
        object.__setattr__(self, "residue_insns", sum(item.difference for item in self.residue))

    @property
    def exact(self) -> bool:
        """Whether hooks and named functions explain all of it, with nothing unnamed or doubtful."""
        return not self.doubt and self.difference == self.hook_insns + self.residue_insns


def take_apart(tree: Tree) -> Parts:
    """Give each instruction of a tree to its outermost hook, to interrupts, or to neither."""
    hooks: dict[str, dict[Function, Cost]] = {}
    hook_calls: dict[str, int] = {}
    outside: dict[Function, Cost] = {}
    interrupt_insns = 0
    owners: list[str] = []  # of each node: its outermost hook, "" for none, or INTERRUPT
    for node in tree.nodes:
        owner = owners[node.parent] if node.parent >= 0 else ""
        if not owner and node.parent < 0 and node.function.name == INTERRUPT:
            owner = INTERRUPT
        if not owner and node.function.hook:
            owner = node.function.name
            hook_calls[owner] = hook_calls.get(owner, 0) + node.calls
        owners.append(owner)
        if owner == INTERRUPT:
            interrupt_insns += node.self_insns
            continue
        costs = hooks.setdefault(owner, {}) if owner else outside
        costs[node.function] = costs.get(node.function, Cost()) + Cost(node.calls, node.self_insns)
    return Parts(
        {name: HookCost(hook_calls[name], costs) for name, costs in hooks.items()},
        outside,
        interrupt_insns,
    )


def explain_difference(
    baseline: Tree,
    tested: Tree,
    *,
    difference: int | None = None,
    doubt: str = "",
) -> Explanation:
    """Explain tested - baseline of one operation.

    difference is what the run reports for the operation (instructions); without it that of the
    trees' totals is explained. The totals contain the same few instructions of the markers. doubt
    says why the trees may not be those of the difference.
    """
    seen = tested.insns - baseline.insns
    reported = seen if difference is None else difference
    before, after = take_apart(baseline), take_apart(tested)
    hooks = hook_changes(before.hooks, after.hooks)
    residue = function_changes(before.outside, after.outside)
    return Explanation(
        difference=reported,
        hooks=hooks,
        residue=residue,
        interrupt_insns=after.interrupt_insns - before.interrupt_insns,
        unseen_insns=reported - seen,
        causes=find_causes(_deltas(hooks, residue)),
        doubt=doubt,
    )


def _deltas(hooks: Iterable[HookChange], residue: Iterable[FunctionChange]) -> Iterator[Delta]:
    for hook in hooks:
        for change in hook.functions:
            yield _delta(change, inside=True)
    for change in residue:
        yield _delta(change, inside=False)


def _delta(change: FunctionChange, *, inside: bool) -> Delta:
    calls = change.tested.calls - change.baseline.calls
    return Delta(change.function.name, calls, change.difference, inside)


def hook_changes(
    before: Mapping[str, HookCost], after: Mapping[str, HookCost]
) -> tuple[HookChange, ...]:
    """Return every hook that either side called, the largest change first."""
    nothing = HookCost(0, {})
    changes = [
        _hook_change(name, before.get(name, nothing), after.get(name, nothing))
        for name in before.keys() | after.keys()
    ]
    return tuple(sorted(changes, key=lambda item: (-abs(item.difference), item.hook)))


def function_changes(
    before: Mapping[Function, Cost], after: Mapping[Function, Cost]
) -> tuple[FunctionChange, ...]:
    """Return every function whose own instructions or calls changed, the largest change first.

    A function is the same on both sides when its name is; only its module may be known better
    on one of them.
    """
    old, new = _by_name(before), _by_name(after)
    changes = []
    for name in old.keys() | new.keys():
        function = (new.get(name) or old[name])[0]
        change = FunctionChange(
            function,
            old[name][1] if name in old else Cost(),
            new[name][1] if name in new else Cost(),
        )
        if change.baseline != change.tested:
            changes.append(change)
    return tuple(sorted(changes, key=lambda item: (-abs(item.difference), item.function.name)))


def merge_hooks(parts: Iterable[Mapping[str, HookCost]]) -> dict[str, HookCost]:
    """Sum hooks over several operations."""
    found: dict[str, HookCost] = {}
    for hooks in parts:
        for name, cost in hooks.items():
            known = found.get(name)
            found[name] = cost if known is None else _add(known, cost)
    return found


def merge_functions(parts: Iterable[Mapping[Function, Cost]]) -> dict[Function, Cost]:
    """Sum functions over several operations, or over several places of one."""
    found: dict[Function, Cost] = {}
    for functions in parts:
        for function, cost in functions.items():
            found[function] = found.get(function, Cost()) + cost
    return found


def _add(one: HookCost, other: HookCost) -> HookCost:
    return HookCost(one.calls + other.calls, merge_functions((one.functions, other.functions)))


def _hook_change(name: str, before: HookCost, after: HookCost) -> HookChange:
    old, new = before.by_module(), after.by_module()
    modules = [
        (module, new.get(module, 0) - old.get(module, 0)) for module in old.keys() | new.keys()
    ]
    return HookChange(
        hook=name,
        baseline_calls=before.calls,
        tested_calls=after.calls,
        baseline_insns=before.insns,
        tested_insns=after.insns,
        modules=tuple(sorted(modules, key=lambda item: (-abs(item[1]), item[0]))),
        functions=function_changes(before.functions, after.functions),
    )


def _by_name(functions: Mapping[Function, Cost]) -> dict[str, tuple[Function, Cost]]:
    found: dict[str, tuple[Function, Cost]] = {}
    for function, cost in functions.items():
        known, sum_before = found.get(function.name, (function, Cost()))
        found[function.name] = (
            max(known, function, key=lambda item: item.module),
            sum_before + cost,
        )
    return found
