# SPDX-License-Identifier: GPL-2.0-or-later
"""What a gate says: as a document for people and programs, and as JUnit XML; pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from lsmeter.core.errors import ExitCode
from lsmeter.core.model.conclusion import Number
from lsmeter.core.printable import printable
from lsmeter.questions.cells.frame import placed, problem_section
from lsmeter.questions.gate.judge import Applied, Finding, Gated, Outcome, unit_of
from lsmeter.questions.gate.rules import PERCENT
from lsmeter.tables.model import Document, Item, Section, Tone
from lsmeter.tables.values import change, first_of, many

_HEADS = {
    Outcome.BROKEN: ("Rules broken", Tone.WORSE),
    Outcome.MISSING: ("No number", Tone.WARNING),
    Outcome.OPEN: ("Inconclusive", Tone.WARNING),
}


def document(gated: Gated) -> Document:
    """Return what `gate` shows."""
    judged = gated.judged
    sections = []
    for outcome, (head, tone) in _HEADS.items():
        if found := lines(gated, outcome):
            items = tuple(Item(text, tone=tone) for text in found)
            sections.append(Section(f"{head} ({len(found)})", items=items, key=outcome.name))
    facts = (
        ("before", gated.before),
        ("after", gated.after),
        *(("rule", _counted(item)) for item in judged.applied),
    )
    data = {
        "exit_code": int(gated.code),
        "inconclusive": gated.inconclusive,
        "unit": judged.unit,
        "rules": [_counts(item) for item in judged.applied],
        "findings": [_entry(gated, item) for of in judged.applied for item in of.findings],
        "problems": [vars(problem) for problem in judged.problems],
        "notes": judged.notes,
    }
    return Document(
        "lsmeter-gate",
        1,
        f"Gate: {_title(gated)}",
        answer=_answer(gated),
        facts=facts,
        sections=(*sections, *problem_section(judged.problems)),
        notes=judged.notes,
        data=data,
    )


def _answer(gated: Gated) -> tuple[str, ...]:
    """Say whether the rules are kept, by how many comparisons, and what breaks them."""
    found = [item for of in gated.judged.applied for item in of.findings]
    said = _say_outcomes(found) if found else "nothing was compared"
    by = many(len(gated.judged.applied), "rule")
    first = f"Gate: {_title(gated)}: {said}, by {by} (exit code {int(gated.code)})."
    return (first, *first_of((line(gated, x) for x in gated.judged.of(Outcome.BROKEN)), 6))


def lines(gated: Gated, outcome: Outcome) -> list[str]:
    """Say in one line each what has this outcome; rules that were held against nothing, too."""
    empty = [item for item in gated.judged.applied if item.unjudged]
    found = [f"{item.rule.text}: {item.unjudged}" for item in empty]
    known = [line(gated, item) for item in gated.judged.of(outcome)]
    return [*found, *known] if outcome is Outcome.MISSING else known


def line(gated: Gated, finding: Finding) -> str:
    """Say in one line what a rule found, and which hook and function moved."""
    where = f"{finding.benchmark.id}, {finding.place.setup} on {finding.place.kernel}"
    text = f"{where}: {_measured(gated, finding)}"
    moved = gated.origins.get(finding)
    if moved is None:
        return text
    hook = moved.hook or "outside of hooks"
    inner = f" ({moved.function} {change(round(moved.function_insns, 1))})"
    own = "" if moved.function == moved.hook else inner
    return f"{text}: {hook} {change(round(moved.hook_insns, 1))}{own}"


def _measured(gated: Gated, finding: Finding) -> str:
    bound, rule = finding.bound, finding.rule
    if bound is None:
        return finding.detail
    unit, moved = unit_of(finding.benchmark, gated.judged.unit), bound.change
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


def _counts(item: Applied) -> dict[str, object]:
    """Count what came of one rule."""
    outcomes = Counter(finding.outcome for finding in item.findings)
    return {
        "rule": item.rule.text,
        "comparisons": len(item.findings),
        **{kind.name.lower(): outcomes[kind] for kind in Outcome},
        "only_before": item.only_before,
        "only_after": item.only_after,
        "unjudged": item.unjudged,
    }


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
    if gated.judged.of(Outcome.BROKEN):
        return "a rule is broken"
    if gated.code is ExitCode.OK:
        return "every rule is kept"
    if any(item.unjudged for item in gated.judged.applied):
        return "a rule is not judged"
    return "a number is missing" if gated.judged.of(Outcome.MISSING) else "not known well enough"


def _entry(gated: Gated, finding: Finding) -> dict[str, object]:
    bound, moved = finding.bound, gated.origins.get(finding)
    return {
        **placed(finding.place, finding.benchmark),
        "id": finding.benchmark.id,
        "rule": finding.rule.text,
        "outcome": finding.outcome.value,
        "limit": finding.rule.limit.value,
        "limit_unit": finding.rule.limit.unit,
        "number": None if bound is None else bound.number.value,
        "worse": bound
        and {
            "value": bound.worse.overhead,
            "low": bound.worse.overhead_low,
            "high": bound.worse.overhead_high,
        },
        "verdict": finding.verdict and finding.verdict.value,
        "detail": finding.detail,
        "moved": None if moved is None else vars(moved),
    }


def junit(gated: Gated) -> bytes:
    """Write JUnit XML: a suite for each rule, a case for each benchmark and setup.

    What is open or has no number is skipped where the exit code says so, else a failure or passed;
    a rule that is not judged is a skipped case of its own. Limits are in properties: a rule keeps
    its name where its limit is changed.
    """
    root = ET.Element("testsuites", name="lsmeter gate")
    taken: Counter[str] = Counter()
    for applied in gated.judged.applied:
        name = printable(applied.rule.name)
        taken[name] += 1
        name += f" ({taken[name]})" * (taken[name] > 1)
        suite = ET.SubElement(root, "testsuite", name=name)
        told = ET.SubElement(suite, "properties")
        ET.SubElement(told, "property", name="limit", value=applied.rule.limit.text)
        if applied.unjudged:
            case = ET.SubElement(suite, "testcase", classname=name, name="is judged")
            ET.SubElement(case, "skipped", message=printable(applied.unjudged))
        for finding in applied.findings:
            where = printable(finding.place.label.replace(", ", "."))
            of = printable(finding.benchmark.id)
            case = ET.SubElement(suite, "testcase", classname=where, name=of)
            _add_outcome(case, gated, finding)
        cases = suite.findall("testcase")
        suite.set("tests", str(len(cases)))
        for kind, count in (("failure", "failures"), ("skipped", "skipped")):
            suite.set(count, str(sum(case.find(kind) is not None for case in cases)))
        suite.set("errors", "0")
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _add_outcome(case: ET.Element, gated: Gated, finding: Finding) -> None:
    said = printable(line(gated, finding))
    kind = {
        Outcome.BROKEN: "failure",
        Outcome.MISSING: "skipped",
        Outcome.OPEN: {"fail": "failure", "skip": "skipped", "pass": ""}[gated.inconclusive],
        Outcome.KEPT: "",
    }[finding.outcome]
    if kind:
        ET.SubElement(case, kind, message=said)
    ET.SubElement(case, "system-out").text = said
