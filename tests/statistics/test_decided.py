# SPDX-License-Identifier: GPL-2.0-or-later
"""Which number decides a verdict, by the margin of the call; two states of a side decide nothing.

The truth of every pair of sides is known: what was added to the call, to its undoing, to boots.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from lsmeter.core.model.conclusion import Compared, Comparison, Difference, Number, Verdict
from lsmeter.questions.gate.judge import Outcome, hold
from lsmeter.questions.gate.rules import margin_rule, parse_rule
from lsmeter.statistics.compare import compare
from lsmeter.statistics.estimate import BootReadings
from tests.statistics.simulated import BASE, Cost, boot, boots, evenly, every, nothing
from tests.unit.model_builders import benchmark
from tests.unit.report.builders import place

MARGIN = 0.01
QUIET: dict[str, Any] = {"noise_insns": 400}
SEARCH = 186_322  # what find_inode_bit() takes where it searches a group of ext2
KIND = replace(benchmark("creat", depth=1), cycle="creat+close+unlink")
ALLOWED = {
    Outcome.BROKEN: {Verdict.SLOWER},
    Outcome.KEPT: {Verdict.FASTER, Verdict.EQUIVALENT},
    Outcome.OPEN: {Verdict.INCONCLUSIVE, Verdict.SLOWER},
}


def side(*added: int, seed: int = 1) -> list[BootReadings]:
    """Make boots of which each costs so much more."""
    return [boot(seed + n, lambda _, more=more: more, **QUIET) for n, more in enumerate(added)]  # type: ignore[misc]


def as_comparison(found: Compared) -> Comparison:
    return Comparison(
        **vars(found),
        place=place("selinux"),
        baseline=place("capability"),
        benchmark=KIND,
        repeats=True,
    )


@pytest.mark.parametrize(
    ("base", "tested"),
    [
        ((0, 0), (200, SEARCH)),  # one boot of the tested side searches
        ((0, 0), (SEARCH, 200)),
        ((0, SEARCH), (200, 200)),  # one of the baseline
        ((0, 10, 0), (SEARCH, 200, SEARCH + 900)),  # most of them do
        ((0, SEARCH), (SEARCH, 200)),  # one of either
    ],
)
@pytest.mark.parametrize("other_seeds", [0, 50])
def test_two_states_are_no_overhead(
    base: tuple[int, ...], tested: tuple[int, ...], other_seeds: int
) -> None:
    found = compare(side(*base), side(*tested, seed=1 + other_seeds), MARGIN)
    assert not found.has_typical
    assert found.verdict is Verdict.INCONCLUSIVE
    assert math.isnan(found.typical.overhead)
    assert math.isnan(found.decided.overhead)
    assert found.cause.startswith("no typical count; ")


def test_two_states_within_each_boot_are_none_either() -> None:
    """The most frequent count is one of two states, by a few readings more or less."""
    base, tested = boots(**QUIET), boots(evenly(50, SEARCH), **QUIET)
    values = [np_set(item, share) for item, share in zip(tested, (0.52, 0.48), strict=True)]
    found = compare(base, values, MARGIN)
    assert not found.has_typical
    assert found.verdict is Verdict.INCONCLUSIVE or found.decided_by is not Number.TYPICAL


def test_a_difference_that_is_larger_than_states_is_one() -> None:
    """As of SELinux on ext4, where boots find a block at other places of a list."""
    found = compare(side(0, 150), side(3000, 3300), MARGIN)
    assert (found.verdict, found.decided_by) == (Verdict.SLOWER, Number.MEAN)
    assert found.decided.difference == pytest.approx(3075)


def test_boots_tell_how_often_a_side_is_in_a_state() -> None:
    base = side(*(SEARCH * (n % 8 == 0) for n in range(40)))
    tested = side(*(SEARCH * (n % 5 > 0) for n in range(40)))
    found = compare(base, tested, MARGIN)
    assert (found.has_typical, found.verdict) == (False, Verdict.SLOWER)


def np_set(item: BootReadings, share: float) -> BootReadings:
    values = item.values.copy()
    values[:] = BASE
    values[: round(share * values.size)] = BASE + SEARCH
    return replace(item, values=values)


def test_states_that_all_boots_of_a_seed_share_leave_the_difference() -> None:
    found = compare(side(0, 900, 37), side(500, 1400, 537), MARGIN)
    assert (found.has_typical, found.typical.difference, found.decided_by) == (
        *(True, 500),
        Number.TYPICAL,
    )


def test_counts_that_differ_by_less_than_the_margin_have_a_typical_difference() -> None:
    found = compare(side(0, 7), side(500, 507, seed=60), MARGIN)
    assert found.has_typical
    assert found.verdict is Verdict.SLOWER


def test_the_margin_of_a_whole_cost_is_that_of_the_call() -> None:
    """A freed file: 2.5 % of the call, 0.6 % of a cycle of four times the call."""
    made: dict[bool, list[BootReadings]] = {}
    for freed in (False, True):
        items = [boot(n, deferred=3 * BASE + 57 * freed, noise_insns=0) for n in range(8)]
        made[freed] = items
    found = compare(made[False], made[True], MARGIN)
    assert found.whole is not None
    assert found.whole.overhead < MARGIN
    assert (found.verdict, found.decided_by) == (Verdict.SLOWER, Number.WHOLE)
    assert found.typical.difference == 0
    assert found.decided == found.whole
    small = [boot(n, deferred=3 * BASE + 4, noise_insns=0) for n in range(40)]
    large = [boot(n, deferred=3 * BASE, noise_insns=0) for n in range(40)]
    assert compare(large, small, MARGIN).verdict is Verdict.EQUIVALENT


SHAPES: dict[str, tuple[Cost, int, Number, Verdict]] = {
    "always": (lambda _: 500, 0, Number.TYPICAL, Verdict.SLOWER),
    "10 % of calls": (evenly(10, 500), 0, Number.WHOLE, Verdict.SLOWER),
    "40 % of calls": (evenly(40, 500), 0, Number.MEAN, Verdict.SLOWER),
    "every 400th": (every(400, 40_000), 0, Number.WHOLE, Verdict.SLOWER),
    "deferred": (nothing, 300, Number.WHOLE, Verdict.SLOWER),
    "nothing": (nothing, 0, Number.TYPICAL, Verdict.EQUIVALENT),
    "within": (lambda _: 3, 0, Number.TYPICAL, Verdict.EQUIVALENT),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_number_that_decided_is_named_and_shown(shape: str) -> None:
    cost, deferred, number, ruling = SHAPES[shape]
    for seed in range(0, 100, 10):
        base, tested = boots(seed=seed, **QUIET), boots(cost, seed=seed, deferred=deferred, **QUIET)
        found = compare(base, tested, MARGIN)
        assert (found.verdict, found.decided_by) == (ruling, number), (seed, found)
        assert found.decided == getattr(found, number.value)
        assert ruling is Verdict.EQUIVALENT or found.decided.low > 0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rule", ["*<=1%", "*<=3%", "*<=20insns", "*<=400insns"])
def test_a_gate_never_contradicts_the_report(shape: str, rule: str) -> None:
    cost, deferred, _, _ = SHAPES[shape]
    for seed in range(0, 60, 20):
        base, tested = boots(seed=seed, **QUIET), boots(cost, seed=seed, deferred=deferred, **QUIET)
        item = as_comparison(compare(base, tested, MARGIN))
        found = hold(parse_rule(rule), item, MARGIN)
        assert found is not None and found.bound is not None
        assert found.verdict in ALLOWED[found.outcome]
        if rule == "*<=1%":
            assert (found.verdict, found.bound.number) == (item.verdict, item.decided_by)
        if item.verdict is Verdict.EQUIVALENT and rule != "*<=20insns":
            assert found.outcome is Outcome.KEPT
        elif found.outcome is Outcome.BROKEN:
            assert item.verdict is Verdict.SLOWER


def test_a_gate_says_of_two_states_what_the_report_says() -> None:
    for tested in ((200, SEARCH), (SEARCH, 200), (200, 200), (0, SEARCH)):
        item = as_comparison(compare(side(0, 0), side(*tested), MARGIN))
        found = hold(margin_rule(MARGIN), item, MARGIN)
        assert found is not None and found.bound is not None
        assert (found.verdict, found.bound.number) == (item.verdict, item.decided_by)
        assert repr(found.bound.change) == repr(item.decided)  # not a number is itself here
        assert (found.outcome is Outcome.KEPT) == (item.verdict is Verdict.EQUIVALENT)


def test_numbers_that_disagree_neither_pass_nor_break_a_gate() -> None:
    cheaper = boots(lambda _: 500, seed=1, noise_insns=0)
    item = as_comparison(compare(cheaper, boots(seed=1, deferred=3000, noise_insns=0), MARGIN))
    assert item.verdict is Verdict.INCONCLUSIVE
    found = hold(margin_rule(MARGIN), item, MARGIN)
    assert found is not None
    assert (found.outcome, found.verdict) == (Outcome.OPEN, Verdict.INCONCLUSIVE)
    assert found.detail.startswith("the numbers disagree")
    alone = hold(parse_rule("*<=1%", [Number.WHOLE]), item, MARGIN)
    assert alone is not None
    assert alone.outcome is Outcome.BROKEN


def test_what_is_identical_is_kept_however_uncertain() -> None:
    wild = boots(noise_insns=400_000)
    item = as_comparison(compare(wild, wild, MARGIN))
    assert item.found is Difference.NONE
    found = hold(parse_rule("*<=0insns"), item, MARGIN)
    assert found is not None
    assert found.outcome is Outcome.KEPT
