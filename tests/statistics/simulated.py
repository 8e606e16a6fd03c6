# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots of a benchmark with a known truth: what injected costs do to readings and windows."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from lsmeter.core.model import BenchmarkStatus, Round, Whole
from lsmeter.statistics.estimate import BootReadings
from lsmeter.statistics.whole import CycleCost, cycle_costs

Cost = Callable[[int], int]  # what the call of this number costs on top
READINGS = 100
BASE = 2280
UNDO = 1600

# As the probe measures (probe/sampler/whole.h): windows that are seen through, every other one half
# as long; then unseen ones, longer where nothing is left, until there were so many cycles and their
# mean is known, or so many instructions.
SETTLED = 20
SEEN = 24
ONE_CALLBACK, TWO_CALLBACKS = 380, 595
MOST = 128
LEAST_WINDOWS = 5
WINDOWS = 128
CYCLES = 1000
MOST_INSNS = 16_000_000
PRECISION = 0.001

# What a window finds in the guest: instructions between ticks, of the loop itself for each cycle,
# of a tick, of a grace period in ticks within a window and in the first two after it, of other
# paths through the scheduler, and what the guest does of its own in one of so many ticks.
TICK_INSNS = 500_000
LOOP = 34
TICK = 2900
GRACE = 900
VARIANTS = (0,) * 20 + (140,) * 3 + (440,)
OWN_WORK = (3000, 25_000)
OWN_TICKS = 10


def nothing(_call: int) -> int:
    return 0


def evenly(percent: int, insns: int) -> Cost:
    """Cost `insns` in so many of a hundred calls, as evenly as can be."""
    return lambda call: insns if call * percent // 100 != (call + 1) * percent // 100 else 0


def every(period: int, insns: int) -> Cost:
    return lambda call: 0 if call % period else insns


def after(
    draw: random.Random, left: float, places: tuple[int, ...], *, restless: bool
) -> list[int]:
    """Return what the guest does after a window: in so many ticks, and what was left in one.

    The first tick is the last where nothing is ever left; there is no grace period then.
    """
    ticks, grace = (max(places) + 2, GRACE) if places else (1, 0)
    taken = [0, *[TICK + grace] * min(ticks, 2), *[TICK] * (ticks - 2)]
    if places:
        taken[draw.choice(places)] += round(left)
    if restless:
        for number in range(1, ticks + 1):
            taken[number] += draw.choice(VARIANTS)
            if not draw.randrange(OWN_TICKS):
                taken[number] += draw.randint(*OWN_WORK)
    return taken


def seen_cycles(deferred: float) -> int:
    """Return how many cycles a window has that leave so much each, as the probe chooses it."""
    return SEEN * (3 if deferred < ONE_CALLBACK else 2 if deferred < TWO_CALLBACKS else 1)


def measure(
    draw: random.Random,
    cost: Callable[[int], float],
    *,
    deferred: float = 0.0,
    restless: bool = False,
    noise: Callable[[], float] = float,
    seen: int = SEEN,
    most: int = MOST,
    places: tuple[int, ...] = (3,),
) -> Whole:
    """Measure cycles as the probe does: `cost` in line, `deferred` in a tick after the window.

    noise gives what each cycle of a window costs more; restless guests do work of their own.
    places are the ticks (from 1) of which one, drawn for each window, does what was left.
    """
    made: list[Round] = []
    first = draw.randrange(1000)
    places = places if deferred else ()
    while not _enough(made, most):
        settled = len(made) < SETTLED
        cycles = (seen // 2 if len(made) % 2 else seen) if settled else most
        spent = sum(map(cost, range(first, first + cycles))) + cycles * noise()
        first += cycles
        ticks = int(spent // TICK_INSNS)
        bulk = round(spent) + LOOP * cycles + ticks * (TICK + GRACE * bool(places))
        left = after(draw, deferred * cycles, places, restless=restless)
        made.append(Round(cycles, LOOP * cycles, bulk, ticks, tuple(left) if settled else ()))
    return Whole(BenchmarkStatus.OK, tuple(made))


def _enough(made: list[Round], most: int) -> bool:
    long = [(item.bulk - item.loop) / item.operations for item in made if item.operations == most]
    if len(made) < SETTLED + LEAST_WINDOWS or len(long) < LEAST_WINDOWS:
        return False
    if len(made) == WINDOWS or sum(item.bulk for item in made) >= MOST_INSNS:
        return True
    known = np.std(long, ddof=1) / len(long) ** 0.5 <= PRECISION * np.mean(long)
    return bool(known) and sum(item.operations for item in made) >= CYCLES


def cycle_cost(whole: Whole | None) -> CycleCost | None:
    return cycle_costs([whole])[0]


def made_boot(seed: int, values: Sequence[int], whole: Whole) -> BootReadings:
    readings = np.asarray(values, dtype=np.int64)
    return BootReadings(seed, readings, (), whole, cycle=cycle_cost(whole))


def boot(
    seed: int,
    cost: Cost = nothing,
    *,
    deferred: int = 0,
    noise_insns: float = 25,
    refill: Cost = nothing,
    restless: bool = False,
) -> BootReadings:
    """Make one boot; what a window's cycles cost more is drawn from ± noise_insns."""
    draw = random.Random(seed)
    first = draw.randrange(1000)
    values = [BASE + cost(first + call) + refill(call) for call in range(READINGS)]
    seen = seen_cycles(deferred)
    whole = measure(
        draw,
        lambda call: BASE + UNDO + cost(call) + refill(call),
        deferred=deferred,
        restless=restless,
        seen=seen,
        most=seen if deferred else MOST,
        noise=lambda: draw.uniform(-noise_insns, noise_insns),
    )
    return made_boot(seed, values, whole)


def scattered(
    seed: int,
    shift: float = 0.0,
    *,
    deferred: int = 0,
    base: int = 90_000,
    spread: float = 0.006,
    undo: int = 60_000,
) -> BootReadings:
    """Make one boot without a typical count: no two readings are alike, as of `exit`.

    Boots of one seed have their state in common, and are 2 % apart of others; their readings
    scatter by `spread`. shift is what the call costs on top, in the mean; deferred the rest.
    """
    state = random.Random(seed).uniform(-0.02, 0.02) * base
    draw = random.Random(f"{seed} {shift} {deferred}")
    values = [round(base + state + shift + draw.gauss(0, spread * base)) for _ in range(READINGS)]
    cycle = base + state + undo + shift
    whole = measure(
        draw,
        lambda _: cycle,
        deferred=deferred,
        noise=lambda: draw.gauss(0, 0.002) * cycle,
        seen=4,
        most=4,
    )
    return made_boot(seed, values, whole)


def boots(
    cost: Cost = nothing, *, seed: int = 0, count: int = 2, **more: object
) -> list[BootReadings]:
    return [boot(seed + index, cost, **more) for index in range(count)]  # type: ignore[arg-type]
