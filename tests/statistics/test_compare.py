# SPDX-License-Identifier: GPL-2.0-or-later
"""No cost can hide: verdicts on data with a known truth, of every shape that a cost can have."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.model import Better
from lsmeter.core.model.conclusion import Difference, Verdict
from lsmeter.statistics.blocks import Interval
from lsmeter.statistics.compare import change, compare
from lsmeter.statistics.estimate import BootReadings
from lsmeter.statistics.whole import OTHER_BATCHES
from tests.statistics.simulated import BASE, UNDO, Cost, boot, boots, evenly, every, nothing

MARGIN = 0.01
NOISE: dict[str, Any] = {"noise_insns": 20, "restless": True, "refill": every(21, 163)}


def spread(call: int) -> int:
    """Ten costs, evenly spread: no reading is like the one before."""
    return 94 * (call % 11)


SHAPES: dict[str, tuple[Cost, int, float]] = {
    "always": (lambda _: 500, 0, 500),
    "10 %": (evenly(10, 500), 0, 50),
    "40 %": (evenly(40, 500), 0, 200),
    "55 %": (evenly(55, 500), 0, 275),
    "60 %": (evenly(60, 500), 0, 300),
    "90 %": (evenly(90, 500), 0, 450),
    "every 8th": (every(8, 4000), 0, 500),
    "every 64th": (every(64, 32_000), 0, 500),
    "every 1000th": (every(1000, 100_000), 0, 100),
    "spread": (spread, 0, 470),
    "deferred": (nothing, 6000, 6000),
}
# What is left of a cycle, and by how many cycles whole windows and short ones are apart then.
LEFT = ((1000, 12), (480, 24))
# A few events in all cycles of a side: not sure, and never equivalent.
RARE = {"every 1000th"}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_cost_of_any_shape_is_slower(shape: str) -> None:
    cost, deferred, truth = SHAPES[shape]
    verdicts = {Verdict.SLOWER, Verdict.INCONCLUSIVE} if shape in RARE else {Verdict.SLOWER}
    for seed in range(0, 200, 10):
        base = boots(seed=seed, **NOISE)
        tested = boots(cost, deferred=deferred, seed=seed, **NOISE)
        found = compare(base, tested, MARGIN)
        assert found.verdict in verdicts, (seed, found)
        assert found.whole is not None
        assert found.whole.low <= truth <= found.whole.high
        if shape not in RARE:
            assert found.found is Difference.SEEN
            assert found.whole.difference == pytest.approx(truth, rel=0.02, abs=35)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_cost_that_is_removed_is_faster(shape: str) -> None:
    cost, deferred, _ = SHAPES[shape]
    verdicts = {Verdict.FASTER, Verdict.INCONCLUSIVE} if shape in RARE else {Verdict.FASTER}
    for seed in range(0, 100, 10):
        base = boots(cost, deferred=deferred, seed=seed, **NOISE)
        found = compare(base, boots(seed=seed, **NOISE), MARGIN)
        assert found.verdict in verdicts, (seed, found)


def test_costs_that_cancel_on_average_are_not_equivalent() -> None:
    for seed in range(0, 200, 10):
        tested = boots(lambda call: 500 if call % 2 else -500, seed=seed, **NOISE)
        found = compare(boots(seed=seed, **NOISE), tested, MARGIN)
        assert found.verdict is Verdict.INCONCLUSIVE
        assert found.found is Difference.SEEN
        assert "cost moved between calls" in found.cause


def test_costs_that_cancel_beside_the_typical_call_are_not_equivalent() -> None:
    def cost(call: int) -> int:
        return {0: 1000, 1: -1000}.get(call % 4, 0)

    for seed in range(0, 200, 10):
        found = compare(boots(seed=seed, **NOISE), boots(cost, seed=seed, **NOISE), MARGIN)
        assert found.verdict is Verdict.INCONCLUSIVE
        assert "peaks moved" in found.cause


def test_the_same_under_two_names_is_identical() -> None:
    found = compare(boots(**NOISE), boots(**NOISE), MARGIN)
    assert found.found is Difference.NONE
    assert found.verdict is Verdict.EQUIVALENT


def test_what_is_identical_is_equivalent_however_uncertain() -> None:
    wild = boots(noise_insns=1000)
    assert compare(wild, wild, MARGIN).verdict is Verdict.EQUIVALENT


def test_the_same_in_other_boots_raises_no_false_alarm() -> None:
    """A/A with other seeds: no typical difference, and equivalent in 98 % at least.

    In the others the guest did alike work of its own in three windows of a boot.
    """
    verdicts = Counter[Verdict]()
    for seed in range(200):
        found = compare(boots(seed=seed, **NOISE), boots(seed=seed + 5000, **NOISE), MARGIN)
        assert found.typical.difference == 0
        verdicts[found.verdict] += 1
    assert verdicts.keys() <= {Verdict.EQUIVALENT, Verdict.INCONCLUSIVE}
    assert verdicts[Verdict.EQUIVALENT] >= 196


def test_a_small_real_difference_is_seen_and_does_not_matter() -> None:
    """Between builds that differ in a patch only, +3 instructions are a difference."""
    quiet: dict[str, Any] = {"noise_insns": 0}
    found = compare(boots(**quiet), boots(lambda _: 3, **quiet), MARGIN)
    assert found.verdict is Verdict.EQUIVALENT
    assert found.found is Difference.SEEN
    assert found.typical.difference == 3


def test_without_whole_costs_nothing_is_equivalent() -> None:
    def plain(item: BootReadings) -> BootReadings:
        return replace(item, whole=None, cycle=None)

    found = compare([plain(boot(1))], [plain(boot(1))], MARGIN)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.cause == "amortised and deferred costs were not measured"
    slower = compare([plain(boot(1))], [plain(boot(1, lambda _: 500))], MARGIN)
    assert slower.verdict is Verdict.SLOWER


def test_a_benchmark_without_calls_needs_no_whole_cost() -> None:
    one = [replace(boot(1), whole=None, cycle=None)]
    assert compare(one, one, MARGIN, calls=False).verdict is Verdict.EQUIVALENT


def test_sides_in_step_are_paired_by_place() -> None:
    """Four costs in turn: most frequent ones differ by anything, pairs by one number."""
    draw = random.Random(3)
    costs = [draw.choice([3023, 3073, 3101, 3140]) for _ in range(200)]
    base = replace(boot(1), values=np.asarray(costs))
    # In sixteen readings something else came between.
    other = [value + 152 + (163 if place % 12 == 0 else 0) for place, value in enumerate(costs)]
    found = compare([base], [replace(boot(1), values=np.asarray(other))], MARGIN)
    assert found.typical.difference == 152
    assert found.in_step == pytest.approx(183 / 200)


def test_boots_of_other_seeds_are_not_paired() -> None:
    found = compare([boot(1)], [boot(2)], MARGIN)
    assert found.in_step is None


def test_numbers_that_disagree_in_direction_are_said() -> None:
    cheaper = boots(lambda _: 500, seed=1, noise_insns=0)
    tested = boots(nothing, seed=1, deferred=3000, noise_insns=0)
    found = compare(cheaper, tested, MARGIN)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.cause.startswith("the numbers disagree: typical -18.0 %".replace(" %", "%"))


def test_throughput_has_the_sign_turned() -> None:
    assert change(100, 120, Interval(20, 10, 30)).overhead == pytest.approx(0.2)
    found = change(100, 120, Interval(20, 10, 30), Better.HIGHER)
    shares = (found.overhead, found.overhead_low, found.overhead_high)
    assert shares == pytest.approx((-0.2, -0.3, -0.1))


def test_a_baseline_of_nothing_gives_no_percentage() -> None:
    found = change(0, 0, Interval(0, 0, 0))
    assert (found.overhead, found.overhead_low, found.overhead_high) == (0.0, 0.0, 0.0)
    assert math.isnan(change(0, 5, Interval(5, 5, 5)).overhead)


def test_the_interval_of_a_whole_difference_holds_the_truth() -> None:
    held = 0
    for seed in range(0, 4000, 20):
        tested = boots(lambda _: 40, seed=seed + 9, noise_insns=20)
        found = compare(boots(seed=seed, noise_insns=20), tested, MARGIN).whole
        assert found is not None
        held += found.low <= 40 <= found.high
    assert held >= 0.97 * 200


def test_windows_that_agree_do_not_hide_what_their_boots_have_in_common() -> None:
    """Slabs partly in use in one boot and not in the next: 0.05 % of the cost, and no noise."""
    held = 0
    for seed in range(200):
        draw = random.Random(seed)
        state = [int(draw.gauss(0, 0.0005 * (BASE + UNDO))) for _ in range(4)]
        sides = [
            [boot(index, noise_insns=0, deferred=state[2 * side + index]) for index in range(2)]
            for side in range(2)
        ]
        found = compare(sides[0], sides[1], MARGIN).whole
        assert found is not None
        held += found.low <= 0 <= found.high
    assert held >= 0.97 * 200


@pytest.mark.parametrize("count", [2, 8])
def test_windows_of_other_lengths_are_off_by_what_each_length_is(count: int) -> None:
    """RCU's batches after windows of one length are alike in all boots: eight tell no more."""
    held, wide = 0, []
    for seed in range(200):
        draw = random.Random(seed)
        # Windows of 24 cycles with short ones of 12, and of 48 with 24.
        left = [more + round(draw.gauss(0, OTHER_BATCHES) / cycles) for more, cycles in LEFT]
        sides = [boots(deferred=more, noise_insns=0, count=count) for more in left]
        found = compare(sides[0], sides[1], MARGIN).whole
        assert found is not None
        held += found.low <= LEFT[1][0] - LEFT[0][0] <= found.high
        wide.append(found.high - found.low)
    assert held >= 0.97 * 200
    assert np.median(wide) / 2 < 0.04 * (BASE + UNDO)


