# SPDX-License-Identifier: GPL-2.0-or-later
"""Shifts between two sides by ranks: permutation tests over blocks, and their intervals; pure.

Where a setup changes nothing, its name is a label: in each block the two sides could as well be
swapped, which turns the sign of the block's difference (Fisher 1935). Wilcoxon (1945) tests that by
the ranks of differences, Mann and Whitney (1947) test sides that share no block. Both count
candidates for the shift: means of two differences, and differences of one block of each side. Their
median is the estimate (Hodges and Lehmann 1963), and the interval is what the test does not refuse.
A block that met another state of the host is one rank, however far out it is.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

Times = npt.NDArray[np.float64]
_PAIRS = 300  # up to which the distribution of ranks is counted out; beyond, it is normal
_SAMPLE = 60  # the same for each of two samples


class Permuted(NamedTuple):
    """The p of a test, and the least that there could have been with so many blocks."""

    p: float
    least: float


@dataclass(frozen=True)
class Shift:
    """Candidates for the shift in their order; tail[c]: chance alone leaves c or fewer above 0."""

    candidates: Times
    tail: Times

    @property
    def value(self) -> float:
        """The estimate; nan where there is no block."""
        return float(np.median(self.candidates)) if self.candidates.size else math.nan

    def bounds(self, level: float) -> tuple[float, float]:
        """Return the interval; infinite where so few blocks allow none."""
        out = int(np.searchsorted(self.tail, (1 - level) / 2 * (1 + 1e-9), side="right"))
        if not self.candidates.size or not out:
            return -math.inf, math.inf
        return float(self.candidates[out - 1]), float(self.candidates[-out])

    def differs(self) -> Permuted:
        """Test for there being no shift, on both sides."""
        least = min(1.0, 2 * self.above(0.0).least)
        return Permuted(min(1.0, 2 * min(self.above(0.0).p, self.below(0.0).p)), least)

    def above(self, place: float) -> Permuted:
        """Test whether the shift lies above a place."""
        return self._counted(np.searchsorted(self.candidates, place, side="right"))

    def below(self, place: float) -> Permuted:
        """Test whether the shift lies below a place."""
        at = np.searchsorted(self.candidates, place, side="left")
        return self._counted(self.candidates.size - at)

    def _counted(self, against: int | np.intp) -> Permuted:
        """Return how likely chance is to leave so few candidates on the other side."""
        if not self.candidates.size:
            return Permuted(1.0, 1.0)
        return Permuted(float(self.tail[int(against)]), float(self.tail[0]))


def of_pairs(differences: Times) -> Shift:
    """Return the shift of pairs: Wilcoxon's signed ranks."""
    count = differences.size
    first, then = np.triu_indices(count)
    return Shift(np.sort((differences[first] + differences[then]) / 2), _signed(count))


def of_samples(before: Times, after: Times) -> Shift:
    """Return the shift between two samples: Mann and Whitney's."""
    candidates = np.sort((after[:, None] - before[None, :]).ravel())
    return Shift(candidates, _two(*sorted((before.size, after.size))))


@functools.cache
def _signed(count: int) -> Times:
    """Each rank counts or not, as the sign falls."""
    top = count * (count + 1) // 2
    if count > _PAIRS:
        return _normal(top, count * (count + 1) * (2 * count + 1) / 24)
    chance = np.zeros(top + 1)
    chance[0] = 1.0
    for rank in range(1, count + 1):
        moved = np.zeros(top + 1)
        moved[rank:] = chance[:-rank]
        chance = (chance + moved) / 2
    return _summed(chance)


@functools.cache
def _two(few: int, many: int) -> Times:
    """Return that of candidates above 0 between samples: whose block is the largest, and on."""
    if many > _SAMPLE or not few:
        return _normal(few * many, few * many * (few + many + 1) / 12)
    rows = [np.ones(1) for _ in range(many + 1)]
    for first in range(1, few + 1):
        fresh = [np.ones(1)]
        for second in range(1, many + 1):
            chance = np.zeros(first * second + 1)
            share = first / (first + second)
            chance[second:] += share * rows[second]
            chance[: first * (second - 1) + 1] += (1 - share) * fresh[-1]
            fresh.append(chance)
        rows = fresh
    return _summed(rows[many])


def _summed(chance: Times) -> Times:
    return np.minimum(np.cumsum(chance), 1.0)


def _normal(top: int, variance: float) -> Times:
    if not variance:
        return np.ones(top + 1)
    found: Times = ndtr((np.arange(top + 1) + 0.5 - top / 2) / math.sqrt(variance))
    return found
