# SPDX-License-Identifier: GPL-2.0-or-later
"""Applies rules to the comparisons of two runs: kept, broken, open, or without a number; pure.

A rule looks at every number that a comparison has, so that no regression passes because it sits in
another one. It is broken where the least that a number may have got worse by exceeds the limit,
kept where the most of every number does not, and open in between.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from lsmeter.base.errors import UsageError
from lsmeter.base.registry import near, nearest
from lsmeter.gate.rules import PERCENT, Number, Rule
from lsmeter.instruments import Instrument, find_instrument
from lsmeter.model import Benchmark, Better, Place, Problem
from lsmeter.model.conclusion import Change, Comparison
from lsmeter.report.build import compare_runs
from lsmeter.results.directory import RunData
from lsmeter.statistics.verdict import NO_TYPICAL, relevant


class Outcome(StrEnum):
    """What one rule says of one benchmark in one place, the gravest first."""

    BROKEN = "broken"
    MISSING = "no number"
    OPEN = "inconclusive"
    KEPT = "kept"


@dataclass(frozen=True)
class Bound:
    """By how much one number got worse, with its bounds: a fraction where the rule's unit is %."""

    number: Number
    change: Change
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Finding:
    """What one rule says of one benchmark; bound is of the number that decided it.

    detail says why there is no number.
    """

    rule: Rule
    place: Place
    benchmark: Benchmark
    outcome: Outcome
    bound: Bound | None = None
    detail: str = ""


@dataclass(frozen=True)
class Judgement:
    """All findings of a gate, with what both runs say of themselves that a reader must know."""

    findings: tuple[Finding, ...]
    rules: tuple[Rule, ...]
    unit: str
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    def of(self, outcome: Outcome) -> tuple[Finding, ...]:
        """Return the findings with this outcome."""
        return tuple(item for item in self.findings if item.outcome is outcome)


@dataclass(frozen=True)
class _Asked:
    """A benchmark in a place that both runs were asked for."""

    place: Place
    benchmark: Benchmark


def judge(before: RunData, after: RunData, rules: Sequence[Rule]) -> Judgement:
    """Hold `after` against `before`; UsageError for rules that name nothing of either run."""
    report = compare_runs(before, after)
    known = {(item.place, item.benchmark.id): item for item in report.comparisons}
    asked = _asked(before, after)
    runs = (before.manifest, after.manifest)
    setups = {cell.place.setup for run in runs for cell in run.cells}
    setups |= {item.setup for run in runs for item in run.problems if item.setup}
    benchmarks = [item for run in runs for item in run.benchmarks]
    check_rules(rules, benchmarks, setups, find_instrument(after.manifest.instrument))
    findings = tuple(
        finding for rule in rules for finding in _findings(rule, asked, known, report.problems)
    )
    return Judgement(findings, tuple(rules), report.unit, report.problems, report.notes)


def applies(rule: Rule, benchmark: Benchmark, setup: str) -> bool:
    """Say whether a rule is about a benchmark of a setup."""
    named = rule.benchmark == benchmark.operation
    named = named or fnmatch.fnmatchcase(benchmark.id, rule.benchmark)
    return named and (rule.setup == setup or fnmatch.fnmatchcase(setup, rule.setup))


def unit_of(benchmark: Benchmark, unit: str) -> str:
    """Return the unit of a benchmark's numbers: its own, or the instrument's."""
    return benchmark.metric.unit or unit


def bounds(item: Comparison, limit_unit: str, numbers: Iterable[Number]) -> Iterator[Bound]:
    """Yield by how much each number of a comparison got worse, where it has that number."""
    stands = not item.cause.startswith(NO_TYPICAL)
    found: Mapping[Number, Change | None] = {
        Number.TYPICAL: item.typical if stands else None,
        Number.MEAN: item.mean,
        # Of a small cycle a few instructions are chance, and many percent: as in verdicts.
        Number.WHOLE: relevant(item.whole) if item.benchmark.cycle else None,
    }
    higher = item.benchmark.metric.better is Better.HIGHER
    for number in numbers:
        if (change := found[number]) is None:
            continue
        worse = (change.overhead, change.overhead_low, change.overhead_high)
        if limit_unit != PERCENT:
            worse = (change.difference, change.low, change.high)
            if higher:
                worse = (-change.difference, -change.high, -change.low)
        elif any(map(math.isnan, worse)):  # of a cost that was 0 every increase is without bound
            worse = (math.inf, math.inf if change.low > 0 else -math.inf, math.inf)
        yield Bound(number, change, *worse)


def _findings(
    rule: Rule,
    asked: Iterable[_Asked],
    known: Mapping[tuple[Place, str], Comparison],
    problems: Sequence[Problem],
) -> Iterator[Finding]:
    for place, benchmark in ((item.place, item.benchmark) for item in asked):
        if not applies(rule, benchmark, place.setup):
            continue
        item = known.get((place, benchmark.id))
        found = list(bounds(item, rule.limit.unit, rule.numbers)) if item is not None else []
        if not found:
            why = "" if item is None else f"no {' or '.join(rule.numbers)} was measured"
            why = why or _why(place, benchmark, problems)
            yield Finding(rule, place, benchmark, Outcome.MISSING, detail=why)
        else:
            yield _judged(rule, place, benchmark, found)


def _judged(rule: Rule, place: Place, benchmark: Benchmark, found: Sequence[Bound]) -> Finding:
    limit = rule.limit.value
    worst = max(found, key=lambda item: item.low)
    if worst.low > limit:
        return Finding(rule, place, benchmark, Outcome.BROKEN, worst)
    widest = max(found, key=lambda item: item.high)
    outcome = Outcome.OPEN if widest.high > limit else Outcome.KEPT
    return Finding(rule, place, benchmark, outcome, widest)


def _why(place: Place, benchmark: Benchmark, problems: Sequence[Problem]) -> str:
    """Return the problem that took a number away, the most special one first."""
    mine = [item for item in problems if item.setup == place.setup]
    for wanted in (benchmark.id, ""):
        for item in mine:
            if item.benchmark == wanted:
                return f"{item.title}: {item.detail}" if item.detail else item.title
    return "one of the runs has no number for it"


def _asked(before: RunData, after: RunData) -> tuple[_Asked, ...]:
    """Return what both runs were asked for, in the order of the second one.

    A setup that one of them could not even plan was asked for as well.
    """
    single = all(len(run.manifest.kernels) <= 1 for run in (before, after))
    first, second = _of(before, single), _of(after, single)
    failed = [
        {item.setup for item in run.manifest.problems if item.setup} for run in (before, after)
    ]
    both = {key: item for key, item in second.items() if key in first or key[0].setup in failed[0]}
    lost = {k: v for k, v in first.items() if k not in second and k[0].setup in failed[1]}
    return tuple({**both, **lost}.values())


def _of(run: RunData, single: bool) -> dict[tuple[Place, str], _Asked]:  # noqa: FBT001
    return {
        (replace(cell.place, kernel="") if single else cell.place, item.id): _Asked(
            cell.place, item
        )
        for cell in run.manifest.cells
        for item in run.manifest.benchmarks_of(cell)
        if not cell.benchmarks or item.id in cell.benchmarks
    }


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
    shown = near(plain, names) or sorted(names)[:12]
    return UsageError(
        f"{rule.where}: '{rule.text}': no {kind} that is measured is called '{word}'"
        f"{nearest(plain, names)}",
        hint=f"{'near' if near(plain, names) else 'known'}: {', '.join(shown)}",
    )
