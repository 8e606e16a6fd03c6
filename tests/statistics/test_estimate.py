# SPDX-License-Identifier: GPL-2.0-or-later
"""The three numbers on data with a known truth."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.model import BenchmarkStatus, Whole
from lsmeter.statistics.compare import compare
from lsmeter.statistics.estimate import (
    LEAST_SHARE,
    BootReadings,
    Side,
    Typical,
)
from tests.statistics.simulated import BASE, UNDO, boots, evenly


def readings(seed: int, values: list[int], ticked: tuple[int, ...] = ()) -> BootReadings:
    return BootReadings(seed, np.asarray(values, dtype=np.int64), ticked)


def estimate(*each: list[int]) -> Typical:
    return Side(readings(seed, values) for seed, values in enumerate(each) if values).typical


@pytest.mark.parametrize("percent", [0, 10, 30, 45])
def test_the_typical_count_is_the_most_frequent(percent: int) -> None:
    found = Side(boots(evenly(percent, 500))).typical
    assert found.value == BASE
    assert found.evidence.share == pytest.approx(1 - percent / 100, abs=0.01)


def test_a_cost_in_most_calls_is_the_typical_one() -> None:
    """The lower peak is no better than the higher one: the most frequent counts."""
    found = Side(boots(evenly(55, 500))).typical
    assert found.value == BASE + 500
    assert [peak.value for peak in found.evidence.peaks] == [BASE + 500, BASE]


def test_a_difference_between_boots_is_never_called_a_repeat() -> None:
    found = estimate([1738] * 80 + [2000] * 20, [1740] * 80 + [2000] * 20)
    assert not found.repeats
    assert (found.low, found.high) == (1738, 1740)


def test_one_boot_never_repeats() -> None:
    assert not estimate([5, 5, 5]).repeats
    assert estimate([5, 5, 5], [5, 5]).repeats


def test_of_equally_frequent_counts_the_smallest_is_taken() -> None:
    assert estimate([7, 7, 3, 3, 9]).value == 3


@given(st.lists(st.lists(st.integers(0, 2**62), min_size=1, max_size=40), min_size=1, max_size=4))
def test_the_typical_count_lies_within_its_bounds(each: list[list[int]]) -> None:
    found = estimate(*each)
    pooled = [value for values in each for value in values]
    assert found.evidence.minimum <= found.low <= found.high <= found.evidence.maximum
    assert found.evidence.share == pooled.count(found.value) / len(pooled)
    assert all(pooled.count(found.value) >= pooled.count(value) for value in pooled)
    assert found.evidence.samples == len(pooled)


def test_a_count_that_no_value_stands_out_of_is_bounded_by_its_peaks() -> None:
    """Four costs in turn, as a copy of 1 KiB has: which is most frequent says nothing."""
    costs = [3023, 3073, 3101, 3140]
    seen = 0
    for seed in range(50):
        draw = random.Random(seed)
        found = estimate(*[[draw.choice(costs) for _ in range(100)] for _ in range(2)])
        if found.evidence.share >= LEAST_SHARE:
            continue
        seen += 1
        assert (found.low, found.high) == (3023, 3140)
        assert not found.repeats
    assert seen > 10


def test_ticked_readings_are_not_in_the_mean() -> None:
    found = Side([readings(1, [100, 9000, 100], (1,)), readings(2, [100, 100])]).in_line_mean()
    assert found is not None
    assert (found.value, found.readings, found.ticked) == (100.0, 4, 1)


def test_there_is_no_mean_where_a_tick_fell_into_every_reading() -> None:
    assert Side([readings(1, [100, 200], (0, 1))]).in_line_mean() is None


def test_a_mean_hides_no_boot_whose_every_call_had_a_tick() -> None:
    # As creat on a file system whose search grew: 80 times as many instructions in one boot.
    quick, slow = readings(1, [100, 100]), readings(2, [8000, 8100], (0, 1))
    assert Side([quick, slow]).in_line_mean() is None
    sides = [quick, slow], [readings(1, [150, 150]), readings(2, [8050, 8150], (0, 1))]
    assert compare(*sides, margin=0.01).mean is None


@pytest.mark.parametrize("percent", [10, 40, 55, 60, 90])
def test_a_share_of_calls_is_in_the_mean(percent: int) -> None:
    found = Side(boots(evenly(percent, 500))).in_line_mean()
    assert found is not None
    assert found.value == pytest.approx(BASE + 5 * percent, abs=1)


def test_deferred_costs_are_in_the_whole_only() -> None:
    made = Side(boots(deferred=6000))
    found, _ = made.whole_cost()
    mean = made.in_line_mean()
    assert found is not None
    assert mean is not None
    assert mean.value == made.typical.value == BASE
    assert found.value == pytest.approx(BASE + UNDO + 6000, rel=0.002)


def test_why_there_is_no_whole_cost_is_said() -> None:
    values = np.asarray([5, 5], dtype=np.int64)
    failed = Whole(BenchmarkStatus.FAILED, (), "ENOSPC: system call 2")
    side = Side([BootReadings(1, values, (), failed)])
    assert side.whole_cost() == (None, "ENOSPC: system call 2")
    assert Side([BootReadings(1, values)]).whole_cost() == (None, "")


def test_windows_that_agree_leave_the_state_of_their_boots_unknown() -> None:
    found, _ = Side(boots(noise_insns=0)).whole_cost()
    more, _ = Side(boots(noise_insns=0, count=8)).whole_cost()
    assert found is not None
    assert more is not None
    assert found.high - found.value == pytest.approx(
        2.576 * 0.0005 * found.value / 2**0.5, rel=1e-3
    )
    assert more.high - more.value == pytest.approx((found.high - found.value) / 2, rel=1e-3)
