# SPDX-License-Identifier: GPL-2.0-or-later
"""Explains the difference of two costs of one operation: by hook, function and context; pure.

    difference = hooks (in line) + hooks (deferred) + non-hook (in line) + non-hook (deferred)

over the trees: to the last instruction for a typical call, to the rounding of a float for a whole
cycle. What a run reports is counted by the clock; what the trees do not have of it is unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import compress
from math import fsum
from typing import NamedTuple

from lsmeter.core.groups import grouped
from lsmeter.questions.attribution.cost import (
    Change,
    Cost,
    FunctionChange,
    by_function,
    exact_sum,
    function_changes,
)
from lsmeter.questions.attribution.profile import Context, known_functions
from lsmeter.sources.kernels.functions import base_name

_LEAST_INSNS = 1.0  # of a cause that is worth a line
_LEAST_CALLS = 0.005  # more calls of an operation: below it is chance in the background


@dataclass(frozen=True)
class Cause:
    """Why code outside of hooks changed, and the instructions that this explains.

    functions are those that it accounts for, with their part, the largest first. evidence names
    the functions that are called more often, with how much more; a sum over operations has none.
    """

    words: str
    insns: float
    functions: tuple[tuple[str, float], ...]
    evidence: tuple[tuple[str, float], ...] = ()
    operations: int = 1


@dataclass(frozen=True)
class HookChange(Change):
    """How the inclusive cost of one hook in one context changed.

    modules are the difference by security module, functions all that changed below it, both the
    largest first.
    """

    modules: tuple[tuple[str, float], ...]
    functions: tuple[FunctionChange, ...]

    @property
    def difference_insns(self) -> float:
        """Inclusive instructions: tested - baseline."""
        return exact_sum(item.difference_insns for item in self.functions)


class ContextSum(NamedTuple):
    """What changed in one context, in hooks and outside."""

    context: Context
    hook_insns: float
    outside_insns: float


@dataclass(frozen=True)
class Explanation:
    """Where the difference between two costs comes from, in instructions of one operation.

    hooks are all that either side called; outside is what changed outside of hooks; both have the
    largest change first. Their sums while the caller waits (inline) and later (deferred) make up
    the difference; in a typical call, what is deferred are interrupts that fell into it.
    reported is the difference by the clock, None where it is not known. doubt says why the trees
    may not be those of the difference (a side does not repeat), and is empty if they are.
    """

    baseline: Cost
    tested: Cost
    hooks: tuple[HookChange, ...]
    outside: tuple[FunctionChange, ...]
    causes: tuple[Cause, ...]
    hook_inline_insns: float
    hook_deferred_insns: float
    outside_inline_insns: float
    outside_deferred_insns: float
    _: KW_ONLY
    reported_insns: float | None = None
    doubt: str = ""

    @cached_property
    def functions(self) -> tuple[FunctionChange, ...]:
        """Functions whose in-line cost changed, in hooks or outside."""
        return function_changes(by_function(self.baseline), by_function(self.tested))

    @cached_property
    def difference_insns(self) -> float:
        """Instructions over the trees: tested - baseline."""
        parts = (self.outside_inline_insns, self.outside_deferred_insns)
        return exact_sum((self.hook_inline_insns, self.hook_deferred_insns, *parts))

    @property
    def clock_insns(self) -> float:
        """What the run reports; where it does not, what the trees have."""
        return self.difference_insns if self.reported_insns is None else self.reported_insns

    @property
    def unseen_insns(self) -> float | None:
        """What the run reports and the trees do not have; None where nothing is reported."""
        return None if self.reported_insns is None else self.reported_insns - self.difference_insns

    @property
    def deferred_insns(self) -> float:
        """What the trees have beside the work in line: in a typical call, interrupts."""
        return self.hook_deferred_insns + self.outside_deferred_insns

    @property
    def other(self) -> float:
        """What neither hooks nor named functions in line explain, by the clock."""
        return self.clock_insns - self.hook_inline_insns - self.outside_inline_insns

    @property
    def exact(self) -> bool:
        """Whether hooks and named functions explain all of it, with nothing unnamed or doubtful."""
        return not self.doubt and not self.other

    @property
    def contexts(self) -> list[ContextSum]:
        """What hooks, and all else, changed in each context, in the order of the contexts."""
        inside, outside = by_context(self.hooks), by_context(self.outside)
        return [
            ContextSum(context, inside.get(context, 0.0), outside.get(context, 0.0))
            for context in Context
            if context in inside or context in outside
        ]

    @property
    def changes(self) -> tuple[FunctionChange, ...]:
        """All functions that changed, in hooks and outside, the largest change first."""
        inside = (change for hook in self.hooks for change in hook.functions)
        return tuple(sorted((*inside, *self.outside), key=lambda item: -abs(item.difference_insns)))

    @property
    def changed_hooks(self) -> list[HookChange]:
        """The hooks that changed in any way."""
        return [i for i in self.hooks if i.functions or i.baseline_calls != i.tested_calls]

    def share(self, change: Change) -> float | None:
        """Return the part of the difference that a change is, None where there is none."""
        return change.difference_insns / self.clock_insns if self.clock_insns else None

    def share_of_trees(self, change: Change) -> float | None:
        """Return the same part of what the trees have, as a whole cost is shown."""
        return change.difference_insns / self.difference_insns if self.difference_insns else None


def explain(
    baseline: Cost, tested: Cost, *, reported: float | None = None, doubt: str = ""
) -> Explanation:
    """Explain tested - baseline; reported is the difference that the run reports, if it does."""
    changes = function_changes(baseline, tested)
    hooks = _hook_changes(baseline, tested, changes)
    outside = tuple(change for change in changes if not change.hook)
    sums = (
        exact_sum(item.difference_insns for item in part if item.context.inline is inline)
        for part in (hooks, outside)
        for inline in (True, False)
    )
    parts = (hooks, outside, find_causes(changes))
    return Explanation(baseline, tested, *parts, *sums, reported_insns=reported, doubt=doubt)


def by_context(changes: Iterable[Change]) -> dict[Context, float]:
    """Sum changes by context, in the order of the contexts."""
    found = grouped((item.context, item.difference_insns) for item in changes)
    return {context: exact_sum(found[context]) for context in Context if context in found}


def _hook_changes(
    baseline: Cost, tested: Cost, changes: Iterable[FunctionChange]
) -> tuple[HookChange, ...]:
    below = grouped(((item.context, item.hook), item) for item in changes if item.hook)
    before, after = _by_module(baseline), _by_module(tested)
    keys = baseline.hook_calls.keys() | tested.hook_calls.keys() | below.keys()
    found = []
    for key in sorted(keys):
        old, new = before.get(key, {}), after.get(key, {})
        modules = [(name, new.get(name, 0) - old.get(name, 0)) for name in old.keys() | new.keys()]
        modules.sort(key=lambda item: (-abs(item[1]), item[0]))
        was = baseline.hook_calls.get(key, 0), sum(old.values())
        now = tested.hook_calls.get(key, 0), sum(new.values())
        found.append(HookChange(*key, *was, *now, tuple(modules), tuple(below.get(key, ()))))
    return tuple(sorted(found, key=lambda item: (-abs(item.difference_insns), item.hook)))


def _by_module(cost: Cost) -> dict[tuple[Context, str], dict[str, float]]:
    """Return the instructions of each module below each hook."""
    found: dict[tuple[Context, str], dict[str, float]] = {}
    for site, amount in cost.sites.items():
        if site.hook:
            modules = found.setdefault((site.context, site.hook), {})
            modules[site.function.module] = modules.get(site.function.module, 0) + amount.insns
    return found


def find_causes(changes: Iterable[FunctionChange]) -> tuple[Cause, ...]:
    """Return the causes that the changes prove, the largest first.

    One that no tree proves is not stated, and what no cause accounts for stays without one.
    """
    known = list(changes)
    calls: dict[str, float] = {}
    for change in known:
        name = base_name(change.function)
        calls[name] = calls.get(name, 0.0) + (change.tested_calls - change.baseline_calls)
    left = [change for change in known if not change.hook]
    found = []
    for rule in known_functions()["cause"]:
        more = ((name, count) for name, count in calls.items() if count > _LEAST_CALLS)
        evidence = sorted(item for item in more if rule["evidence"].fullmatch(item[0]))
        fits = [rule["accounts"].fullmatch(base_name(item.function)) for item in left]
        mine = list(compress(left, fits))
        insns = fsum(item.difference_insns for item in mine)
        if not evidence or insns < _LEAST_INSNS:
            continue
        left = [item for item, fit in zip(left, fits, strict=True) if not fit]
        functions = _by_size((item.function, item.difference_insns) for item in mine)
        words = rule["words"] + _refused_by(known, rule["refused_by"])
        found.append(Cause(words, insns, functions, tuple(evidence)))
    return tuple(sorted(found, key=lambda item: -item.insns))


def sum_causes(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """Sum causes by their text, the largest sum first."""
    sums = []
    for words, items in grouped((cause.words, cause) for cause in causes).items():
        functions = _by_size(part for item in items for part in item.functions)
        insns = fsum(item.insns for item in items)
        sums.append(Cause(words, insns, functions, operations=len(items)))
    return tuple(sorted(sums, key=lambda item: (-item.insns, item.words)))


def _refused_by(changes: Iterable[FunctionChange], refusing: re.Pattern[str]) -> str:
    """Name the module's function that refuses to answer in RCU mode, where only one can be it."""
    names = {
        change.function
        for change in changes
        if change.hook
        and change.tested_calls - change.baseline_calls > _LEAST_CALLS
        and refusing.fullmatch(base_name(change.function))
    }
    return f" ({names.pop()} refuses MAY_NOT_BLOCK)" if len(names) == 1 else ""


def _by_size(parts: Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """Sum parts of the same name, the largest first."""
    sums = {name: fsum(items) for name, items in grouped(parts).items()}
    return tuple(sorted(sums.items(), key=lambda item: (-abs(item[1]), item[0])))
