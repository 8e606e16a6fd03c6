# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks of timed readings, and what they say of one side and of two; pure.

A block is one process of the probe, or one boot. Its readings share its memory layout and the
host's state, so they are not independent: the block is the replicate, and each gives one median and
one mean. Sides are compared within blocks, whose setups run one after another in random order: what
drifts from block to block is in both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

LEVEL = 0.95  # of intervals, before they are widened for several comparisons

Times = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """The readings of one benchmark in one block, in nanoseconds of one operation.

    empty_ns is what was subtracted from each of them: the median of the block's empty region;
    empty_error_ns is its standard error.
    """

    index: int
    values_ns: Times
    empty_ns: float = 0.0
    empty_error_ns: float = 0.0

    @cached_property
    def median(self) -> float:
        """The median reading."""
        return float(np.median(self.values_ns))

    @cached_property
    def mean(self) -> float:
        """The mean reading."""
        return float(self.values_ns.mean())


@dataclass(frozen=True)
class Interval:
    """A number with the bounds of its interval, infinite where one block cannot tell."""

    value: float
    low: float
    high: float


def student(values: Times, level: float = LEVEL) -> Interval:
    """Return the mean of independent values with its Student interval."""
    middle = float(values.mean())
    if values.size < 2:
        return Interval(middle, -math.inf, math.inf)
    half = quantile(values.size - 1, level) * standard_error(values)
    return Interval(middle, middle - half, middle + half)


def standard_error(values: Times) -> float:
    """Return the standard error of the mean of at least two values."""
    return float(values.std(ddof=1)) / math.sqrt(values.size)


def quantile(freedom: int, level: float = LEVEL) -> float:
    """Return Student's t for a two-sided interval."""
    return float(stdtrit(freedom, (1 + level) / 2))


def level_of(values: Times, level: float = LEVEL) -> Interval:
    """Return the centre of times over blocks: their geometric mean, where none is 0 or less.

    Times of blocks are skewed, their logarithms much less.
    """
    if (values <= 0).any():
        return student(values, level)
    found = student(np.log(values), level)
    return Interval(math.exp(found.value), math.exp(found.low), math.exp(min(found.high, 700.0)))


def tail(statistic: float, freedom: int) -> float:
    """Return the share of Student's distribution above a value."""
    return float(stdtr(freedom, -statistic))


def paired(
    baseline: Sequence[Block], tested: Sequence[Block]
) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Return the blocks that both sides have, in the same order."""
    before = {block.index: block for block in baseline}
    after = {block.index: block for block in tested}
    both = sorted(before.keys() & after.keys())
    return tuple(before[index] for index in both), tuple(after[index] for index in both)
