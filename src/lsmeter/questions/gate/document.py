# SPDX-License-Identifier: GPL-2.0-or-later
"""What a gate says, for people, programs and CI; pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from lsmeter.core.errors import ExitCode
from lsmeter.core.model import Place, Problem
from lsmeter.core.model.conclusion import Number, Verdict
from lsmeter.questions.cells.frame import problem_section
from lsmeter.questions.cells.rows import PLACED
from lsmeter.questions.cost.grids import grids
from lsmeter.questions.cost.plots import picture
from lsmeter.questions.gate.judge import Applied, Finding, Gated, Moved, Outcome, unit_of
from lsmeter.questions.gate.rules import PERCENT
from lsmeter.tables.fields import (
    BENCHMARK,
    Contract,
    Each,
    Field,
    Maybe,
    Row,
    fields_of,
    flat_table,
    headed,
    named,
    tabled,
)
from lsmeter.tables.model import Detail, Document, Item, Kind, Section, Shown, Tone
from lsmeter.tables.results import Quantity, Result, Results, Rule, Status
from lsmeter.tables.values import change, first_of, many

_ROWS = 12  # of each outcome in a terminal
_HEADS = {
    Outcome.BROKEN: ("Rules broken", Tone.WORSE),
    Outcome.MISSING: ("No number", Tone.WARNING),
    Outcome.OPEN: ("Inconclusive", Tone.WARNING),
}


def document(gated: Gated, detail: Detail = Detail.FULL) -> Document:
    """Return what `gate` shows, for a format with this much room."""
    found = CONTRACT.row.entry(gated)
    if detail is Detail.DATA:
        flat = [_FINDING.flat(entry) for entry in found["findings"]]
        sections = [Section("", tables=(flat_table("findings", flat, _FINDING.flat(None)),))]
    else:
        sections = [part for kind in _HEADS for part in _section(gated, kind, detail)]
    facts = (
        ("before", gated.before),
        ("after", gated.after),
        *(("rule", _counted(item)) for item in gated.applied),
    )
    return Document(
        CONTRACT.name,
        CONTRACT.version,
        f"Gate: {_title(gated)}",
        answer=_answer(gated),
        picture=picture(gated.report, grids(gated.report)),
        facts=facts,
        sections=(*sections, *problem_section(gated.report.problems)),
        notes=gated.report.notes,
        data=found,
        results=results(gated) if detail is Detail.DATA else None,
    )


def _section(gated: Gated, outcome: Outcome, detail: Detail) -> Iterator[Section]:
    """List what has an outcome: by rule and place, or in a line each where there is no number."""
    head, tone = _HEADS[outcome]
    said = lines(gated, outcome)
    if not said:
        return
    most = _ROWS if detail is Detail.SHORT else len(said)
    more = (f"Not shown: {many(len(said) - most, 'row')}: --all.",) if len(said) > most else ()
    title, key = f"{head} ({len(said)})", outcome.name
    mine = [item for item in gated.of(outcome) if item.bound][:most]
    if outcome is Outcome.MISSING or not mine:
        items = [Item(text, tone=tone) for text in said[:most]]
        yield Section(title, items=(*items, *map(Item, more)), key=key)
        return
    why = Field("detail", "why" if outcome is Outcome.OPEN else "sits in", _reason, Kind.PROSE)
    fields = (*_SHOWN, *([why] if any(map(_reason, mine)) else []))
    table = tabled("findings", "", fields, mine, more=more)
    heads = (f"{item.rule.text}: {item.place.label}" for item in mine)
    yield Section(title, tables=(headed(table, heads),), key=key)


def _reason(finding: Finding) -> str:
    """Say which hook and function moved, or why nothing is known for certain."""
    if finding.moved is not None:
        return moved_words(finding.moved)
    return finding.detail if finding.outcome is Outcome.OPEN else ""


def moved_words(moved: Moved) -> str:
    """Say which hook moved by how much, and which function in it."""
    hook = moved.hook or "outside of hooks"
    inner = f" ({moved.function} {change(round(moved.function_insns, 1))})"
    own = "" if moved.function == moved.hook else inner
    return f"{hook} {change(round(moved.hook_insns, 1))}{own}"


def _cost(value: float) -> float | None:
    return round(value, 2) + 0.0 if math.isfinite(value) else None


def _worse(finding: Finding) -> Shown | None:
    share = finding.bound.change.overhead if finding.bound else math.nan
    if not math.isfinite(share):
        return None
    return Shown(share, f"{share:+.2%}".replace("%", " %"), _HEADS[finding.outcome][1])


# Of findings that a number decided.
_SHOWN = (
    BENCHMARK,
    Field("old", "old", lambda item: _cost(item.bound.change.baseline_value)),
    Field("new", "new", lambda item: _cost(item.bound.change.value)),
    Field("difference", "difference", lambda i: _cost(i.bound.change.difference), Kind.CHANGE),
    Field("overhead", "overhead", _worse, Kind.PERCENT),
    named("verdict", "verdict.value"),
    named("decided_by", "decided_by.value", "decided by"),
)


def _count(outcome: Outcome, item: Applied) -> int:
    return sum(finding.outcome is outcome for finding in item.findings)


_RULE = Row(
    (
        named("rule", "rule.text"),
        Field("comparisons", value=lambda item: len(item.findings), of=int),
        *(Field(kind.name.lower(), value=partial(_count, kind), of=int) for kind in Outcome),
        *(Field(name, of=int) for name in ("only_before", "only_after")),
        named("unjudged"),
    )
)
MOVED = Row(fields_of(Moved))
_ENDS = {"value": "overhead", "low": "overhead_low", "high": "overhead_high"}
_WORSE = Row(tuple(Field(key, value=name) for key, name in _ENDS.items()))
_FINDING = Row(
    (
        *PLACED,
        named("rule", "rule.text"),
        Field("outcome", of=Outcome),
        Field("limit", value="rule.limit.value"),
        named("limit_unit", "rule.limit.unit"),
        *(Field(key, value="decided_by", of=Number | None) for key in ("number", "decided_by")),
        Field("worse", value=lambda item: item.bound and item.bound.worse, of=Maybe(_WORSE)),
        Field("verdict", of=Verdict | None),
        named("detail"),
        Field("moved", of=Maybe(MOVED)),
    )
)
CONTRACT = Contract(
    "lsmeter-gate",
    1,
    Row(
        (
            Field("exit_code", value="code", of=int),
            *(named("inconclusive"), named("unit", "report.unit")),
            Field("rules", value="applied", of=Each(_RULE)),
            Field("findings", of=Each(_FINDING)),
            Field("problems", value="report.problems", of=Each(Row(fields_of(Problem)))),
            Field("notes", value="report.notes", of=Each(str)),
        )
    ),
)


def _answer(gated: Gated) -> tuple[str, ...]:
    """Say whether the rules are kept, by how many comparisons, and what breaks them."""
    found = gated.findings
    said = _say_outcomes(found) if found else "nothing was compared"
    by = many(len(gated.applied), "rule")
    first = f"Gate: {_title(gated)}: {said}, by {by} (exit code {int(gated.code)})."
    return (first, *first_of((line(gated, x) for x in gated.of(Outcome.BROKEN)), 6))


def lines(gated: Gated, outcome: Outcome) -> list[str]:
    """Say in one line each what has this outcome; rules that were held against nothing, too."""
    empty = [item for item in gated.applied if item.unjudged]
    found = [f"{item.rule.text}: {item.unjudged}" for item in empty]
    known = [line(gated, item) for item in gated.of(outcome)]
    return [*found, *known] if outcome is Outcome.MISSING else known


def line(gated: Gated, finding: Finding) -> str:
    """Say in one line what a rule found, and which hook and function moved."""
    where = f"{finding.benchmark.id}, {finding.place.setup} on {finding.place.kernel}"
    text = f"{where}: {_measured(gated, finding)}"
    return f"{text}: {_reason(finding)}" if finding.moved else text


def _measured(gated: Gated, finding: Finding) -> str:
    bound, rule = finding.bound, finding.rule
    if bound is None:
        return finding.detail
    unit, moved = unit_of(finding.benchmark, gated.report.unit), bound.change
    shares = (moved.overhead, moved.overhead_low, moved.overhead_high)
    worse = [f"{share:+.2%}".replace("%", " %") for share in shares if math.isfinite(share)]
    said = f"{bound.number} {change(round(moved.difference, 2) + 0.0)} {unit}"
    if len(worse) == len(shares):
        exact = worse[1] == worse[2]
        of = f" of {finding.benchmark.cycle}" if bound.number is Number.WHOLE else ""
        span = "" if exact else f", {worse[1]} to {worse[2]}"
        said += f" ({worse[0]}{span}{of})"
    of = " of the call" if bound.number is Number.WHOLE and rule.limit.unit == PERCENT else ""
    why = f" ({finding.detail})" if finding.outcome is Outcome.OPEN and finding.detail else ""
    return f"{said}, limit {rule.limit.text}{of}{why}"


def _counted(item: Applied) -> str:
    """Say the same in words."""
    alone = (("first", item.only_before), ("second", item.only_after))
    only = [
        f"; {count} not compared, which only the {run} run has" for run, count in alone if count
    ]
    said = f"{_say_outcomes(item.findings)}{''.join(only)}" if item.findings else item.unjudged
    return f"{item.rule.text}: {said}"


def _say_outcomes(findings: Sequence[Finding]) -> str:
    """Count outcomes in words: 1 broken, 3 kept of 4 comparisons."""
    outcomes = Counter(finding.outcome for finding in findings)
    counts = ", ".join(f"{outcomes[kind]} {kind}" for kind in Outcome if outcomes[kind])
    return f"{counts} of {many(len(findings), 'comparison')}"


def _title(gated: Gated) -> str:
    if gated.of(Outcome.BROKEN):
        return "a rule is broken"
    if gated.code is ExitCode.OK:
        return "every rule is kept"
    if any(item.unjudged for item in gated.applied):
        return "a rule is not judged"
    return "a number is missing" if gated.of(Outcome.MISSING) else "not known well enough"


_STATUS = {Outcome.BROKEN: Status.FAILED, Outcome.KEPT: Status.PASSED}
_OPEN = {"fail": Status.FAILED, "skip": Status.SKIPPED, "pass": Status.PASSED}


def results(gated: Gated) -> Results:
    """Return a result for each comparison of each rule, and for each that none was held against."""
    rules = tuple(
        Rule(
            item.rule.name,
            item.rule.limit.text,
            tuple(_result(gated, finding) for finding in item.findings),
            item.unjudged,
        )
        for item in gated.applied
    )
    kernel = gated.kernels[0].name if len(gated.kernels) == 1 else ""
    where = Place(kernel, "", "", "", "")
    empty = (
        Result(Status.MISSING, where, f"rule {rule.name}", rule.unjudged)
        for rule in rules
        if rule.unjudged
    )
    every = (result for rule in rules for result in rule.items)
    return Results((*every, *empty), gated.kernels, gated.report.created, rules)


def _result(gated: Gated, finding: Finding) -> Result:
    status = _STATUS.get(finding.outcome, Status.MISSING)
    if finding.outcome is Outcome.OPEN:
        status = _OPEN[gated.inconclusive]
    numbers: tuple[Quantity, ...] = ()
    if finding.bound is not None and finding.has_number:
        unit = unit_of(finding.benchmark, gated.report.unit)
        numbers = (Quantity(finding.bound.number.value, finding.bound.change.value, unit),)
    said = line(gated, finding)
    return Result(status, finding.place, finding.benchmark.id, said, numbers)
