# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report shows of the whole costs of one setup: sums by context, hook and cause; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lsmeter.hooks.attribution.contexts import Context
from lsmeter.hooks.attribution.load import ExplainedSetup
from lsmeter.hooks.attribution.whole_explain import WholeExplanation
from lsmeter.hooks.attribution.whole_summary import CauseSum, sum_causes, whole_total

_SHOWN = 12  # hooks
_LEAST_INSNS = 0.5


@dataclass(frozen=True)
class ContextLine:
    """What changed in one context over all operations, in hooks and outside of them."""

    context: str
    deferred: bool
    hook_insns: float
    outside_insns: float


@dataclass(frozen=True)
class WholeHookLine:
    """One hook in one context over all operations. share is its part of the whole difference."""

    hook: str
    context: str
    baseline_calls: float
    calls: float
    difference_insns: float
    share: float | None


@dataclass(frozen=True)
class CauseLine:
    """Why code outside of hooks costs more, over the operations of which the trees prove it."""

    cause: str
    difference_insns: float
    operations: int


@dataclass(frozen=True)
class WholeAccount:
    """Where the whole cost of one setup over its baseline comes from, each operation counted once.

    Instructions of one cycle of each operation, deferred work included. difference_insns is the
    sum over contexts. reported_insns is what the run reports, None where it is not known of every
    operation. hooks are the largest; more_hooks says how many are left out.
    """

    operations: int
    baseline_insns: float
    difference_insns: float
    reported_insns: float | None
    contexts: tuple[ContextLine, ...]
    hooks: tuple[WholeHookLine, ...]
    more_hooks: int
    causes: tuple[CauseLine, ...]


def whole_account(explained: ExplainedSetup) -> WholeAccount | None:
    """Sum one setup's whole costs over its operations; None where there are none."""
    items = explained.wholes
    total = whole_total(explained.baseline.wholes, explained.tested.wholes, items)
    if total is None:
        return None
    hooks = [line for line in _hooks(total) if abs(line.difference_insns) >= _LEAST_INSNS]
    causes = sum_causes(cause for item in items.values() for cause in item.causes)
    return WholeAccount(
        operations=len(items),
        baseline_insns=total.baseline_insns,
        difference_insns=total.difference,
        reported_insns=total.reported,
        contexts=tuple(_contexts(total)),
        hooks=tuple(hooks[:_SHOWN]),
        more_hooks=max(0, len(hooks) - _SHOWN),
        causes=tuple(_cause(item) for item in causes),
    )


def _contexts(total: WholeExplanation) -> Iterable[ContextLine]:
    inside, outside = total.hook_by_context(), total.outside_by_context()
    for context in Context:
        if context in inside or context in outside:
            yield ContextLine(
                context=context.value,
                deferred=not context.inline,
                hook_insns=inside.get(context, 0.0),
                outside_insns=outside.get(context, 0.0),
            )


def _hooks(total: WholeExplanation) -> Iterable[WholeHookLine]:
    for item in total.hooks:
        yield WholeHookLine(
            hook=item.hook,
            context=item.context.value,
            baseline_calls=item.baseline_calls,
            calls=item.tested_calls,
            difference_insns=item.difference,
            share=item.difference / total.difference if total.difference else None,
        )


def _cause(item: CauseSum) -> CauseLine:
    return CauseLine(item.words, item.insns, item.operations)
