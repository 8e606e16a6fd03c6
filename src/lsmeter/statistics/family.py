# SPDX-License-Identifier: GPL-2.0-or-later
"""All comparisons of a report: Holm's correction, looks at a run that still grows, and its power.

The first two keep the chance of one false claim or more in a whole report at ALPHA.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

ALPHA = 0.05
FIRST = 10  # blocks at which a run that grows is looked at first
GROWTH = 1.5  # from one look to the next
POWER = 0.8
_STUDENT = 2  # blocks that Student's t takes more than a normal distribution would


def holm(values: Sequence[float]) -> list[float]:
    """Return the p of each comparison once all are corrected for (Holm 1979)."""
    order = np.argsort(values, kind="stable")
    steps = np.asarray(values)[order] * np.arange(len(values), 0, -1)
    found = np.empty(len(values))
    found[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(values) else steps
    return [float(value) for value in found]


@dataclass(frozen=True)
class Looks:
    """When a run that grows until it is conclusive is looked at, in blocks; most is its bound.

    Each look spends a part of ALPHA, as Pocock's function has it (Lan and DeMets 1983). The parts
    are used as they are and not combined, so that their sum bounds the error whatever the looks
    have in common: it holds for the t test, the permutation test and Holm's steps alike.
    """

    first: int
    most: int

    def __post_init__(self) -> None:
        if not 0 < self.first <= self.most:
            raise ValueError(f"looks from {self.first} to {self.most} blocks")

    def until(self, blocks: int) -> tuple[int, ...]:
        """Return the looks at a run of so many blocks; the last one is at all of them.

        Blocks beyond the bound are in no look: nothing is left for them to spend.
        """
        blocks = min(blocks, self.most)
        return (*(look for look in self.planned if look < blocks), blocks)

    @property
    def planned(self) -> tuple[int, ...]:
        """All looks."""
        found, at = [], float(self.first)
        while at < self.most:
            found.append(math.floor(at))
            at = max(at * GROWTH, at + 1)
        return (*found, self.most)

    def share(self, blocks: int) -> float:
        """Return the part of ALPHA that the look at so many blocks may spend."""
        blocks = min(blocks, self.most)
        before = [look for look in self.planned if look < blocks]
        return self._spent(blocks) - (self._spent(before[-1]) if before else 0.0)

    def _spent(self, blocks: int) -> float:
        return math.log1p((math.e - 1) * min(1.0, blocks / self.most))


def more_blocks(
    value: float, error: float, blocks: int, margin: tuple[float, float], comparisons: int
) -> int | None:
    """Return how many more blocks would tell a difference from none, or show it to be in margin.

    Four times of five, as one of so many comparisons, and as far as the difference and its standard
    error are what they seem. None where that cannot be said.
    """
    if blocks < 2 or not math.isfinite(value) or not 0 < error < math.inf:
        return None
    spread = error * math.sqrt(blocks)
    alpha = ALPHA / comparisons
    room = min(value - margin[0], margin[1] - value)
    needs = [
        ((float(ndtri(1 - error)) + float(ndtri(power))) * spread / distance) ** 2
        for error, power, distance in (
            (alpha / 2, POWER, abs(value)),
            (alpha, (1 + POWER) / 2, room),
        )
        if distance > 0
    ]
    if not needs:
        return None
    return max(1, math.ceil(min(needs)) + _STUDENT - blocks)
