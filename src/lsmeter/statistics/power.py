# SPDX-License-Identifier: GPL-2.0-or-later
"""How many more blocks an open comparison would take; pure."""

from __future__ import annotations

import math

from scipy.special import ndtri

from lsmeter.statistics.family import ALPHA

POWER = 0.8
_STUDENT = 2  # blocks that Student's t takes more than a normal distribution would


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
