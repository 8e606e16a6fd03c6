# SPDX-License-Identifier: GPL-2.0-or-later
"""What a selftest found, as a document; pure. `lsmeter help selftest` says when a row passes."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lsmeter.catalogue.setups.inject import Way
from lsmeter.core.errors import InfrastructureError
from lsmeter.core.model import Problem
from lsmeter.core.model.conclusion import Change, Verdict
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.attribution.load import AttributedCell
from lsmeter.questions.cells.frame import problem_section, run_data, run_facts
from lsmeter.questions.selftest.judge import Charge, Gatherer, Judgement, holds, judge
from lsmeter.questions.selftest.scenarios import NO_SYMBOL, PLANS, TITLE, Part
from lsmeter.tables.model import Column, Document, Item, Kind, Section, Shown, Table, Tone, Value
from lsmeter.tables.numbers import PLUS_MINUS, VERDICT_MARKS
from lsmeter.tables.values import MISSING, change

NAME, VERSION = "lsmeter-selftest", 1
_COLUMNS = (
    *(Column(head, head, Kind.NAME) for head in ("scenario", "operation")),
    Column("injected", "injected", Kind.PROSE),
    Column("truth_insns", "truth", Kind.CHANGE),
    Column("counted_insns", "counted", Kind.CHANGE),
    Column("typical_insns", "typical", Kind.CHANGE),
    Column("mean_insns", "in-line mean", Kind.CHANGE),
    Column("whole_insns", "whole", Kind.CHANGE),
    Column("interval_insns", "99 % interval", Kind.PROSE),
    Column("inside", "truth inside", Kind.NAME),
    Column("verdict", "verdict", Kind.NAME),
    Column("named", "named", Kind.PROSE),
    Column("result", "result", Kind.NAME),
)
_LEGEND = (
    "Differences of instructions per operation. truth: by the definition of what is injected; "
    "counted: by the counters of what injects; both for the operation with its undo. "
    "typical and in-line mean: the measured call alone; whole: with its undo and all that both "
    f"leave to be done. {PLUS_MINUS}: 99 % interval. named: the functions that attribution "
    "of the whole cost charges with what was injected."
)


@dataclass(frozen=True)
class SelftestReport:
    """All judgements of a selftest; bystanders are benchmarks in which nothing was injected."""

    judgements: tuple[Judgement, ...]
    bystanders: tuple[Judgement, ...]
    problems: tuple[Problem, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    data: tuple[tuple[str, Any], ...] = ()

    @property
    def failed(self) -> tuple[Judgement, ...]:
        """All that did not pass."""
        return tuple(item for item in (*self.judgements, *self.bystanders) if not item.passed)

    @property
    def passed(self) -> bool:
        """Whether everything passed, and there was anything to pass."""
        return bool(self.judgements) and not self.failed

    @property
    def summary(self) -> str:
        """How it ended, in one line."""
        good, still = (
            sum(item.passed for item in side) for side in (self.judgements, self.bystanders)
        )
        text = f"{good} of {len(self.judgements)} scenarios pass"
        if still < len(self.bystanders):
            text += f", {still} of {len(self.bystanders)} comparisons in which nothing was injected"
        return text if self.passed else f"FAIL: {text}"


def selftest_report(run: RunData, attributed: Iterable[AttributedCell]) -> SelftestReport:
    """Judge what a run of the selftest's experiment, and its attribution, say.

    InfrastructureError where the kernel cannot have any of its setups.
    """
    manifest, gatherer = run.manifest, Gatherer(run, attributed)
    if not manifest.cells:
        why = next((item.title for item in manifest.problems), "no setups")
        raise InfrastructureError(
            f"nothing was injected, and nothing measured: {why}",
            hint="name another kernel: lsmeter list kernels",
        )
    place = manifest.cells[0].place
    boots = max(boot.index for boot in manifest.boots) + 1
    where = {"filesystem": place.filesystem, "user": place.user, "unit": "insns"}
    data = {**run_data(run), **where, "kernel": place.kernel, "boots": boots}
    plan = PLANS[Way.BPF if manifest.baseline_setup == Way.BPF else Way.MODULE]
    plan = plan.on(manifest.kernels[0].arch)
    return SelftestReport(
        judgements=tuple(judge(item, gatherer.seen(item)) for item in plan.scenarios),
        bystanders=tuple(judge(item, gatherer.seen(item)) for item in plan.bystanders),
        problems=(*manifest.problems, *gatherer.problems),
        facts=(*run_facts(run), ("boots of each setup", str(boots))),
        data=tuple(data.items()),
    )


def document(report: SelftestReport) -> Document:
    """Return what every format shows."""
    rows = tuple(tuple(_row(item)) for item in report.judgements)
    table = Table("scenarios", "", _COLUMNS, rows, more=(_LEGEND,))
    failed = tuple(
        Item(f"{item.scenario.name}: {reason}", tone=Tone.WARNING)
        for item in report.failed
        for reason in item.reasons
    )
    return Document(
        NAME,
        VERSION,
        TITLE,
        facts=report.facts,
        sections=(
            Section("", tables=(table,)),
            *((Section("FAIL", items=failed),) if failed else ()),
            *problem_section(report.problems),
            Section("Controls", lead=tuple(_controls(report))),
        ),
        answer=(f"Selftest: {report.summary}.",),
        data={
            **dict(report.data),
            "passed": report.passed,
            "scenarios": [_data(item) for item in report.judgements],
            "bystanders": [_data(item) for item in report.bystanders],
            "problems": [{"title": p.title, "detail": p.detail} for p in report.problems],
        },
    )


def _controls(report: SelftestReport) -> Iterator[str]:
    """Say what became of the benchmarks in which nothing was injected."""
    if report.bystanders:
        said = Counter(
            item.seen.comparison.verdict for item in report.bystanders if item.seen.comparison
        )
        shown = ", ".join(f"{said[name]} {name.value}" for name in Verdict if said[name]) or MISSING
        count = len(report.bystanders)
        yield f"{count} further comparisons in which nothing was injected: {shown}"


def _row(item: Judgement) -> Iterator[Value]:
    scenario, found = item.scenario, item.seen.comparison
    least = "\N{GREATER-THAN OR EQUAL TO}" if scenario.is_least else ""
    yield Shown(scenario.name, scenario.name, Tone.PLAIN if item.passed else Tone.WARNING)
    yield from (scenario.operation, scenario.title)
    yield Shown(item.truth_insns, least + _insns(item.truth_insns))
    yield None if item.counted_insns is None else _number(item.counted_insns)
    yield from map(_shown, (found.typical, found.mean) if found else (None,) * 2)
    whole = found.whole if found else None
    yield None if whole is None else _number(whole.difference)
    yield None if whole is None else f"{_insns(whole.low)} to {_insns(whole.high)}"
    yield None if whole is None else "yes" if holds(whole, scenario, item.truth_insns) else "no"
    verdict = found.verdict if found else None
    yield Shown(verdict.value, f"{VERDICT_MARKS[verdict]} {verdict.value}") if verdict else None
    yield ", ".join(f"{_named(charge)} {_insns(charge.insns)}" for charge in item.named)
    yield "pass" if item.passed else "FAIL"


def _named(charge: Charge) -> str:
    if charge.function != NO_SYMBOL:
        return charge.function
    return f"BPF program below {charge.hook}" if charge.hook else "BPF program"


def _insns(value: float) -> str:
    """Write instructions with one decimal at most; what rounds to 0 has no sign."""
    return change(round(value, 1) + 0.0)


def _number(value: float) -> Shown:
    return Shown(value, _insns(value))


def _shown(item: Change | None) -> Value:
    """Write a difference with half of its interval; none where it is certain."""
    if item is None or math.isnan(item.difference):
        return None
    half = max(item.high - item.difference, item.difference - item.low)
    bound = f" {PLUS_MINUS}{half:,.1f}" if math.isfinite(half) else ""
    text = f"{_insns(item.difference)}{bound}"
    return Shown(item.difference, text) if half else _number(item.difference)


def _data(item: Judgement) -> dict[str, Any]:
    scenario, found = item.scenario, item.seen.comparison
    return {
        "name": scenario.name,
        "title": scenario.title,
        "benchmark": scenario.benchmark,
        "baseline": scenario.before.setup,
        "tested": scenario.after.setup,
        "control": scenario.is_control,
        "truth": {
            "in_line": float(scenario.expected_insns(Part.IN_LINE)),
            "whole": item.truth_insns,
            "is_least": scenario.is_least,
            "counted_whole": item.counted_insns,
        },
        **{name: getattr(found, name, None) for name in ("typical", "mean", "whole")},
        "difference": found.found.value if found else None,
        "verdict": found.verdict.value if found else None,
        "cause": found.cause if found else "",
        "allowed": [verdict.value for verdict in scenario.verdicts],
        "named": item.named,
        "passed": item.passed,
        "reasons": item.reasons,
    }
