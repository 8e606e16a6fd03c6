# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers with intervals, and what comparing them says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.model import Place
from lsmeter.questions.reproduce import quantities
from lsmeter.questions.reproduce.quantities import (
    Finding,
    MissingError,
    Quantity,
    Source,
    UnitError,
)

_NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)
_HALVES = st.floats(0, 1e3, allow_nan=False)
_QUANTITIES = st.builds(lambda v, h: Quantity(v, v - h, v + h, "%"), _NUMBERS, _HALVES)


def _about(value: float, half: float = 0.0, unit: str = "%") -> Quantity:
    return Quantity(value, value - half, value + half, unit)


@given(_QUANTITIES, _QUANTITIES)
def test_sums_and_differences_keep_their_value_inside(one: Quantity, other: Quantity) -> None:
    for found in (one + other, one - other, -one, abs(one)):
        assert found.low <= found.value <= found.high


def test_errors_of_sums_add_in_squares() -> None:
    found = _about(10, 3) - _about(4, 4)
    assert (found.value, found.low, found.high) == (6, 1, 11)


def test_errors_of_products_add_as_fractions() -> None:
    found = _about(100, 3) * _about(50, 2, unit="")
    assert found.value == 5000
    assert (found.low, found.high) == pytest.approx((4750, 5250))


def test_errors_of_ratios_are_those_of_the_reciprocal() -> None:
    found = _about(30) / _about(10, 5)
    assert (found.value, found.unit) == (3, "")
    assert (found.low, found.high) == pytest.approx((2, 6))
    found = _about(30, 12) / _about(10, 5)
    assert found.low == pytest.approx(3 - math.hypot(1.2, 1))
    assert found.high == pytest.approx(3 + math.hypot(1.2, 3))
    found = _about(-30) / _about(10, 5)
    assert (found.low, found.high) == pytest.approx((-6, -2))
    found = _about(0, 3) / _about(-10, 5)
    assert (found.low, found.high) == pytest.approx((-0.3, 0.3))


def test_a_product_reaches_up_and_down_apart() -> None:
    skewed = Quantity(10, 9, 14, "%")
    assert [(skewed * by).low for by in (2.0, -2.0)] == [18, -28]
    assert [(skewed * by).high for by in (2.0, -2.0)] == [28, -18]
    assert (skewed * 0.0).high == 0


def test_a_ratio_to_what_one_boot_gave_has_no_bounds() -> None:
    found = _about(30) / _about(10, math.inf)
    assert (found.value, found.low, found.high) == (3, -math.inf, math.inf)
    assert found.text == "3 (one boot)"
    assert "one boot does not show" in quantities.above(found, 1.0, strictly=True).why
    with pytest.raises(MissingError, match="one boot"):
        quantities.half_width(found)


def test_the_largest_may_be_any_of_those_that_reach_so_far() -> None:
    items = [_about(10, 1), _about(9, 4), _about(2, 1)]
    found = quantities.largest(items)
    assert (found.value, found.low, found.high) == (10, 9, 13)
    found = quantities.smallest([*items, _about(3, 3)])
    assert (found.value, found.low, found.high) == (2, 0, 3)


def test_names_of_formulas_have_the_parentheses_that_they_need() -> None:
    a, b, c, d = (Quantity(n, n, n, name=name) for n, name in enumerate("abcd", 1))
    named = {
        "a - (b + c - d)": a - (b + c - d),
        "a + b - c": a + b - c,
        "(a + b) / (c + d)": (a + b) / (c + d),
        "a / (b / c)": a / (b / c),
        "a - b / c": a - b / c,
        "mean of (a - b) and 1 more": quantities.mean([a - b, c - d]),
        "half-width of (a - b)": quantities.half_width(a - b),
        "mean of a and 1 more / c": quantities.mean([a, b]) / c,
    }
    for name, found in named.items():
        assert found.name == name
    assert quantities.percent(a / b).name == "a / b"
    assert (c * quantities.percent(a / b)).name == "c * (a / b)"


def test_what_was_measured_stays_true_of_the_reverse() -> None:
    found = ~quantities.above(_about(5), 0.0, strictly=True)
    assert (found.holds, found.distance, found.text) == (False, -5, "+5.0 % > 0")


