# SPDX-License-Identifier: GPL-2.0-or-later
"""A run that counted hooks as a document; docs/hooks-counting.md describes its JSON form."""

from __future__ import annotations

from typing import Any

from lsmeter.analysis.counts import Counts, find_counts
from lsmeter.model import Place
from lsmeter.report.frame import notes_of, placed, problem_section, run_data, run_facts
from lsmeter.results.directory import RunData
from lsmeter.tables.model import Column, Document, Kind, Section, Shown, Table

_COLUMNS = (
    Column("benchmark", "operation", Kind.NAME),
    Column("runs", "hooks run"),
    Column("hooks", "which, and how often", Kind.PROSE),
)


def document(run: RunData) -> Document:
    """Return what `hooks count` shows: for each place a row per benchmark."""
    found = find_counts(run)
    places = dict.fromkeys(place for place, _ in found.benchmarks)
    section = Section("", tables=tuple(_table(found, place) for place in places))
    return Document(
        "lsmeter-hook-counts",
        1,
        "Runs of each hook in one operation, counted in the running kernel",
        facts=run_facts(run),
        sections=(section, *problem_section(found.problems)),
        notes=notes_of(run),
        data=_data(run, found),
    )


def _table(found: Counts, place: Place) -> Table:
    functions = dict(found.watched).get(place, 0)
    rows = []
    for where, benchmark in found.benchmarks:
        if where != place:
            continue
        counts = found.of(place, benchmark)
        named = (f"{item.hook} {item.runs}{'' if item.steady else '?'}" for item in counts)
        which = ", ".join(named)
        total = sum(item.runs for item in counts)
        rows.append((benchmark.id, total, Shown(which, which or "none")))
    more = () if all(item.steady for item in found.counts) else ("?: not in all readings",)
    title = f"{place.setup} on {place.kernel}: {functions} functions security_* watched"
    return Table("counts", title, _COLUMNS, tuple(rows), more=more)


def _data(run: RunData, found: Counts) -> dict[str, Any]:
    return {
        **run_data(run),
        "watched": [
            {"kernel": place.kernel, "setup": place.setup, "functions": functions}
            for place, functions in found.watched
        ],
        "benchmarks": [
            {
                **placed(place, item),
                "runs": sum(count.runs for count in found.of(place, item)),
            }
            for place, item in found.benchmarks
        ],
        "counts": [
            {
                **placed(item.place, item.benchmark),
                "hook": item.hook,
                "runs": item.runs,
                "steady": item.steady,
            }
            for item in found.counts
        ],
        "problems": [vars(problem) for problem in found.problems],
        "notes": list(notes_of(run)),
    }
