# SPDX-License-Identifier: GPL-2.0-or-later
"""Ordinary least squares with all that a reader needs to judge the fit; pure.

The model is the multiple linear regression of Zhang, Liu and Jaeger (ASIA CCS'21, section 4.2):
T_operation = b1 * T_hook + b2 * T_policy + e. Within one setup T_hook does not change, so its
share lies in the intercept, and a single regressor (T_policy) is left.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lsmeter.statistics.blocks import quantile

CONFIDENCE = 0.95

# A slope this near to a whole number is taken for it, however narrow its interval: readings of
# the clock are off by up to 1 ns, and guest clocks tick up to some 100 ppm beside their count.
WHOLE_TOLERANCE = 0.01


@dataclass(frozen=True)
class Coefficient:
    """One term of a fit. Without degrees of freedom the error and the interval are None."""

    value: float  # units of the result per unit of the regressor
    stderr: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True)
class Regression:
    """A fit of a result on a regressor and a constant.

    r2 is None for a result that does not vary: then there is nothing to explain.
    """

    slope: Coefficient
    intercept: Coefficient
    r2: float | None
    residuals: tuple[float, ...]
    observations: int
    confidence: float = CONFIDENCE

    @property
    def max_residual_at(self) -> int:
        """Which observation lies farthest from the fit, counted from 0."""
        return max(range(self.observations), key=lambda at: abs(self.residuals[at]))

    @property
    def max_residual(self) -> float:
        """How far it lies from the fit, without sign."""
        return abs(self.residuals[self.max_residual_at])


@dataclass(frozen=True)
class Whole:
    """Whether a coefficient is a whole number: value is None when not, and reason says why."""

    value: int | None
    reason: str


def regress(result: Sequence[float], regressor: Sequence[float]) -> Regression:
    """Fit `result` on `regressor` and a constant by least squares.

    Raises ValueError where no line is the answer: fewer than two observations, or a regressor that
    does not vary.
    """
    observed, column = np.asarray(result, dtype=float), np.asarray(regressor, dtype=float)
    if len(observed) < 2:
        raise ValueError(f"{len(observed)} observations cannot give 2 terms")
    if np.ptp(column) == 0:
        raise ValueError("the regressor does not vary")
    # Of one regressor and a constant the textbook's sums say all; of what is exactly flat, rounding
    # errors would be read as a tiny slope.
    count, middle, flat = len(observed), float(column.mean()), float(np.ptp(observed)) == 0
    from_middle, level = column - middle, float(observed[0] if flat else observed.mean())
    squares = float(from_middle @ from_middle)
    slope = 0.0 if flat else float(from_middle @ (observed - level)) / squares
    intercept = level - slope * middle
    residuals = observed - (intercept + slope * column)
    unexplained, freedom = float(residuals @ residuals), count - 2
    error = math.sqrt(unexplained / freedom) if freedom else None
    spreads = (math.sqrt(1 / squares), math.sqrt(1 / count + middle * middle / squares))
    return Regression(
        _coefficient(slope, error, spreads[0], freedom),
        _coefficient(intercept, error, spreads[1], freedom),
        r2=None if flat else 1 - unexplained / float(((observed - level) ** 2).sum()),
        residuals=tuple(map(float, residuals)),
        observations=count,
    )


def regress_halves(result: Sequence[float], regressor: Sequence[float]) -> Regression:
    """Fit as `regress` does; the slope's interval holds the slopes of both halves as well.

    A cost that begins at some value of the regressor (each call longer than a millisecond runs into
    the scheduler) bends the line. Least squares take what is beside the line for noise: with one
    such step in twelve points their interval misses the true slope, which one half has.
    """
    fit = regress(result, regressor)
    if fit.slope.ci_low is None or fit.slope.ci_high is None:
        return fit
    ordered = sorted(zip(regressor, result, strict=True))
    size = (len(ordered) + 1) // 2
    halves = [
        regress([at for _, at in half], [x for x, _ in half]).slope.value
        for half in (ordered[:size], ordered[-size:])
        if half[0][0] < half[-1][0]
    ]
    low, high = min((fit.slope.ci_low, *halves)), max((fit.slope.ci_high, *halves))
    return replace(fit, slope=replace(fit.slope, ci_low=low, ci_high=high))


def _coefficient(value: float, error: float | None, spread: float, freedom: int) -> Coefficient:
    """Return a term of a fit: error is that of an observation, spread what the term makes of it."""
    if error is None:
        return Coefficient(value, None, None, None)
    half = quantile(freedom, CONFIDENCE) * error * spread
    return Coefficient(value, error * spread, value - half, value + half)


def whole(coefficient: Coefficient) -> Whole:
    """Decide whether a coefficient can be taken for a number of events.

    It can when its interval, widened by WHOLE_TOLERANCE on both sides, holds exactly one whole
    number, and that is not negative. Without an interval only the tolerance counts.
    """
    low = coefficient.value if coefficient.ci_low is None else coefficient.ci_low
    high = coefficient.value if coefficient.ci_high is None else coefficient.ci_high
    first = int(np.ceil(low - WHOLE_TOLERANCE))
    last = int(np.floor(high + WHOLE_TOLERANCE))
    interval = f"{coefficient.value:.4f} [{low:.4f}, {high:.4f}]"
    if first > last:
        return Whole(None, f"{interval} is not within {WHOLE_TOLERANCE:g} of a whole number")
    if first < last:
        return Whole(None, f"{interval} leaves more than one whole number possible")
    if first < 0:
        return Whole(None, f"{interval} is negative")
    return Whole(first, f"{interval} leaves only {first}")
