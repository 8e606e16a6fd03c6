# SPDX-License-Identifier: GPL-2.0-or-later
"""Applies rules to the comparisons of two runs: kept, broken, open, or without a number.

A rule looks at every number that a comparison has, so that no regression passes because it sits in
another one. The verdict is that of reports, with the limit for a margin: a rule is broken by what
is slower and beyond the limit for certain, and kept where the most that any number may have got
worse by does not exceed it. Attribution names the hook and function that an increase sits in.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain

from lsmeter.core.errors import ExitCode, UsageError
from lsmeter.core.model import Benchmark, BenchmarkStatus, Better, Kernel, Place, Problem
from lsmeter.core.model.conclusion import Change, Comparison, Difference, Number, Verdict
from lsmeter.core.registry import near, nearest
from lsmeter.measure.instruments import Instrument, find_instrument
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.attribution.account import Account, counterparts
from lsmeter.questions.attribution.explain import Explanation
from lsmeter.questions.attribution.load import run_cells
from lsmeter.questions.cells.cells import pair_places
from lsmeter.questions.cells.covers import left_out
from lsmeter.questions.cost.build import compare_runs
from lsmeter.questions.cost.model import Report
from lsmeter.questions.gate.rules import PERCENT, Limit, Rule
from lsmeter.statistics.verdict import Numbers, Ruling, of_call, verdict
from lsmeter.tables.values import many

BROKEN = ExitCode.INCOMPLETE  # 1: what `git bisect run` takes for bad
INCONCLUSIVE = {"fail": BROKEN, "skip": ExitCode.SKIPPED, "pass": ExitCode.OK}


class Outcome(StrEnum):
    """What one rule says of one benchmark in one place, the gravest first."""

    BROKEN = "broken"
    MISSING = "no number"
    OPEN = "inconclusive"
    KEPT = "kept"


@dataclass(frozen=True)
class Bound:
    """How one number changed, and how much worse it got in the rule's unit (% of the call)."""

    number: Number
    change: Change
    worse: Change


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
class Finding:
    """What one rule says of one benchmark; bound is of the number that decided it.

    moved says where what breaks a rule sits, as far as attribution tells.
    """

    rule: Rule
    place: Place
    benchmark: Benchmark
    outcome: Outcome
    bound: Bound | None = None
    detail: str = ""  # why there is no number, or what the verdict rests on
    verdict: Verdict | None = None
    moved: Moved | None = None

    @property
    def decided_by(self) -> Number | None:
        """The number that decided; None without any."""
        return None if self.bound is None else self.bound.number

    @property
    def has_number(self) -> bool:
        """Whether it rests on a number at all."""
        return self.bound is not None and math.isfinite(self.bound.change.difference)


@dataclass(frozen=True)
class Applied:
    """What came of one rule: findings, and how many benchmarks under setups one run has alone."""

    rule: Rule
    findings: tuple[Finding, ...]
    only_before: int
    only_after: int

    @property
    def unjudged(self) -> str:
        """Say why nothing was held against the rule; "" where something was, or findings say it."""
        alone = self.only_before or self.only_after
        if alone and self.findings and all(item.benchmark.control for item in self.findings):
            return "the runs have nothing but controls in common"
        if self.findings:
            known = any(x.has_number or x.outcome is Outcome.MISSING for x in self.findings)
            return "" if known else f"none of {many(len(self.findings), 'comparison')} has a number"
        if self.only_before and self.only_after:
            return "the runs have it in no setup, file system or user in common"
        only = "first" * bool(self.only_before) + "second" * bool(self.only_after)
        return f"only the {only} run has it" if only else "neither run was asked for it"


