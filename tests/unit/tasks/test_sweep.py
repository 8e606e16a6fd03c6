# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from dataclasses import replace

import pytest

from lsmeter.core.model import BenchmarkStatus
from lsmeter.measure.tasks.sweep import sweeps
from lsmeter.questions.slopes.figures import Slope, fit_depths, fit_slope, table6
from tests.unit.model_builders import benchmark
from tests.unit.tasks.sweep_builders import (
    DELAYS_NS,
    NS_PER_INSN,
    PLACE,
    SWEPT,
    exact,
    made,
    reading,
    recorded_boot,
)

STAT = benchmark("stat", depth=1)


def recorded_slopes() -> tuple[Slope, ...]:
    lines, missing = sweeps(recorded_boot(), SWEPT, DELAYS_NS, NS_PER_INSN)
    assert missing == ()
    return tuple(fit_slope(line, PLACE) for line in lines)


class TestSweeps:
    def test_the_mode_is_taken_and_turned_into_nanoseconds(self) -> None:
        (sweep,), problems = sweeps(made(exact(STAT, 3, 1000)), (STAT,), DELAYS_NS, NS_PER_INSN)
        assert problems == ()
        assert [point.latency_ns for point in sweep.points] == [
            16_000 + 3 * delay for delay in DELAYS_NS
        ]
        assert sweep.points[0].policy_ns == 768

    def test_the_order_of_readings_does_not_matter(self) -> None:
        found = exact(STAT, 3, 1000)
        there = sweeps(made(found), (STAT,), DELAYS_NS, 16)
        assert there == sweeps(made(found[::-1]), (STAT,), DELAYS_NS, 16)

    def test_a_failure_at_one_delay_leaves_the_others_and_is_reported(self) -> None:
        found = exact(STAT, 3, 1000)
        found[4] = reading(STAT, DELAYS_NS[4], status=BenchmarkStatus.FAILED, detail="EACCES: stat")
        (sweep,), (problem,) = sweeps(made(found), (STAT,), DELAYS_NS, NS_PER_INSN)
        assert [point.delay_ns for point in sweep.points] == [*DELAYS_NS[:4], *DELAYS_NS[5:]]
        assert problem.title == (
            "stat depth=1: slope over 11 of 12 delays: failed at a delay of 40000 ns"
        )
        assert problem.detail == "EACCES: stat"
        slope = fit_slope(sweep, PLACE)
        assert slope.hook_calls.value == 3

    def test_delays_that_a_guest_did_not_reach_are_reported_once_for_all_benchmarks(self) -> None:
        items = [benchmark("stat", depth=depth) for depth in (1, 2, 3)]
        found = [entry for item in items[:2] for entry in exact(item, 3, 1000)[:6]]
        found += exact(items[2], 3, 1000)[:5]
        lines, problems = sweeps(made(found), items, DELAYS_NS, NS_PER_INSN)
        assert [len(line.points) for line in lines] == [6, 6, 5]
        assert [problem.title for problem in problems] == [
            "2 benchmarks: slope over 6 of 12 delays: the guest did not reach the others",
            "stat depth=3: slope over 5 of 12 delays: the guest did not reach the others",
        ]
        assert problems[0].detail == "stat depth=1, stat depth=2"
        assert problems[1].benchmark == "stat depth=3"
        assert [slope.hook_calls.value for slope in [fit_slope(line, PLACE) for line in lines]] == [
            3,
            3,
            3,
        ]

    @pytest.mark.parametrize(("reached", "lines"), [(2, 0), (3, 1)])
    def test_a_line_needs_three_delays(self, reached: int, lines: int) -> None:
        boot = made(exact(STAT, 3, 1000)[:reached])
        found, (problem,) = sweeps(boot, (STAT,), DELAYS_NS, NS_PER_INSN)
        assert len(found) == lines
        what = "slope over 3" if lines else "no slope: measured at 2"
        assert problem.title.startswith(f"stat depth=1: {what} of 12 delays")

    def test_waits_that_do_not_differ_give_no_line(self) -> None:
        facts = tuple((f"policy.{delay}", "768 768") for delay in DELAYS_NS)
        boot = replace(made(exact(STAT, 3, 1000)), facts=facts)
        lines, (problem,) = sweeps(boot, (STAT,), DELAYS_NS, NS_PER_INSN)
        assert lines == ()
        assert problem.title == "no slope: calls waited equally long at all delays"
        assert problem.detail == "stat depth=1"

    def test_no_readings_at_all_are_a_problem_too(self) -> None:
        lines, problems = sweeps(made(()), (benchmark("stat"),), DELAYS_NS, NS_PER_INSN)
        assert lines == ()
        assert len(problems) == 1


