# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from lsmeter.model import Problem
from lsmeter.report import document, grids, summary
from lsmeter.report.model import Report
from lsmeter.tables.model import Detail
from tests.unit.report import builders


def _with(report: Report, **changes: object) -> Report:
    return Report(**{**vars(report), **changes})  # type: ignore[arg-type]


def said(report: Report) -> list[str]:
    section = summary.section(report, grids.grids(report), Detail.FULL)
    return [item.text for item in section.items]


def test_variants_stand_in_natural_order_under_their_operation() -> None:
    (grid,) = grids.grids(builders.report())
    group = next(group for group in grid.groups if group.operation == "open")
    labels = [row.label for row in group.rows]
    assert labels[:3] == ["depth=1", "depth=2", "depth=3"]
    assert labels[7:] == [
        "depth=8",
        "link=hard",
        "link=soft",
        "target=missing",
        "path=dotdot-3",
        "path=dotdot-9",
    ]


@given(st.permutations(list(range(1, 13))))
def test_depth_10_comes_after_depth_2_whatever_the_order_of_running(depths: list[int]) -> None:
    benchmarks = [builders.benchmark("open", depth=depth) for depth in depths]
    (grid,) = grids.grids(builders.report(benchmarks=benchmarks))
    assert [row.label for row in grid.rows] == [f"depth={depth}" for depth in range(1, 13)]


def test_columns_follow_the_setups_and_leave_the_baseline_out() -> None:
    (grid,) = grids.grids(builders.report())
    assert grid.baseline_setup == "capability"
    assert grid.heads == builders.SETUPS[1:]
    assert all(row.baseline_value() for row in grid.rows)


def test_every_number_of_a_report_is_in_its_grids() -> None:
    report = builders.report(kernels=builders.KERNELS)
    found_grids = grids.grids(report)
    assert [grid.place.kernel for grid in found_grids] == list(builders.KERNELS)
    found = [
        c for grid in found_grids for i in range(len(grid.columns)) for c in grid.comparisons(i)
    ]
    assert sorted(map(id, found)) == sorted(map(id, report.comparisons))


def test_two_runs_side_by_side_share_no_baseline() -> None:
    (grid,) = grids.grids(builders.side_by_side())
    assert grid.baseline_setup is None
    assert grid.heads == ("capability", "selinux")
    row = next(row for row in grid.rows if row.benchmark.id == "open depth=4")
    old, new = (builders.cost(row.benchmark, "selinux", kernel) for kernel in builders.KERNELS)
    assert (row.baseline_value(1), row.slots[1].value) == (old, new)


def test_a_comparison_that_is_missing_leaves_its_row_and_a_warning() -> None:
    report = builders.report(setups=("capability", "selinux"))
    lacking = tuple(c for c in report.comparisons if c.benchmark.id != "open depth=4")
    (grid,) = grids.grids(_with(report, comparisons=lacking))
    row = next(row for row in grid.rows if row.benchmark.id == "open depth=4")
    assert row.slots[0].comparison is None
    assert row.baseline_value() is not None
    assert "1 benchmark without a number" in summary.summarise(report, grid, 0).warnings[-1]


def test_a_baseline_alone_gives_a_grid_without_columns() -> None:
    (grid,) = grids.grids(builders.report(setups=("capability",)))
    assert grid.columns == ()
    assert grid.baseline_setup == "capability"
    assert len(list(grid.rows)) == len(builders.suite())


def test_a_setup_without_its_baseline_keeps_its_values() -> None:
    report = builders.report(setups=("capability", "selinux"))
    estimates = tuple(e for e in report.estimates if e.place.setup == "selinux")
    (grid,) = grids.grids(_with(report, estimates=estimates, comparisons=()))
    assert grid.heads == ("selinux",)
    assert all(row.slots[0].value is not None for row in grid.rows)
    assert all(row.baseline_value() is None for row in grid.rows)


def test_an_empty_report_has_no_grid() -> None:
    assert grids.grids(builders.report(setups=())) == ()