def test_a_ratio_to_what_may_be_nothing_is_none() -> None:
    with pytest.raises(MissingError, match="may be 0"):
        _about(1) / _about(1, 2)


def test_units_are_not_mixed() -> None:
    with pytest.raises(UnitError):
        _about(1, unit="%") + _about(1, unit="insns")


@pytest.mark.parametrize(
    ("one", "other", "strictly", "holds"),
    [
        (_about(3, 1), _about(1, 0.5), True, True),
        (_about(1, 0.5), _about(3, 1), True, False),
        (_about(2, 1), _about(1, 1), True, None),
        (_about(0), 0.0, True, False),
        (_about(0), 0.0, False, True),
    ],
)
def test_above_needs_an_interval_clear_of_nothing(
    one: Quantity, other: Quantity | float, strictly: Any, holds: object
) -> None:
    assert quantities.above(one, other, strictly=strictly).holds is holds


@pytest.mark.parametrize(
    ("value", "half", "holds", "distance"),
    [(5, 1, True, 3), (5, 4, None, 3), (10, 1, False, -2), (8.5, 1, None, -0.5)],
)
def test_within_takes_the_whole_interval(
    value: float, half: float, holds: object, distance: float
) -> None:
    found = quantities.within(_about(value, half), 2, 8)
    assert (found.holds, found.distance) == (holds, distance)


def test_equal_is_equivalence_not_lack_of_a_difference() -> None:
    assert quantities.equal(_about(0, 2), 0.0, 1).holds is None
    assert quantities.equal(_about(0, 0.5), 0.0, 1).holds is True
    assert quantities.equal(_about(3, 0.5), 0.0, 1).holds is False


_STATES = st.sampled_from([True, False, None])


@given(st.lists(st.tuples(_STATES, _NUMBERS), min_size=1))
def test_all_and_any_are_kleenes(items: list[tuple[bool | None, float]]) -> None:
    found = [Finding(state, "x", away) for state, away in items]
    states = [state for state, _ in items]
    every = False if False in states else None if None in states else True
    some = True if True in states else None if None in states else False
    assert quantities.every(found).holds is every
    assert quantities.some(found).holds is some


def test_the_worst_decides_and_the_nearest_of_those_that_hold() -> None:
    true, near, false, worst = (
        Finding(holds=True, text="true", distance=5.0),
        Finding(holds=True, text="near", distance=1.0),
        Finding(holds=False, text="false", distance=-1.0),
        Finding(holds=False, text="worst", distance=-9.0),
    )
    assert quantities.every([true, false, worst, near]).text == "worst"
    assert quantities.every([true, near]).text == "near"


def test_nothing_compared_is_open() -> None:
    assert quantities.every([]).holds is None
    assert quantities.some([]).holds is None


def test_at_least_counts_open_ones_as_either() -> None:
    found = [
        Finding(holds=True, text=""),
        Finding(holds=None, text="", why="w"),
        Finding(holds=False, text=""),
    ]
    assert quantities.at_least(1, found).holds is True
    assert quantities.at_least(2, found).holds is None
    assert quantities.at_least(3, found).holds is False


def test_a_correlation_is_of_ranks_and_says_how_sure_it_is() -> None:
    rows = [_about(value) for value in (1, 2, 3, 4, 5, 6)]
    rising, mixed = [1.0, 4.0, 9.0, 16.0, 25.0, 36.0], [2.0, 1.0, 4.0, 3.0, 6.0, 5.0]
    assert quantities.correlation(rows, rising).value == pytest.approx(1)
    found = quantities.correlation(rows, mixed)
    assert found.value == pytest.approx(0.8286, abs=1e-4)
    assert -1 < found.low < found.value < found.high < 1


@pytest.mark.parametrize("other", [[1.0] * 6, [1.0] * 3])
def test_no_correlation_with_what_does_not_differ_or_is_too_few(other: list[float]) -> None:
    with pytest.raises(MissingError):
        quantities.correlation([float(value) for value in range(6)], other)


def test_what_is_compared_keeps_the_order_of_the_rule() -> None:
    one, other = (Quantity(n, n, n, "%", name=name) for n, name in ((3.0, "a"), (1.0, "b")))
    found = quantities.below(one, other, strictly=True)
    assert (found.holds, found.text, found.distance) == (False, "a +3.0 % is not < b +1.0 %", -2)


