# SPDX-License-Identifier: GPL-2.0-or-later
"""What a selftest found, as a table, as Markdown and as JSON; pure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.table import Table

from lsmeter.conclusion import Change, Verdict
from lsmeter.model import Problem
from lsmeter.report.format import RenderOptions
from lsmeter.report.heading import Heading, markdown_row, text_console
from lsmeter.report.heading import markdown_text as _md
from lsmeter.report.numbers import MISSING, VERDICT_MARKS, change
from lsmeter.selftest.judge import Charge, Judgement
from lsmeter.selftest.scenarios import Part

JSON_NAME = "lsmeter-selftest"
JSON_VERSION = 1

_HEADS = (
    *("scenario", "operation", "injected", "truth", "counted"),
    *("typical", "in-line mean", "whole", "verdict", "named", "result"),
)
_NUMBERS = frozenset({"truth", "counted", "typical", "in-line mean", "whole"})
_FOLDED = frozenset({"injected", "named"})
LEGEND = (
    "Differences of instructions per operation. truth: by the definition of what is injected; "
    "counted: by the module's own counters; both for the operation with its undo. "
    "typical and in-line mean: the measured call alone; whole: with its undo and all that both "
    "leave to be done. \N{PLUS-MINUS SIGN}: 99 % interval. named: the functions that attribution "
    "of the whole cost charges with what was injected."
)


@dataclass(frozen=True)
class SelftestReport:
    """All judgements of a selftest; bystanders are benchmarks in which nothing was injected."""

    heading: Heading
    kernel: str
    boots: int  # of each setup
    judgements: tuple[Judgement, ...]
    bystanders: tuple[Judgement, ...]
    problems: tuple[Problem, ...] = ()

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

    @property
    def bystanders_line(self) -> str:
        """What became of the benchmarks in which nothing was injected, in one line."""
        said = [item.seen.comparison for item in self.bystanders]
        counts = {
            verdict: sum(c is not None and c.verdict is verdict for c in said)
            for verdict in Verdict
        }
        told = ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items() if count)
        return f"{len(said)} further comparisons in which nothing was injected: {told or MISSING}"


def terminal(report: SelftestReport, options: RenderOptions) -> str:
    """Return the report for a terminal, at least 100 columns wide."""
    console, text = text_console(options)
    console.print(report.heading.title, style="bold")
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for head in _HEADS:
        table.add_column(
            head,
            justify="right" if head in _NUMBERS else "left",
            no_wrap=head not in _FOLDED,
            overflow="fold",
        )
    for item in report.judgements:
        table.add_row(*_row(item), style=None if item.passed else "bold red")
    console.print(table)
    console.print(LEGEND, style="dim")
    for head, lines in _remarks(report):
        console.print("\n".join(["", head, *lines]))
    console.print()
    console.print(report.summary, style="bold")
    return text.getvalue()


def markdown(report: SelftestReport, options: RenderOptions) -> str:  # noqa: ARG001
    """Return the report as Markdown."""
    lines = [
        markdown_row(_HEADS),
        markdown_row("---:" if head in _NUMBERS else "---" for head in _HEADS),
        *(markdown_row(map(_md, _row(item))) for item in report.judgements),
    ]
    parts = [f"# {_md(report.heading.title)}", "\n".join(lines), LEGEND]
    for head, remarks in _remarks(report):
        parts.append("\n".join([f"## {head}", "", *(f"- {_md(line)}" for line in remarks)]))
    return "\n\n".join([*parts, f"**{report.summary}**"]) + "\n"


def as_json(report: SelftestReport, options: RenderOptions) -> str:  # noqa: ARG001
    """Return the report as one JSON object; numbers that do not exist are null."""
    return json.dumps(document(report), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def document(report: SelftestReport) -> dict[str, Any]:
    """Return the report as plain dictionaries and lists."""
    return {
        **report.heading.document(JSON_NAME, JSON_VERSION),
        "instrument": "exact",
        "unit": "insns",
        "kernel": report.kernel,
        "boots": report.boots,
        "passed": report.passed,
        "scenarios": [_document(item) for item in report.judgements],
        "bystanders": [_document(item) for item in report.bystanders],
        "problems": [{"title": item.title, "detail": item.detail} for item in report.problems],
    }


FORMATS: Mapping[str, Callable[[SelftestReport, RenderOptions], str]] = {
    "table": terminal,
    "markdown": markdown,
    "json": as_json,
}


def _remarks(report: SelftestReport) -> Iterable[tuple[str, list[str]]]:
    failed = [
        f"{item.scenario.name}: {reason}" for item in report.failed for reason in item.reasons
    ]
    problems = [f"{p.title}: {p.detail}" if p.detail else p.title for p in report.problems]
    controls = [report.bystanders_line] if report.bystanders else []
    heads = (("FAIL", failed), ("Problems", problems), ("Controls", controls))
    return [(head, lines) for head, lines in heads if lines]


def _row(item: Judgement) -> Sequence[str]:
    scenario, found = item.scenario, item.seen.comparison
    truth = _insns(item.truth_insns)
    counted = item.counted_insns
    return (
        scenario.name,
        scenario.operation,
        scenario.title,
        f"\N{GREATER-THAN OR EQUAL TO}{truth}" if scenario.is_least else truth,
        MISSING if counted is None or scenario.is_least else _insns(counted),
        *(
            _shown(part)
            for part in ((found.typical, found.mean, found.whole) if found else (None,) * 3)
        ),
        f"{VERDICT_MARKS[found.verdict]} {found.verdict.value}" if found else MISSING,
        ", ".join(f"{charge.function} {_insns(charge.insns)}" for charge in item.named) or MISSING,
        "pass" if item.passed else "FAIL",
    )


def _insns(value: float) -> str:
    """Write instructions with one decimal at most; what rounds to 0 has no sign."""
    return change(round(value, 1) + 0.0)


def _shown(item: Change | None) -> str:
    """Write a difference with half of its interval; none where it is certain."""
    if item is None:
        return MISSING
    value = _insns(item.difference)
    half = max(item.high - item.difference, item.difference - item.low)
    if not half:
        return value
    return (
        f"{value} \N{PLUS-MINUS SIGN}{half:,.1f}"
        if math.isfinite(half)
        else f"{value} \N{PLUS-MINUS SIGN}?"
    )


def _document(item: Judgement) -> dict[str, Any]:
    scenario, found = item.scenario, item.seen.comparison
    return {
        "name": scenario.name,
        "title": scenario.title,
        "benchmark": scenario.benchmark,
        "baseline": scenario.baseline,
        "tested": scenario.tested,
        "control": scenario.is_control,
        "truth": {
            "in_line": float(scenario.expected_insns(Part.IN_LINE)),
            "whole": item.truth_insns,
            "is_least": scenario.is_least,
            "counted_whole": None if scenario.is_least else item.counted_insns,
        },
        "typical": _change(found.typical if found else None),
        "mean": _change(found.mean if found else None),
        "whole": _change(found.whole if found else None),
        "difference": found.found.value if found else None,
        "verdict": found.verdict.value if found else None,
        "cause": found.cause if found else "",
        "allowed": [verdict.value for verdict in scenario.verdicts],
        "named": [_charge(charge) for charge in item.named],
        "passed": item.passed,
        "reasons": list(item.reasons),
    }


def _change(item: Change | None) -> dict[str, float | None] | None:
    if item is None:
        return None
    names = ("baseline_value", "value", "difference", "low", "high")
    return {name: _finite(getattr(item, name)) for name in names}


def _charge(charge: Charge) -> dict[str, Any]:
    context = None if charge.context is None else charge.context.value
    return {**vars(charge), "context": context}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
