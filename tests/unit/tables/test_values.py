# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lsmeter.core.model import Problem
from lsmeter.tables import values
from lsmeter.tables.data import plain, scrub_text, scrubbed
from lsmeter.tables.model import Column, Kind, Shown
from tests.unit.report import builders


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234, "1,234"),
        (1234.5, "1,234.5"),
        (0, "0"),
        (math.nan, values.MISSING),
        (math.inf, values.MISSING),
        (None, values.MISSING),
    ],
)
def test_a_count_has_thousands_separators(value: float | None, text: str) -> None:
    assert values.count(value) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.193, "+19.3 %"),
        (-0.2, "-20.0 %"),
        (0.0, "0.0 %"),
        (12.3456, "+1,234.6 %"),
        (math.nan, values.MISSING),
        (-math.inf, values.MISSING),
        (None, values.MISSING),
    ],
)
def test_an_overhead_has_a_sign_and_one_decimal(fraction: float | None, text: str) -> None:
    assert values.percent(fraction) == text


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (12, Kind.CHANGE, "+12"),
        (0.25, Kind.SHARE, "25.0 %"),
        (0.25, Kind.PERCENT, "+25.0 %"),
        (True, Kind.YES, "yes"),
        (None, Kind.COUNT, values.MISSING),
        (math.nan, Kind.CHANGE, values.MISSING),
        ("open", Kind.NAME, "open"),
        (Shown(3, "three"), Kind.COUNT, "three"),
    ],
)
def test_a_value_is_written_as_its_column_says(value: object, kind: Kind, text: str) -> None:
    assert values.shown(value, Column("key", "head", kind)).text == text  # type: ignore[arg-type]


def test_programs_get_the_value_and_no_number_that_does_not_exist() -> None:
    assert values.raw(Shown(0.25, "+25.0 %")) == 0.25
    assert values.raw(math.inf) is None
    assert plain((math.nan, Kind.NAME, Column("k", "h"))) == [
        None,
        "name",
        {"key": "k", "head": "h", "kind": "count", "joined": False},
    ]


@given(st.lists(st.integers(0, 10**6)))
def test_natural_order_of_numbered_names_is_that_of_the_numbers(found: list[int]) -> None:
    names = sorted((f"v{value}" for value in found), key=values.natural)
    assert names == [f"v{value}" for value in sorted(found)]


@example(["¹"])
@given(st.lists(st.one_of(st.text(), st.integers())))
def test_any_two_values_can_be_ordered(found: list[int | str]) -> None:
    assert len(sorted(found, key=values.natural)) == len(found)


@given(st.text())
def test_scrubbed_text_is_printable_and_loses_nothing(text: str) -> None:
    clean = scrub_text(text)
    assert clean.isprintable()
    assert len(clean) >= len(text)
    assert scrub_text(clean) == clean


def test_scrubbing_reaches_every_text_and_nothing_else() -> None:
    whole = builders.report(
        setups=("capability", "selinux"),
        problems=[Problem("bad\x1b[31m", detail="a\nb", log_tail=("\u202eabc", "\ud800"))],
    )
    clean = scrubbed(whole)
    assert clean.problems[0].title == r"bad\x1b[31m"
    assert clean.problems[0].detail == "a b"
    assert clean.problems[0].log_tail == (r"\u202eabc", r"\ud800")
    assert clean.comparisons == whole.comparisons
    assert clean.instrument == "exact"
