# SPDX-License-Identifier: GPL-2.0-or-later
"""The three numbers of a benchmark: where they disagree, no format may hide it."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.model.conclusion import Comparison, Difference, Verdict
from lsmeter.report import findings, grids, numbers, summary, whole
from lsmeter.report.model import Report
from lsmeter.tables.model import Detail, Shown
from tests.unit.model_builders import change
from tests.unit.report import builders
from tests.unit.report.builders import render

SHOWN = ("table", "markdown", "html")
MARGIN = 0.01
OPEN = builders.benchmark("open", depth=1)
CREAT = builders.benchmark("creat")


def compared(*comparisons: Comparison, quick: bool = False) -> Report:
    """Build a report of bpf over capability with these comparisons, and estimates to match."""
    chosen = [item.benchmark for item in comparisons]
    report = builders.report(setups=("capability", "bpf"), benchmarks=chosen)
    report = replace(report, comparisons=comparisons)
    if not quick:
        return report
    return replace(
        report,
        conditions=(*report.conditions, ("whole_ppm", "0")),
        estimates=tuple(replace(item, whole=None) for item in report.estimates),
        comparisons=tuple(
            replace(item, whole=None, verdict=Verdict.INCONCLUSIVE, cause="not measured")
            for item in comparisons
        ),
    )


def hidden(typical: float = 0, deferred: float = 6000) -> Comparison:
    """Make what a mode does not see: the typical count stays, the cycle costs more."""
    item = builders.comparison(OPEN, "bpf", 3400 + typical, 3400)
    late = change(5000, 5000 + typical + deferred, 12)
    return replace(item, whole=late, found=Difference.SEEN, verdict=Verdict.SLOWER)


def said(report: Report) -> str:
    (grid,) = grids.grids(report)
    found = summary.summarise(report, grid, 0)
    return " ".join((*found.sentences, *found.warnings))


@pytest.mark.parametrize(
    ("whole_difference", "half", "wanted"),
    [
        (6000, 12, True),
        (-6000, 12, True),
        (34, 0, False),  # as much as the margin: 1 % of 3,400
        (35, 0, True),
        (35, 36, False),  # not known well enough to say so
        (math.inf, 0, True),
    ],
)
def test_a_whole_cost_disagrees_beyond_margin_and_interval(
    whole_difference: float, half: float, *, wanted: bool
) -> None:
    item = replace(hidden(), whole=change(5000, 5000 + whole_difference, half))
    assert findings.apart(item, item.whole, MARGIN) is wanted
    assert bool(findings.mark(item, MARGIN)) is wanted


def test_a_single_round_cannot_disagree() -> None:
    item = replace(hidden(), whole=replace(hidden().whole, low=-math.inf, high=math.inf))
    assert not findings.mark(item, MARGIN)


def test_a_mean_that_disagrees_is_marked_without_a_whole_cost() -> None:
    item = replace(hidden(), whole=None, mean=change(3416, 3616, 9))
    assert not findings.apart(item, item.whole, MARGIN)
    assert findings.mark(item, MARGIN) == numbers.APART_MARK
    assert "in-line mean +200 ±9" in said(compared(item))


@pytest.mark.parametrize("name", SHOWN)
def test_a_deferred_cost_is_marked_and_told_in_its_cycle(name: str) -> None:
    text = render(compared(hidden()), name).replace("\N{NO-BREAK SPACE}", " ")
    assert numbers.APART_MARK in text
    for word in ("Whole cost", "open+close", "+6,000 ±12"):
        assert word in text


@pytest.mark.parametrize("name", ["text", *SHOWN])
def test_every_format_has_the_three_numbers_with_what_they_cover(name: str) -> None:
    text = " ".join(render(compared(hidden()), name).replace("\N{NO-BREAK SPACE}", " ").split())
    assert "typical 0.0 %, in-line mean 0.0 %, whole cost +120.0 %" in text


def test_the_terminal_has_the_rows_that_disagree_and_the_page_has_all() -> None:
    report = compared(hidden(), builders.comparison(CREAT, "bpf", 5000, 5000))
    found = grids.grids(report)
    (narrow,) = whole.section(report, found, Detail.TERMINAL).tables
    assert narrow.rows[0] == ("open: open+close",)
    assert narrow.rows[1][0] == Shown("open depth=1", "  depth=1")
    assert "1 of 2 benchmarks" in narrow.lead[1]
    costs, means = whole.section(report, found, Detail.FULL).tables
    heads = [row[0] for row in costs.rows if len(row) == 1]
    assert heads == ["open: open+close", "creat: creat+close+unlink"]
    assert [row[0].value for row in means.rows if len(row) > 1] == ["open depth=1", "creat"]
    assert whole.section(report, found, Detail.SHORT).tables == ()


def test_numbers_that_agree_have_no_mark_and_a_sentence() -> None:
    report = compared(builders.comparison(OPEN, "bpf", 3500, 3400))
    (grid,) = grids.grids(report)
    assert findings.mark(grid.comparisons(0)[0], MARGIN) == ""
    (table,) = whole.section(report, (grid,), Detail.TERMINAL).tables
    assert "No whole cost differs" in table.lead[0]
    assert table.rows == ()


def test_a_baseline_alone_has_its_whole_costs() -> None:
    report = builders.report(setups=("capability",), benchmarks=[OPEN])
    value = numbers.level(
        *(getattr(report.estimates[0].whole, n) for n in ("value", "low", "high"))
    )
    for name in SHOWN:
        assert value in render(report, name)


def test_without_whole_costs_no_report_speaks_of_equivalence() -> None:
    report = compared(builders.comparison(OPEN, "bpf", 3400, 3400), quick=True)
    wanted = "amortised and deferred costs were not measured (--quick); no verdict 'equivalent'"
    for name in ("text", *SHOWN):
        text = " ".join(render(report, name).replace("&#39;", "'").split())
        assert wanted in text
    assert "Identical" not in said(report)
    assert "whole cost not measured" in said(report)
    assert not list(findings.unmeasured(compared(hidden())))


def test_untouched_is_what_is_identical_in_every_number() -> None:
    same = builders.comparison(OPEN, "bpf", 3400, 3400)
    unseen = replace(builders.comparison(CREAT, "bpf", 5000, 5000), found=Difference.UNSEEN)
    text = said(compared(same, unseen))
    assert "Identical in every number: open." in text
    assert "No difference seen: creat." in text
    assert "Identical" not in said(compared(unseen))
    assert said(compared(same)) == "bpf: 1 benchmark identical in every number."


def test_differences_below_the_margin_are_counted_with_their_range() -> None:
    small = [
        builders.comparison(builders.benchmark("stat", depth=depth), "bpf", 5000 + more, 5000)
        for depth, more in ((1, 4), (2, 37), (3, 20))
    ]
    moved = replace(
        builders.comparison(builders.benchmark("read", size=1), "bpf", 5000, 5000),
        found=Difference.SEEN,
        moved=0.004,
    )
    assert "3 differ by less than the margin (+4 to +37 instructions)." in said(compared(*small))
    text = said(compared(*small, moved))
    assert "4 differ by less than the margin (+4 to +37 instructions; 1 in its peaks only)" in text
    assert "1 differs by less than the margin (in its peaks only)" in said(compared(moved))


def test_an_open_verdict_is_named_with_its_cause() -> None:
    first = builders.comparison(OPEN, "bpf", 3400, 3400, verdict=Verdict.INCONCLUSIVE)
    second = replace(first, benchmark=CREAT, cause="peaks moved, worth 2.0% of a call")
    text = said(compared(first, second))
    assert f"2 comparisons inconclusive: open ({builders.CAUSE}); creat (peaks moved" in text
    assert "add boots" not in text


@pytest.mark.parametrize(
    ("verdict", "value", "wanted"),
    [
        (Verdict.EQUIVALENT, 190, "unchanged in all 1 comparison"),
        # A whole cost that is not known to a per cent moves no control.
        (Verdict.INCONCLUSIVE, 190, "unchanged in all 1 comparison"),
        (Verdict.SLOWER, 190, "changed in 1 of 1"),
        (Verdict.EQUIVALENT, 191, "changed in 1 of 1"),
    ],
)
def test_a_control_is_still_with_its_typical_count(
    verdict: Verdict, value: int, wanted: str
) -> None:
    control = builders.benchmark("getppid")
    report = compared(builders.comparison(control, "bpf", value, 190, verdict=verdict))
    assert wanted in findings.controls(grids.grids(report))


def test_counts_that_differ_between_boots_have_their_range() -> None:
    report = builders.report(setups=("capability",), benchmarks=[OPEN, CREAT])
    near, far = report.estimates
    near, far = replace(near, high=near.low + 3), replace(far, high=far.low + 700)
    (first, second) = findings.between_boots(replace(report, estimates=(near, far)))
    assert first.startswith("typical counts of 2 benchmarks differ between boots by 3 to 700 ")
    assert f"creat under capability {far.low:,.0f} to {far.high:,.0f}" in second
    single = tuple(
        replace(item, repeats=False, evidence=replace(item.evidence, boots=1))
        for item in report.estimates
    )
    (only,) = findings.between_boots(replace(report, estimates=single))
    assert only.startswith("one boot of each setup")


def test_the_spread_of_boots_leaves_out_what_has_no_call() -> None:
    empty = builders.estimate(builders.benchmark("empty"), "bpf", 0.5)
    assert list(findings.spread([empty])) == ["Each from 4,000 cycles."]
    usual = builders.estimate(OPEN, "bpf", 3390)
    assert "by 0.06 % (median)" in " ".join(findings.spread([empty, usual]))


def test_json_and_csv_have_every_number_of_a_comparison() -> None:
    report = replace(compared(hidden()), caveats=("different compilers",))
    document = json.loads(render(report, "json"))
    (entry,) = document["comparisons"]
    assert entry["whole"]["difference"] == 6000
    assert (entry["found"], entry["in_step"], entry["cycle"]) == ("seen", 0.96, "open+close")
    assert document["caveats"] == ["different compilers"]
    assert document["estimates"][0]["peaks"][0] == {"value": 2432, "share": 0.96}
    rows = list(csv.DictReader(io.StringIO(render(report, "csv"))))
    assert rows[0]["whole_difference"] == "6000"
    assert (rows[0]["found"], rows[0]["caveats"]) == ("seen", "different compilers")
    assert rows[1]["peaks"] == "2432:0.96 2832:0.04"
    assert (rows[1]["whole_operations"], rows[1]["ticked"]) == ("4000", "3")


def test_bounds_that_are_infinite_are_null_and_empty() -> None:
    report = compared(hidden())
    cost = replace(builders.whole_cost(9), low=-math.inf, high=math.inf, rounds=1)
    report = replace(report, estimates=(replace(report.estimates[0], whole=cost),))
    document = json.loads(render(report, "json"))
    assert document["estimates"][0]["whole"]["low"] is None
    assert numbers.level(cost.value, cost.low, cost.high) == "9 ±?"


@pytest.mark.parametrize("name", ["text", *SHOWN])
def test_a_caveat_stands_beside_the_verdicts(name: str) -> None:
    report = replace(compared(hidden()), caveats=("different compilers: gcc 12 against gcc 11",))
    text = " ".join(render(report, name).split())
    assert "Applies to every verdict" in text
    assert "gcc 12 against gcc 11" in text


@given(st.floats(-1e9, 1e9), st.floats(0, 1e6))
def test_an_amount_has_a_sign_unless_it_is_0(difference: float, half: float) -> None:
    text = numbers.amount(change(1e6, 1e6 + difference, half))
    value, known = text.split(" ±")
    assert not known.startswith("-")
    assert value == "0" or value[0] in "+-"
    assert value not in {"-0", "+0"}