class TestFits:
    def test_depths_give_the_cost_of_a_component(self) -> None:
        items = [benchmark("open", depth=depth) for depth in (1, 2, 4, 8)]
        found = [
            entry
            for item, depth in zip(items, (1, 2, 4, 8), strict=True)
            for entry in exact(item, depth + 1, 500 + 40 * depth)
        ]
        lines, _ = sweeps(made(found), items, DELAYS_NS, NS_PER_INSN)
        slopes = [fit_slope(line, PLACE) for line in lines]
        assert [slope.hook_calls.value for slope in slopes] == [2, 3, 5, 9]
        (fit,) = fit_depths(slopes)
        assert (fit.per_component.value, fit.fixed.value) == (1, 1)
        # A wait of 768 ns is part of every point: the line is over what calls really waited.
        assert fit.latency.slope.value == pytest.approx(40 * 16 - 768)
        assert fit.latency.intercept.value == pytest.approx(500 * 16 - 768)

    def test_two_depths_are_no_row(self) -> None:
        items = [benchmark("open", depth=1), benchmark("open", depth=2), benchmark("open", size=4)]
        found = [entry for item in items for entry in exact(item, 2, 500)]
        lines, _ = sweeps(made(found), items, DELAYS_NS, NS_PER_INSN)
        assert fit_depths([fit_slope(line, PLACE) for line in lines]) == ()


class TestRecordedGuest:
    def test_slopes_are_whole_and_explain_everything(self) -> None:
        slopes = {slope.benchmark.id: slope for slope in recorded_slopes()}
        for slope in slopes.values():
            assert slope.hook_calls.value is not None, slope.hook_calls.reason
            assert slope.regression.r2 is None or slope.regression.r2 >= 0.99999
        found = {name: slope.hook_calls.value for name, slope in slopes.items()}
        assert found["getppid"] == 0
        assert found["read size=1"] == 1
        assert found["rename depth=2"] == 6
        assert [found[f"open depth={depth}"] for depth in range(1, 9)] == list(range(2, 10))
        assert [found[f"stat depth={depth}"] for depth in range(1, 9)] == list(range(1, 9))

    def test_they_agree_with_what_the_study_printed(self) -> None:
        slopes = {slope.benchmark.id: slope for slope in recorded_slopes()}
        compared = {name: row for name, row in table6().items() if name in slopes}
        assert len(compared) == 9
        for name, row in compared.items():
            assert round(float(row["slope"])) == slopes[name].hook_calls.value

    def test_each_component_of_a_path_is_one_call(self) -> None:
        fits = {fit.operation: fit for fit in fit_depths(recorded_slopes())}
        assert (fits["open"].per_component.value, fits["open"].fixed.value) == (1, 1)
        assert (fits["stat"].per_component.value, fits["stat"].fixed.value) == (1, 0)

    def test_without_the_measured_waits_there_are_no_slopes(self) -> None:
        boot = recorded_boot()
        facts = tuple(fact for fact in boot.facts if not fact[0].startswith("policy."))
        found, problems = sweeps(replace(boot, facts=facts), SWEPT, DELAYS_NS, NS_PER_INSN)
        assert found == ()
        assert "no wait was measured at a delay of 0 ns" in problems[0].title

    @pytest.mark.parametrize(
        ("value", "message"),
        [("fast", "is not two numbers: fast"), ("768 1768", "an inode check took 768 ns")],
    )
    def test_odd_waits_are_problems(self, value: str, message: str) -> None:
        boot = recorded_boot()
        facts = tuple((key, value if key == "policy.0" else text) for key, text in boot.facts)
        _, problems = sweeps(replace(boot, facts=facts), SWEPT, DELAYS_NS, NS_PER_INSN)
        assert message in problems[0].title
