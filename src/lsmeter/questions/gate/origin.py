# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hook and function a broken rule's increase sits in, for runs with attribution; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lsmeter.core.model import Place
from lsmeter.core.model.conclusion import Number
from lsmeter.questions.attribution.account import Account, counterparts
from lsmeter.questions.attribution.explain import Explanation
from lsmeter.questions.attribution.load import AttributedCell
from lsmeter.questions.gate.judge import Finding


@dataclass(frozen=True)
class Moved:
    """The hook whose cost moved most, and the function in it: instructions of one operation.

    hook is empty where most of it moved outside of hooks, function where no name is known.
    """

    hook: str
    hook_insns: float
    function: str
    function_insns: float


def accounts_of(
    before: Sequence[AttributedCell], after: Sequence[AttributedCell]
) -> Mapping[Place, Account]:
    """Explain each cell of the second run by its counterpart in the first one."""
    return {item.place: item for item in counterparts(before, after)}


def moved(finding: Finding, accounts: Mapping[Place, Account]) -> Moved | None:
    """Say where a finding's increase sits, None where that is not known."""
    account = accounts.get(finding.place)
    if account is None or finding.bound is None:
        return None
    whole = finding.bound.number is Number.WHOLE
    known = (account.whole if whole else account.typical).benchmarks
    explanation = known.get(finding.benchmark.id)
    return None if explanation is None else _most(explanation)


def _most(item: Explanation) -> Moved | None:
    """Take the hook, or what is outside of hooks, that moved most, with its own first function."""
    outside = item.outside_inline_insns + item.outside_deferred_insns
    hook = max(item.changed_hooks, key=lambda each: abs(each.difference_insns), default=None)
    if hook is not None and abs(hook.difference_insns) >= abs(outside):
        name, insns, functions = hook.hook, hook.difference_insns, hook.functions
    else:
        name, insns, functions = "", outside, item.outside
    first = max(functions, key=lambda each: abs(each.difference_insns), default=None)
    if first is None or not insns:
        return None
    return Moved(name, insns, first.function, first.difference_insns)
