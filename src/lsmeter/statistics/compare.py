# SPDX-License-Identifier: GPL-2.0-or-later
"""From two estimates to an overhead and a verdict; pure. A positive overhead is always worse."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lsmeter.model import Better, Verdict


@dataclass(frozen=True)
class Range:
    """A value with the bounds it is known within; for a count that repeats, all are equal."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Overhead:
    """An overhead as a fraction of the baseline, with its bounds."""

    value: float
    low: float
    high: float


def overhead(tested: Range, baseline: Range, better: Better = Better.LOWER) -> Overhead:
    """Return tested / baseline - 1 for costs, 1 - tested / baseline for throughput.

    The bounds are the least and the most favourable pair of bounds. With a baseline of 0 the
    overhead is 0 if nothing changed, and not a number otherwise.
    """
    if baseline.low <= 0:
        same = tested == baseline
        nothing = 0.0 if same else math.nan
        return Overhead(nothing, nothing, nothing)
    value = tested.value / baseline.value - 1
    low = tested.low / baseline.high - 1
    high = tested.high / baseline.low - 1
    if better is Better.HIGHER:
        return Overhead(-value + 0.0, -high + 0.0, -low + 0.0)
    return Overhead(value, low, high)


def verdict(measured: Overhead, margin: float) -> Verdict:
    """Say what the bounds allow: beyond the margin, inside it, or neither.

    margin is a fraction; an overhead within ± margin (included) counts as equivalent.
    """
    if math.isnan(measured.value):
        return Verdict.INCONCLUSIVE
    if measured.low > margin:
        return Verdict.SLOWER
    if measured.high < -margin:
        return Verdict.FASTER
    if -margin <= measured.low and measured.high <= margin:
        return Verdict.EQUIVALENT
    return Verdict.INCONCLUSIVE
