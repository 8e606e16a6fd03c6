# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.model import Problem
from lsmeter.questions.cost import document, grids, overheads, summary
from lsmeter.questions.cost.model import Report
from lsmeter.tables import numbers
from lsmeter.tables.model import Detail, Shown, Tone
from lsmeter.tables.values import percent
from tests.unit.report import builders


def _with(report: Report, **changes: object) -> Report:
    return Report(**{**vars(report), **changes})


def said(report: Report, detail: Detail = Detail.FULL) -> list[str]:
    shown = document.report_document(report, detail)
    (section,) = [item for item in shown.sections if item.key == "summary"]
    return [*shown.answer, *(item.text for item in section.items)]


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
    problems += [
        Problem(f"{name}: no number for selinux on debian:6.1", "debian:6.1", "selinux", name)
        for name in ("open depth=1", "open depth=2")
    ]
    shown = document.report_document(builders.report(problems=problems), Detail.SHORT)
    (section,) = [item for item in shown.sections if item.key == "problems"]
    assert section.title == "Problems (5)"
    assert [item.text for item in section.items] == [
        "denied (debian:6.1 · selinux · open, stat): EACCES",
        "boot hung (debian:6.1 · selinux)",
        "no number for selinux on debian:6.1 (open depth=1, open depth=2)",
    ]


def test_problems_that_differ_in_their_setup_are_joined_where_the_benchmarks_are_the_same() -> None:
    problems = [
        Problem(f"{name}: no number for {setup} on K: skipped", "K", setup, name, "no TUN")
        for setup, names in (("selinux", "ab"), ("smack", "ba"), ("bpf", "a"))
        for name in names
    ]
    shown = document.report_document(builders.report(problems=problems), Detail.SHORT)
    (section,) = [item for item in shown.sections if item.key == "problems"]
    assert section.title == "Problems (5)"
    assert [item.text for item in section.items] == [
        "no number for selinux, smack on K: skipped (a, b): no TUN",
        "no number for bpf on K: skipped (a): no TUN",
    ]


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
    assert found.first == (
        "SELinux without a policy: median +22.6 % over capability (whole cost +15.7 %), "
        "stat +10.0 % to open +35.2 % (instructions a call)."
    )
    assert found.more[:2] == (
        "2 slower.",
        "Median over 2 benchmarks: typical +22.6 %, in-line mean +21.7 %, whole cost +15.7 %.",
    )
    assert found.more[2] == (
        "Largest deviation: typical +35.2 %: open depth=4 (1,234 → 1,668 instructions)."
    )


def test_the_answer_says_what_was_compared_and_what_each_setup_costs() -> None:
    shown = document.report_document(builders.report(), Detail.SHORT)
    assert shown.answer[0] == (
        f"Compared: {len(builders.suite()) - 2} benchmarks, debian:6.1 (6.1.0-49-cloud-amd64) · "
        "suite file · tmpfs · user root; margin ±1.0 %; exact instrument."
    )
    assert len(shown.answer) == len(builders.SETUPS)
    assert shown.answer[1] == (
        "SELinux without a policy: median +17.5 % over capability (whole cost +15.3 %), "
        "copy +2.3 % to stat +23.8 % (instructions a call)."
    )


def test_the_answer_of_much_is_short_and_says_what_it_leaves_out() -> None:
    setups = ("capability", *(f"module-{n}" for n in range(30)))
    report = builders.report(setups=setups, benchmarks=[builders.benchmark("open", depth=1)])
    (grid,) = grids.grids(report)
    all_of_it = summary.summarise_all(report, (grid,), Detail.SHORT)
    first, *said_of, last = summary.answer(report, all_of_it, Detail.SHORT)
    assert first.startswith("Compared: 1 benchmark")
    assert len(said_of) == 14
    assert last == "16 more setups: in the tables."
    assert len(summary.answer(report, all_of_it, Detail.FULL)) == 31


@pytest.mark.parametrize("setups", [(), ("capability",)])
def test_nothing_compared_is_said(setups: tuple[str, ...]) -> None:
    (answer,) = document.report_document(builders.report(setups=setups), Detail.SHORT).answer
    assert answer.startswith("Nothing was compared:")
    assert ("no number was measured" in answer) == (not setups)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((79, 90), "median -15.5 % over capability (in-line mean -1"),
        ((79, 90), "stat -21.0 % to open -10.0 %"),
        ((70, 110), "stat -30.0 % to open +10.0 %"),
        ((130, 140), "stat +30.0 % to open +40.0 %"),
        ((100, 100), "2 benchmarks identical in every number."),
    ],
)
def test_words_are_right_for_gains(values: tuple[int, int], words: str) -> None:
    chosen = [builders.benchmark(name, depth=1) for name in ("stat", "open")]
    report = builders.report(setups=("capability", "bpf"), benchmarks=chosen)
    pairs = zip(chosen, values, strict=True)
    found = tuple(builders.comparison(item, "bpf", value, 100) for item, value in pairs)
    assert words in said(_with(report, comparisons=found), Detail.SHORT)[1]


