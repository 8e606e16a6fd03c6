# SPDX-License-Identifier: GPL-2.0-or-later
"""The mode on data with a known truth: it finds the undisturbed count, and says when not."""

from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.model import Verdict
from lsmeter.statistics.compare import Range, overhead, verdict
from lsmeter.statistics.estimate import LEAST_SHARE, ModeEstimate, distributions, estimate_mode


def estimate(*boots: list[int]) -> ModeEstimate:
    tables = [
        (seed, pl.DataFrame({"benchmark": ["b"] * len(values), "value": values}))
        for seed, values in enumerate(boots)
        if values
    ]
    return estimate_mode(distributions(tables)["b"])


def disturbed(truth: int, share: float, samples: int, seed: int) -> list[int]:
    """Draw samples of a count to which interrupts add something in a share of cases."""
    draw = random.Random(seed)
    return [
        truth + (draw.randint(400, 4000) if draw.random() < share else 0) for _ in range(samples)
    ]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.6])
def test_the_undisturbed_count_is_found(share: float) -> None:
    wrong = sum(
        estimate(disturbed(1738, share, 100, seed), disturbed(1738, share, 100, seed + 1)).value
        != 1738
        for seed in range(0, 400, 2)
    )
    assert wrong == 0


def test_a_difference_between_boots_is_never_called_a_repeat() -> None:
    for seed in range(200):
        found = estimate(disturbed(1738, 0.2, 100, seed), disturbed(1740, 0.2, 100, seed + 1000))
        assert not found.repeats
        assert (found.low, found.high) == (1738, 1740)


def test_one_boot_never_repeats() -> None:
    assert not estimate([5, 5, 5]).repeats
    assert estimate([5, 5, 5], [5, 5]).repeats


def test_of_several_modes_the_smallest_is_taken() -> None:
    assert estimate([7, 7, 3, 3, 9]).value == 3


def test_no_samples_is_an_error() -> None:
    with pytest.raises(ValueError, match="no samples"):
        estimate_mode([])


@given(st.lists(st.lists(st.integers(0, 2**63), min_size=1, max_size=40), min_size=1, max_size=4))
def test_the_mode_lies_within_its_bounds(boots: list[list[int]]) -> None:
    found = estimate(*boots)
    pooled = [value for boot in boots for value in boot]
    assert found.minimum <= found.value <= found.maximum
    assert found.minimum <= found.low <= found.high <= found.maximum
    assert found.share_at_mode == pooled.count(found.value) / len(pooled)
    assert found.share_at_mode >= 1 / len(set(pooled)) - 1e-12
    assert found.samples == len(pooled)


def test_a_count_that_no_value_stands_out_of_is_bounded_by_its_peaks() -> None:
    """Four costs in turn, as a copy of 1 KiB has: which is most frequent says nothing."""
    costs = [3023, 3073, 3101, 3140]
    for seed in range(50):
        draw = random.Random(seed)
        boots = [[draw.choice(costs) for _ in range(100)] for _ in range(2)]
        found = estimate(*boots)
        if found.share_at_mode >= LEAST_SHARE:
            continue
        assert (found.low, found.high) == (3023, 3140)
        assert not found.repeats


def test_equal_costs_in_turn_are_never_called_faster_or_slower() -> None:
    costs = [3023, 3073, 3101, 3140]
    for seed in range(100):
        draw = random.Random(seed)
        a, b = (
            estimate(*[[draw.choice(costs) for _ in range(200)] for _ in range(2)]) for _ in "ab"
        )
        ranges = [Range(item.value, item.low, item.high) for item in (a, b)]
        assert verdict(overhead(*ranges), 0.01) in {Verdict.INCONCLUSIVE, Verdict.EQUIVALENT}
