# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of a whole cycle, from windows of a guest with a known truth."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from lsmeter.core.model import BenchmarkStatus, Round, Whole
from lsmeter.statistics.estimate import BootReadings, Side
from lsmeter.statistics.whole import (
    OTHER_BATCHES,
    OWN_WORK,
    STATE,
    CycleCost,
    batches_error,
    cycle_costs,
)
from tests.statistics.simulated import (
    BASE,
    LOOP,
    UNDO,
    Cost,
    boots,
    cycle_cost,
    evenly,
    every,
    measure,
    nothing,
)

CYCLE = BASE + UNDO
RUNS = 200
RESTLESS = {"restless": True, "noise_insns": 8}


def found(whole: Whole) -> CycleCost:
    cost = cycle_cost(whole)
    assert cost is not None
    return cost


def quiet(cost: float = CYCLE, *, deferred: float = 0.0, at: int = 3, seen: int = 24) -> Whole:
    """Measure a guest that does nothing of its own, with the same cost in each cycle."""
    most = seen if deferred or seen != 24 else 128
    return measure(
        random.Random(1), lambda _: cost, deferred=deferred, places=(at,), seen=seen, most=most
    )


SHAPES: dict[str, tuple[Cost, int, float]] = {
    "nothing": (nothing, 0, 0),
    "always": (lambda _: 500, 0, 500),
    "40 %": (evenly(40, 500), 0, 200),
    "every 64th": (every(64, 32_000), 0, 500),
    "every 1000th": (every(1000, 50_000), 0, 50),
    "deferred": (nothing, 6000, 6000),
    "deferred, a little": (nothing, 90, 90),
    "both": (evenly(55, 500), 1000, 1275),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_interval_holds_the_truth_as_often_as_it_says(shape: str) -> None:
    """At least 97 % of 200 runs of two boots, of guests that do work of their own."""
    cost, deferred, truth = SHAPES[shape]
    held, wide = 0, []
    for seed in range(0, 10 * RUNS, 10):
        known, missing = Side(boots(cost, deferred=deferred, seed=seed, **RESTLESS)).whole_cost()
        assert known is not None
        assert not missing
        held += known.low <= CYCLE + truth <= known.high
        wide.append(known.high - known.low)
    assert held >= 0.97 * RUNS
    # An interval in which everything fits says nothing.
    assert np.median(wide) / 2 < 0.5 * truth + 0.03 * CYCLE


def test_what_is_in_line_and_what_is_deferred_are_told_apart() -> None:
    cost = found(quiet(4000, deferred=700))
    assert (cost.value - cost.deferred, cost.deferred, cost.value) == pytest.approx(
        (4000, 700, 4700)
    )
    assert cost.error == pytest.approx(STATE / 12)
    assert found(quiet()).error == pytest.approx(0, abs=1e-9)
    whole, _ = Side(boots(deferred=700, noise_insns=0)).whole_cost()
    assert whole is not None
    assert whole.deferred == pytest.approx(700)
    assert whole.value == pytest.approx(CYCLE + 700)


def test_the_loop_around_the_calls_is_no_cost() -> None:
    whole = quiet()
    assert all(item.loop == LOOP * item.operations for item in whole.rounds)
    more = tuple(replace(item, loop=0) for item in whole.rounds)
    assert found(replace(whole, rounds=more)).value - found(whole).value == pytest.approx(LOOP)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_ticks_inside_of_windows_are_no_cost(at: int) -> None:
    """They take what the first two after windows take, but for callbacks in one of these."""
    whole = quiet(300_000, deferred=20_000, at=at, seen=4)
    assert all(item.ticks for item in whole.rounds)
    cost = found(whole)
    assert (cost.value - cost.deferred, cost.deferred) == pytest.approx((300_000, 20_000))


def test_a_cycle_counts_once_in_whichever_window_it_is() -> None:
    """A mean over windows would count those of short ones for more."""
    whole = quiet(seen=24)
    dear = tuple(
        replace(item, bulk=item.bulk + 1000 * item.operations) if item.operations == 12 else item
        for item in whole.rounds
    )
    cost = found(replace(whole, rounds=dear))
    cycles = sum(item.operations for item in dear)
    assert cost.cycles == cycles
    assert cost.value - cost.deferred == pytest.approx(CYCLE + 1000 * 120 / cycles)


def test_the_standard_error_is_that_of_a_mean_with_weights() -> None:
    """Drawn anew many times, means scatter as the error says."""
    draw = random.Random(3)
    costs = [
        found(measure(draw, lambda _: 4000, noise=lambda: draw.gauss(0, 40))) for _ in range(300)
    ]
    scatter = float(np.std([cost.value for cost in costs], ddof=1))
    assert np.mean([cost.error for cost in costs]) == pytest.approx(scatter, rel=0.12)


def test_what_windows_of_two_lengths_may_be_off_is_told_by_the_lengths_alone() -> None:
    """In whatever order they come, and however many boots there are of each."""
    long, short = quiet(deferred=1000), quiet(deferred=1000, seen=12)
    turned = replace(short, rounds=short.rounds[::-1])
    for other in (short, turned):
        error = batches_error([found(long)] * 3, [found(other)] * 5)
        assert error == pytest.approx(OTHER_BATCHES * math.hypot(1 / 12, 1 / 6))
    assert batches_error([found(short)], [found(turned)]) == 0
    assert batches_error([found(quiet())], [found(quiet(seen=12))]) == 0  # nothing is left


def test_the_error_of_deferred_work_is_in_that_of_the_cost() -> None:
    whole = quiet(deferred=500)
    loud = []
    for number, item in enumerate(whole.rounds):
        taken = list(item.taken)
        if taken:
            taken[-1] += 100 * (-1) ** (number + number // 2)
        loud.append(replace(item, taken=tuple(taken)))
    cost = found(replace(whole, rounds=tuple(loud)))
    # Of 200 and -200 in turn in ten pairs, and of the state of a boot, over 12 cycles.
    assert cost.error == pytest.approx((200**2 / 9 + STATE**2) ** 0.5 / 12)


@pytest.mark.parametrize("insns", [3000, 25_000])
def test_what_the_guest_does_of_its_own_is_no_cost(insns: int) -> None:
    """It falls into another tick each time, after whole windows as after half ones."""
    whole = quiet(deferred=500)
    worked = []
    for number, item in enumerate(whole.rounds):
        taken = list(item.taken)
        if taken and number % 3 == 0:
            taken[1 + number % 4] += insns
        worked.append(replace(item, taken=tuple(taken)))
    cost = found(replace(whole, rounds=tuple(worked)))
    assert cost.deferred == pytest.approx(500)
    assert cost.error == pytest.approx(STATE / 12)


def test_what_cycles_leave_now_and_then_counts_whichever_windows_have_it() -> None:
    """A slab of 60 sockets is freed at once: in as many whole windows as not, or in short ones."""
    whole = quiet(deferred=500)
    left, errors = [], []
    for phase in range(60):
        at, rounds = phase, []
        for item in whole.rounds:
            freed = (at + item.operations) // 60 - at // 60
            at += item.operations
            slab = (*item.taken[:2], *(each + 2328 * freed for each in item.taken[2:3]))
            rounds.append(replace(item, taken=(*slab, *item.taken[3:])))
        cost = found(replace(whole, rounds=tuple(rounds)))
        left.append(cost.deferred - 500)
        errors.append(cost.deferred_error)
    assert np.mean(left) == pytest.approx(2328 / 60, rel=0.1)
    assert max(abs(np.array(left) - 2328 / 60) / np.array(errors)) < 2.5


def test_variants_of_a_path_are_no_work_of_the_guests_own() -> None:
    whole = quiet()
    rounds = [
        replace(item, taken=(0, *(each + OWN_WORK for each in item.taken[1:])))
        if item.operations == 24 and number < 8
        else item
        for number, item in enumerate(whole.rounds)
    ]
    # Four of ten whole windows, and one tick in each.
    assert found(replace(whole, rounds=tuple(rounds))).deferred == pytest.approx(
        OWN_WORK * 0.4 / 12
    )


def test_writing_back_counts_however_much_it_varies() -> None:
    whole = quiet()
    written = [
        replace(item, taken=(50_000 * item.operations * (number % 4 < 2), *item.taken[1:]))
        if item.taken
        else item
        for number, item in enumerate(whole.rounds)
    ]
    cost = found(replace(whole, rounds=tuple(written)))
    assert cost.deferred == pytest.approx(25_000 * (24 - 12) / 12, rel=1e-6)


def test_deferred_work_that_comes_now_in_this_tick_and_now_in_that_counts() -> None:
    """Tick by tick it looks as if it were the guest's own, but there is more after more cycles."""
    draws = map(random.Random, range(40))
    left = [
        found(measure(draw, lambda _: CYCLE, deferred=3000, places=(1, 2, 3, 4, 5))).deferred
        for draw in draws
    ]
    assert np.mean(left) == pytest.approx(3000, rel=0.15)


def test_a_cost_that_is_removed_is_removed_from_what_is_deferred() -> None:
    more, less = (found(quiet(deferred=insns)) for insns in (5000, 0))
    assert more.value - less.value == pytest.approx(5000)
    assert less.deferred == 0


@pytest.mark.parametrize("status", [BenchmarkStatus.FAILED, BenchmarkStatus.TIMEOUT])
def test_windows_of_what_failed_are_no_cost(status: BenchmarkStatus) -> None:
    assert cycle_cost(replace(quiet(), status=status)) is None
    assert cycle_cost(None) is None


def test_without_windows_of_both_lengths_there_is_no_cost() -> None:
    """What the cycles left is not known then, and 0 would be a guess."""
    whole = quiet()
    for kept in (
        [item for item in whole.rounds if not item.taken],
        [item for item in whole.rounds if item.operations != 12],
        [item for item in whole.rounds if item.operations != 24],
        [],
    ):
        assert cycle_cost(replace(whole, rounds=tuple(kept))) is None


def test_the_whole_cost_of_an_older_run_says_why_it_is_none() -> None:
    why = "it has the guest's clock in it"
    old = Whole(BenchmarkStatus.FAILED, (), why)
    values = np.asarray([5, 5], dtype=np.int64)
    assert Side([BootReadings(1, values, (), old)]).whole_cost() == (None, why)
    assert cycle_cost(Whole(BenchmarkStatus.OK, (Round(4, 0, 100, 0),))) is None


def test_cycles_of_many_shapes_cost_together_what_each_costs_alone() -> None:
    """What is worked out at once for windows of one shape is that of no other cycle."""
    wholes = [
        None,
        quiet(),
        replace(quiet(), rounds=quiet().rounds[:9]),
        Whole(BenchmarkStatus.FAILED, (), "ENOSPC"),
        replace(
            quiet(),
            rounds=tuple(replace(item, bulk=item.bulk + 700) for item in quiet().rounds),
        ),
    ]
    found = cycle_costs(wholes)
    assert found == [cycle_cost(item) for item in wholes]
    assert [item is None for item in found] == [True, False, False, True, False]
