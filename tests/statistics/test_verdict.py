# SPDX-License-Identifier: GPL-2.0-or-later
"""Where there is no typical count: verdicts on data with a known truth, and what they rest on."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.model.conclusion import Change, Compared, Number, Verdict
from lsmeter.statistics.compare import compare
from lsmeter.statistics.estimate import BootReadings
from lsmeter.statistics.verdict import Numbers, Ruling, of_call, verdict
from tests.statistics.simulated import BASE, boot, boots, scattered

MARGIN = 0.01
TIMES = 200
CALL = 90_000


def sides(
    seed: int, shift: float = 0.0, *, count: int = 2, apart: int = 0, **more: float
) -> Compared:
    """Compare boots; the tested ones cost `shift` more, and have other seeds by `apart`."""
    base = [scattered(100 * seed + n, 1e-9, **more) for n in range(count)]  # type: ignore[arg-type]
    other = [scattered(100 * seed + n + apart, shift, **more) for n in range(count)]  # type: ignore[arg-type]
    return compare(base, other, MARGIN)


def rulings(shift: float, **more: float) -> Counter[Verdict]:
    return Counter(sides(seed, shift, **more).verdict for seed in range(TIMES))  # type: ignore[arg-type]


def test_what_is_the_same_is_equivalent_and_never_worse_or_better() -> None:
    found = rulings(0.0)
    assert found[Verdict.EQUIVALENT] >= 0.97 * TIMES, found
    assert found[Verdict.SLOWER] + found[Verdict.FASTER] == 0, found


def test_boots_of_other_seeds_raise_no_false_alarm() -> None:
    """What differs between boots is larger than the margin there: nothing is known of two."""
    found = rulings(0.0, apart=50)
    assert found[Verdict.SLOWER] + found[Verdict.FASTER] <= 0.02 * TIMES, found
    assert found[Verdict.INCONCLUSIVE] > 0.9 * TIMES
    far = rulings(0.3 * CALL, apart=50, count=4)
    assert far[Verdict.SLOWER] > 0.9 * TIMES, far


@pytest.mark.parametrize("lost", ["baseline", "tested"])
def test_a_boot_that_one_side_lost_is_no_difference(lost: str) -> None:
    ruled = Counter[Verdict]()
    for seed in range(TIMES):
        both = [[scattered(10 * seed + n, shift) for n in range(3)] for shift in (1e-9, 0)]
        both[lost == "tested"].pop(seed % 3)
        ruled[compare(both[0], both[1], MARGIN).verdict] += 1
    assert ruled[Verdict.EQUIVALENT] >= 0.95 * TIMES, ruled
    assert ruled[Verdict.SLOWER] + ruled[Verdict.FASTER] == 0, ruled


@pytest.mark.parametrize("percent", [1.25, 2, 4])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_real_difference_of_the_call_never_passes_as_equal(percent: float, sign: int) -> None:
    """Of the whole cycle it is six tenths of that."""
    found = rulings(sign * percent / 100 * CALL)
    assert found[Verdict.EQUIVALENT] <= 0.01 * TIMES, found
    right = Verdict.SLOWER if sign > 0 else Verdict.FASTER
    assert found[right] >= 0.95 * TIMES, found


@pytest.mark.parametrize("insns", [2500, 10_000])
def test_a_deferred_difference_never_passes_as_equal(insns: int) -> None:
    ruled = Counter(
        compare(
            [scattered(seed), scattered(seed + 1)],
            [scattered(seed, deferred=insns), scattered(seed + 1, deferred=insns)],
            MARGIN,
        ).verdict
        for seed in range(0, 2 * TIMES, 2)
    )
    assert ruled[Verdict.EQUIVALENT] <= 0.01 * TIMES, ruled
    assert ruled[Verdict.SLOWER] >= 0.95 * TIMES, ruled


@given(st.floats(-0.05, 0.05), st.integers(-8000, 8000), st.integers(0, 10_000))
def test_no_verdict_is_against_the_truth(share: float, deferred: int, seed: int) -> None:
    """Slower and faster are true in sign; equivalent within what is known of the call and all."""
    base = [scattered(seed + n, 1e-9) for n in range(2)]
    tested = [scattered(seed + n, share * CALL, deferred=deferred) for n in range(2)]
    found = compare(base, tested, MARGIN).verdict
    total = (share * CALL + deferred) / (CALL + 60_000)
    if found is Verdict.EQUIVALENT:
        assert abs(total) <= 1.1 * MARGIN
        assert abs(share) <= 1.1 * MARGIN
    elif found is not Verdict.INCONCLUSIVE:
        assert (total > -0.001) if found is Verdict.SLOWER else (total < 0.001)


WILD: dict[str, Any] = {"spread": 0.05}


def test_a_whole_cost_decides_where_the_mean_is_not_known() -> None:
    """A mean of which ± 1.3 % are known, and a cycle that is little more than the call."""
    found = [sides(seed, **WILD) for seed in range(TIMES)]
    causes = Counter(item.cause for item in found if item.verdict is Verdict.EQUIVALENT)
    assert causes["no typical count; verdict from the whole cost"] > 0.7 * TIMES, causes
    assert causes.total() > 0.95 * TIMES, causes


@pytest.mark.parametrize("percent", [1.25, -1.25, 2, 3])
def test_nothing_hides_in_a_mean_that_is_not_known(percent: float) -> None:
    found = rulings(percent / 100 * CALL, **WILD)
    assert found[Verdict.EQUIVALENT] <= 0.01 * TIMES, found
    assert found[Verdict.FASTER if percent > 0 else Verdict.SLOWER] == 0, found


def test_boots_cure_what_is_not_known_well_enough() -> None:
    """Of a cycle of ten times the call the whole cost cannot clear it."""
    few = rulings(0.0, **WILD, undo=800_000)
    many = Counter(sides(n, **WILD, undo=800_000, count=12).verdict for n in range(TIMES // 4))
    assert few[Verdict.EQUIVALENT] < 0.6 * TIMES, few
    assert many[Verdict.EQUIVALENT] >= 0.9 * TIMES / 4, many
    causes = {sides(seed, **WILD, undo=800_000).cause for seed in range(20)}
    assert any("no typical count; in-line mean not known well enough: " in text for text in causes)


def restless(seed: int, side: str, deferred: int = 0) -> BootReadings:
    """Make a boot whose whole cost is 3 % higher in one of three, by chance on either side."""
    state = 4500 if random.Random(f"{side} {seed}").random() < 1 / 3 else 0
    return scattered(seed, 1e-9 if side == "tested" else 0.0, deferred=deferred + state)


@pytest.mark.parametrize(("deferred", "right"), [(0, Verdict.EQUIVALENT), (4500, Verdict.SLOWER)])
def test_boots_cure_what_differs_between_boots_of_one_seed(deferred: int, right: Verdict) -> None:
    times = 15
    ruled = {
        count: Counter(
            compare(
                [restless(100 * seed + n, "baseline") for n in range(count)],
                [restless(100 * seed + n, "tested", deferred) for n in range(count)],
                MARGIN,
            ).verdict
            for seed in range(times)
        )
        for count in (6, 200)
    }
    assert ruled[6][Verdict.INCONCLUSIVE] > 0.3 * times, ruled
    assert ruled[200][right] > 0.9 * times, ruled
    assert ruled[200][right] + ruled[200][Verdict.INCONCLUSIVE] == times, ruled


def test_it_is_said_what_the_verdict_rests_on() -> None:
    found = sides(1)
    assert found.verdict is Verdict.EQUIVALENT
    assert found.cause == "no typical count; verdict from in-line mean and whole cost"
    slower = sides(1, 0.05 * CALL)
    assert (slower.verdict, slower.cause) == (Verdict.SLOWER, found.cause)


def test_a_count_that_is_another_one_in_each_boot_is_not_typical() -> None:
    """Each boot has two costs 4 % apart, and chance decides which one is more frequent."""

    def mixed(seed: int, side: str, more: int = 0) -> BootReadings:
        draw = random.Random(f"{side} {seed} {more}")
        values = [BASE + more + 91 * draw.randint(0, 1) for _ in range(400)]
        return replace(boot(seed, lambda _: 45 + more), values=np.asarray(values))

    ruled = Counter[tuple[Verdict, bool]]()
    for seed in range(0, TIMES, 2):
        base = [mixed(n, "baseline") for n in (seed, seed + 1)]
        for more in (0, 100):
            found = compare(base, [mixed(n, "tested", more) for n in (seed, seed + 1)], MARGIN)
            assert found.verdict in {
                Verdict.INCONCLUSIVE,
                Verdict.SLOWER if more else Verdict.EQUIVALENT,
            }, (seed, found)
            ruled[found.verdict, found.cause.startswith("no typical count; verdict from")] += 1
    assert ruled[Verdict.EQUIVALENT, True] > 10, ruled
    assert ruled[Verdict.SLOWER, False] + ruled[Verdict.SLOWER, True] > 0.9 * TIMES / 2, ruled


def test_costs_that_cancel_are_not_equivalent_where_no_count_stands_out() -> None:
    """Eleven costs around the one that there was: the mean and the whole are the same."""
    for seed in range(0, TIMES, 10):
        quiet: dict[str, Any] = {"noise_insns": 2000}
        base = boots(seed=seed, **quiet)
        tested = boots(lambda call: 20 * (call % 11) - 100, seed=seed, **quiet)
        found = compare(base, tested, MARGIN)
        assert found.verdict is Verdict.INCONCLUSIVE, found
        assert found.cause.startswith("no typical count; cost moved between calls, worth ")


def known(low: float, high: float, base: float = 1000.0) -> Change:
    """Return a change with bounds that are fractions of the baseline."""
    middle = (low + high) / 2
    bounds = (middle * base, low * base, high * base)
    return Change(base, base + bounds[0], *bounds, middle, low, high)


def test_a_whole_cost_clears_the_call_only_if_it_is_worth_less_than_the_calls_own_margin() -> None:
    unsure, cycle = known(-0.02, 0.02), 2000.0

    def whole(low: float, high: float, base: float = cycle) -> Change | None:
        return of_call(known(low, high, base), 1000.0)

    found = verdict(Numbers(None, unsure, whole(-0.004, 0.004)), MARGIN)
    assert found == Ruling(
        Verdict.EQUIVALENT, Number.WHOLE, "no typical count; verdict from the whole cost"
    )
    found = verdict(Numbers(None, unsure, whole(-0.004, 0.006)), MARGIN)
    assert (found.verdict, found.decided_by) == (Verdict.INCONCLUSIVE, Number.MEAN)
    assert found.cause == "no typical count; in-line mean not known well enough: -2.00% to +2.00%"
    assert verdict(Numbers(unsure, unsure, whole(-0.004, 0.004)), MARGIN).verdict is (
        Verdict.INCONCLUSIVE
    ), "where there is a typical count it has its say"
    sure = known(-0.001, 0.001)
    found = verdict(Numbers(None, sure, whole(-0.006, 0.006)), MARGIN)
    known_not = "whole cost not known well enough: -1.20% to +1.20% of the call"
    assert (found.decided_by, found.cause) == (Number.WHOLE, f"no typical count; {known_not}")
    assert verdict(Numbers(None, None, known(0, 0)), MARGIN).cause.endswith("cost was not measured")


def test_a_total_that_is_not_known_is_no_cost_that_moved() -> None:
    typical = known(0.02, 0.02)
    vague, still = known(-0.01, 0.04), known(-0.004, 0.004)
    spread = "; baseline: boot 0 1, boot 1 2"
    assert verdict(Numbers(typical, typical, vague, spread=spread), MARGIN) == Ruling(
        Verdict.INCONCLUSIVE,
        Number.WHOLE,
        f"whole cost not known well enough: -1.00% to +4.00% of the call{spread}",
    )
    assert verdict(Numbers(typical, vague, None), MARGIN) == Ruling(
        Verdict.INCONCLUSIVE,
        Number.MEAN,
        "in-line mean not known well enough: -1.00% to +4.00%",
    )
    found = verdict(Numbers(typical, typical, still), MARGIN)
    assert found.cause == "cost moved between calls: typical +2.0%, mean +2.0%, whole +0.0%"
    found = verdict(Numbers(None, typical, still), MARGIN)
    assert found.cause == "no typical count; cost moved between calls: mean +2.0%, whole +0.0%"
