# SPDX-License-Identifier: GPL-2.0-or-later
"""Explains the difference of two whole costs: by hook, function and context; pure.

    difference = hooks (in line) + hooks (deferred) + non-hook (in line) + non-hook (deferred)

over the trees, to the rounding of a float. What a run reports is counted by the clock, over all
boots; what the trees do not have of it is `unseen_insns`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

from lsmeter.hooks.attribution.causes import Cause, Delta, find_causes
from lsmeter.hooks.attribution.contexts import Context
from lsmeter.hooks.attribution.whole import Amount, Place, WholeCost, sum_by_context

# What a reader must know of every explanation of a whole cost.
NOT_SEEN = (
    "instructions in user space, which the trees leave out",
    "time: caches, TLBs, branch prediction and waiting cost no instructions",
    "other boots than those with attribution: work that a tick sets off falls elsewhere in each",
    "which call caused deferred work: it is shared out evenly over the operations of the window",
)
_LEAST = 1e-9  # instructions; below it is rounding


@dataclass(frozen=True)
class PlaceChange:
    """How the cost of one function changed in one context, in a hook or outside of hooks.

    module is the security module of the function, "" for none. Instructions are the function's
    own, per operation.
    """

    place: Place
    module: str
    baseline: Amount
    tested: Amount

    @property
    def difference(self) -> float:
        """Instructions of an operation: tested - baseline."""
        return self.tested.insns - self.baseline.insns


@dataclass(frozen=True)
class WholeHook:
    """How the cost of one hook in one context changed; functions has all that changed below it."""

    hook: str
    context: Context
    baseline_calls: float
    tested_calls: float
    functions: tuple[PlaceChange, ...]  # the largest first

    @property
    def difference(self) -> float:
        """Inclusive instructions of an operation: tested - baseline."""
        return fsum(item.difference for item in self.functions)


@dataclass(frozen=True)
class WholeExplanation:
    """Where the difference of the whole cost comes from, in instructions of one operation.

    baseline_insns and tested_insns are the whole costs that the trees have. reported is the
    difference that the run reports, None where it is not known.
    """

    baseline_insns: float
    tested_insns: float
    hooks: tuple[WholeHook, ...]  # the largest change first
    outside: tuple[PlaceChange, ...]  # the same
    causes: tuple[Cause, ...]
    reported: float | None = None

    @property
    def difference(self) -> float:
        """Instructions of an operation over the trees: tested - baseline."""
        parts = (self.outside_inline, self.outside_deferred)
        return fsum((self.hook_inline, self.hook_deferred, *parts))

    @property
    def hook_inline(self) -> float:
        """What hooks cost more while the caller waits."""
        return fsum(item.difference for item in self.hooks if item.context.inline)

    @property
    def hook_deferred(self) -> float:
        """What hooks cost more later."""
        return fsum(item.difference for item in self.hooks if not item.context.inline)

    @property
    def outside_inline(self) -> float:
        """What changed outside of hooks while the caller waits."""
        return fsum(item.difference for item in self.outside if item.place.context.inline)

    @property
    def outside_deferred(self) -> float:
        """What changed outside of hooks later."""
        return fsum(item.difference for item in self.outside if not item.place.context.inline)

    @property
    def unseen_insns(self) -> float | None:
        """What the run reports and the trees do not have; None where nothing is reported."""
        return None if self.reported is None else self.reported - self.difference

    def hook_by_context(self) -> dict[Context, float]:
        """Return what changed in hooks, of each context in which anything did."""
        return sum_by_context((item.context, item.difference) for item in self.hooks)

    def outside_by_context(self) -> dict[Context, float]:
        """Return what changed outside of hooks, of each context in which anything did."""
        return sum_by_context((item.place.context, item.difference) for item in self.outside)


def explain_whole(
    baseline: WholeCost, tested: WholeCost, *, reported: float | None = None
) -> WholeExplanation:
    """Explain tested - baseline. reported is the difference that the run reports, if it does."""
    changes = place_changes(baseline, tested)
    inside: dict[tuple[Context, str], list[PlaceChange]] = {
        key: [] for key in baseline.hook_calls.keys() | tested.hook_calls.keys()
    }
    for change in changes:
        if change.place.hook:
            inside.setdefault((change.place.context, change.place.hook), []).append(change)
    hooks = [
        WholeHook(
            hook=hook,
            context=context,
            baseline_calls=baseline.hook_calls.get((context, hook), 0.0),
            tested_calls=tested.hook_calls.get((context, hook), 0.0),
            functions=tuple(functions),
        )
        for (context, hook), functions in inside.items()
    ]
    outside = tuple(change for change in changes if not change.place.hook)
    return WholeExplanation(
        baseline_insns=baseline.insns,
        tested_insns=tested.insns,
        hooks=tuple(sorted(hooks, key=lambda item: (-abs(item.difference), item.hook))),
        outside=outside,
        causes=find_causes(
            Delta(
                change.place.function,
                change.tested.calls - change.baseline.calls,
                change.difference,
                inside=bool(change.place.hook),
            )
            for change in changes
        ),
        reported=reported,
    )


def place_changes(baseline: WholeCost, tested: WholeCost) -> tuple[PlaceChange, ...]:
    """Return every place whose calls or instructions changed, the largest change first."""
    modules = {**baseline.modules, **tested.modules}
    nothing = Amount()
    changes = []
    for place in baseline.places.keys() | tested.places.keys():
        before = baseline.places.get(place, nothing)
        after = tested.places.get(place, nothing)
        if abs(after.insns - before.insns) > _LEAST or abs(after.calls - before.calls) > _LEAST:
            changes.append(PlaceChange(place, modules.get(place.function, ""), before, after))
    return tuple(sorted(changes, key=_largest_first))


def _largest_first(change: PlaceChange) -> tuple[float, str, str, str]:
    place = change.place
    return (-abs(change.difference), place.function, place.context, place.hook)
