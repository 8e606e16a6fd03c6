# SPDX-License-Identifier: GPL-2.0-or-later
"""Fits of data whose truth is known."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.api import OLS

from lsmeter.statistics.regression import Coefficient, regress, regress_halves, whole

DELAYS_NS = tuple(range(0, 110001, 10000))


def line(slope: float, intercept: float) -> list[float]:
    return [slope * delay + intercept for delay in DELAYS_NS]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 40), st.integers(0, 10**6))
def test_an_exact_line_is_recovered(slope: int, intercept: int) -> None:
    fit = regress(line(slope, intercept), DELAYS_NS)
    assert fit.slope.value == pytest.approx(slope, abs=1e-9)
    assert fit.intercept.value == pytest.approx(intercept, abs=1e-4)
    assert fit.max_residual == pytest.approx(0, abs=1e-4)
    assert whole(fit.slope).value == slope
    assert fit.r2 == (pytest.approx(1) if slope else None)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    # 400 fits with noise: the share of intervals that hold the truth is binomial around 95 %.
    noise = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        result = np.array(line(3, 1000)) + noise.normal(0, 400, len(DELAYS_NS))
        slope = regress(list(result), DELAYS_NS).slope
        assert slope.ci_low is not None
        assert slope.ci_high is not None
        held += slope.ci_low <= 3 <= slope.ci_high
    assert 0.915 < held / 400 < 0.985


@pytest.mark.parametrize("at", range(1, len(DELAYS_NS)))
@pytest.mark.parametrize("added", [20_000, -20_000])
def test_a_cost_from_some_delay_on_does_not_exclude_the_truth(at: int, added: int) -> None:
    result = [ns + added * (place >= at) for place, ns in enumerate(line(12, 100_000))]
    slope = regress_halves(result[::-1], DELAYS_NS[::-1]).slope
    assert slope.ci_low is not None
    assert slope.ci_high is not None
    assert slope.ci_low <= 12 + 1e-9
    assert slope.ci_high >= 12 - 1e-9
    assert slope.value == pytest.approx(regress(result, DELAYS_NS).slope.value)


def test_a_line_of_few_delays_has_halves_too() -> None:
    assert regress_halves([1.0, 2.0], [0, 1]).slope.ci_low is None
    bent = regress_halves([0.0, 0.0, 1.0], [0, 1, 2]).slope
    assert (bent.ci_low or 1) < 0
    assert (bent.ci_high or 0) > 1
    # Three boots at each of two delays: neither half has a slope of its own.
    same = [0.0, 0.1, 0.0, 5.0, 5.1, 5.0], [0, 0, 0, 5, 5, 5]
    assert regress_halves(*same) == regress(*same)


def test_the_standard_error_is_that_of_the_textbook() -> None:
    result = [value + 50 * (-1) ** at for at, value in enumerate(line(2, 0))]
    fit = regress(result, DELAYS_NS)
    mean = sum(DELAYS_NS) / len(DELAYS_NS)
    squares = sum(residual**2 for residual in fit.residuals)
    expected = math.sqrt(
        squares / (len(DELAYS_NS) - 2) / sum((delay - mean) ** 2 for delay in DELAYS_NS)
    )
    assert fit.slope.stderr == pytest.approx(expected)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=12, max_size=12, unique=True))
def test_a_fit_is_that_of_statsmodels(result: list[float]) -> None:
    found = regress(result, DELAYS_NS)
    known = OLS(result, np.column_stack([np.ones(len(result)), DELAYS_NS])).fit()
    terms = (found.intercept, found.slope)
    assert [term.value for term in terms] == pytest.approx(list(known.params), abs=1e-6)
    assert [term.stderr for term in terms] == pytest.approx(list(known.bse))
    ends = [[term.ci_low, term.ci_high] for term in terms]
    assert ends == [pytest.approx(list(row), abs=1e-6) for row in known.conf_int()]
    assert found.r2 == pytest.approx(known.rsquared, abs=1e-9)


def test_an_outlier_is_named_by_its_place() -> None:
    result = line(4, 100)
    result[7] += 5000
    fit = regress(result, DELAYS_NS)
    assert fit.max_residual_at == 7
    assert 3000 < fit.max_residual < 5000


def test_a_result_that_does_not_vary_has_slope_zero_and_no_r2() -> None:
    fit = regress([335] * len(DELAYS_NS), DELAYS_NS)
    assert fit.slope == Coefficient(0.0, 0.0, 0.0, 0.0)
    assert fit.intercept.value == 335
    assert fit.r2 is None
    assert fit.max_residual == 0
    assert whole(fit.slope).value == 0


def test_two_points_give_a_line_without_error() -> None:
    fit = regress([100, 30100], [0, 10000])
    assert fit.slope.value == pytest.approx(3)
    assert fit.slope.stderr is None
    assert fit.slope.ci_low is None
    assert whole(fit.slope).value == 3


def test_what_has_no_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="1 observations cannot give 2 terms"):
        regress([1], [1])
    with pytest.raises(ValueError, match="does not vary"):
        regress([1, 2, 3], [5, 5, 5])


@pytest.mark.parametrize(
    ("value", "low", "high", "expected", "reason"),
    [
        (3.0004, 3.0003, 3.0005, 3, "leaves only 3"),
        (2.5, 2.4, 2.6, None, "not within 0.01 of a whole number"),
        (2.98, 2.975, 2.985, None, "not within 0.01"),
        (2.5, 1.5, 3.5, None, "more than one whole number"),
        (-1.0, -1.001, -0.999, None, "negative"),
        (7.9, 7.7, 8.1, 8, "leaves only 8"),
    ],
)
def test_whole_numbers(
    value: float, low: float, high: float, expected: int | None, reason: str
) -> None:
    decided = whole(Coefficient(value, 0.1, low, high))
    assert decided.value == expected
    assert reason in decided.reason
