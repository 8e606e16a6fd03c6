# SPDX-License-Identifier: GPL-2.0-or-later
"""What is worked out for many boots at once is what each boot gives alone."""

from __future__ import annotations

import numpy as np
import pytest

from lsmeter.statistics.estimate import counts, means, mode, modes


@pytest.mark.parametrize("sizes", [(7,) * 50, (1, 1), (3, 9, 4), (5,)])
def test_the_modes_of_many_arrays_are_those_of_each(sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(3)
    each = [random.integers(0, 4, size) for size in sizes]
    assert modes(each) == [(mode(counts(one)), max(counts(one).values())) for one in each]


@pytest.mark.parametrize("sizes", [(101,) * 20, (3, 9, 4)])
def test_the_means_of_many_arrays_are_those_of_each(sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(3)
    each = [random.integers(0, 1 << 40, size) for size in sizes]
    assert means(each) == [float(one.mean()) for one in each]
    assert means([]) == modes([]) == []