@dataclass(frozen=True)
class Gated:
    """What came of all rules, and the report of the comparison that they were held against.

    inconclusive is what is done with what is open; kernels are those of the second run.
    """

    applied: tuple[Applied, ...]
    report: Report
    inconclusive: str = "skip"
    before: str = ""
    after: str = ""
    kernels: tuple[Kernel, ...] = ()

    def of(self, outcome: Outcome) -> tuple[Finding, ...]:
        """Return the findings with this outcome."""
        return tuple(item for item in self.findings if item.outcome is outcome)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all rules."""
        return tuple(chain.from_iterable(item.findings for item in self.applied))

    @property
    def code(self) -> ExitCode:
        """The exit code: a broken rule outweighs a missing number, and that one what is open."""
        if self.of(Outcome.BROKEN):
            return BROKEN
        if self.of(Outcome.MISSING) or any(item.unjudged for item in self.applied):
            return ExitCode.SKIPPED
        return INCONCLUSIVE[self.inconclusive] if self.of(Outcome.OPEN) else ExitCode.OK


_Asked = tuple[Place, Benchmark]  # that a run was asked for
_ByPlace = dict[tuple[Place, str], _Asked]


def judge_runs(before: RunData, after: RunData, rules: Sequence[Rule], inconclusive: str) -> Gated:
    """Hold `after` against `before`, and find where each increase that breaks a rule sits.

    UsageError for rules that name nothing of either run.
    """
    report = compare_runs(before, after)
    known = {(item.place, item.benchmark.id): item for item in report.comparisons}
    runs = (before.manifest, after.manifest)
    setups = {cell.place.setup for run in runs for cell in run.cells}
    setups |= {item.setup for run in runs for item in run.problems if item.setup}
    benchmarks = [item for run in runs for item in run.benchmarks]
    check_rules(rules, benchmarks, setups, find_instrument(after.manifest.instrument))
    lost = _lost_wholes(before, after, report.comparisons)
    applied: list[Applied] = []
    sides = _sides(before, after)
    for rule in dict.fromkeys(rules):
        both, *alone = (
            [(place, kind) for place, kind in side.values() if applies(rule, kind, place.setup)]
            for side in sides
        )
        findings = (_finding(rule, of, known.get((of[0], of[1].id)), report, lost) for of in both)
        applied.append(Applied(rule, tuple(findings), *map(len, alone)))
    hidden = left_out(report.comparisons, report.words, report.per)
    if hidden:
        report = replace(report, notes=(f"not covered: {hidden}", *report.notes))
    made = (before.title, after.title, after.manifest.kernels)
    found = Gated(tuple(applied), report, inconclusive, *made)
    return _locate(found, before, after) if found.of(Outcome.BROKEN) else found


def applies(rule: Rule, benchmark: Benchmark, setup: str) -> bool:
    """Say whether a rule is about a benchmark of a setup."""
    named = rule.benchmark == benchmark.operation
    named = named or fnmatch.fnmatchcase(benchmark.id, rule.benchmark)
    return named and (rule.setup == setup or fnmatch.fnmatchcase(setup, rule.setup))


def unit_of(benchmark: Benchmark, unit: str) -> str:
    """Return the unit of a benchmark's numbers: its own, or the instrument's."""
    return benchmark.metric.unit or unit


def numbers_of(item: Comparison, rule: Rule) -> Numbers:
    """Return the numbers of a comparison that a rule is about, in the unit of its limit."""
    call = item.in_line.baseline_value
    found: Mapping[Number, Change | None] = {
        Number.TYPICAL: item.typical if item.has_typical else None,
        Number.MEAN: item.mean,
        Number.WHOLE: of_call(item.whole, call) if item.benchmark.cycle else None,
    }
    share = rule.limit.unit == PERCENT

    def worse(number: Number) -> Change | None:
        change = found[number] if number in rule.numbers else None
        return None if change is None else _worse(change, item.benchmark.metric.better, rule.limit)

    typical, mean, whole = map(worse, Number)
    return Numbers(
        typical,
        mean,
        whole,
        moved=item.moved if share else item.moved * call,
        needed=frozenset(name for name in rule.numbers if found[name] and name is not Number.MEAN),
        unit="" if share else rule.limit.unit,
    )


def _worse(change: Change, better: Better, limit: Limit) -> Change:
    """Return a change with overheads in the unit of a limit: positive is worse.

    Of a cost that was 0 every increase is without bound in %.
    """
    if limit.unit == PERCENT and not math.isnan(change.overhead):
        return change
    if limit.unit == PERCENT:
        worse = (math.inf, math.inf if change.low > 0 else -math.inf, math.inf)
    elif better is Better.HIGHER:
        worse = (-change.difference, -change.high, -change.low)
    else:
        worse = (change.difference, change.low, change.high)
    return replace(change, overhead=worse[0], overhead_low=worse[1], overhead_high=worse[2])


def _lost_wholes(
    before: RunData, after: RunData, comparisons: Iterable[Comparison]
) -> frozenset[tuple[Place, str]]:
    """Return what lacks its whole cost although a run was asked for it: the rest proves nothing."""
    alike = pair_places(before.manifest, after.manifest)
    asked = {
        (alike(cell.place), samples.benchmark)
        for run in (before, after)
        for cell in run.manifest.cells
        for boot in run.boots_of(cell)
        for samples in boot.samples
        if samples.whole is not None and samples.whole.status is not BenchmarkStatus.SKIPPED
    }
    return frozenset(
        (item.place, item.benchmark.id)
        for item in comparisons
        if item.whole is None and (alike(item.place), item.benchmark.id) in asked
    )


def _finding(
    rule: Rule,
    asked: _Asked,
    item: Comparison | None,
    report: Report,
    lost: frozenset[tuple[Place, str]],
) -> Finding:
    place, benchmark = asked
    found = hold(rule, item, report.margin) if item is not None else None
    is_lost = Number.WHOLE in rule.numbers and (place, benchmark.id) in lost
    if found is not None and not (is_lost and found.outcome in (Outcome.KEPT, Outcome.OPEN)):
        return found
    why = "" if item is None or is_lost else f"no {' or '.join(rule.numbers)} was measured"
    why = why or _why(place, benchmark, report.problems)
    return Finding(rule, place, benchmark, Outcome.MISSING, detail=why)


def hold(rule: Rule, item: Comparison, margin: float) -> Finding | None:
    """Hold a rule against a comparison whose verdict is for a margin; None without a number."""
    found = numbers_of(item, rule)
    if not any(found.each()):
        return None
    ruling = _ruling(rule, item, found, margin)
    number = ruling.decided_by if found.of(ruling.decided_by) else found.head
    change: Change | None = getattr(item, number.value)
    bound = Bound(number, change or item.decided, found.of(number) or item.decided)
    if math.isnan(item.decided.difference):  # boots in two states: no number says by how much
        bound = Bound(number, item.decided, item.decided)
    outcome = _outcome(rule, item, found, ruling)
    return Finding(rule, item.place, item.benchmark, outcome, bound, ruling.cause, ruling.verdict)


def _ruling(rule: Rule, item: Comparison, found: Numbers, margin: float) -> Ruling:
    """Return the verdict at the limit: the report's at the margin, and of what is identical."""
    whole = rule.numbers == tuple(Number) and rule.limit == Limit(margin, PERCENT)
    if whole or item.found is Difference.NONE:
        return Ruling(item.verdict, item.decided_by, item.cause)
    return verdict(found, rule.limit.value)


