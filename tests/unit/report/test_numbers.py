# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.model import Instrument
from lsmeter.report import numbers
from lsmeter.report.scrub import scrub_text, scrubbed
from tests.unit.report import builders


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234, "1,234"),
        (1234.5, "1,234.5"),
        (0, "0"),
        (math.nan, numbers.MISSING),
        (math.inf, numbers.MISSING),
        (None, numbers.MISSING),
    ],
)
def test_a_count_has_thousands_separators(value: float | None, text: str) -> None:
    assert numbers.count(value) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.193, "+19.3 %"),
        (-0.2, "-20.0 %"),
        (0.0, "0.0 %"),
        (12.3456, "+1,234.6 %"),
        (math.nan, numbers.MISSING),
        (-math.inf, numbers.MISSING),
        (None, numbers.MISSING),
    ],
)
def test_an_overhead_has_a_sign_and_one_decimal(fraction: float | None, text: str) -> None:
    assert numbers.percent(fraction) == text


def test_unit_and_instrument_are_named() -> None:
    exact = numbers.measure("insns", Instrument.EXACT)
    assert exact == "instructions per operation, exact instrument"
    timed = numbers.measure("ns", Instrument.TIMED)
    assert timed == "nanoseconds per operation, timed instrument"
    assert numbers.measure("MB/s", Instrument.TIMED) == "MB/s, timed instrument"


def test_a_sentence_names_depth_and_other_parameters() -> None:
    assert numbers.phrase(builders.benchmark("open", depth=4)) == "open at depth 4"
    assert numbers.phrase(builders.benchmark("read", size=1024)) == "read with size=1024"
    assert numbers.phrase(builders.benchmark("creat")) == "creat"


@given(st.lists(st.integers(0, 10**6)))
def test_natural_order_of_numbered_names_is_that_of_the_numbers(values: list[int]) -> None:
    names = sorted((f"v{value}" for value in values), key=numbers.natural)
    assert names == [f"v{value}" for value in sorted(values)]


@given(st.lists(st.one_of(st.text(), st.integers())))
def test_any_two_values_can_be_ordered(values: list[int | str]) -> None:
    assert len(sorted(values, key=numbers.natural)) == len(values)


@given(st.text())
def test_scrubbed_text_is_printable_and_as_long(text: str) -> None:
    clean = scrub_text(text)
    assert clean.isprintable()
    assert len(clean) == len(text)
    assert scrub_text(clean) == clean


def test_scrubbing_reaches_every_text_and_nothing_else() -> None:
    whole = builders.report(
        setups=("capability", "selinux"),
        problems=[builders.Problem("bad\x1b[31m", detail="a\nb", log_tail=("\u202eabc", "\ud800"))],
    )
    clean = scrubbed(whole)
    assert clean.problems[0].title == "bad\ufffd[31m"
    assert clean.problems[0].detail == "a b"
    assert clean.problems[0].log_tail == ("\ufffdabc", "\ufffd")
    assert clean.comparisons == whole.comparisons
    assert clean.instrument is Instrument.EXACT
