# SPDX-License-Identifier: GPL-2.0-or-later
"""Ordinary least squares with all that a reader needs to judge the fit; pure.

The model is the multiple linear regression of Zhang, Liu and Jaeger (ASIA CCS'21, section 4.2):
T_operation = b1 * T_hook + b2 * T_policy + e. Within one setup T_hook does not change, so its
share lies in the intercept, and a single regressor (T_policy) is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from statsmodels.api import OLS  # type: ignore[import-untyped]

CONFIDENCE = 0.95

# A slope this near to a whole number is taken for it, however narrow its interval: readings of
# the clock are off by up to 1 ns, and guest clocks tick up to some 100 ppm beside their count.
WHOLE_TOLERANCE = 0.01


@dataclass(frozen=True)
class Coefficient:
    """One term of a fit. Without degrees of freedom the error and the interval are None."""

    name: str
    value: float  # units of the result per unit of the regressor
    stderr: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True)
class Regression:
    """A fit of a result on one or more regressors and a constant.

    r2 is None for a result that does not vary: then there is nothing to explain.
    max_residual is the largest distance of an observation from the fit, in the result's unit,
    and max_residual_at the place of that observation.
    """

    coefficients: tuple[Coefficient, ...]  # in the order of the regressors
    intercept: Coefficient
    r2: float | None
    residuals: tuple[float, ...]
    observations: int
    confidence: float

    @property
    def slope(self) -> Coefficient:
        """The coefficient of the only regressor; ValueError when there are several."""
        (only,) = self.coefficients
        return only

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


def regress(
    result: Sequence[float],
    regressors: Mapping[str, Sequence[float]],
    *,
    confidence: float = CONFIDENCE,
) -> Regression:
    """Fit `result` on `regressors` and a constant by least squares.

    Raises ValueError, with the reason, for what has no single answer: no or unequal
    observations, fewer than unknowns, a value that is no finite number, a regressor that does
    not vary or is a combination of the others.
    """
    observed, design = _checked(result, regressors)
    spread = float(np.ptp(observed))
    fit = OLS(observed, design).fit()
    residuals = tuple(float(value) for value in fit.resid)
    if spread == 0:
        # Exactly flat: leave no rounding errors to be read as a tiny slope.
        residuals = (0.0,) * len(residuals)
        values = (float(observed[0]), *(0.0 for _ in regressors))
    else:
        values = tuple(float(value) for value in fit.params)
    terms = _terms(("constant", *regressors), values, fit, flat=spread == 0, confidence=confidence)
    return Regression(
        coefficients=terms[1:],
        intercept=terms[0],
        r2=float(fit.rsquared) if spread else None,
        residuals=residuals,
        observations=len(observed),
        confidence=confidence,
    )


def whole(coefficient: Coefficient, *, tolerance: float = WHOLE_TOLERANCE) -> Whole:
    """Decide whether a coefficient can be taken for a number of events.

    It can when its interval, widened by `tolerance` on both sides, holds exactly one whole
    number, and that is not negative. Without an interval only the tolerance counts.
    """
    low = coefficient.value if coefficient.ci_low is None else coefficient.ci_low
    high = coefficient.value if coefficient.ci_high is None else coefficient.ci_high
    first = int(np.ceil(low - tolerance))
    last = int(np.floor(high + tolerance))
    interval = f"{coefficient.value:.4f} [{low:.4f}, {high:.4f}]"
    if first > last:
        return Whole(None, f"{interval} is not within {tolerance:g} of a whole number")
    if first < last:
        return Whole(None, f"{interval} leaves more than one whole number possible")
    if first < 0:
        return Whole(None, f"{interval} is negative")
    return Whole(first, f"{interval} leaves only {first}")


def _checked(
    result: Sequence[float], regressors: Mapping[str, Sequence[float]]
) -> tuple[np.ndarray, np.ndarray]:
    observed = np.asarray(result, dtype=float)
    columns = {name: np.asarray(values, dtype=float) for name, values in regressors.items()}
    if not columns:
        raise ValueError("no regressor")
    for name, values in columns.items():
        if len(values) != len(observed):
            raise ValueError(f"{name} has {len(values)} values, the result has {len(observed)}")
        if not np.isfinite(values).all():
            raise ValueError(f"{name} holds a value that is no finite number")
    if not np.isfinite(observed).all():
        raise ValueError("the result holds a value that is no finite number")
    if len(observed) <= len(columns):
        raise ValueError(f"{len(observed)} observations cannot give {len(columns) + 1} terms")
    for name, values in columns.items():
        if np.ptp(values) == 0:
            raise ValueError(f"{name} does not vary")
    design = np.column_stack([np.ones(len(observed)), *columns.values()])
    # Scaled, since nanoseconds beside the constant would be taken for a small difference.
    if np.linalg.matrix_rank(design / np.abs(design).max(axis=0)) < design.shape[1]:
        raise ValueError(f"{', '.join(columns)} are combinations of one another")
    return observed, design


def _terms(
    names: tuple[str, ...], values: tuple[float, ...], fit: OLS, *, flat: bool, confidence: float
) -> tuple[Coefficient, ...]:
    if fit.df_resid < 1:
        return tuple(
            Coefficient(name, value, None, None, None)
            for name, value in zip(names, values, strict=True)
        )
    if flat:
        return tuple(
            Coefficient(name, value, 0.0, value, value)
            for name, value in zip(names, values, strict=True)
        )
    bounds = fit.conf_int(alpha=1 - confidence)
    return tuple(
        Coefficient(name, value, float(error), float(low), float(high))
        for name, value, error, (low, high) in zip(names, values, fit.bse, bounds, strict=True)
    )
