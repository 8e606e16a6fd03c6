# SPDX-License-Identifier: GPL-2.0-or-later
"""What the selftest injects, and what is true of it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.catalogue.setups.inject import POINTS, Point, Way
from lsmeter.core.model.conclusion import Verdict
from lsmeter.guest.probe import catalogue, find_probe
from lsmeter.questions.selftest.scenarios import (
    PLANS,
    Context,
    Part,
    Plan,
    Scenario,
    counted_insns,
    lost,
    selftest_experiment,
)
from tests.unit.selftest.selftest_builders import BPF, BY_NAME, EVERY, MODULE, scenario_id

every_scenario = pytest.mark.parametrize("scenario", EVERY, ids=scenario_id)
every_plan = pytest.mark.parametrize("plan", [MODULE, BPF], ids=lambda item: item.way)


@every_plan
def test_names_are_unique(plan: Plan) -> None:
    assert len({item.name for item in plan.scenarios}) == len(plan.scenarios)


def test_bpf_programs_have_the_shapes_of_the_module() -> None:
    """Always, in some calls, in every 64th, on release, in an RCU callback; and the controls."""
    alone = {item.name for item in MODULE.scenarios} - {item.name for item in BPF.scenarios}
    assert alone == {"row-open", "rcu", "task-work", "worker", "blob-creat", "blob-mkdir"}
    points = {point for item in BPF.scenarios for point in item.after.costs}
    assert points == POINTS[Way.BPF]
    assert Context.RCU in {site.context for item in BPF.scenarios for site in item.site_insns}


@every_plan
def test_the_experiment_is_of_one_kernel_and_one_clock(plan: Plan) -> None:
    words = {"kernels": ["debian:7.2"], "conditions": {"icount_shift": 1}, "boots": 3, "seed": 7}
    found = selftest_experiment(plan, words)
    assert (found.kernels, found.conditions.icount_shift) == (["debian:7.2"], 1)
    assert found.baseline == plan.way
    assert found.setups == list(plan.setups)
    assert PLANS[plan.way] is plan


def test_every_kind_of_cost_is_there() -> None:
    injected = [cost for item in EVERY for cost in item.after.costs.items()]
    costs = [settings for _, settings in injected]
    shares = {(10,), (40,), (55,), (60,), (90,)}
    assert shares <= {cost.get("share") for cost in costs}
    assert shares <= {cost.get("random") for cost in costs}
    assert {(8,), (64,), (1000,)} <= {cost.get("every") for cost in costs}
    assert {"insns"} in [set(cost) for cost in costs]
    assert any(len(cost.get("insns", ())) == 10 for cost in costs)
    assert {point for point, _ in injected} == set(Point)
    assert {site.context for item in MODULE.scenarios for site in item.site_insns} == set(Context)


@every_scenario
def test_its_setups_inject_what_it_says(scenario: Scenario) -> None:
    for injection in scenario.injections:
        setup = parse_setup(injection.setup)
        assert setup.name == injection.setup
        assert setup.expect[-1].value == injection.text
        assert setup.name in PLANS[injection.way].setups


@every_scenario
def test_its_benchmark_exists(scenario: Scenario) -> None:
    assert scenario.benchmark in {item.id for item in catalogue(find_probe())}
    assert scenario.benchmark in PLANS[scenario.after.way].benchmarks


@every_scenario
def test_a_cost_is_named_and_none_is_called_equivalent(scenario: Scenario) -> None:
    if scenario.name.startswith("control-"):
        assert scenario.verdicts == (Verdict.EQUIVALENT,)
        assert scenario.is_control
        assert scenario.expected_insns(Part.WHOLE) == 0
        return
    assert Verdict.EQUIVALENT not in scenario.verdicts
    assert not scenario.is_control


@every_scenario
def test_the_sign_of_the_truth_is_that_of_the_verdict(scenario: Scenario) -> None:
    truth = scenario.expected_insns(Part.WHOLE)
    if scenario.verdicts in {(Verdict.SLOWER,), (Verdict.SLOWER, Verdict.INCONCLUSIVE)}:
        assert truth > 0
    elif scenario.verdicts == (Verdict.FASTER,):
        assert truth < 0
    else:
        assert truth == 0


@every_scenario
def test_sides_differ_in_costs_alone(scenario: Scenario) -> None:
    """A point that puts work off costs something by itself: both sides have it, or none.

    All BPF programs are always there.
    """
    if scenario.after.way is Way.BPF:
        assert all(side.burnt for side in scenario.injections)
        return
    deferred = {Point.RCU, Point.TASK, Point.WORK, Point.OUTSIDE}
    before, after = (deferred & set(side.costs) for side in scenario.injections)
    assert before == after


@every_scenario
def test_peaks_have_the_mean_of_what_is_expected(scenario: Scenario) -> None:
    before, after = scenario.peaks()
    assert sum(before.values()) == sum(after.values()) == 1
    means = [sum(insns * part for insns, part in side.items()) for side in (before, after)]
    assert means[1] - means[0] == scenario.expected_insns(Part.IN_LINE)


@pytest.mark.parametrize(
    ("name", "in_line", "whole"),
    [
        ("row-stat", 200, 200),
        ("row-open", 275, 6275),
        ("row-rename", 2250, 4500),  # the undo is a rename, too
        ("row-chmod", 500, 500),
        ("row-rmdir", 300, 300),
        ("row-ten", 470, 470),
        ("rcu", 0, 5000),
        ("worker", 0, 2000),
        ("outside", 500, 500),
        ("free-unlink", 700, 1700),
        ("every-1000", 200, 200),
        ("removed-10", -50, -50),
        ("removed-free", 0, -1000),
        ("cancel-turns", 0, 0),
        ("blob-creat", 125, 125),
    ],
)
def test_the_truth_is_known(name: str, in_line: int, whole: int) -> None:
    scenario = BY_NAME[name]
    assert scenario.expected_insns(Part.IN_LINE) == in_line
    assert scenario.expected_insns(Part.WHOLE) == whole
    assert scenario.is_least == name.startswith("blob")


def test_costs_that_cancel_have_other_peaks() -> None:
    before, after = BY_NAME["cancel-turns"].peaks()
    assert before == {500: 1}
    assert after == {0: Fraction(1, 2), 1000: Fraction(1, 2)}


def test_peaks_of_two_points_are_joined() -> None:
    _, after = BY_NAME["row-open"].peaks(Part.WHOLE)
    assert after == {6000: Fraction(9, 20), 6500: Fraction(11, 20)}
    _, twice = BY_NAME["share-60"].peaks(Part.WHOLE)
    assert twice == {0: Fraction(4, 25), 500: Fraction(12, 25), 1000: Fraction(9, 25)}


FIRST = (("open_calls", 100), ("open_times", 50), ("open_insns", 25_000), ("lost", 0))
THEN = (
    *(("open_calls", 1100), ("open_times", 600), ("open_insns", 300_000)),
    *(("file_free_calls", 1000), ("file_free_times", 1000), ("file_free_insns", 1_000_000)),
    ("lost", 0),
)


def test_where_more_was_done_than_the_operations_the_rate_of_each_point_counts() -> None:
    assert counted_insns(FIRST, THEN, "open", Part.IN_LINE) == 275
    assert counted_insns(FIRST, THEN, "open", Part.WHOLE) == 1275
    assert counted_insns(FIRST, THEN, "stat", Part.WHOLE) == 0  # nothing of it was named
    assert counted_insns(THEN, THEN, "open", Part.WHOLE) is None  # and never met


def test_costs_that_were_lost_are_told() -> None:
    assert lost(THEN) == 0
    assert lost((("lost", 3),)) == 3
    assert lost(()) == 0
