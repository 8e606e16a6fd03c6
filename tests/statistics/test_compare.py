# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.model import Better, Verdict
from lsmeter.statistics.compare import Overhead, Range, overhead, verdict


def exactly(value: float) -> Range:
    return Range(value, value, value)


def test_dearer_is_positive_for_costs_and_for_throughput() -> None:
    assert overhead(exactly(120), exactly(100)).value == pytest.approx(0.2)
    assert overhead(exactly(80), exactly(100)).value == pytest.approx(-0.2)
    assert overhead(exactly(80), exactly(100), Better.HIGHER).value == pytest.approx(0.2)


def test_bounds_come_from_the_extreme_pairs() -> None:
    found = overhead(Range(110, 105, 115), Range(100, 95, 105))
    assert found.low == pytest.approx(0.0)
    assert found.high == pytest.approx(115 / 95 - 1)


def test_a_baseline_of_nothing_gives_no_percentage() -> None:
    assert overhead(exactly(0), exactly(0)) == Overhead(0.0, 0.0, 0.0)
    assert math.isnan(overhead(exactly(5), exactly(0)).value)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.02, 0.03, Verdict.SLOWER),
        (-0.03, -0.02, Verdict.FASTER),
        (-0.01, 0.01, Verdict.EQUIVALENT),
        (0.005, 0.02, Verdict.INCONCLUSIVE),
        (-0.02, 0.02, Verdict.INCONCLUSIVE),
        (math.nan, math.nan, Verdict.INCONCLUSIVE),
    ],
)
def test_verdicts(low: float, high: float, expected: Verdict) -> None:
    assert verdict(Overhead((low + high) / 2, low, high), 0.01) is expected


positive = st.floats(1, 1e12)


@given(positive, positive)
def test_a_and_b_exchanged_change_the_sign(a: float, b: float) -> None:
    there, back = overhead(exactly(a), exactly(b)).value, overhead(exactly(b), exactly(a)).value
    assert (there > 0) == (back < 0) or math.isclose(a, b)


@given(st.lists(positive, min_size=3, max_size=3), st.lists(positive, min_size=3, max_size=3))
def test_the_value_lies_within_its_bounds(tested: list[float], base: list[float]) -> None:
    low, value, high = sorted(tested)
    base_low, base_value, base_high = sorted(base)
    for better in Better:
        found = overhead(Range(value, low, high), Range(base_value, base_low, base_high), better)
        assert found.low <= found.value <= found.high
