# SPDX-License-Identifier: GPL-2.0-or-later
"""Non-negative weights from events to nanoseconds, and how wrong they are; pure.

Errors are relative, so that an operation of 100 ns counts as much as one of 10 us. A fit starts
from what processors are known to take (expected.toml) and goes away from it as far as that lets it
tell operations that it has not seen. The error that is stated is always that of operations left
out: all variants of an operation are predicted from weights that never saw any of them, and how
far those may go is decided without it, too. The programs of the suite GROUND, in which events vary
apart, are in every fit and in no error.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lsmeter.core.errors import InfrastructureError

GROUND = "calibration"
LEAST_OPERATIONS = 6  # of which one is left out at a time
# How much it costs to move a weight by all of itself, in squares of relative errors.
STIFFNESS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)

_EXPECTED = Path(__file__).with_name("expected.toml")
CYCLES: Mapping[str, float] = tomllib.loads(_EXPECTED.read_text(encoding="utf-8"))["cycles"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Observation:
    """A benchmark whose events and whose time are both known."""

    suite: str
    operation: str
    benchmark: str  # its id
    events: Mapping[str, float]  # of one typical call
    cost_ns: float


@dataclass(frozen=True)
class LeftOut:
    """A benchmark as it was predicted by weights that know nothing of its operation."""

    suite: str
    operation: str
    benchmark: str
    measured_ns: float
    predicted_ns: float

    @property
    def error(self) -> float:
        """Predicted over measured, minus 1."""
        return self.predicted_ns / self.measured_ns - 1


@dataclass(frozen=True)
class Fit:
    """Weights, in ns an event, and what they say of benchmarks that were left out."""

    weights_ns: Mapping[str, float]
    stiffness: float
    left_out: tuple[LeftOut, ...]


def vector(events: Mapping[str, float], empty: Mapping[str, float]) -> dict[str, float]:
    """Return the events of a call as a fit takes them, without those of an empty region."""
    found = {name: max(0.0, value - empty.get(name, 0.0)) for name, value in events.items()}
    found["plain_insns"] = max(0.0, found.get("insns", 0.0) - found.get("string_steps", 0.0))
    return {name: found.get(name, 0.0) for name in CYCLES}


class _Problem:
    """Benchmarks as a matrix of shares: of its time, what each event takes by what is expected."""

    def __init__(self, known: Sequence[Observation], expected: Mapping[str, float]) -> None:
        self.expected: Floats = np.array(list(expected.values()), dtype=float)
        counts = [[item.events.get(name, 0.0) for name in expected] for item in known]
        cost: Floats = np.array([item.cost_ns for item in known], dtype=float)
        self.share = np.array(counts, dtype=float) * self.expected / cost[:, None]
        # Two operations are left out in either order, and fits are what takes the time.
        self.fitted: dict[tuple[tuple[int, ...], float], Floats] = {}
        keys = [(item.suite, item.operation) for item in known]
        self.operations = sorted(dict.fromkeys(keys), key=lambda key: key[0] == GROUND)
        # Those that are left out in turn come first.
        self.ground = [at for at, (suite, _) in enumerate(self.operations) if suite == GROUND]
        # All of them together weigh as one benchmark: they decide what calls leave open.
        self.ground_weight = 1 / max(1, sum(suite == GROUND for suite, _ in keys))
        self.of = np.array([self.operations.index(key) for key in keys])

    @cached_property
    def squares(self) -> tuple[Floats, Floats]:
        """Of each operation: sums of products of two shares, and of shares."""
        each = [self.share[self.of == at] for at in range(len(self.operations))]
        return np.array([part.T @ part for part in each]), np.array([p.sum(axis=0) for p in each])

    def multiples(self, within: Sequence[int], stiffness: float) -> Floats:
        """Fit to the operations `within`; return ns for each expected cycle of each event."""
        key = (tuple(within), stiffness)
        if key not in self.fitted:
            self.fitted[key] = self._fit(within, stiffness)
        return self.fitted[key]

    def _fit(self, within: Sequence[int], stiffness: float) -> Floats:
        # 25 MB, and every report imports this module.
        from scipy.linalg import solve_triangular
        from scipy.optimize import nnls

        products, sums = (
            part[list(within)].sum(axis=0) + part[self.ground].sum(axis=0) * self.ground_weight
            for part in self.squares
        )
        cycle_ns = sums.sum() / products.sum()  # the best one for all
        size = len(sums)
        square = products * cycle_ns**2 + stiffness * np.eye(size)
        right = sums * cycle_ns + stiffness
        lower = np.linalg.cholesky(square)
        found = nnls(lower.T, solve_triangular(lower, right, lower=True))[0]
        return np.asarray(found * cycle_ns, dtype=float)

    def errors(self, within: Sequence[int], stiffness: float) -> Floats:
        """Return the relative errors of the operations `within`, each left out of its own fit."""
        found = [
            self.share[self.of == left] @ self.multiples(_without(within, left), stiffness) - 1
            for left in within
        ]
        return np.concatenate(found)

    def stiffness(self, within: Sequence[int]) -> float:
        """Return how stiff a fit must be to tell best the operations that it has not seen."""
        return min(STIFFNESS, key=lambda stiffness: _loss(self.errors(within, stiffness)))


def _without(within: Sequence[int], left: int) -> list[int]:
    return [at for at in within if at != left]


def _loss(errors: Floats) -> float:
    """Return what a choice makes small: the usual error, and that of the worst tenth."""
    away = np.abs(errors)
    return float(away.mean() + np.median(away) + np.quantile(away, 0.9) / 3)


def fit(known: Sequence[Observation], expected: Mapping[str, float]) -> Fit:
    """Fit the weights of the events in `expected`, which has the cycles that each should take.

    Raises InfrastructureError where too few operations have both events and a time.
    """
    known = [item for item in known if item.cost_ns > 0 and any(item.events.values())]
    count = len({(item.suite, item.operation) for item in known if item.suite != GROUND})
    if count < LEAST_OPERATIONS:
        raise InfrastructureError(
            f"only {count} operations have both events and a time; a fit needs {LEAST_OPERATIONS}",
            hint="calibrate with more operations: leave --benchmark out",
        )
    problem = _Problem(known, expected)
    every = range(count)
    left_out: list[LeftOut] = []
    for left in every:
        others = _without(every, left)
        multiples = problem.multiples(others, problem.stiffness(others))
        for at in np.flatnonzero(problem.of == left):
            item = known[at]
            predicted_ns = float(problem.share[at] @ multiples) * item.cost_ns
            names = (item.suite, item.operation, item.benchmark)
            left_out.append(LeftOut(*names, item.cost_ns, predicted_ns))
    stiffness = problem.stiffness(every)
    weights = problem.multiples(every, stiffness) * problem.expected
    named = zip(expected, weights, strict=True)
    return Fit({name: float(ns) for name, ns in named if ns > 0}, stiffness, tuple(left_out))
