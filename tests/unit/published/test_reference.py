# SPDX-License-Identifier: GPL-2.0-or-later
"""Printed values against tables that were typed from the studies by others (tests/data/reference).

A row of a study has counterparts whose names have the same words; each of its numbers is one of
theirs.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from lsmeter.catalogue.studies import Row, find_published

REFERENCE = Path(__file__).parents[2] / "data" / "reference"
TABLES = {
    "freenix2001": "freenix01_selinux",
    "labreport": "labreport_selinux_grsecurity",
    "lomac2001": "lomac2001_table2",
    "lsm2002": "lsm2002_wright",
    "static-calls": "lsm_static_calls",
    "asiaccs21-table1": "asiaccs21_table1",
}
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
NUMBERS = ("value", "sd", "baseline_value", "baseline_sd", "overhead_percent")


def words(name: str) -> frozenset[str]:
    """Return the words of a name; two people write them in other order and number."""
    return frozenset(re.findall(r"[a-z]+|[0-9]+", name.lower()))


@cache
def typed(table: str) -> list[tuple[frozenset[str], set[float]]]:
    """Return the rows of a table: name, and all of its numbers without their sign."""
    with (REFERENCE / f"{table}.csv").open(newline="") as file:
        return [
            (
                words(row["benchmark"]),
                {abs(float(n)) for key in NUMBERS for n in _NUMBER.findall(row[key])},
            )
            for row in csv.DictReader(file)
        ]


def printed(row: Row) -> Iterator[float]:
    yield from (abs(value) for value in (row.baseline, row.baseline_sd) if value is not None)
    for values in (row.values, row.sd, row.printed_percent):
        yield from map(abs, values.values())


@pytest.mark.parametrize(
    ("study", "row"),
    [(name, row) for name in TABLES for row in find_published(name).rows],
    ids=lambda item: item if isinstance(item, str) else item.name,
)
def test_each_printed_number_is_in_the_typed_row(study: str, row: Row) -> None:
    known: set[float] = set()
    for name, numbers in typed(TABLES[study]):
        if name <= words(row.name) or words(row.name) <= name:
            known |= numbers
    assert known, f"no row of {TABLES[study]}.csv is called {row.name}"
    assert {*printed(row)} <= known
