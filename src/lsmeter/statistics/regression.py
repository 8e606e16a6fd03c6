# SPDX-License-Identifier: GPL-2.0-or-later
"""Ordinary least squares with all that a reader needs to judge the fit; pure.

The model is the multiple linear regression of Zhang, Liu and Jaeger (ASIA CCS'21, section 4.2):
T_operation = b1 * T_hook + b2 * T_policy + e. Within one setup T_hook does not change, so its
share lies in the intercept, and a single regressor (T_policy) is left.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from statsmodels.api import OLS

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
    spread = float(np.ptp(observed))
    fit = OLS(observed, np.column_stack([np.ones(len(observed)), column])).fit()
    # Exactly flat: leave no rounding errors to be read as a tiny slope.
    values = [float(value) for value in fit.params] if spread else [float(observed[0]), 0.0]
    bounds: Iterable[tuple[float | None, float | None, float | None]]
    if fit.df_resid < 1:
        bounds = [(None, None, None)] * 2
    elif not spread:
        bounds = [(0.0, value, value) for value in values]
    else:
        ends = fit.conf_int(alpha=1 - CONFIDENCE).astype(float)
        bounds = zip(map(float, fit.bse), *ends.T.tolist(), strict=True)
    intercept, slope = (Coefficient(one, *ends) for one, ends in zip(values, bounds, strict=True))
    return Regression(
        slope=slope,
        intercept=intercept,
        r2=float(fit.rsquared) if spread else None,
        residuals=tuple(float(value) if spread else 0.0 for value in fit.resid),
        observations=len(observed),
    )


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
