# SPDX-License-Identifier: GPL-2.0-or-later
"""Means over boots that differ from boot to boot, and how far apart two of them are; pure.

Each boot is one replicate: batches inside it share its state, and say little of another boot. Boots
of one seed share what chance decides, so setups are compared seed by seed, by the ratio of their
means. The spread between boots is taken relative to the mean, and pooled over cells that run the
same thing: three boots alone would know it badly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from lsmeter.core.model.conclusion import Change, Verdict
from lsmeter.statistics.blocks import LEVEL, quantile
from lsmeter.statistics.family import ALPHA, holm

_MOST_BOOTS = 1000
_APART = 1.5  # times the common variance; intervals then cover 94 to 98 %, of two boots 92 %


@dataclass(frozen=True)
class Spread:
    """The standard deviation between boots as a fraction of the mean, and how well it is known."""

    fraction: float
    freedom: float  # degrees; 0: not known at all

    @property
    def quantile(self) -> float:
        """Student's t of a two-sided interval; infinite where nothing is known."""
        return quantile(self.freedom) if self.freedom else math.inf


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


def mean_by_name(each: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each name's numbers over boots; one without a name has 0 of it."""
    names = dict.fromkeys(name for item in each for name in item)
    return {name: math.fsum(item.get(name, 0.0) for item in each) / len(each) for name in names}


def ratios(baseline: Mapping[int, float], tested: Mapping[int, float]) -> tuple[float, ...]:
    """Return tested over baseline, of each seed that both have; means by seed are given."""
    shared = sorted(baseline.keys() & tested.keys())
    return tuple(tested[seed] / baseline[seed] for seed in shared if baseline[seed])


def pooled_ratios(cells: Iterable[Sequence[float]]) -> Spread:
    """Pool the relative spread of the ratios of several setups to one baseline.

    They have that side in common: two of them correlate by a half, their squares by a quarter, and
    the degrees of freedom are those that a sum of such squares has (Satterthwaite 1946).
    """
    known = [cell for cell in cells if len(cell) > 1]
    spread = pooled(known)
    return Spread(spread.fraction, spread.freedom / (1 + (len(known) - 1) / 4) if known else 0)


@dataclass(frozen=True)
class Level:
    """A mean over boots, with the half-width of its interval; infinite where that is not known."""

    mean: float
    half: float


def level(boots: Sequence[float], spread: Spread) -> Level:
    """Return the mean of at least one boot."""
    mean = math.fsum(boots) / len(boots)
    return Level(mean, _half(mean, len(boots), spread))


def _half(mean: float, boots: int, spread: Spread) -> float:
    """Return the half-width of the interval of a mean of so many boots."""
    if not spread.freedom:
        return math.inf
    return spread.quantile * spread.fraction * abs(mean) / math.sqrt(boots)


@dataclass(frozen=True)
class Difference(Change):
    """How far a tested level is from its baseline; value is what the ratios make of that.

    p is how often a setup that changes nothing would be found as far off, level that of a verdict:
    `correct` makes both those of one of all comparisons.
    """

    verdict: Verdict
    spread: Spread
    p: float
    level: float = LEVEL

    @property
    def seen(self) -> bool:
        """Say whether it is more than chance makes."""
        return self.p <= ALPHA

    @property
    def boots(self) -> int:
        """How many boots of each side would tell an open difference from none; 0: too many."""
        if self.verdict is not Verdict.INCONCLUSIVE or not self.spread.freedom or not self.overhead:
            return 0
        one = self.spread.fraction * (1 + self.overhead)
        enough = _errors(self.level) * one < abs(self.overhead)
        return int(enough.argmax()) + 2 if enough.any() else 0


def compare_ratios(
    baseline: float, found: Sequence[float], spread: Spread, margin: float
) -> Difference | None:
    """Compare a setup with the mean of its baseline by the ratios of their boots.

    spread is that of all setups; one that clearly varies more has its own interval, which the
    others would make too short. None where there is no ratio. More is worse; margin is a fraction.
    """
    if not found:
        return None
    own = pooled([found])
    if own.freedom and own.fraction**2 > _APART * spread.fraction**2:
        spread = own
    ratio = math.fsum(found) / len(found)
    half = _half(ratio, len(found), spread)
    bounds = (ratio - 1, ratio - 1 - half, ratio - 1 + half)
    value, low, high = (baseline * bound for bound in bounds)
    return Difference(
        *(baseline, baseline * ratio, value, low, high, *bounds),
        verdict=_verdict(bounds[1], bounds[2], margin),
        spread=spread,
        p=_chance(ratio, half, spread),
    )


def correct(found: Sequence[Difference]) -> list[Difference]:
    """Correct the p of differences for all of them (Holm 1979), and take back what p bears no more.

    Intervals stay those of one difference.
    """
    level = 1 - ALPHA / max(1, len(found))
    corrected: list[Difference] = []
    for item, p in zip(found, holm([item.p for item in found]), strict=True):
        told = p <= ALPHA or item.verdict not in {Verdict.SLOWER, Verdict.FASTER}
        verdict = item.verdict if told else Verdict.INCONCLUSIVE
        corrected.append(replace(item, verdict=verdict, p=p, level=level))
    return corrected


def _chance(ratio: float, half: float, spread: Spread) -> float:
    """Return the p of a ratio other than 1 whose interval has such a half-width (two-sided)."""
    if ratio == 1 or not math.isfinite(half):
        return 1.0
    if not half:
        return 0.0
    return float(2 * stdtr(spread.freedom, -abs(ratio - 1) / half * spread.quantile))


def _verdict(low: float, high: float, margin: float) -> Verdict:
    if low > 0 and high > margin:
        return Verdict.SLOWER
    if high < 0 and low < -margin:
        return Verdict.FASTER
    return Verdict.EQUIVALENT if -margin <= low <= high <= margin else Verdict.INCONCLUSIVE


@cache
def _errors(level: float) -> npt.NDArray[np.float64]:
    """Return the half-widths of intervals of two boots and more, in standard deviations."""
    counts = np.arange(2, _MOST_BOOTS + 1)
    return np.asarray(stdtrit(counts - 1, (1 + level) / 2) / np.sqrt(counts))