def _outcome(rule: Rule, item: Comparison, found: Numbers, ruling: Ruling) -> Outcome:
    limit = rule.limit.value
    if ruling.verdict is Verdict.SLOWER:
        # Of times and services, intervals are each for itself; what they show has to be seen after
        # correction.
        told = item.found is Difference.SEEN
        decided = found.of(ruling.decided_by)
        if told and decided is not None and decided.overhead_low > limit:
            return Outcome.BROKEN
    elif ruling.verdict is not Verdict.INCONCLUSIVE:
        return Outcome.KEPT
    beyond = any(not each.overhead_high <= limit for _, each in found.each())
    return Outcome.OPEN if beyond else Outcome.KEPT


def _why(place: Place, benchmark: Benchmark, problems: Sequence[Problem]) -> str:
    """Return the problem that took a number away, the most special one first."""
    mine = [item for item in problems if item.setup == place.setup]
    for wanted in (benchmark.id, ""):
        for item in mine:
            if item.benchmark == wanted:
                return f"{item.title}: {item.detail}" if item.detail else item.title
    return "one of the runs has no number for it"


def _sides(before: RunData, after: RunData) -> tuple[_ByPlace, _ByPlace, _ByPlace]:
    """Return what both runs were asked for, and what only the first and only the second one.

    What both have is in the order of the second one. A setup that one of them could not even plan
    was asked for as well.
    """
    alike = pair_places(before.manifest, after.manifest)
    first, second = (
        {
            (alike(cell.place), item.id): (cell.place, item)
            for cell in run.manifest.cells
            for item in run.manifest.benchmarks_of(cell)
        }
        for run in (before, after)
    )
    failed = [
        {item.setup for item in run.manifest.problems if item.setup} for run in (before, after)
    ]
    both = {key: item for key, item in second.items() if key in first or key[0].setup in failed[0]}
    both |= {k: v for k, v in first.items() if k not in second and k[0].setup in failed[1]}
    rest = [{k: v for k, v in side.items() if k not in both} for side in (first, second)]
    return both, rest[0], rest[1]