def test_a_half_width_keeps_its_unit_and_says_of_what() -> None:
    found = quantities.half_width(Quantity(3, 2, 5, "%", name="open"))
    assert (found.value, found.unit, found.name) == (1.5, "%", "half-width of open")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (quantities.above(_about(1, 3), 0.0, strictly=True), "at most 9 times the boots"),
        (quantities.above(_about(0, 3), 0.0, strictly=True), "more than 100 times the boots"),
        (quantities.within(_about(4.0, 1.1), 0, 5), "at most 2 times the boots"),
        (quantities.within(_about(5.5, 2), 0, 5), "at most 16 times the boots"),
        (quantities.above(_about(1, math.inf), 0.0, strictly=True), "one boot does not show"),
    ],
)
def test_what_is_open_says_how_many_boots_would_tell(found: Finding, said: str) -> None:
    assert found.holds is None
    assert said in found.why


def test_the_nearest_of_two_units_is_that_of_the_smallest_share() -> None:
    insns = quantities.above(_about(1000, unit="insns"), _about(990, unit="insns"), strictly=True)
    count = quantities.above(5.0, 1.0, strictly=True)
    assert quantities.every([count, insns]) == replace(insns, tests=2)


@pytest.mark.parametrize(("rows", "told"), [(1, True), (2, True), (8, False), (100, False)])
def test_one_row_of_many_has_to_be_clearer_to_decide(rows: int, *, told: bool) -> None:
    """An interval that ends at 0.77 of what is measured: 1.3 half-widths; 8 rows ask for 1.40."""
    less = quantities.above(_about(-1.3, 1.0), 0.0, strictly=True)
    more = quantities.above(_about(100, 1), 0.0, strictly=True)
    found = quantities.every([*[more] * (rows - 1), less])
    assert found.holds is (False if told else None)
    assert (f"of {rows} comparisons" in found.why, found.text == less.text) == (not told, True)
    assert quantities.every([quantities.every([more] * 7), less]).holds is None
    assert quantities.some([*[~more] * (rows - 1), ~less]).holds is (True if told else None)


def test_chance_decides_no_claim_of_many_rows() -> None:
    """Each row alone, 64 of 400 claims of 8 rows without a difference had a row clear below 0."""
    draw = np.random.default_rng(1)
    wrong = 0
    for _ in range(400):
        rows = [_about(float(value), 1.96) for value in draw.standard_normal(8)]
        wrong += quantities.every(above_zero(rows)).holds is False
    assert wrong / 400 <= 0.04


def above_zero(rows: Sequence[Quantity]) -> list[Finding]:
    return [quantities.above(row, 0.0, strictly=True) for row in rows]


def test_what_all_rows_bear_out_needs_no_correction() -> None:
    assert quantities.every(above_zero([_about(1.3, 1.0)] * 100)).holds


@pytest.mark.parametrize("count", [1, 2])
def test_at_least_is_of_the_rows_that_decided(count: int) -> None:
    place = Place("debian:6.1", "selinux", "file", "tmpfs", "root")
    rows = [
        Finding(holds, "", of=(Source("p", name, place),))
        for name, holds in (("good", True), ("bad", False))
    ]
    found = quantities.at_least(count, rows)
    assert [of.benchmark for of in found.of] == (["good"] if found.holds else ["bad"])


def test_a_correlation_is_not_narrowed_by_boots() -> None:
    found = quantities.correlation([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 3.0, 2.0, 5.0, 4.0])
    open_one = quantities.above(found, 0.5, strictly=False)
    assert open_one.holds is None
    assert "more rows would tell" in open_one.why
    assert "boots would" not in open_one.why


def test_per_cent_are_of_a_share() -> None:
    found = quantities.percent(_about(3, unit="insns") / _about(12, unit="insns"))
    assert (found.value, found.unit) == (25, "%")
    with pytest.raises(UnitError):
        quantities.percent(_about(3, unit="insns"))


def test_the_reverse_of_what_is_not_known_says_why_it_is_not() -> None:
    assert ~quantities.unknown("no row") == quantities.unknown("no row")
