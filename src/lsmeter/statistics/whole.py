# SPDX-License-Identifier: GPL-2.0-or-later
"""From the windows of whole cycles of one boot to the cost of a cycle; pure.

A cycle costs what it takes in line, the mean over all windows, and what it leaves to be done later:
by how much more the guest does after a whole window than after half of one. What the guest does for
itself, ticks and the machinery of grace periods among it, is the same after both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lsmeter.model import BenchmarkStatus, Round, Whole

# Instructions: by so much a tick may take more than its median before it is taken for one in which
# the guest did something of its own, which it does in every tenth tick or so (3,400 to 25,000).
# Variants of one path through the scheduler lie 440 apart.
OWN_WORK = 600
PLAIN_TICKS = 2  # writing back, and one tick: nothing is left to be done after a window
# Instructions: between boots, what whole windows leave over half ones differs by this standard
# error, by the scheduler's state at the ticks (16 boots of five operations that make objects).
STATE = 220.0
EXCESS_Z = 3.0  # standard errors from which on rare deferred work counts

_Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CycleCost:
    """What one cycle costs in one boot, in instructions.

    value is in_line + deferred; error is its standard error, of in-line cost and deferred work,
    which is known from so many windows. in_line is without ticks, by window in `windows`.
    """

    value: float
    error: float
    freedom: int
    in_line: float
    deferred: float
    cycles: int
    windows: tuple[float, ...]


def cycle_cost(whole: Whole | None) -> CycleCost | None:
    """Return the cost of a cycle in one boot; None where it was not measured."""
    if whole is None or whole.status is not BenchmarkStatus.OK:
        return None
    full, half = seen_rounds(whole.rounds)
    if not full or not half:
        return None
    tick = _tick(half)
    in_line = np.array([_in_line(item, tick) for item in whole.rounds])
    weights = np.array([item.operations for item in whole.rounds], dtype=float)
    cycles = int(weights.sum())
    mean = float(np.average(in_line, weights=weights))
    deferred, error = _deferred(full, half)
    # Of a mean with weights, each window's residual taken as its own (White 1980).
    spread = math.sqrt(float(((weights * (in_line - mean)) ** 2).sum())) / cycles
    return CycleCost(
        mean + deferred,
        math.hypot(spread, error),
        in_line.size - 1,
        mean,
        deferred,
        cycles,
        tuple(in_line.tolist()),
    )


def seen_rounds(rounds: Sequence[Round]) -> tuple[list[Round], list[Round]]:
    """Return the windows that were seen through: whole ones, and those of half as many cycles."""
    seen = [item for item in rounds if item.taken]
    most = max((item.operations for item in seen), default=0)
    full = [item for item in seen if item.operations == most]
    return full, [item for item in seen if item.operations < most]


def _in_line(item: Round, tick: float) -> float:
    """Return the instructions of one cycle of a window, less the ticks that fell into it."""
    return (item.bulk - item.loop - item.ticks * tick) / item.operations


def _tick(rounds: Sequence[Round]) -> float:
    """Return what a tick takes that falls into a window.

    It is as the first ones after it are: plain, or with the machinery of a grace period. Callbacks
    may run in one of the two.
    """
    return float(np.median([item.taken[1:3] for item in rounds], axis=0).min())


def _deferred(full: Sequence[Round], half: Sequence[Round]) -> tuple[float, float]:
    """Return what a cycle leaves to be done later, and the standard error of that.

    Whole and half windows follow each other, and are held against each other in pairs: what state
    the scheduler is in is then the same on both sides.
    """
    apart = full[0].operations - half[0].operations
    pairs = [
        [*zip(one.taken, two.taken, strict=True)] for one, two in zip(full, half, strict=False)
    ]
    taken = np.array(pairs, dtype=float)
    changes = taken[:, :, 0] - taken[:, :, 1]
    middle = np.median(changes, axis=0)
    own = np.abs(changes - middle) > OWN_WORK
    own[:, 0] = False  # writing back
    kept = np.where(own, middle, changes).sum(axis=1)
    rare = changes.sum(axis=1) - kept
    value, error = _mean(kept)
    if taken.shape[1] > PLAIN_TICKS:
        error = math.hypot(error, STATE)
    more, more_error = _mean(rare)
    if abs(more) > EXCESS_Z * more_error > 0:
        value, error = value + more, math.hypot(error, more_error)
    return value / apart, error / apart


def _mean(values: _Numbers) -> tuple[float, float]:
    """Return a mean and its standard error, infinite for a single value."""
    if values.size < 2:
        return float(values.mean()), math.inf
    return float(values.mean()), float(values.std(ddof=1)) / math.sqrt(values.size)
