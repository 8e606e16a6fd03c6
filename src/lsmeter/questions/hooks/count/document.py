# SPDX-License-Identifier: GPL-2.0-or-later
"""A run that counted hooks as a document; `lsmeter help hooks-counting` describes its JSON."""

from __future__ import annotations

from typing import Any

from lsmeter.core.model import Benchmark, Place
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.frame import placed, run_document
from lsmeter.questions.hooks.count.figures import Counts, find_counts
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Document, Kind, Section, Shown, Table


def document(run: RunData) -> Document:
    """Return what `hooks count` shows: for each place a row per benchmark."""
    found = find_counts(run)
    places = dict.fromkeys(place for place, _ in found.benchmarks)
    section = Section("", tables=tuple(_table(found, place) for place in places))
    title = "Runs of each hook in one operation, counted in the running kernel"
    return run_document(run, "lsmeter-hook-counts", title, (section,), found.problems, _data(found))


def _table(found: Counts, place: Place) -> Table:
    def which(benchmark: Benchmark) -> Shown:
        counts = found.of(place, benchmark)
        text = ", ".join(f"{c.name} {c.runs}{'' if c.steady else '?'}" for c in counts)
        return Shown(text, text or "none")

    fields = (
        named("benchmark", "id", "operation"),
        Field("runs", "hooks run", lambda item: sum(c.runs for c in found.of(place, item))),
        Field("hooks", "which, and how often", which, Kind.PROSE),
    )
    functions = dict(found.watched).get(place, 0)
    more = () if all(item.steady for item in found.counts) else ("?: not in all readings",)
    title = f"{place.setup} on {place.kernel}: {functions} functions security_* watched"
    here = (benchmark for where, benchmark in found.benchmarks if where == place)
    return tabled("counts", title, fields, here, more=more)


def _data(found: Counts) -> dict[str, Any]:
    return {
        "watched": [
            {"kernel": place.kernel, "setup": place.setup, "functions": functions}
            for place, functions in found.watched
        ],
        "benchmarks": [
            {**placed(place, item), "runs": sum(count.runs for count in found.of(place, item))}
            for place, item in found.benchmarks
        ],
        "counts": [
            {
                **placed(item.place, item.benchmark),
                "hook": item.name,
                "runs": item.runs,
                "steady": item.steady,
            }
            for item in found.counts
        ],
    }
