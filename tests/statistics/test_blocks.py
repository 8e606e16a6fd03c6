# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks: intervals and tests against what scipy and brute force say of the same numbers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from lsmeter.statistics.blocks import Block, compare_blocks, deviation, level_of, paired, student
from lsmeter.statistics.family import ALPHA, Looks, holm, more_blocks
from lsmeter.statistics.ranks import of_pairs, of_samples

DRAW = np.random.default_rng(7)
BEFORE = DRAW.normal(10.0, 1.0, 12)
AFTER = BEFORE + DRAW.normal(0.5, 0.4, 12)
P = st.floats(0.0, 1.0, allow_nan=False)


def test_means_of_pairs_are_tested_as_students_paired_test_has_it() -> None:
    found = compare_blocks(BEFORE, AFTER, together=True)
    expected = stats.ttest_rel(AFTER, BEFORE)
    assert found.by_student() == pytest.approx(expected.pvalue)
    bounds, means = expected.confidence_interval(0.95), found.of_means()
    assert (means.low, means.high) == pytest.approx((bounds.low, bounds.high))


def test_means_of_sides_apart_are_tested_as_welch_has_it() -> None:
    found = compare_blocks(BEFORE, AFTER[:9], together=False)
    expected = stats.ttest_ind(AFTER[:9], BEFORE, equal_var=False)
    assert found.by_student() == pytest.approx(expected.pvalue)
    bounds, means = expected.confidence_interval(0.95), found.of_means()
    assert (means.low, means.high) == pytest.approx((bounds.low, bounds.high))


@pytest.mark.parametrize("count", [6, 9, 12])
def test_pairs_are_tested_as_wilcoxon_has_it(count: int) -> None:
    differences = DRAW.normal(0.4, 1.0, count)
    found = compare_blocks(np.zeros(count), differences, together=True)
    assert found.shift.differs().p == pytest.approx(stats.wilcoxon(differences).pvalue)
    one_sided = [
        stats.wilcoxon(differences - edge, alternative=side).pvalue
        for edge, side in ((-2.0, "greater"), (2.0, "less"))
    ]
    assert found.outside(-2.0, 2.0) <= max(one_sided) + 1e-12
    assert found.shift.above(-2.0).p == pytest.approx(one_sided[0])
    assert found.shift.below(2.0).p == pytest.approx(one_sided[1])


@pytest.mark.parametrize(("first", "then"), [(6, 6), (9, 12), (12, 7)])
def test_samples_are_tested_as_mann_and_whitney_have_it(first: int, then: int) -> None:
    before, after = DRAW.normal(0.0, 1.0, first), DRAW.normal(0.5, 1.0, then)
    expected = stats.mannwhitneyu(before, after, method="exact").pvalue
    assert of_samples(before, after).differs().p == pytest.approx(expected)


@pytest.mark.parametrize("together", [True, False])
@given(seed=st.integers(0, 10_000), count=st.integers(7, 14), level=st.sampled_from([0.9, 0.95]))
def test_an_interval_has_what_its_test_does_not_refuse(
    seed: int, count: int, level: float, *, together: bool
) -> None:
    """Just inside of a bound the test says less than the level, just outside it says more."""
    before, after = np.random.default_rng(seed).normal(0.0, 1.0, (2, count))
    shift = compare_blocks(before, after, together=together).shift
    low, high = shift.bounds(level)
    assert low <= shift.value <= high
    for bound, inward, test in ((low, 1e-9, shift.above), (high, -1e-9, shift.below)):
        assert test(bound + inward).p > (1 - level) / 2
        assert test(bound - inward).p <= (1 - level) / 2 + 1e-12