def test_the_summary_names_what_is_identical_and_what_is_faster() -> None:
    read, creat = builders.benchmark("read", size=0), builders.benchmark("creat")
    report = builders.report(setups=("capability", "bpf"), benchmarks=[read, creat])
    comparisons = (
        builders.comparison(read, "bpf", 100, 100),
        builders.comparison(creat, "bpf", 80, 100),
    )
    report = _with(report, comparisons=comparisons)
    (grid,) = grids.grids(report)
    found = summary.summarise(report, grid, 0)
    assert found.first.endswith("creat -20.0 % to read 0.0 % (instructions a call).")
    text = " ".join(found.more)
    assert "1 faster" in text
    assert "Largest deviation: typical -20.0 %: creat (100 → 80 instructions)" in text
    assert "Identical in every number: read." in text


@given(
    st.lists(
        st.tuples(st.integers(50, 200), st.integers(50, 200)), min_size=1, max_size=6, unique=True
    )
)
def test_no_cell_of_a_row_says_two_things_and_the_largest_deviation_is_named(
    values: list[tuple[int, int]],
) -> None:
    chosen = [builders.benchmark("open", depth=depth) for depth in range(1, len(values) + 1)]
    report = builders.report(setups=("capability", "bpf", "tomoyo"), benchmarks=chosen)
    found = tuple(
        builders.comparison(item, setup, value, 100)
        for item, pair in zip(chosen, values, strict=True)
        for setup, value in zip(("bpf", "tomoyo"), pair, strict=True)
    )
    report = _with(report, comparisons=found)
    (grid,) = grids.grids(report)
    (table,) = overheads.section(report, grid, Detail.SHORT, 1).tables
    _, *medians, largest = table.rows[0]
    for cell, costs in zip(medians, zip(*values, strict=True), strict=True):
        assert isinstance(cell, Shown)
        slower, faster = (
            [c for c in costs if of(c)] for of in (lambda c: c > 101, lambda c: c < 99)
        )
        same = [cost for cost in costs if 99 <= cost <= 101]
        wanted = {Tone.WORSE: slower, Tone.BETTER: faster, Tone.QUIET: same}[cell.tone]
        assert wanted, "the sign is that of a variant"
        share = statistics.median(wanted) / 100 - 1
        assert math.isclose(float(cell.value or 0.0), share, abs_tol=1e-9)
        assert cell.text.startswith(numbers.SOME_MARK) == (len(wanted) < len(costs))
        assert (cell.tone is Tone.QUIET) <= (not slower and not faster)
    out = max(abs(item.overhead) for item in found)
    named = [
        item
        for item in found
        if math.isclose(abs(item.overhead), out)
        and str(largest).removeprefix(f"{item.place.setup} ")
        == f"{numbers.variant(item.benchmark)} {percent(item.overhead)}"
    ]
    assert named or out == 0
    assert (largest is None) == (out == 0)


def test_a_control_that_moved_is_a_warning_and_no_overhead() -> None:
    empty, opened = builders.benchmark("empty"), builders.benchmark("open", depth=1)
    report = builders.report(setups=("capability", "bpf"), benchmarks=[empty, opened])
    comparisons = (
        builders.comparison(empty, "bpf", 64, 32),
        builders.comparison(opened, "bpf", 103, 100),
    )
    report = _with(report, comparisons=comparisons)
    texts = said(report)
    assert texts[1].startswith("bpf: median +3.0 % over capability")
    assert "Largest deviation: typical +3.0 %: open depth=1" in texts[2]
    assert texts[3].startswith("Controls (empty) changed in 1 of 1")
    assert any("the control empty changed by +100.0 %" in text for text in texts)


def test_equal_words_of_several_setups_are_said_once() -> None:
    report = builders.report(setups=("capability", "selinux", "tomoyo", "landlock"))
    texts = said(report)
    hooking = [text for text in texts if "hooking only" in text]
    names = "selinux, tomoyo, landlock"
    assert hooking == [f"Note: {names}: no policy loaded: this measures hooking only."]


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
    assert found.first == "bpf: none of 1 comparison has an overhead."
