# SPDX-License-Identifier: GPL-2.0-or-later
"""An agreement as a document; `lsmeter help agreement` describes its JSON form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lsmeter.core.groups import grouped
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.frame import problem_section, run_facts
from lsmeter.questions.hooks.agreement.compare import (
    CHECKS,
    Agreement,
    BenchmarkAgreement,
    Finding,
    Outcome,
    View,
)
from lsmeter.questions.hooks.agreement.gather import agree
from lsmeter.tables.model import (
    Column,
    Document,
    Kind,
    Section,
    Shown,
    Table,
    Value,
    columns,
)
from lsmeter.tables.values import MISSING, count, shown, some

_HOOKS = (View.COUNTING, View.ATTRIBUTION)
_CHECKS = (*_HOOKS, View.SLOPE)
_NAMED = 4  # hooks and benchmarks that a row of disagreements names

_BENCHMARKS = (
    Column("benchmark", "benchmark", Kind.NAME),
    *columns(Kind.COUNT, "least", *_HOOKS),
    Column("total_outcome", "all hooks", Kind.NAME),
    *columns(Kind.COUNT, *(f"policy {view}" for view in _CHECKS)),
    Column("checks_outcome", "policy hooks", Kind.NAME),
    *columns(Kind.COUNT, "reachable", "ran"),
    Column("source_outcome", "source", Kind.NAME),
)
_LEGEND = (
    "counting, attribution: runs of all hooks in one operation. policy: runs of the hooks that "
    f"consult the policy, {' + '.join(CHECKS)}, all that slopes see. reachable: hooks that the "
    "source can reach from the benchmark's system calls; ran: hooks that ran. least: the study's "
    f"Min Hook. {MISSING}: not measured."
)
_DISAGREEMENTS = (
    *columns(Kind.NAME, "outcome", "views"),
    Column("hooks", "hooks", Kind.PROSE),
    Column("benchmarks", "benchmarks"),
    Column("which", "which", Kind.PROSE),
    Column("reason", "reason", Kind.NAME),
    Column("evidence", "evidence", Kind.PROSE),
)
_BRACKETS = "In brackets: the runs in both views. Every hook of every benchmark: --format json."


def document(run: RunData) -> Document:
    """Return what a report shows of the views of a run."""
    return shown_of(run, agree([run]))


def shown_of(run: RunData, found: Agreement) -> Document:
    """Return what `hooks agree` shows; run is the first of those that were read."""
    places = [
        {**vars(place), "benchmarks": list(map(_data, items))}
        for place, items in found.places.items()
    ]
    return Document(
        "lsmeter-hook-agreement",
        2,
        "Hooks that one operation runs, in up to four views",
        facts=run_facts(run),
        answer=tuple(
            f"{place.label}: {'; '.join(_outcomes(of))}." for place, of in found.places.items()
        ),
        sections=(*sections(found), *problem_section(found.problems)),
        notes=found.notes,
        data={
            "places": places,
            "notes": found.notes,
            "problems": [vars(problem) for problem in found.problems],
        },
    )


def sections(found: Agreement) -> tuple[Section, ...]:
    """Return a section for each place: all benchmarks, what differs and why."""
    return tuple(
        Section(
            f"Agreement: {place.label}",
            tables=tuple(table for table in (_benchmarks(items), _findings(items)) if table.rows),
        )
        for place, items in found.places.items()
    )


def _outcomes(items: Sequence[BenchmarkAgreement]) -> Iterator[str]:
    """Say of each comparison how many benchmarks agree, and how many do not."""
    for name, outcomes in (
        ("policy hooks", [item.checks for item in items]),
        ("all hooks", [item.total for item in items]),
        ("source", [item.source for item in items]),
    ):
        numbers = (f"{outcomes.count(one)} {one}" for one in Outcome if one in outcomes)
        yield f"{name}: {', '.join(numbers)} of {len(items)} benchmarks"


def _benchmarks(items: Iterable[BenchmarkAgreement]) -> Table:
    def cells(item: BenchmarkAgreement) -> Iterator[Value]:
        of = item.readings
        yield from (of.benchmark.id, of.least, *map(of.total, _HOOKS), item.total.value)
        yield from (*(_number(of.checks(view)) for view in _CHECKS), item.checks.value)
        yield None if of.reachable is None else len(of.reachable)
        yield len(of.ran) if of.runs else None
        yield item.source.value

    title = "Runs of hooks in one operation"
    return Table(
        "benchmarks", title, _BENCHMARKS, tuple(map(tuple, map(cells, items))), more=(_LEGEND,)
    )


def _findings(items: Iterable[BenchmarkAgreement]) -> Table:
    """Return what differs, by views, reason and evidence: what is open first."""
    groups = grouped(
        (
            (one.outcome.value, f"{one.first} / {one.second}", one.reason, one.evidence),
            (item.readings.benchmark.id, one),
        )
        for item in items
        for one in item.findings
    )
    found = [
        (
            *(outcome, views, some(_hooks(members), _NAMED), len(dict(members))),
            *(some(_examples(members), _NAMED), reason or MISSING, evidence),
        )
        for (outcome, views, reason, evidence), members in groups.items()
    ]
    found.sort(key=lambda row: (row[0] != Outcome.OPEN, row[1], row[5], -row[3]))
    title = "Where views differ"
    return Table("disagreements", title, _DISAGREEMENTS, tuple(found), more=(_BRACKETS,))


def _hooks(members: Iterable[tuple[str, Finding]]) -> Iterable[str]:
    return dict.fromkeys(one.hook.removeprefix("security_") for _, one in members)


def _examples(members: Iterable[tuple[str, Finding]]) -> Iterator[str]:
    """Name each benchmark once, with the runs where both views have a number."""
    for name, one in dict(members).items():
        second = shown(_number(one.second_runs), _BENCHMARKS[1]).text
        numbers = f" ({count(one.first_runs)} / {second})"
        yield name + (numbers if one.first is not View.SOURCE else "")


def _number(runs: float | None) -> Value:
    """Show a slope that is no whole number with four digits."""
    return runs if runs is None or float(runs).is_integer() else Shown(runs, f"{runs:,.4f}")


def _data(item: BenchmarkAgreement) -> dict[str, Any]:
    of = item.readings
    return {
        "benchmark": of.benchmark.id,
        "components": of.benchmark.components,
        "least": of.least,
        "total": {view: of.total(view) for view in _HOOKS},
        "total_outcome": item.total,
        "checks": {view: of.checks(view) for view in _CHECKS},
        "checks_outcome": item.checks,
        "source_outcome": item.source,
        "hooks": [
            {
                "hook": hook,
                "reachable": None if of.reachable is None else hook in of.reachable,
                **{v: of.runs[v].get(hook, 0) if v in of.runs else None for v in _HOOKS},
            }
            for hook in sorted((of.reachable or frozenset()) | of.ran)
        ],
        "findings": [{**vars(one), "outcome": one.outcome} for one in item.findings],
    }
