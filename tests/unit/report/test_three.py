# SPDX-License-Identifier: GPL-2.0-or-later
"""The three numbers of a benchmark: where they disagree, no format may hide it."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.model.conclusion import Comparison, Difference, Verdict
from lsmeter.questions.cost import findings, grids, overheads, repeats, summary, whole
from lsmeter.questions.cost.model import Report
from lsmeter.tables import numbers
from lsmeter.tables.model import Detail, Shown
from lsmeter.tables.values import raw
from tests.unit.model_builders import change
from tests.unit.report import builders
from tests.unit.report.builders import render

SHOWN = ("table", "markdown", "html")
MARGIN = 0.01
TIMES = "\N{MULTIPLICATION SIGN}"
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
    return " ".join((found.first, *found.more, *found.warnings))


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
    whole = hidden().whole
    assert whole is not None
    item = replace(hidden(), whole=replace(whole, low=-math.inf, high=math.inf))
    assert not findings.mark(item, MARGIN)


def test_a_mean_that_disagrees_is_marked_without_a_whole_cost() -> None:
    item = replace(hidden(), whole=None, mean=change(3416, 3616, 9))
    assert not findings.apart(item, item.whole, MARGIN)
    assert findings.mark(item, MARGIN) == numbers.APART_MARK
    assert "in-line mean +200 ±9" in said(compared(item))


@pytest.mark.parametrize("name", SHOWN)
def test_a_deferred_cost_is_marked_and_told_in_its_cycle(name: str) -> None:
    report = compared(hidden())
    text = render(report, name, everything=name == "table").replace("\N{NO-BREAK SPACE}", " ")
    assert numbers.APART_MARK in text
    assert numbers.APART_MARK in render(report, name)
    for word in ("Whole cost", "open+close", "+6,000 ±12"):
        assert word in text


@pytest.mark.parametrize("name", ["text", *SHOWN])
def test_every_format_has_the_three_numbers_with_what_they_cover(name: str) -> None:
    report = compared(hidden())
    whole = render(report, name, everything=name in {"table", "text"})
    text = " ".join(whole.replace("\N{NO-BREAK SPACE}", " ").split())
    assert "typical 0.0 %, in-line mean 0.0 %, whole cost +120.0 %" in text
    (grid,) = grids.grids(report)
    (table,) = overheads.section(report, grid, Detail.SHORT, 1).tables
    assert [(row[0], raw(row[1])) for row in table.rows[-3:]] == [
        ("typical", 0.0),
        ("mean", 0.0),
        ("whole", 1.2),
    ]
    assert table.rows[0][0] == Shown("open", f"open{numbers.APART_MARK}")


def test_whole_costs_and_means_of_all_benchmarks_are_shown_where_all_is_asked_for() -> None:
    report = compared(hidden(), builders.comparison(CREAT, "bpf", 5000, 5000))
    found = grids.grids(report)
    narrow, *_ = whole.section(report, found, Detail.TERMINAL).tables
    assert narrow.rows[0] == ("open: open+close",)
    assert narrow.rows[1][0] == Shown("open depth=1", "  depth=1")
    costs, means, parts = whole.section(report, found, Detail.FULL).tables
    assert [row[0] for row in narrow.rows] == [row[0] for row in costs.rows]
    heads = [row[0] for row in costs.rows if len(row) == 1]
    assert heads == ["open: open+close", "creat: creat+close+unlink"]
    assert [row[0].value for row in means.rows if len(row) > 1] == ["open depth=1", "creat"]
    assert parts.key == "whole_parts"
    assert whole.section(report, found, Detail.SHORT).tables == ()


def test_numbers_that_agree_have_no_mark() -> None:
    report = compared(builders.comparison(OPEN, "bpf", 3500, 3400))
    (grid,) = grids.grids(report)
    assert findings.mark(grid.comparisons(0)[0], MARGIN) == ""
    assert numbers.APART_MARK not in render(report, "table")


def test_a_baseline_alone_has_its_whole_costs() -> None:
    report = builders.report(setups=("capability",), benchmarks=[OPEN])
    value = numbers.level(
        *(getattr(report.estimates[0].whole, n) for n in ("value", "low", "high"))
    )
    for name in SHOWN:
        assert value in render(report, name, everything=name == "table")


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
    many = [replace(first, benchmark=builders.benchmark(f"op{number}")) for number in range(1, 16)]
    text = said(compared(*many))
    assert "15 comparisons inconclusive: op1, op2, op3, op4, op5" in text
    assert f"op12, 3 more ({builders.CAUSE})." in text


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


@pytest.mark.parametrize(
    ("values", "share", "words"),
    [
        ((5, 5, 5, 9, 5), 0.9, "5 in boots 0, 1, 2, 4, +4 in boot 3"),
        ((5, 9, 1), 0.3, "5 in boot 0, +4 in boot 1, -4 in boot 2"),
        (
            *((5, 9), 0.06),
            "no stable count within a boot: the most frequent is 6.0 % of its readings, 5 to 9",
        ),
    ],
)
def test_it_is_said_which_boots_differ_and_by_how_much(
    values: tuple[int, ...], share: float, words: str
) -> None:
    item = builders.estimate(OPEN, "bpf", 5, repeats=False)
    peaks = builders.by_boot(*values, share=share)
    evidence = replace(item.evidence, boots=len(values), by_boot=peaks)
    odd = replace(item, low=min(values), high=max(values), evidence=evidence)
    assert repeats.by_boot(odd) == words
    report = builders.report(setups=("capability",), benchmarks=[OPEN])
    (note,) = repeats.between_boots(replace(report, estimates=(odd,)), short=False)
    assert note.endswith(f"open depth=1 under bpf ({words}).")
    assert "one boot" not in note
    text = render(replace(report, estimates=(odd,)), "table", everything=True)
    assert "one boot only" not in text


@given(st.lists(st.integers(1, 6), min_size=2, max_size=9))
def test_each_boot_is_named_once_and_its_count_can_be_read_from_it(values: list[int]) -> None:
    item = builders.estimate(OPEN, "bpf", 5)
    evidence = replace(item.evidence, by_boot=builders.by_boot(*values))
    text = repeats.by_boot(replace(item, evidence=evidence))
    found: dict[int, int] = {}
    usual = 0
    for number, boots in re.findall(r"([+-]?\d+) in boots? ((?:\d+(?:, (?!\S+ in))?)+)", text):
        usual = usual if number[0] in "+-" else int(number)
        value = int(number) + (usual if number[0] in "+-" else 0)
        found |= dict.fromkeys(map(int, boots.strip(", ").split(", ")), value)
    assert found == dict(enumerate(values))
    assert values.count(usual) == max(map(values.count, values))


def test_what_differs_most_between_boots_is_named_first() -> None:
    chosen = [builders.benchmark("stat", depth=depth) for depth in range(1, 7)]
    report = builders.report(setups=("capability",), benchmarks=chosen)
    odd = tuple(replace(e, high=e.low * (1 + at / 10)) for at, e in enumerate(report.estimates, 1))
    (note,) = repeats.between_boots(replace(report, estimates=odd), short=True)
    assert note == (
        "typical counts of 6 benchmarks do not repeat: "
        "stat depth=6, stat depth=5, stat depth=4, stat depth=3, 2 more by less."
    )
    (note,) = repeats.between_boots(replace(report, estimates=odd), short=False)
    assert "(~; boots vary the order of benchmarks and where objects lie in slabs)" in note
    assert "stat depth=6 under capability (" in note
    disk = tuple(replace(e, place=replace(e.place, filesystem="ext4")) for e in odd)
    (note,) = repeats.between_boots(replace(report, estimates=disk), short=False)
    assert "how far back a block of ext4 stands in the CPU's list of buffers" in note
    single = tuple(
        replace(item, repeats=False, evidence=replace(item.evidence, boots=1))
        for item in report.estimates
    )
    (only,) = repeats.between_boots(replace(report, estimates=single), short=False)
    assert only.startswith("one boot of each setup")


def test_what_a_verdict_without_a_typical_count_rests_on_is_said_once() -> None:
    rests = "no typical count; verdict from in-line mean and whole cost"
    kinds = [builders.benchmark("exit", files=number) for number in range(6)]
    found = [
        replace(builders.comparison(kind, setup, 3400, 3400), cause=rests)
        for setup in ("bpf", "tomoyo")
        for kind in kinds
    ]
    (note,) = findings.without_typical(found)
    assert note == f"{rests}: exit files=0, exit files=1, exit files=2, exit files=3, 2 more."
    text = " ".join(render(compared(*found[:2]), "table").split())
    assert f"Note: {rests}: exit files=0, exit files=1." in text
    open_ones = [replace(item, verdict=Verdict.INCONCLUSIVE) for item in found]
    assert not list(findings.without_typical(open_ones))
    assert not list(findings.without_typical([replace(item, cause="") for item in found]))


def test_an_inconclusive_benchmark_says_which_boots_differ() -> None:
    item = builders.comparison(OPEN, "bpf", 3400, 3400, verdict=Verdict.INCONCLUSIVE)
    report = compared(item)
    odd = tuple(
        replace(e, repeats=False, high=e.low + 8, evidence=replace(e.evidence, by_boot=boots))
        if e.place.setup == "bpf"
        else e
        for e in report.estimates
        for boots in [builders.by_boot(3400, 3408, 3400)]
    )
    for form in ("table", "text", "markdown"):
        text = " ".join(render(replace(report, estimates=odd), form).split())
        cause = f"open ({builders.CAUSE}; bpf: 3,400 in boots 0, 2, +8 in boot 1)"
        assert f"1 comparison inconclusive: {cause}" in text


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
    assert numbers.level(cost.value, cost.low, cost.high) == "9"


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


def _open(cause: str, *ids: tuple[str, int]) -> list[Comparison]:
    return [
        replace(
            builders.comparison(
                builders.benchmark(name, size=size), "bpf", 3400, 3400,
                verdict=Verdict.INCONCLUSIVE,
            ),
            cause=cause.format(size),
        )
        for name, size in ids
    ]  # fmt: skip


def test_in_short_a_cause_is_said_once_and_operations_are_counted() -> None:
    unmeasured = "amortised and deferred costs were not measured"
    many = _open(unmeasured, *(("close", n) for n in range(3)), *(("read", n) for n in range(4)))
    moved = _open("cost moved between calls: typical +{}.2%, mean +1%", ("mkdir", 1), ("mkdir", 2))
    alone = _open("peaks moved, worth {}.0% of a call", ("stat", 2))
    report = compared(*many, *moved, *alone)
    text, full = (
        " ".join(render(report, "text", everything=everything).split())
        for everything in (False, True)
    )
    assert (
        f"7 comparisons inconclusive ({unmeasured}): bpf 7: read {TIMES}4, close {TIMES}3." in text
    )
    moved_twice = f"bpf 2: mkdir {TIMES}2."
    assert f"2 comparisons inconclusive (cost moved between calls): {moved_twice}" in text
    # One alone keeps its numbers; with room, all do.
    assert "bpf: 1 comparison inconclusive: stat (peaks moved, worth 2.0% of a call)" in text
    assert "bpf: 10 comparisons inconclusive: " in full
    assert "mkdir size=2 (cost moved between calls: typical +2.2%, mean +1%)" in full
    assert TIMES not in full


def test_numbers_that_contradict_each_other_say_what_is_faster_and_what_slower() -> None:
    cause = "the numbers disagree: typical -1.7%, mean -1.7%, whole +12.8%"
    (item,) = _open(cause, ("close", 1))
    item = replace(
        item,
        benchmark=replace(item.benchmark, cycle="open+close"),
        typical=change(1211, 1190),
        mean=change(1211, 1190),
        whole=change(4899, 5525),
    )
    alone = "the call alone faster, its cycle open+close with deferred work slower"
    assert f"({cause}; {alone})" in said(compared(item))
    other = replace(item, benchmark=replace(item.benchmark, params=(("size", 2),)))
    text = " ".join(render(compared(item, other), "text").split())
    assert (
        "2 comparisons inconclusive (the numbers disagree: the call alone faster, its cycle with "
        f"deferred work slower): bpf 2: close {TIMES}2." in text
    )
    odd = replace(item, mean=change(1211, 1300))
    assert "the usual call faster, the mean call and its cycle open+close" in said(compared(odd))


def test_the_largest_is_the_largest_of_any_number() -> None:
    """A gate said of a whole cost +14.95 % what the summary called +0.8 % at most."""
    deep = builders.benchmark("open", depth=4)
    read = builders.comparison(builders.benchmark("read", size=1), "bpf", 1008, 1000)
    typical = change(4000, 4020)
    item = replace(
        builders.comparison(deep, "bpf", 4020, 4000),
        typical=typical,
        decided=typical,
        whole=change(5000, 5747.5, 20),
        verdict=Verdict.INCONCLUSIVE,
        cause="cost moved between calls",
    )
    report = compared(read, item)
    text = said(report)
    assert "largest deviation +14.9 %: open depth=4 in the whole cost (" in text
    assert "Largest deviation: whole cost +14.9 %: open depth=4 (+748 ±20 instructions in" in text
    short = render(report, "text")
    assert "depth=4 whole +14.9 %" in short
    # What chance does is no number to name.
    loose = replace(item, whole=change(5000, 5747.5, 800))
    assert ", read +0.8 %; open inconclusive (" in said(compared(read, loose))
    assert "14.9" not in said(compared(read, loose))
    # Where nothing is known, the range is of that, and says so.
    both = replace(read, verdict=Verdict.INCONCLUSIVE)
    assert "open +0.5 % to read +0.8 %; 2 inconclusive (" in said(compared(both, loose))


@pytest.mark.parametrize("difference", [2, -1, 0.05])
@pytest.mark.parametrize("name", ["table", "text", "markdown", "html"])
def test_no_arrow_stands_beside_a_zero(name: str, difference: float) -> None:
    typical = change(400_000, 400_000 + difference)
    ruling = Verdict.SLOWER if difference > 0 else Verdict.FASTER
    item = replace(
        builders.comparison(OPEN, "bpf", 400_000, 400_000, verdict=ruling),
        typical=typical,
        decided=typical,
    )
    text = render(compared(item), name, everything=True)
    arrow = numbers.VERDICT_MARKS[ruling]
    assert arrow in text
    assert not re.search(rf"[+-]?0\.0+( %)? ?{arrow}", text)
    assert re.search(rf"{'[+]' if difference > 0 else '[-]'}0\.0+[1-9]+( %)? ?{arrow}", text)
