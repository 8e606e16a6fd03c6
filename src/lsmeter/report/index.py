# SPDX-License-Identifier: GPL-2.0-or-later
"""Indices of a run as a document: one number for each suite, setup and user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lsmeter.analysis.index import Bounded, Index
from lsmeter.report.frame import run_document
from lsmeter.results.directory import RunData
from lsmeter.tables.model import Column, Document, Kind, Section, Table

_COLUMNS = (
    Column("setup", "setup", Kind.NAME),
    Column("index", "index"),
    Column("low", "at least"),
    Column("high", "at most"),
    Column("whole", "whole cost"),
    Column("benchmarks", "benchmarks"),
)


def index_document(run: RunData, found: Sequence[Index], reference: str) -> Document:
    """Return what `index` shows: a table for each kernel, suite, file system and user."""
    kinds = dict.fromkeys(item.place.beside for item in found)
    tables = tuple(_table([item for item in found if item.place.beside == k]) for k in kinds)
    says = f"100 is {reference}; a lower index is always slower."
    lead = (f"{says} Geometric mean of the typical costs, and of the whole costs.",)
    section = Section("Index", lead=lead, tables=tables)
    data = {"reference": reference, "indices": [_data(item) for item in found]}
    return run_document(run, "lsmeter-index", "Index over suites", (section,), (), data)


def _table(found: Sequence[Index]) -> Table:
    place = found[0].place
    rows = tuple(
        (
            item.place.setup,
            *(round(x, 2) for x in (item.typical.value, item.typical.low, item.typical.high)),
            round(item.whole.value, 2) if item.whole else None,
            item.benchmarks,
        )
        for item in found
    )
    more = tuple(
        f"{item.place.setup}: without {', '.join(item.missing)}" for item in found if item.missing
    )
    where = (place.kernel, place.filesystem, f"user {place.user}", *place.said_copies)
    title = f"{place.suite} on {', '.join(where)}"
    return Table("indices", title, _COLUMNS, rows, more=more)


def _data(item: Index) -> dict[str, Any]:
    def bounds(found: Bounded | None) -> dict[str, float] | None:
        return vars(found) if found else None

    return {
        **vars(item.place),
        "reference_kernel": item.reference.kernel,
        "reference_setup": item.reference.setup,
        "typical": bounds(item.typical),
        "whole": bounds(item.whole),
        "benchmarks": item.benchmarks,
        "missing": item.missing,
    }
