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


def quantile(freedom: float, level: float = LEVEL) -> float:
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


def paired(baseline: Sequence[Block], tested: Sequence[Block]) -> tuple[list[Block], list[Block]]:
    """Return the blocks that both sides have, in the same order."""
    before = {block.index: block for block in baseline}
    after = {block.index: block for block in tested}
    both = sorted(before.keys() & after.keys())
    return [before[index] for index in both], [after[index] for index in both]


@dataclass(frozen=True)
class Apart:
    """How far two sides are apart on one scale, with what tests of it need.

    values are the differences of pairs, empty where the sides were not measured together.
    """

    value: float
    error: float  # standard error; infinite where it is not known
    freedom: float
    values: Times

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the difference with its Student interval."""
        half = quantile(self.freedom, level) * self.error if self.freedom else math.inf
        return Interval(self.value, self.value - half, self.value + half)

    def differs(self) -> float:
        """Return the two-sided p of there being no difference."""
        return min(1.0, 2 * self._tail(abs(self.value)))

    def outside(self, low: float, high: float) -> float:
        """Return the p of the difference lying outside of low to high: two one-sided tests.

        Schuirmann (1987): the larger of their p.
        """
        return max(self._tail(self.value - low), self._tail(high - self.value))

    def _tail(self, distance: float) -> float:
        """Return how likely chance alone is to be that far above 0."""
        if not self.freedom or not math.isfinite(distance):
            return 1.0
        if not self.error:
            return 0.0 if distance > 0 else 1.0
        return float(stdtr(self.freedom, -distance / self.error))


def apart(before: Times, after: Times, *, together: bool) -> Apart:
    """Compare the values of blocks: pair by pair, or as two samples (Welch 1947)."""
    if together:
        values = after - before
        if values.size < 2:
            value = float(values[0]) if values.size else math.nan
            return Apart(value, math.inf, 0, values)
        return Apart(float(values.mean()), standard_error(values), values.size - 1, values)
    value = float(after.mean() - before.mean()) if before.size and after.size else math.nan
    if min(before.size, after.size) < 2:
        return Apart(value, math.inf, 0, np.empty(0))
    first, second = standard_error(before) ** 2, standard_error(after) ** 2
    both = first + second
    freedom = float(before.size + after.size - 2)
    if both:
        freedom = both**2 / (first**2 / (before.size - 1) + second**2 / (after.size - 1))
    return Apart(value, math.sqrt(both), freedom, np.empty(0))
