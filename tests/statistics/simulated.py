# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots of a benchmark with a known truth: what injected costs do to readings and rounds."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from lsmeter.model import BenchmarkStatus, Round, Whole
from lsmeter.statistics.estimate import BootReadings

Cost = Callable[[int], int]  # what the call of this number costs on top
READINGS = 100
ROUND_OPERATIONS = 400
BASE = 2280
UNDO = 1600


def nothing(_call: int) -> int:
    return 0


def evenly(percent: int, insns: int) -> Cost:
    """Cost `insns` in so many of a hundred calls, as evenly as can be."""
    return lambda call: insns if call * percent // 100 != (call + 1) * percent // 100 else 0


def every(period: int, insns: int) -> Cost:
    return lambda call: 0 if call % period else insns


def boot(
    seed: int,
    cost: Cost = nothing,
    *,
    deferred: int = 0,
    rounds: int = 4,
    noise_insns: int = 10_000,
    refill: Cost = nothing,
) -> BootReadings:
    """Make one boot; a round's noise is drawn from ± noise_insns in all its operations."""
    draw = random.Random(seed)
    first = draw.randrange(1000)
    values = [BASE + cost(first + call) + refill(call) for call in range(READINGS)]
    made = []
    for number in range(rounds):
        calls = range(first + number * ROUND_OPERATIONS, first + (number + 1) * ROUND_OPERATIONS)
        spent = sum(BASE + UNDO + cost(call) + refill(call) + deferred for call in calls)
        spent += draw.randint(-noise_insns, noise_insns)
        made.append(Round(ROUND_OPERATIONS, 0, spent, 0, 0))
    return BootReadings(
        seed, np.asarray(values, dtype=np.int64), (), Whole(BenchmarkStatus.OK, tuple(made)), 0.0
    )


def scattered(
    seed: int,
    shift: float = 0.0,
    *,
    deferred: int = 0,
    base: int = 90_000,
    spread: float = 0.006,
    undo: int = 60_000,
    rounds: int = 3,
) -> BootReadings:
    """Make one boot without a typical count: no two readings are alike, as of `exit`.

    Boots of one seed have their state in common, and are 2 % apart of others; their readings
    scatter by `spread`. shift is what the call costs on top, in the mean; deferred the rest.
    """
    state = random.Random(seed).uniform(-0.02, 0.02) * base
    draw = random.Random(f"{seed} {shift} {deferred}")
    values = [round(base + state + shift + draw.gauss(0, spread * base)) for _ in range(READINGS)]
    made = []
    for _ in range(rounds):
        cycle = base + state + undo + shift + deferred
        noise = draw.gauss(0, 0.001) * cycle
        made.append(Round(ROUND_OPERATIONS, 0, int(ROUND_OPERATIONS * (cycle + noise)), 0, 0))
    return BootReadings(
        seed, np.asarray(values, dtype=np.int64), (), Whole(BenchmarkStatus.OK, tuple(made)), 0.0
    )


def boots(
    cost: Cost = nothing, *, seed: int = 0, count: int = 2, **more: object
) -> list[BootReadings]:
    return [boot(seed + index, cost, **more) for index in range(count)]  # type: ignore[arg-type]
