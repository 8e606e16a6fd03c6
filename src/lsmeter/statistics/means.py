# SPDX-License-Identifier: GPL-2.0-or-later
"""Means over boots that differ from boot to boot, and how far apart two of them are; pure.

Each boot is one replicate: batches inside it share its state, and say little of another boot. The
spread between boots is taken relative to the mean, and pooled over cells that run the same thing:
three boots alone would know it badly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy import stats

from lsmeter.model.conclusion import Verdict

LEVEL = 0.95
_MOST_BOOTS = 1000


@dataclass(frozen=True)
class Spread:
    """The standard deviation between boots as a fraction of the mean, and how well it is known."""

    fraction: float
    freedom: int  # degrees; 0: not known at all

    @property
    def quantile(self) -> float:
        """Student's t of a two-sided interval; infinite where nothing is known."""
        return float(stats.t.ppf((1 + LEVEL) / 2, self.freedom)) if self.freedom else math.inf


def pooled(cells: Iterable[Sequence[float]]) -> Spread:
    """Pool the relative spread of several cells, each with one mean a boot."""
    squares, freedom = 0.0, 0
    for boots in cells:
        mean = math.fsum(boots) / len(boots) if boots else 0.0
        if len(boots) < 2 or not mean:
            continue
        squares += math.fsum((value / mean - 1) ** 2 for value in boots)
        freedom += len(boots) - 1
    return Spread(math.sqrt(squares / freedom) if freedom else math.inf, freedom)


@dataclass(frozen=True)
class Level:
    """A mean over boots, with the half-width of its interval; infinite where that is not known."""

    mean: float
    half: float
    boots: tuple[float, ...]


def level(boots: Sequence[float], spread: Spread) -> Level:
    """Return the mean of at least one boot."""
    mean = math.fsum(boots) / len(boots)
    return Level(mean, _half([(mean, len(boots))], spread), tuple(boots))


def _half(means: Sequence[tuple[float, int]], spread: Spread) -> float:
    """Return the half-width of the interval of a sum or difference of means of so many boots."""
    if not spread.freedom:
        return math.inf
    error = math.sqrt(math.fsum(mean**2 / count for mean, count in means))
    return spread.quantile * spread.fraction * error


@dataclass(frozen=True)
class Apart:
    """How far a tested level is from its baseline; boots is how many each would take.

    difference, low and high are in the numbers' own unit, overhead and its bounds fractions of the
    baseline. boots is 0 where the verdict stands.
    """

    difference: float
    low: float
    high: float
    overhead: float
    overhead_low: float
    overhead_high: float
    verdict: Verdict
    boots: int


def apart(baseline: Level, tested: Level, spread: Spread, margin: float) -> Apart | None:
    """Compare two levels; None where the baseline is 0. More is worse; margin is a fraction."""
    if not baseline.mean:
        return None
    difference = tested.mean - baseline.mean
    sides = ((baseline.mean, len(baseline.boots)), (tested.mean, len(tested.boots)))
    half = _half(sides, spread)
    low, high = difference - half, difference + half
    bounds = (difference / baseline.mean, low / baseline.mean, high / baseline.mean)
    verdict = _verdict(bounds[1], bounds[2], margin)
    needed = _boots(sides, difference, spread) if verdict is Verdict.INCONCLUSIVE else 0
    return Apart(difference, low, high, *bounds, verdict, needed)


def _verdict(low: float, high: float, margin: float) -> Verdict:
    if low > 0 and high > margin:
        return Verdict.SLOWER
    if high < 0 and low < -margin:
        return Verdict.FASTER
    return Verdict.EQUIVALENT if -margin <= low <= high <= margin else Verdict.INCONCLUSIVE


def _boots(sides: Sequence[tuple[float, int]], difference: float, spread: Spread) -> int:
    """Return how many boots of each side would tell this difference from none; 0: too many."""
    if not spread.freedom or not difference:
        return 0
    error = spread.fraction * math.sqrt(math.fsum(mean**2 for mean, _ in sides))
    for count in range(2, _MOST_BOOTS + 1):
        if stats.t.ppf((1 + LEVEL) / 2, 2 * count - 2) * error < abs(difference) * count**0.5:
            return count
    return 0