def test_blocks_too_many_to_be_counted_out_are_nearly_normal() -> None:
    few, many = of_pairs(DRAW.normal(0.02, 1.0, 300)), of_pairs(DRAW.normal(0.02, 1.0, 301))
    at = np.linspace(0.4, 0.5, 9)
    exact = [few.tail[int(place * few.tail.size)] for place in at]
    near = [many.tail[int(place * many.tail.size)] for place in at]
    assert exact == pytest.approx(near, abs=0.01)
    two = of_samples(DRAW.normal(0, 1, 61), DRAW.normal(0, 1, 61))
    assert two.tail[two.tail.size // 2] == pytest.approx(0.5, abs=0.01)


def test_blocks_in_another_state_are_ranks_and_no_more() -> None:
    """Two of thirty pairs met a core that was a third slower on one side."""
    steady = DRAW.normal(0.01, 0.004, 30)
    met = steady + np.where(np.arange(30) % 15 == 0, 0.29, 0.0)
    zero = np.zeros(30)
    quiet, shaken = (compare_blocks(zero, side, together=True) for side in (steady, met))
    assert shaken.value == pytest.approx(quiet.value, abs=0.003)
    wide = shaken.interval()
    assert wide.high - wide.low < 0.01
    assert shaken.of_means().high - shaken.of_means().low > 0.05
    assert shaken.differs() < 0.001 < shaken.by_student()


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("count", [0, 1])
def test_one_block_tells_nothing(count: int, *, together: bool) -> None:
    found = compare_blocks(BEFORE[:count], AFTER[:count], together=together)
    assert found.differs() == 1.0
    assert found.outside(-9.0, 9.0) >= 0.5
    if count:
        assert (found.interval().low, found.interval().high) == (-math.inf, math.inf)
        assert student(BEFORE[:1]).high == math.inf


def test_blocks_without_any_noise_are_certain() -> None:
    same = np.full(8, 10.0)
    assert compare_blocks(same, same, together=True).differs() == 1.0
    assert compare_blocks(same, same, together=True).outside(-0.1, 0.1) == 0.0
    assert compare_blocks(same, same + 1, together=True).differs() == 0.0


def test_a_level_is_a_geometric_mean_and_survives_zeros() -> None:
    assert level_of(np.array([1.0, 4.0])).value == pytest.approx(2.0)
    assert level_of(np.array([-1.0, 3.0])).value == pytest.approx(1.0)
    alone = level_of(np.array([5.0]))
    assert (alone.low, alone.high) == (-math.inf, math.inf)


def test_blocks_are_paired_by_their_number() -> None:
    def side(*indices: int) -> list[Block]:
        return [Block(index, np.array([float(index)])) for index in indices]

    before, after = paired(side(3, 0, 1), side(1, 2, 3))
    assert [block.index for block in before] == [block.index for block in after] == [1, 3]


def test_ranks_are_a_permutation_test_of_all_signs() -> None:
    differences = DRAW.normal(0.3, 1.0, 7)
    ranks = np.abs(differences).argsort().argsort() + 1
    sums = [abs(float(np.dot(signs, ranks))) for signs in itertools.product((1, -1), repeat=7)]
    seen = abs(float(np.dot(np.sign(differences), ranks)))
    expected = sum(value >= seen for value in sums) / len(sums)
    assert of_pairs(differences).differs().p == pytest.approx(expected)
    assert of_pairs(differences).differs().least == 2 / 2**7


def test_where_ranks_can_say_no_more_the_means_decide() -> None:
    differences = 1.0 + DRAW.normal(0.0, 0.001, 7)
    found = compare_blocks(np.zeros(7), differences, together=True)
    assert found.differs() == found.by_student() < found.shift.differs().least
    few = compare_blocks(np.zeros(4), differences[:4], together=True)
    assert (few.interval().low, few.interval().high) == (few.of_means().low, few.of_means().high)


@given(st.lists(P, max_size=30))
def test_holm_is_holm(values: list[float]) -> None:
    expected = multipletests(values, method="holm")[1] if values else []
    assert holm(values) == pytest.approx(list(expected))


@given(st.integers(1, 60), st.integers(2, 400), st.integers(1, 500))
def test_looks_spend_the_error_once(first: int, more: int, blocks: int) -> None:
    looks = Looks(first, first + more)
    planned = looks.planned
    assert planned[0] == first
    assert planned[-1] == first + more
    assert list(planned) == sorted(set(planned))
    assert sum(map(looks.share, planned)) == pytest.approx(1.0)
    assert all(looks.share(look) > 0 for look in planned)
    # A run that was stopped between two looks is looked at once more, in place of the next.
    stopped = looks.until(min(blocks, looks.most))
    assert sum(map(looks.share, stopped)) <= 1.0 + 1e-12


def test_blocks_beyond_the_bound_are_in_no_look() -> None:
    looks = Looks(6, 10)
    assert looks.until(14) == looks.until(10) == looks.planned
    assert looks.share(14) == looks.share(10) > 0


@pytest.mark.parametrize(("first", "most"), [(0, 10), (-1, 10), (11, 10)])
def test_looks_that_never_come_are_refused(first: int, most: int) -> None:
    with pytest.raises(ValueError, match=f"looks from {first} to {most} blocks"):
        Looks(first, most)


def test_so_many_more_blocks_are_enough_four_times_of_five() -> None:
    """Of 400 tries 80 % are seen, within 3.5 standard errors of 2 %."""
    draw, spread, truth, blocks = np.random.default_rng(3), 0.02, 0.01, 10
    more = more_blocks(truth, spread / math.sqrt(blocks), blocks, (-0.005, 0.005), 1)
    assert more is not None
    tries = [
        compare_blocks(
            np.zeros(blocks + more), draw.normal(truth, spread, blocks + more), together=True
        )
        for _ in range(400)
    ]
    assert sum(item.differs() <= ALPHA for item in tries) / 400 == pytest.approx(0.8, abs=0.07)


def test_how_many_more_cannot_always_be_said() -> None:
    assert more_blocks(0.01, math.inf, 10, (-0.01, 0.01), 1) is None
    assert more_blocks(math.nan, 0.1, 10, (-0.01, 0.01), 1) is None
    assert more_blocks(0.0, 0.1, 10, (0.0, 0.0), 1) is None
    corrected, alone = (more_blocks(0.01, 0.01, 10, (0.0, 0.0), n) for n in (100, 1))
    assert corrected is not None
    assert alone is not None
    assert corrected > alone


@pytest.mark.parametrize("boots", [2, 3, 10])
def test_the_interval_of_a_deviation_covers_the_true_one(boots: int) -> None:
    random = np.random.default_rng(boots)
    found = [deviation(random.normal(1000, 30, boots)) for _ in range(4000)]
    covered = sum(item.low <= 30 <= item.high for item in found) / len(found)
    assert 0.94 < covered < 0.96
    assert all(item.low < item.value < item.high for item in found)
