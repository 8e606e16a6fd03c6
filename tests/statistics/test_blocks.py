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
from statsmodels.stats.weightstats import ttost_paired

from lsmeter.statistics.blocks import Block, apart, level_of, paired, student
from lsmeter.statistics.family import ALPHA, Looks, holm
from lsmeter.statistics.permutation import label_swaps, sign_flips
from lsmeter.statistics.power import more_blocks

DRAW = np.random.default_rng(7)
BEFORE = DRAW.normal(10.0, 1.0, 12)
AFTER = BEFORE + DRAW.normal(0.5, 0.4, 12)
P = st.floats(0.0, 1.0, allow_nan=False)


def test_pairs_are_tested_as_students_paired_test_has_it() -> None:
    found = apart(BEFORE, AFTER, together=True)
    expected = stats.ttest_rel(AFTER, BEFORE)
    assert found.differs() == pytest.approx(expected.pvalue)
    bounds = expected.confidence_interval(0.95)
    assert (found.interval().low, found.interval().high) == pytest.approx((bounds.low, bounds.high))


def test_sides_apart_are_tested_as_welch_has_it() -> None:
    found = apart(BEFORE, AFTER[:9], together=False)
    expected = stats.ttest_ind(AFTER[:9], BEFORE, equal_var=False)
    assert found.differs() == pytest.approx(expected.pvalue)
    bounds = expected.confidence_interval(0.95)
    assert (found.interval().low, found.interval().high) == pytest.approx((bounds.low, bounds.high))


def test_equivalence_is_two_one_sided_tests() -> None:
    found = apart(BEFORE, AFTER, together=True)
    expected, _, _ = ttost_paired(AFTER, BEFORE, -1.0, 1.0)
    assert found.outside(-1.0, 1.0) == pytest.approx(expected)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("count", [0, 1])
def test_one_block_tells_nothing(count: int, *, together: bool) -> None:
    found = apart(BEFORE[:count], AFTER[:count], together=together)
    assert (found.differs(), found.outside(-9.0, 9.0)) == (1.0, 1.0)
    if count:
        assert (found.interval().low, found.interval().high) == (-math.inf, math.inf)
        assert student(BEFORE[:1]).high == math.inf


def test_blocks_without_any_noise_are_certain() -> None:
    same = np.full(8, 10.0)
    assert apart(same, same, together=True).differs() == 1.0
    assert apart(same, same, together=True).outside(-0.1, 0.1) == 0.0
    assert apart(same, same + 1, together=True).differs() == 0.0


def test_a_level_is_a_geometric_mean_and_survives_zeros() -> None:
    assert level_of(np.array([1.0, 4.0])).value == pytest.approx(2.0)
    assert level_of(np.array([-1.0, 3.0])).value == pytest.approx(1.0)
    assert level_of(np.array([5.0])).low == 0.0


def test_blocks_are_paired_by_their_number() -> None:
    def side(*indices: int) -> list[Block]:
        return [Block(index, np.array([float(index)])) for index in indices]

    before, after = paired(side(3, 0, 1), side(1, 2, 3))
    assert [block.index for block in before] == [block.index for block in after] == [1, 3]


def test_every_arrangement_of_few_blocks_is_tried() -> None:
    differences = DRAW.normal(0.3, 1.0, 7)
    sums = [
        abs(float(np.dot(signs, differences))) for signs in itertools.product((1.0, -1.0), repeat=7)
    ]
    seen = abs(float(differences.sum()))
    expected = sum(value >= seen - 1e-12 for value in sums) / len(sums)
    assert sign_flips(differences).p == pytest.approx(expected)
    assert sign_flips(differences).least == 2 / 2**7


def test_drawn_arrangements_come_near_to_all_of_them() -> None:
    """Of 9,999 draws the share is off by 3.5 standard errors in one of two thousand tests."""
    differences = DRAW.normal(0.3, 1.0, 16)
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=16)))
    seen = abs(float(differences.sum()))
    expected = float((np.abs(signs @ differences) >= seen - 1e-9).mean())
    slack = 3.5 * math.sqrt(expected * (1 - expected) / 9_999)
    assert sign_flips(differences).p == pytest.approx(expected, abs=slack + 1e-4)


def test_labels_are_swapped_between_runs() -> None:
    expected = stats.permutation_test(
        (BEFORE, AFTER), lambda x, y: float(np.mean(y) - np.mean(x)), n_resamples=20_000, rng=1
    ).pvalue
    slack = 5 * math.sqrt(expected * (1 - expected) / 9_999)
    assert label_swaps(BEFORE, AFTER).p == pytest.approx(expected, abs=slack)
    assert label_swaps(BEFORE, AFTER + 100).p == label_swaps(BEFORE, AFTER + 100).least
    assert label_swaps(BEFORE, np.empty(0)).p == sign_flips(np.empty(0)).p == 1.0


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


def test_so_many_more_blocks_are_enough_four_times_of_five() -> None:
    """Of 400 tries 80 % are seen, within 3.5 standard errors of 2 %."""
    draw, spread, truth, blocks = np.random.default_rng(3), 0.02, 0.01, 10
    more = more_blocks(truth, spread / math.sqrt(blocks), blocks, (-0.005, 0.005), 1)
    assert more is not None
    tries = [
        apart(np.zeros(blocks + more), draw.normal(truth, spread, blocks + more), together=True)
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
