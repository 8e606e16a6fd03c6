# SPDX-License-Identifier: GPL-2.0-or-later
"""What views say of hooks, and how far they agree: as tables, Markdown and JSON; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from lsmeter.hooks.agreement.model import (
    CHECKS,
    Agreement,
    BenchmarkAgreement,
    Finding,
    Outcome,
    PlaceAgreement,
    View,
)
from lsmeter.hooks.agreement.reasons import text_of
from lsmeter.hooks.source.tables import Table
from lsmeter.report.heading import markdown_row
from lsmeter.report.heading import markdown_text as _md
from lsmeter.report.numbers import MISSING

FORMAT_VERSION = 1
_TOTAL_VIEWS = (View.MOST, View.ORDINARY, View.COUNTING, View.ATTRIBUTION)
_CHECK_VIEWS = (View.COUNTING, View.ATTRIBUTION, View.SLOPE)
_NAMED = 4  # hooks and benchmarks that a row of disagreements names


def agreement_tables(found: Agreement, *, notes: bool = False) -> tuple[Table, ...]:
    """Return two tables for each place: all benchmarks, and what differs with its reason.

    notes adds what a reader must know of what went in as a last table.
    """
    tables = [
        table
        for item in found.places
        for table in (_benchmarks(item), _findings(item))
        if table.rows
    ]
    if notes and found.notes:
        rows = tuple((note,) for note in found.notes)
        tables.append(Table("notes", "On what was compared", ("note",), rows))
    return tuple(tables)


def summary(item: PlaceAgreement) -> str:
    """Say in one sentence how far the views of one place agree."""
    whole = len(item.benchmarks)
    parts = []
    for name, outcomes in (
        ("policy hooks", [one.checks for one in item.benchmarks]),
        ("all hooks", [one.total for one in item.benchmarks]),
    ):
        words = ", ".join(
            f"{outcomes.count(outcome)} {outcome.value}"
            for outcome in Outcome
            if outcome in outcomes
        )
        parts.append(f"{name}: {words}")
    return f"{item.place.setup} on {item.place.kernel}: {whole} benchmarks; " + "; ".join(parts)


def _benchmarks(item: PlaceAgreement) -> Table:
    return Table(
        "benchmarks",
        f"Runs of hooks in one operation: {_where(item)}",
        (
            *("benchmark", "least", *(view.value for view in _TOTAL_VIEWS), "all hooks"),
            *(f"policy, {view.value}" for view in _CHECK_VIEWS),
            "policy hooks",
        ),
        tuple(_row(one) for one in item.benchmarks),
        note="Source: at most, for the benchmark's path. Policy: runs of the hooks that consult "
        f"the policy, {' + '.join(CHECKS)}, all that slopes see. least: the study's Min Hook. "
        f"{MISSING}: not measured. {summary(item)}.",
    )


def _row(one: BenchmarkAgreement) -> tuple[str, ...]:
    readings = one.readings
    return (
        readings.benchmark,
        _number(readings.least),
        *(_number(readings.total(view)) for view in _TOTAL_VIEWS),
        one.total.value,
        *(_number(readings.checks(view)) for view in _CHECK_VIEWS),
        one.checks.value,
    )


def _findings(item: PlaceAgreement) -> Table:
    """Return what is open hook by hook, and what is explained reason by reason, open first."""
    groups: dict[tuple[str, View, View, tuple[str, ...]], list[tuple[str, Finding]]] = {}
    for one in item.benchmarks:
        for finding in one.findings:
            hook = "" if finding.reasons else finding.hook
            key = (hook, finding.first, finding.second, finding.reasons)
            groups.setdefault(key, []).append((one.readings.benchmark, finding))
    rows = [
        (
            Outcome.EXPLAINED.value if reasons else Outcome.OPEN.value,
            f"{first.value} / {second.value}",
            _named(dict.fromkeys(finding.hook for _, finding in members)),
            _examples(members),
            "; ".join(text_of(name) for name in reasons) or "no known reason",
        )
        for (_, first, second, reasons), members in groups.items()
    ]
    rows.sort(key=lambda row: (row[0] != Outcome.OPEN.value, row[1:]))
    return Table(
        "disagreements",
        f"Where views differ: {_where(item)}",
        ("outcome", "views", "hooks", "benchmarks", "reason"),
        tuple(rows),
        note="In brackets: the runs of both views. Attribution stands for counting as well where "
        "the two agree. Every hook of every benchmark: --format json.",
    )


def _named(names: Iterable[str]) -> str:
    shown = [name.removeprefix("security_") for name in names]
    more = len(shown) - _NAMED
    return ", ".join(shown[:_NAMED]) + (f", {more} more" if more > 0 else "")


def _examples(members: Sequence[tuple[str, Finding]]) -> str:
    """Name the benchmarks with the largest differences first, each once."""
    largest: dict[str, Finding] = {}
    for name, finding in members:
        known = largest.get(name)
        if known is None or _size(finding) > _size(known):
            largest[name] = finding
    ordered = sorted(largest.items(), key=lambda pair: -_size(pair[1]))
    shown = ", ".join(
        f"{name} ({_number(finding.first_runs)} / {_number(finding.second_runs)})"
        for name, finding in ordered[:_NAMED]
    )
    more = len(ordered) - _NAMED
    return f"{shown}, {more} more" if more > 0 else shown


def _size(finding: Finding) -> float:
    return abs(finding.first_runs - finding.second_runs)


def _where(item: PlaceAgreement) -> str:
    place = item.place
    return f"{place.setup} on {place.kernel}, {place.filesystem}, {place.user}"


def _number(value: float | None) -> str:
    if value is None:
        return MISSING
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4f}"


def as_markdown(found: Agreement) -> str:
    """Return all tables and notes as Markdown."""
    lines = ["# How often hooks run: what four views say", ""]
    for table in agreement_tables(found):
        lines += [f"## {_md(table.title)}", "", markdown_row(table.columns)]
        lines.append(markdown_row("---" for _ in table.columns))
        lines += [markdown_row(map(_md, row)) for row in table.rows]
        lines += ["", _md(table.note), ""] if table.note else [""]
    if found.notes:
        lines += ["## Notes", "", *(f"- {_md(note)}" for note in found.notes), ""]
    return "\n".join(lines)


def as_json(found: Agreement) -> str:
    """Return all numbers, outcomes and reasons; docs/agreement.md describes the fields."""
    return json.dumps(document(found), indent=1, allow_nan=False) + "\n"


def document(found: Agreement) -> dict[str, Any]:
    """Return all of it as plain dictionaries and lists; what was not measured is null."""
    return {
        "format": "lsmeter-hook-agreement",
        "version": FORMAT_VERSION,
        "places": [
            {
                **vars(item.place),
                "benchmarks": [_benchmark(one) for one in item.benchmarks],
            }
            for item in found.places
        ],
        "notes": list(found.notes),
    }


def _benchmark(one: BenchmarkAgreement) -> dict[str, Any]:
    readings = one.readings
    return {
        "benchmark": readings.benchmark,
        "components": readings.components,
        "least": readings.least,
        "total": {view.name.lower(): readings.total(view) for view in _TOTAL_VIEWS},
        "total_outcome": one.total.value,
        "checks": {view.name.lower(): readings.checks(view) for view in _CHECK_VIEWS},
        "checks_outcome": one.checks.value,
        "hooks": [
            {
                "hook": hook,
                **{view.name.lower(): readings.runs(view, hook) for view in _TOTAL_VIEWS},
            }
            for hook in readings.hooks()
        ],
        "findings": [
            {
                "hook": finding.hook,
                "first": finding.first.name.lower(),
                "first_runs": finding.first_runs,
                "second": finding.second.name.lower(),
                "second_runs": finding.second_runs,
                "outcome": finding.outcome.value,
                "reasons": list(finding.reasons),
            }
            for finding in one.findings
        ],
    }
