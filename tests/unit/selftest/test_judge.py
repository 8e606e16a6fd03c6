# SPDX-License-Identifier: GPL-2.0-or-later
"""The judge passes what is true, and nothing else: each lie about a scenario is a reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lsmeter.core.model.arch import ARM64
from lsmeter.core.model.conclusion import Change, Comparison, Difference, Verdict
from lsmeter.questions.selftest.judge import Charge, Counted, Seen, judge
from lsmeter.questions.selftest.scenarios import Context, Part, Plan, Scenario
from tests.unit.model_builders import change
from tests.unit.selftest.selftest_builders import (
    BPF,
    BY_NAME,
    EVERY,
    MODULE,
    WHOLE,
    scenario_id,
    true_comparison,
    true_seen,
)

every_scenario = pytest.mark.parametrize("scenario", EVERY, ids=scenario_id)
every_cost = pytest.mark.parametrize(
    "scenario", [item for item in EVERY if not item.is_control], ids=scenario_id
)


def said(scenario: Scenario, **changes: Any) -> Seen:
    """Return the truth with other words in its comparison."""
    return replace(true_seen(scenario), comparison=replace(true_comparison(scenario), **changes))


def whole(difference: float, half: float = 2.0) -> Change:
    return change(WHOLE, WHOLE + difference, half)


@every_scenario
def test_what_is_true_passes(scenario: Scenario) -> None:
    assert judge(scenario, true_seen(scenario)).reasons == ()


@every_cost
@pytest.mark.parametrize("verdict", Verdict)
def test_a_cost_passes_with_its_verdicts_only(scenario: Scenario, verdict: Verdict) -> None:
    done = judge(scenario, said(scenario, verdict=verdict, cause="why"))
    assert done.passed == (verdict in scenario.verdicts)
    if not done.passed:
        allowed = " or ".join(scenario.verdicts)
        assert done.reasons == (f"called {verdict} (why), and is {allowed}",)


@every_cost
def test_no_cost_may_be_called_equivalent_or_untouched(scenario: Scenario) -> None:
    assert not judge(scenario, said(scenario, verdict=Verdict.EQUIVALENT)).passed
    done = judge(scenario, said(scenario, found=Difference.NONE))
    assert done.reasons == ("called identical in every number",)


@pytest.mark.parametrize("verdict", [Verdict.SLOWER, Verdict.FASTER, Verdict.INCONCLUSIVE])
def test_a_control_has_to_be_equivalent(verdict: Verdict) -> None:
    scenario = BY_NAME["control-stat"]
    assert judge(scenario, said(scenario, found=Difference.NONE)).passed
    assert not judge(scenario, said(scenario, verdict=verdict)).passed


@every_cost
@pytest.mark.parametrize("factor", [0.0, 0.9, 1.1, -1.0])
def test_a_wrong_whole_cost_is_told(scenario: Scenario, factor: float) -> None:
    truth = float(scenario.expected_insns(Part.WHOLE))
    value = truth * factor if truth else 300.0 * (factor or 1)
    done = judge(scenario, said(scenario, whole=whole(value, half=0.5)))
    if scenario.is_least and factor == 1.1:  # slabs of larger blobs cost more
        assert done.passed
    else:
        assert any("were injected" in reason for reason in done.reasons)


@every_scenario
def test_a_wrong_in_line_mean_is_told(scenario: Scenario) -> None:
    truth = float(scenario.expected_insns(Part.IN_LINE))
    for difference, right in ((0.0, True), (99.0, True), (-99.0, True), (-101.0, False)):
        mean = change(2000.0, 2000.0 + truth + difference, half=100.0)
        done = judge(scenario, said(scenario, mean=mean))
        # 2 % of the largest costs are more than that.
        close = abs(difference) <= 0.02 * abs(truth)
        assert done.passed == (right or close or scenario.name == "every-1000"), done.reasons
    done = judge(scenario, said(scenario, mean=None))
    assert done.reasons == ("the in-line mean was not measured",)


@pytest.mark.parametrize(("charged", "passes"), [(41, False), (62, True), (82, True), (84, False)])
def test_edges_of_what_arm64_clears_are_allowed_for(charged: float, *, passes: bool) -> None:
    scenario = BY_NAME["blob-creat"].on(ARM64.name)
    (charge,) = true_seen(scenario).charges or ()
    seen = said(scenario, typical=change(2000.0, 2000.0 + charged))
    seen = replace(seen, charges=(replace(charge, insns=charged),))
    assert judge(scenario, seen).passed == passes


def test_two_percent_of_the_truth_are_close_enough() -> None:
    scenario = BY_NAME["row-open"]
    assert judge(scenario, said(scenario, whole=whole(6275 * 1.019, half=1.0))).passed
    assert not judge(scenario, said(scenario, whole=whole(6275 * 1.021, half=1.0))).passed


def test_an_interval_that_holds_the_truth_is_right() -> None:
    scenario = BY_NAME["row-stat"]
    assert judge(scenario, said(scenario, whole=whole(230.0, half=31.0))).passed
    assert not judge(scenario, said(scenario, whole=whole(230.0, half=29.0))).passed


def test_an_interval_that_holds_everything_is_not_right() -> None:
    scenario = BY_NAME["row-stat"]
    (reason,) = judge(scenario, said(scenario, whole=whole(210.0, half=220.0))).reasons
    assert reason == "whole -10.0 to +430.0: the interval contains 0"
    for name in ("control-stat", "cancel-turns"):
        scenario = BY_NAME[name]
        for half in (101.0, float("inf")):
            (reason,) = judge(scenario, said(scenario, whole=whole(0.0, half=half))).reasons
            assert reason.startswith("whole known within")
        assert judge(scenario, said(scenario, whole=whole(0.0, half=99.0))).passed


@every_scenario
def test_a_whole_cost_has_to_be_there(scenario: Scenario) -> None:
    done = judge(scenario, said(scenario, whole=None))
    assert done.reasons == ("the whole cost was not measured",)


@every_scenario
def test_a_typical_difference_that_no_call_has_is_told(scenario: Scenario) -> None:
    done = judge(scenario, said(scenario, typical=change(2000.0, 2037.0)))
    assert [reason for reason in done.reasons if reason.startswith("typical +37: ")]


def test_each_difference_of_calls_may_be_typical() -> None:
    scenario = BY_NAME["cancel-turns"]
    for difference in (-500.0, 500.0):
        assert judge(scenario, said(scenario, typical=change(2000.0, 2000.0 + difference))).passed
    assert not judge(scenario, said(scenario, typical=change(2000.0, 2000.0))).passed


@every_scenario
def test_without_numbers_nothing_passes(scenario: Scenario) -> None:
    seen = replace(true_seen(scenario), comparison=None, missing="boot 0: panic")
    assert judge(scenario, seen).reasons == ("no numbers: boot 0: panic",)
    seen = replace(seen, missing="")
    assert judge(scenario, seen).reasons == ("no numbers: one of its setups was not measured",)


def counted(seen: Seen, **changes: Any) -> Seen:
    return replace(seen, after=replace(seen.after, **changes))


@every_cost
def test_without_a_known_truth_nothing_passes(scenario: Scenario) -> None:
    seen = true_seen(scenario)
    assert "could not put off 3" in judge(scenario, counted(seen, lost=3)).reasons[0]
    assert "never at a point" in judge(scenario, counted(seen, insns=None)).reasons[0]
    other = (seen.after.insns or 0.0) * 1.1 + 10.0
    assert "the module injected" in judge(scenario, counted(seen, insns=other)).reasons[0]
    lost = replace(seen, before=Counted(seen.before.insns, 0.0, lost=1))
    assert "could not put off 1" in judge(scenario, lost).reasons[0]


def test_one_rare_cost_more_or_less_is_no_other_truth() -> None:
    scenario = BY_NAME["every-1000"]
    seen = counted(true_seen(scenario), insns=180.0)
    assert not judge(scenario, seen).passed
    assert judge(scenario, counted(seen, slack=90.0)).passed


NAMED = [item for item in EVERY if any(item.site_insns.values())]


@pytest.mark.parametrize("scenario", NAMED, ids=scenario_id)
def test_each_function_has_to_be_named(scenario: Scenario) -> None:
    seen = true_seen(scenario)
    for site in scenario.site_insns:
        others = tuple(
            item
            for item in seen.charges or ()
            if (item.function, item.hook) != (site.function, site.hook)
        )
        reasons = judge(scenario, replace(seen, charges=others)).reasons
        assert any(reason.startswith(f"{site.function} is not named (") for reason in reasons)


@pytest.mark.parametrize("scenario", NAMED, ids=scenario_id)
@pytest.mark.parametrize("change", [{"context": None}, {"hook": "inode_link"}, {"insns": 7.0}])
def test_a_function_has_to_be_named_where_it_is_and_with_what_it_costs(
    scenario: Scenario, change: dict[str, Any]
) -> None:
    seen = true_seen(scenario)
    charges = tuple(replace(item, **change) for item in seen.charges or ())
    done = judge(scenario, replace(seen, charges=charges))
    # Work of its own is named by its function; which hook stands for it may be said, or not.
    free = all(not site.hook and site.context is not Context.CALL for site in scenario.site_insns)
    assert done.passed == ("hook" in change and free)


def test_a_function_that_costs_no_more_must_not_be_charged() -> None:
    scenario = BY_NAME["row-stat"]
    seen = true_seen(scenario)
    for insns in (-250.0, 250.0, 190.0):
        other = Charge("__slab_free", "", Context.RCU, insns)
        done = judge(scenario, replace(seen, charges=(other, *(seen.charges or ()))))
        assert done.passed == (abs(insns) < 200)
    assert "__slab_free is charged" in "".join(
        judge(
            scenario, replace(seen, charges=(*(seen.charges or ()), replace(other, insns=300.0)))
        ).reasons
    )


def test_costs_that_cancel_must_not_be_charged() -> None:
    scenario = BY_NAME["cancel-even"]
    seen = true_seen(scenario)
    (charge,) = seen.charges or ()
    assert charge.insns == 0
    for insns in (-11.0, 11.0):
        assert not judge(scenario, replace(seen, charges=(replace(charge, insns=insns),))).passed
    assert judge(scenario, replace(seen, charges=(replace(charge, insns=9.0),))).passed
    assert judge(scenario, replace(seen, charges=())).passed


def test_attribution_has_to_be_there() -> None:
    scenario = BY_NAME["row-stat"]
    seen = replace(true_seen(scenario), charges=None, missing="no bulk window")
    assert judge(scenario, seen).reasons == ("no function is named: no bulk window",)


@pytest.mark.parametrize("plan", [MODULE, BPF], ids=lambda item: item.way)
def test_bystanders_cover_every_benchmark_and_are_judged_by_verdict(plan: Plan) -> None:
    operations = {item.operation for item in plan.bystanders}
    assert operations >= {"open", "creat", "mkdir", "rmdir", "unlink"}
    assert all(item.is_control for item in plan.bystanders)
    for scenario in plan.bystanders:
        for verdict in Verdict:
            done = judge(scenario, said(scenario, verdict=verdict))
            assert done.passed == (verdict not in {Verdict.SLOWER, Verdict.FASTER})
        assert not judge(scenario, replace(true_seen(scenario), comparison=None)).passed


def test_all_reasons_are_told_at_once() -> None:
    scenario = BY_NAME["row-stat"]
    comparison: Comparison = replace(
        true_comparison(scenario), verdict=Verdict.EQUIVALENT, whole=whole(0.0, half=1.0)
    )
    done = judge(scenario, replace(true_seen(scenario), comparison=comparison, charges=()))
    assert len(done.reasons) == 4