def check_rules(
    rules: Iterable[Rule], benchmarks: Iterable[Benchmark], setups: set[str], how: Instrument
) -> None:
    """Refuse rules whose pattern or unit is of nothing that is measured."""
    kinds = {item.id: item for item in benchmarks}
    for rule in rules:
        if not any(rule.setup == name or fnmatch.fnmatchcase(name, rule.setup) for name in setups):
            raise _nothing(rule, "setup", rule.setup, setups)
        mine = [item for item in kinds.values() if applies(replace(rule, setup="*"), item, "")]
        if not mine:
            names = {*kinds, *(item.operation for item in kinds.values())}
            raise _nothing(rule, "benchmark", rule.benchmark, names)
        units = {unit_of(item, how.unit) for item in mine}
        if rule.limit.unit not in {PERCENT, *units}:
            raise UsageError(
                f"{rule.where}: '{rule.text}': the runs are counted in {', '.join(sorted(units))} "
                f"({how.name} instrument), not in {rule.limit.unit}",
                hint=f"write the limit in % or in {' or '.join(sorted(units))}",
            )


def _nothing(rule: Rule, kind: str, word: str, names: set[str]) -> UsageError:
    plain = word.strip("*?")
    close = near(plain, names)
    return UsageError(
        f"{rule.where}: '{rule.text}': no {kind} that is measured is called '{word}'"
        f"{nearest(plain, names)}",
        hint=f"{'near' if close else 'known'}: {', '.join(close or sorted(names)[:12])}",
    )


def _locate(gated: Gated, before: RunData, after: RunData) -> Gated:
    """Say of each finding that breaks a rule which hook and function moved."""
    sides = counterparts(run_cells(before)[0], run_cells(after)[0])
    accounts = {item.place: item for item in sides}
    applied = (
        replace(of, findings=tuple(replace(x, moved=_moved(x, accounts)) for x in of.findings))
        for of in gated.applied
    )
    return replace(gated, applied=tuple(applied))


def _moved(finding: Finding, accounts: Mapping[Place, Account]) -> Moved | None:
    """Say where a finding's increase sits; None where that is not known."""
    account = accounts.get(finding.place)
    if account is None or finding.bound is None or finding.outcome is not Outcome.BROKEN:
        return None
    whole = finding.bound.number is Number.WHOLE
    known = (account.whole if whole else account.typical).benchmarks
    explanation = known.get(finding.benchmark.id)
    return None if explanation is None else most_moved(explanation)


def most_moved(item: Explanation) -> Moved | None:
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
