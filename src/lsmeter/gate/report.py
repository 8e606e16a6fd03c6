# SPDX-License-Identifier: GPL-2.0-or-later
"""What a gate says: as a document for people and programs, and as JUnit XML; pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from lsmeter.base.errors import ExitCode
from lsmeter.base.printable import printable
from lsmeter.gate.judge import Finding, Judgement, Outcome, unit_of
from lsmeter.gate.origin import Moved
from lsmeter.gate.rules import PERCENT
from lsmeter.model.conclusion import Number
from lsmeter.report.frame import placed, problem_section
from lsmeter.tables.model import Document, Item, Section, Tone
from lsmeter.tables.values import change, many

BROKEN = ExitCode.INCOMPLETE  # 1: what `git bisect run` takes for bad
_CODES = {"fail": BROKEN, "skip": ExitCode.SKIPPED, "pass": ExitCode.OK}
INCONCLUSIVE = tuple(_CODES)
_HEADS = {
    Outcome.BROKEN: "Rules broken",
    Outcome.MISSING: "No number",
    Outcome.OPEN: "Inconclusive",
}
_TONES = {
    Outcome.BROKEN: Tone.WORSE,
    Outcome.MISSING: Tone.WARNING,
    Outcome.OPEN: Tone.WARNING,
}


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
        if self.judged.of(Outcome.MISSING):
            return ExitCode.SKIPPED
        return _CODES[self.inconclusive] if self.judged.of(Outcome.OPEN) else ExitCode.OK


def document(gated: Gated) -> Document:
    """Return what `gate` shows."""
    judged = gated.judged
    sections = []
    for outcome, head in _HEADS.items():
        if found := judged.of(outcome):
            items = tuple(Item(line(gated, item), tone=_TONES[outcome]) for item in found)
            sections.append(Section(f"{head} ({len(found)})", items=items, key=outcome.name))
    facts = (
        ("before", gated.before),
        ("after", gated.after),
        ("rules", "; ".join(item.text for item in judged.rules)),
        ("result", _result(gated)),
    )
    data = {
        "exit_code": int(gated.code),
        "inconclusive": gated.inconclusive,
        "unit": judged.unit,
        "findings": [_entry(gated, item) for item in judged.findings],
        "problems": [vars(problem) for problem in judged.problems],
        "notes": judged.notes,
    }
    return Document(
        "lsmeter-gate",
        1,
        f"Gate: {_title(gated)}",
        facts=facts,
        sections=(*sections, *problem_section(judged.problems)),
        notes=judged.notes,
        data=data,
    )


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


def _result(gated: Gated) -> str:
    judged = gated.judged
    counts = [f"{len(found)} {kind}" for kind in Outcome if (found := judged.of(kind))]
    return f"{', '.join(counts)} of {many(len(judged.findings), 'comparison')}"


def _title(gated: Gated) -> str:
    words = {BROKEN: "a rule is broken", ExitCode.OK: "every rule is kept"}
    if gated.judged.of(Outcome.BROKEN) or gated.code is ExitCode.OK:
        return words[gated.code]
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

    What is open or has no number is skipped where the exit code says so, else a failure or passed.
    """
    root = ET.Element("testsuites", name="lsmeter gate")
    for rule in dict.fromkeys(gated.judged.rules):
        mine = [item for item in gated.judged.findings if item.rule == rule]
        suite = ET.SubElement(root, "testsuite", name=printable(rule.text), tests=str(len(mine)))
        for finding in mine:
            name = f"{finding.benchmark.id} <= {rule.limit.text}"
            where = finding.place.label.replace(", ", ".")
            case = ET.SubElement(
                suite, "testcase", classname=printable(where), name=printable(name)
            )
            _add_outcome(case, gated, finding)
        for kind in ("failure", "skipped"):
            number = str(sum(case.find(kind) is not None for case in suite))
            suite.set(f"{kind}s" if kind == "failure" else kind, number)
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
