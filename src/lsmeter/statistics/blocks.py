# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks of timed readings, and what they say of one side and of two; pure.

A block is one process of the probe, or one boot. Its readings share its memory layout and the
host's state, so they are not independent: the block is the replicate, and each gives one median and
one mean. Sides are compared within blocks, whose setups measure in turns, or one after another, in
random order: what drifts from block to block is in both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import chdtri, stdtr, stdtrit

from lsmeter.statistics.ranks import Permuted, Shift, Times, of_pairs, of_samples

LEVEL = 0.95  # of intervals, before they are widened for several comparisons
_MOST_LOG = 700.0  # whose exponential is still a number


@dataclass(frozen=True)
class Block:
    """The readings of one benchmark in one block, in nanoseconds of one operation."""

    index: int
    values_ns: Times
    ring: str = ""  # names those that measured in turns with it; "": it was measured by itself
    is_lost: bool = False  # it went on by itself while the others took turns

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


def deviation(values: Times, level: float = LEVEL) -> Interval:
    """Return the standard deviation of at least two values with its interval.

    The interval is that of normal values: (n - 1) s^2 / sigma^2 follows chi-squared of n - 1.
    """
    freedom, found = values.size - 1, float(values.std(ddof=1))
    low, high = (chdtri(freedom, tail) for tail in ((1 - level) / 2, (1 + level) / 2))
    return Interval(found, found * math.sqrt(freedom / low), found * math.sqrt(freedom / high))


def standard_error(values: Times) -> float:
    """Return the standard error of the mean of at least two values."""
    return float(values.std(ddof=1)) / math.sqrt(values.size)


def quantile(freedom: float, level: float = LEVEL) -> float:
    """Return Student's t for a two-sided interval."""
    return float(stdtrit(freedom, (1 + level) / 2))


def level_of(values: Times) -> Interval:
    """Return the centre of times over blocks: their geometric mean, where none is 0 or less.

    Times of blocks are skewed, their logarithms much less.
    """
    if (values <= 0).any():
        return student(values)
    found = student(np.log(values))
    if found.high > _MOST_LOG:
        return Interval(math.exp(found.value), -math.inf, math.inf)
    return Interval(*(math.exp(end) for end in (found.value, found.low, found.high)))


def paired(baseline: Sequence[Block], tested: Sequence[Block]) -> tuple[list[Block], list[Block]]:
    """Return the blocks that both sides have, in the same order.

    Processes of which one lost its turns, or that took them with others, stand for no pair.
    """
    before = {block.index: block for block in baseline if not block.is_lost}
    after = {block.index: block for block in tested if not block.is_lost}
    both = [
        index
        for index in sorted(before.keys() & after.keys())
        if before[index].ring == after[index].ring or not (before[index].ring and after[index].ring)
    ]
    return [before[index] for index in both], [after[index] for index in both]


@dataclass(frozen=True)
class BlockDifference:
    """How far two sides are apart on one scale: by the ranks of blocks, and by their means.

    Ranks of few blocks can say only so much. Where they say the most that they can, the means
    decide, with Student's distribution.
    """

    shift: Shift
    mean: float
    error: float  # standard error of the mean; infinite where it is not known
    freedom: float

    @property
    def value(self) -> float:
        """The shift of blocks."""
        return self.shift.value

    @property
    def standard_error(self) -> float:
        """That of the shift, by the width of its interval."""
        low, high = self.shift.bounds(LEVEL)
        return (high - low) / (2 * quantile(math.inf)) if math.isfinite(low) else self.error

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the shift with the interval of its test; Student's, where blocks are too few."""
        low, high = self.shift.bounds(level)
        if math.isfinite(low):
            return Interval(self.value, low, high)
        means = self.of_means(level)
        return Interval(self.value, means.low, means.high)

    def of_means(self, level: float = LEVEL) -> Interval:
        """Return the difference of means with its Student interval."""
        half = quantile(self.freedom, level) * self.error if self.freedom else math.inf
        return Interval(self.mean, self.mean - half, self.mean + half)

    def differs(self) -> float:
        """Return the two-sided p of there being no difference."""
        return _decided(self.shift.differs(), self.by_student())

    def by_student(self) -> float:
        """Return the same of the means alone."""
        return min(1.0, 2 * self._tail(abs(self.mean)))

    def outside(self, low: float, high: float) -> float:
        """Return the p of the difference lying outside of low to high: two one-sided tests.

        Schuirmann (1987): the larger of their p.
        """
        return max(
            _decided(self.shift.above(low), self._tail(self.mean - low)),
            _decided(self.shift.below(high), self._tail(high - self.mean)),
        )

    def _tail(self, distance: float) -> float:
        """Return how likely chance alone is to be that far above 0."""
        if not self.freedom or not math.isfinite(distance):
            return 1.0
        if not self.error:
            return 0.0 if distance > 0 else 1.0
        return float(stdtr(self.freedom, -distance / self.error))


def _decided(ranks: Permuted, means: float) -> float:
    """Return the p of ranks; where it could not be less, that of the means may be."""
    return min(ranks.p, means) if ranks.p <= ranks.least else ranks.p


def compare_blocks(before: Times, after: Times, *, together: bool) -> BlockDifference:
    """Compare the values of blocks: pair by pair, or as two samples (means: Welch 1947)."""
    if together:
        values = after - before
        if values.size < 2:
            value = float(values[0]) if values.size else math.nan
            return BlockDifference(of_pairs(values), value, math.inf, 0)
        mean, error = float(values.mean()), standard_error(values)
        return BlockDifference(of_pairs(values), mean, error, values.size - 1)
    shift = of_samples(before, after)
    value = float(after.mean() - before.mean()) if before.size and after.size else math.nan
    if min(before.size, after.size) < 2:
        return BlockDifference(shift, value, math.inf, 0)
    first, second = standard_error(before) ** 2, standard_error(after) ** 2
    both = first + second
    freedom = float(before.size + after.size - 2)
    if both:
        freedom = both**2 / (first**2 / (before.size - 1) + second**2 / (after.size - 1))
    return BlockDifference(shift, value, math.sqrt(both), freedom)
