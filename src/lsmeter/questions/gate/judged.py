# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges two runs, and finds the hook and function that an increase sits in, from attribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lsmeter.core.errors import ExitCode
from lsmeter.core.model import Place
from lsmeter.core.model.conclusion import Number
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.attribution.account import Account, counterparts
from lsmeter.questions.attribution.explain import Explanation
from lsmeter.questions.attribution.load import run_cells
from lsmeter.questions.gate.judge import Finding, Judgement, Outcome, judge
from lsmeter.questions.gate.rules import Rule

BROKEN = ExitCode.INCOMPLETE  # 1: what `git bisect run` takes for bad
_CODES = {"fail": BROKEN, "skip": ExitCode.SKIPPED, "pass": ExitCode.OK}
INCONCLUSIVE = tuple(_CODES)


@dataclass(frozen=True)
class Moved:
    """The hook whose cost moved most, and the function in it: instructions of one operation.

    hook is empty where most of it moved outside of hooks, function where no name is known.
    """

    hook: str
    hook_insns: float
    function: str
    function_insns: float


@dataclass(frozen=True)
class Gated:
    """A judgement with where each increase sits, and what is done with what is open."""

    judged: Judgement
    origins: Mapping[Finding, Moved]
    inconclusive: str = "skip"
    before: str = ""
    after: str = ""

    @property
    def code(self) -> ExitCode:
        """The exit code: a broken rule outweighs a missing number, and that one what is open."""
        if self.judged.of(Outcome.BROKEN):
            return BROKEN
        if self.judged.of(Outcome.MISSING) or any(item.unjudged for item in self.judged.applied):
            return ExitCode.SKIPPED
        return _CODES[self.inconclusive] if self.judged.of(Outcome.OPEN) else ExitCode.OK


def judge_runs(before: RunData, after: RunData, rules: Sequence[Rule], inconclusive: str) -> Gated:
    """Judge one run by another, and find where each increase that breaks a rule sits."""
    judged = judge(before, after, rules)
    origins = {}
    if broken := judged.of(Outcome.BROKEN):
        sides = counterparts(run_cells(before)[0], run_cells(after)[0])
        accounts = {item.place: item for item in sides}
        found = ((item, _moved(item, accounts)) for item in broken)
        origins = {item: where for item, where in found if where is not None}
    return Gated(judged, origins, inconclusive, str(before.path), str(after.path))


def _moved(finding: Finding, accounts: Mapping[Place, Account]) -> Moved | None:
    """Say where a finding's increase sits; None where that is not known."""
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