@given(st.integers(-1500, 5000), st.integers(-1500, 20_000))
def test_no_cost_beyond_the_margin_is_called_equivalent(insns: int, deferred: int) -> None:
    tested = boots(lambda _: insns, seed=1, deferred=deferred, noise_insns=0)
    found = compare(boots(seed=1, noise_insns=0), tested, MARGIN)
    total = abs(insns + deferred) / BASE
    if abs(insns) / BASE > MARGIN or total > MARGIN:
        assert found.verdict is not Verdict.EQUIVALENT
    elif abs(insns) / BASE < MARGIN / 2 and total < MARGIN / 4:
        # Of deferred costs two boots tell no more than some 1.5 % of the call.
        allowed = {Verdict.EQUIVALENT, Verdict.INCONCLUSIVE} if deferred else {Verdict.EQUIVALENT}
        assert found.verdict in allowed


def test_a_whole_cost_that_is_not_known_says_what_varies() -> None:
    quiet = replace(boot(1, noise_insns=0), index=0)
    other = replace(boot(2, deferred=500, noise_insns=0), index=1)
    found = compare([quiet, other], [quiet, other], 0.001)
    assert found.verdict is Verdict.EQUIVALENT  # the same numbers on both sides
    found = compare([quiet, other], [quiet, replace(other, boot=3)], 0.001)
    assert found.cause.endswith("; tested: boot 0 3,880, boot 1 4,380")
    loud = replace(boot(1, noise_insns=1000), index=4)
    found = compare([quiet], [loud], 0.001)
    assert "; tested: windows of boot 4 " in found.cause


@pytest.mark.parametrize(("step", "stands"), [(1, True), (40, False)])
def test_costs_around_one_value_have_a_typical_difference(step: int, *, stands: bool) -> None:
    """Ten costs, as of memset() by alignment; no single one is frequent."""
    draw = random.Random(1)

    def side(seed: int, more: int) -> list[BootReadings]:
        values = [BASE + more + step * draw.randrange(10) for _ in range(200)]
        return [BootReadings(seed, np.array(values))]

    found = compare(side(1, 0), side(2, 500), MARGIN)
    assert found.in_step is None
    assert found.has_typical is stands
    if stands:
        assert found.typical.low <= 500 <= found.typical.high
        assert found.typical.high - found.typical.low >= 5 * step
