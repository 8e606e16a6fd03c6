# SPDX-License-Identifier: GPL-2.0-or-later
"""Indices of a run as a document: one number for each suite, setup and user."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lsmeter.core.groups import grouped
from lsmeter.measure.instruments import find_instrument
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.frame import run_document
from lsmeter.questions.cells.rows import PLACE, run_contract
from lsmeter.questions.index.figures import FULL, Index
from lsmeter.statistics.blocks import Interval
from lsmeter.tables.fields import Each, Field, Maybe, Row, fields_of, flat_table, named, tabled
from lsmeter.tables.intervals import Bounded, intervals
from lsmeter.tables.model import Detail, Document, Section, Shown, Table
from lsmeter.tables.values import first_of

_BOUNDS = Row(fields_of(Interval))
_DATA = Row(
    (
        *(*PLACE, named("reference_kernel", "reference.kernel")),
        named("reference_setup", "reference.setup"),
        Field("typical", of=_BOUNDS, flat="index"),
        *(Field(name, of=Maybe(_BOUNDS)) for name in ("whole", "mean")),
        Field("benchmarks", of=int),
        Field("missing", of=Each(str), text=", ".join),
    )
)
CONTRACT = run_contract("lsmeter-index", named("reference"), Field("indices", of=Each(_DATA)))


def index_document(
    run: RunData, found: Sequence[Index], reference: str, detail: Detail = Detail.FULL
) -> Document:
    """Return what `index` shows: a table for each kernel, suite, file system and user."""
    entries = [_DATA.entry(item) for item in found]
    places = grouped((item.place.beside, item) for item in found)
    tables = tuple(map(_table, places.values()))
    says = f"100 is {reference}; a lower index is always slower."
    words = find_instrument(run.manifest.instrument).words
    also = words.mean if any(item.mean for item in found) else "whole cost"
    lead = (f"{says} Geometric mean of the {words.typical} costs, and of the {also}.",)
    if detail is Detail.DATA:
        tables = (flat_table("indices", [_DATA.flat(item) for item in entries]),)
    section = Section("Index", lead=lead, tables=tables)
    data = {"reference": reference, "indices": entries}
    made = run_document(run, CONTRACT.name, "Index over suites", (section,), (), data)
    rows = (
        Bounded(", ".join(item.place.beside), item.place.setup, *vars(item.typical).values())
        for item in found
    )
    caption = f"Dot: the index of the {words.typical} costs; line: its interval. {says}"
    picture = intervals("Index of each setup", caption, "index", FULL, rows)
    return replace(made, answer=first_of(_sentences(found, reference)), picture=picture)


def _sentences(found: Sequence[Index], reference: str) -> Iterator[str]:
    """Say the index of each setup."""
    if not found:
        yield "Nothing was compared: no suite has an index."
    several = len({item.place.beside for item in found}) > 1
    for item in found:
        at, where = item.typical, f", {item.place.kernel}, {item.place.filesystem}" * several
        known = f" ({at.low:.2f} to {at.high:.2f})" if at.low < at.high < math.inf else ""
        of = f"of suite {item.place.suite}{where}"
        said = f"index {at.value:.2f}{known} {of}"
        yield f"{item.place.setup}: {said}; {reference}{_on(item)} is 100."


def _on(item: Index) -> str:
    """Name the kernel of the reference, where it is another."""
    kernel = item.reference.kernel
    return "" if kernel == item.place.kernel else f" on {kernel}"


def _table(found: Sequence[Index]) -> Table:
    place = found[0].place
    also = ("mean", "mean") if any(item.mean for item in found) else ("whole", "whole cost")

    def second(item: Index) -> Shown | None:
        other = item.mean or item.whole
        return None if other is None else _shown(other.value)

    fields = (
        named("setup", "place.setup"),
        Field("index", "index", lambda item: _shown(item.typical.value)),
        Field("low", "at least", lambda item: _shown(item.typical.low)),
        Field("high", "at most", lambda item: _shown(item.typical.high)),
        *(Field(*also, second), Field("benchmarks", "benchmarks")),
    )
    more = tuple(
        f"{item.place.setup}: without {', '.join(item.missing)}" for item in found if item.missing
    )
    where = (place.kernel, place.filesystem, f"user {place.user}", *place.said_copies)
    other = _on(found[0])
    title = f"{place.suite} on {', '.join(where)}{f'; 100 is{other}' if other else ''}"
    return tabled("indices", title, fields, found, more=more)


def _shown(value: float) -> Shown | None:
    """Return an index as it is shown; None where too few blocks bound it."""
    return Shown(value, f"{value:.2f}") if math.isfinite(value) else None
