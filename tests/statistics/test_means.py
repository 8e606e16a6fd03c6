# SPDX-License-Identifier: GPL-2.0-or-later
"""Means over boots, on data with a known truth: coverage, false alarms, power."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lsmeter.model.conclusion import Verdict
from lsmeter.statistics.means import apart, level, pooled

ROUNDS = 2000
MARGIN = 0.01


def drawn(draw: np.random.Generator, mean: float, spread: float, boots: int) -> list[float]:
    return list(draw.normal(mean, spread * mean, boots))


@pytest.mark.parametrize(("boots", "spread"), [(2, 0.002), (3, 0.001), (3, 0.02), (8, 0.005)])
def test_intervals_hold_the_truth_as_often_as_they_say(boots: int, spread: float) -> None:
    draw = np.random.default_rng(1)
    held = 0
    for _ in range(ROUNDS):
        cells = [drawn(draw, mean, spread, boots) for mean in (1000.0, 1050.0, 1100.0)]
        known = pooled(cells)
        found = apart(level(cells[0], known), level(cells[1], known), known, MARGIN)
        assert found is not None
        held += found.low <= 50 <= found.high
    assert 0.935 <= held / ROUNDS <= 0.97


def test_equal_setups_are_hardly_ever_told_apart() -> None:
    draw = np.random.default_rng(2)
    verdicts = []
    for _ in range(ROUNDS):
        cells = [drawn(draw, 1000.0, 0.01, 3) for _ in range(3)]
        known = pooled(cells)
        found = apart(level(cells[0], known), level(cells[1], known), known, MARGIN)
        assert found is not None
        verdicts.append(found.verdict)
    wrong = sum(verdict in {Verdict.SLOWER, Verdict.FASTER} for verdict in verdicts)
    assert wrong / ROUNDS <= 0.06


def test_a_regression_never_passes_as_equal() -> None:
    draw = np.random.default_rng(3)
    for spread in (0.001, 0.01, 0.05):
        equal = 0
        for _ in range(ROUNDS // 4):
            cells = [drawn(draw, mean, spread, 3) for mean in (1000.0, 1030.0)]
            known = pooled(cells)
            found = apart(level(cells[0], known), level(cells[1], known), known, MARGIN)
            assert found is not None
            equal += found.verdict is Verdict.EQUIVALENT
        assert equal / (ROUNDS // 4) <= 0.025


def test_the_number_of_boots_that_is_named_tells_them_apart() -> None:
    draw = np.random.default_rng(4)
    cells = [[1000.0, 1030.0, 970.0], [1020.0, 1050.0, 990.0]]
    known = pooled(cells)
    found = apart(level(cells[0], known), level(cells[1], known), known, MARGIN)
    assert found is not None
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.boots > 3
    told = 0
    for _ in range(400):
        more = [drawn(draw, mean, known.fraction, found.boots) for mean in (1000.0, 1020.0)]
        spread = pooled(more)
        again = apart(level(more[0], spread), level(more[1], spread), spread, MARGIN)
        assert again is not None
        told += again.low > 0
    assert told / 400 >= 0.4  # the interval then ends at 0 for a typical draw


def test_one_boot_knows_no_interval() -> None:
    known = pooled([[1000.0], [1100.0]])
    found = apart(level([1000.0], known), level([1100.0], known), known, MARGIN)
    assert found is not None
    assert (found.verdict, found.difference) == (Verdict.INCONCLUSIVE, 100.0)
    assert math.isinf(found.high)
    assert apart(level([0.0], known), level([1.0], known), known, MARGIN) is None