def test_problems_that_differ_in_their_benchmark_are_joined_and_none_is_lost() -> None:
    problems = [
        Problem("denied", "debian:6.1", "selinux", name, "EACCES") for name in ("open", "stat")
    ]
    problems.append(Problem("boot hung", "debian:6.1", "selinux"))
    shown = document.report_document(builders.report(problems=problems), Detail.SHORT)
    joined, other = shown.sections[-1].items
    assert joined.text == "denied (debian:6.1 · selinux · open, stat): EACCES"
    assert other.text == "boot hung (debian:6.1 · selinux)"


def test_the_summary_names_the_largest_overhead_with_its_values() -> None:
    stat = builders.benchmark("stat", depth=8)
    opened = builders.benchmark("open", depth=4)
    report = builders.report(setups=("capability", "selinux"), benchmarks=[stat, opened])
    comparisons = (
        builders.comparison(stat, "selinux", 110, 100),
        builders.comparison(opened, "selinux", 1668, 1234),
    )
    report = _with(report, comparisons=comparisons)
    (grid,) = grids.grids(report)
    found = summary.summarise(report, grid, 0)
    assert found.sentences[0] == (
        "selinux: largest typical overhead +35.2 %: open depth=4 (1,234 → 1,668 instructions); "
        "largest whole +21.5 %: open depth=4 (+611 ±6, open+close)."
    )
    assert found.medians.typical is not None
    assert math.isclose(found.medians.typical, (0.1 + 1668 / 1234 - 1) / 2)
    assert found.sentences[1] == (
        "Median over 2 benchmarks: typical +22.6 %, in-line mean +21.7 %, whole cost +15.7 %; "
        "2 slower."
    )


def test_the_summary_names_what_is_identical_and_what_is_faster() -> None:
    read, creat = builders.benchmark("read", size=0), builders.benchmark("creat")
    report = builders.report(setups=("capability", "bpf"), benchmarks=[read, creat])
    comparisons = (
        builders.comparison(read, "bpf", 100, 100),
        builders.comparison(creat, "bpf", 80, 100),
    )
    report = _with(report, comparisons=comparisons)
    (grid,) = grids.grids(report)
    text = " ".join(summary.summarise(report, grid, 0).sentences)
    assert "largest typical overhead 0.0 %: read size=0" in text
    assert "1 benchmark faster, most -20.0 %: creat (100 → 80 instructions)" in text
    assert "Identical in every number: read." in text


def test_a_control_that_moved_is_a_warning_and_no_overhead() -> None:
    empty, opened = builders.benchmark("empty"), builders.benchmark("open", depth=1)
    report = builders.report(setups=("capability", "bpf"), benchmarks=[empty, opened])
    comparisons = (
        builders.comparison(empty, "bpf", 64, 32),
        builders.comparison(opened, "bpf", 103, 100),
    )
    report = _with(report, comparisons=comparisons)
    assert summary.summarise(report, grids.grids(report)[0], 0).largest is comparisons[1]
    texts = said(report)
    assert texts[0].startswith("Controls (empty) changed in 1 of 1")
    assert any("the control empty changed by +100.0 %" in text for text in texts)


def test_equal_words_of_several_setups_are_said_once() -> None:
    report = builders.report(setups=("capability", "selinux", "tomoyo", "landlock"))
    texts = said(report)
    hooking = [text for text in texts if "hooking only" in text]
    names = "selinux, tomoyo, landlock"
    assert hooking == [f"Note: {names}: no policy loaded: this measures hooking only."]
    wanted = "Note: landlock: same active LSMs in the guest as under capability: capability."
    assert wanted in texts


def test_a_setup_without_numbers_is_named() -> None:
    report = builders.report(setups=("capability", "selinux"))
    facts = (*report.setups, builders.setup_facts("debian:6.1", "smack"))
    wanted = "Warning: smack on debian:6.1 gave no number; see problems."
    assert wanted in said(_with(report, setups=facts))


def test_overheads_of_a_zero_baseline_are_left_out_of_the_figures() -> None:
    zero = builders.benchmark("read", size=0)
    report = builders.report(setups=("capability", "bpf"), benchmarks=[zero])
    report = _with(report, comparisons=(builders.comparison(zero, "bpf", 5, 0),))
    (grid,) = grids.grids(report)
    found = summary.summarise(report, grid, 0)
    assert (found.medians.typical, found.largest) == (None, None)
    assert found.counts == "1 inconclusive"
