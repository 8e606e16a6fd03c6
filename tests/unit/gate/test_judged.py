# SPDX-License-Identifier: GPL-2.0-or-later
"""A gate never passes on nothing: what no rule was held against is said, and is no success."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Benchmark, BenchmarkStatus, Whole
from lsmeter.core.model.conclusion import Number
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.gate.document import document, lines
from lsmeter.questions.gate.judge import Applied, Finding, Gated, Outcome, hold, judge_runs
from lsmeter.questions.gate.rules import margin_rule, parse_rule
from lsmeter.tables.model import Detail, Document
from lsmeter.tables.render import Files, Options, find_format, render, rendered
from tests.unit.model_builders import benchmark
from tests.unit.report.builders import comparison, report
from tests.unit.report.test_compared import CHMOD, DEEP, OPEN, STAT, run

EMPTY = benchmark("empty")
Costs = Mapping[str, Mapping[Benchmark, int]]
BEFORE: Costs = {
    "capability": {EMPTY: 5, OPEN: 1000, DEEP: 2000, CHMOD: 700},
    "selinux": {EMPTY: 5, OPEN: 1200, DEEP: 2500, CHMOD: 770},
}
AFTER: Costs = {
    "capability": {EMPTY: 5, OPEN: 1000, STAT: 500},
    "tomoyo": {EMPTY: 5, OPEN: 1100, STAT: 510},
}


@pytest.fixture
def sides(tmp_path: Path) -> tuple[RunData, RunData]:
    return run(tmp_path / "a", BEFORE), run(tmp_path / "b", AFTER)


def junit(of: Document) -> ET.Element:
    """Return a document as JUnit XML, read back."""
    return ET.fromstring(render(of, "junit"))  # noqa: S314  (our own text)


def gated(sides: tuple[RunData, RunData], *rules: str, inconclusive: str = "skip") -> Gated:
    return judge_runs(*sides, [parse_rule(rule) for rule in rules], inconclusive)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("chmod<=1%", "only the first run has it"),
        ("stat<=1%", "only the second run has it"),
        ("open*@selinux<=1%", "only the first run has it"),
        ("stat@selinux<=1%", "neither run was asked for it"),
        ("*@[st]*<=1%", "in no setup, file system or user in common"),
    ],
)
@pytest.mark.parametrize("inconclusive", ["fail", "skip", "pass"])
def test_what_only_one_run_has_is_not_judged_and_named(
    sides: tuple[RunData, RunData], rule: str, why: str, inconclusive: str
) -> None:
    found = gated(sides, rule, "open<=1%", inconclusive=inconclusive)
    assert found.code == 125
    assert not any("kept:" in text for text in document(found).answer)
    assert "(exit code 125)" in document(found).answer[0]
    text = " ".join(render(document(found), "text", Options(colour=False)).split())
    assert f"{rule}: " in text
    assert text.count(why) == 2  # of the rule, and of what has no number
    said: Any = json.loads(render(document(found), "json", Options()))
    assert why in said["rules"][0]["unjudged"]
    assert (said["exit_code"], said["rules"][1]["unjudged"]) == (125, "")
    suite, kept = junit(document(found, Detail.DATA))
    assert (suite.get("tests"), suite.get("skipped"), kept.get("skipped")) == ("1", "1", "0")
    message = suite.find("testcase/skipped")
    assert message is not None
    assert why in (message.get("message") or "")


def test_a_lost_whole_cost_keeps_no_rule(tmp_path: Path) -> None:
    """What is left is no better; what is lost may be worse."""
    costs = {"capability": {OPEN: 1000, STAT: 500}}
    before, after = run(tmp_path / "a", costs), run(tmp_path / "b", costs)
    assert gated((before, after), "*<=1%").code == 0  # neither was asked for whole costs
    first, *others = after.boots[0].samples
    cut = (replace(first, whole=Whole(BenchmarkStatus.TIMEOUT)), *others)
    both = (before, replace(after, boots=(replace(after.boots[0], samples=cut),)))
    found = gated(both, "*<=1%")
    assert found.code == 125
    assert [item.outcome for item in found.findings] == [Outcome.MISSING, Outcome.KEPT]
    rule = replace(parse_rule("*<=1%"), numbers=(Number.TYPICAL,))
    assert judge_runs(*both, [rule], "skip").code == 0


def test_controls_alone_keep_no_rule(tmp_path: Path) -> None:
    sides = (
        run(tmp_path / "a", {"capability": {EMPTY: 5, OPEN: 1000}}),
        run(tmp_path / "b", {"capability": {EMPTY: 5, STAT: 500}}),
    )
    rule = margin_rule(0.01)
    found = judge_runs(*sides, [rule], "skip")
    assert (found.code, lines(found, Outcome.MISSING)) == (
        *(125, [f"{rule.text}: the runs have nothing but controls in common"]),
    )
    assert gated(sides, "empty<=1%").code == 0  # they were asked for


def test_runs_without_a_setup_in_common_are_not_judged(tmp_path: Path) -> None:
    first = run(tmp_path / "a", {"selinux": {OPEN: 1000}}, baseline="selinux")
    second = run(tmp_path / "b", {"tomoyo": {OPEN: 1000}}, baseline="tomoyo")
    assert gated((first, second), "*<=1%").code == 125


def test_a_name_that_neither_run_knows_is_wrong_usage(sides: tuple[RunData, RunData]) -> None:
    with pytest.raises(UsageError, match="no benchmark that is measured is called 'opne'"):
        gated(sides, "opne<=1%")


def found_of(value: float, difference: float | None = None) -> Finding:
    item = comparison(benchmark("open", depth=1), "selinux", value, 4000)
    if difference is not None:
        typical = replace(item.typical, difference=difference, low=difference, high=difference)
        item = replace(item, typical=typical, decided=typical)
    found = hold(margin_rule(0.01), item, 0.01)
    assert found is not None
    return found


def test_a_rule_whose_comparisons_all_lack_a_number_is_not_judged() -> None:
    rule = margin_rule(0.01)
    none, kept = found_of(4000, math.nan), found_of(4000)
    assert not none.has_number
    for findings, code in (((none,), 125), ((none, kept), 0)):
        judged = Gated((Applied(rule, findings, 0, 0),), report(), "pass")
        assert judged.code == code


def test_each_rule_counts_its_own_comparisons(sides: tuple[RunData, RunData]) -> None:
    dearer = {"capability": {OPEN: 1100, STAT: 500}, "selinux": {OPEN: 1300}}
    sides = sides[0], run(sides[0].path.with_name("c"), dearer)
    found = gated(sides, "open<=1%", "open@selinux<=50%", "open<=1%")
    first, *broken = document(found).answer
    assert first == (
        "Gate: a rule is broken: 2 broken, 1 kept of 3 comparisons, by 2 rules (exit code 1)."
    )
    assert len(broken) == 2
    assert "typical +100 insns (+10.00 %), limit 1%" in broken[0]
    facts = [text for name, text in document(found).facts if name == "rule"]
    assert facts == [
        "open<=1%: 2 broken of 2 comparisons; 2 not compared, which only the first run has",
        "open@selinux<=50%: 1 kept of 1 comparison; 1 not compared, which only the first run has",
    ]
    data: Any = document(found).data
    counts = [(item["broken"], item["kept"], item["comparisons"]) for item in data["rules"]]
    assert counts == [(2, 0, 2), (0, 1, 1)]


def test_what_was_compared_is_drawn(sides: tuple[RunData, RunData]) -> None:
    files = rendered(document(gated(sides, "open<=1%")), "svg")
    assert isinstance(files, Files)
    (drawing,) = files.files.values()
    assert b"Overhead of each operation" in drawing
    assert b">open</text>" in drawing


def test_names_in_junit_hold_no_limit(sides: tuple[RunData, RunData]) -> None:
    """A system that tracks test cases by name sees the same ones after a limit was changed."""

    def names(*rules: str) -> list[str]:
        root = junit(document(gated(sides, *rules), Detail.DATA))
        return [str(item.get("name")) for item in root.iter() if item.tag.startswith("test")]

    assert names("open@cap*<=1%") == names("open@cap*<=700insns")
    assert "1%" not in "".join(names("open@cap*<=1%"))
    assert names("open<=1%", "open<=9insns")[1::2] == ["open", "open (2)"]


@pytest.mark.parametrize("form", ["csv", "json", "table"])
def test_every_format_has_the_row_with_the_number_that_decided(
    sides: tuple[RunData, RunData], form: str
) -> None:
    dearer = {"capability": {OPEN: 1000, STAT: 500}, "selinux": {OPEN: 1300}}
    found = gated((sides[0], run(sides[0].path.with_name("c"), dearer)), "open<=1%")
    text = render(document(found, find_format(form).detail), form, Options(colour=False))
    if form == "json":
        row = json.loads(text)["findings"][-1]
        assert (row["id"], row["outcome"], row["verdict"]) == ("open depth=1", "broken", "slower")
        assert row["decided_by"] == row["number"] == "typical"
        assert row["worse"]["value"] == pytest.approx(1300 / 1200 - 1)
    elif form == "csv":
        row = list(csv.DictReader(text.splitlines()))[-1]
        shown = (row["id"], row["outcome"], row["decided_by"], row["worse"])
        assert shown == ("open depth=1", "broken", "typical", "0.083333333")
    else:
        assert "open<=1%: selinux on old, file, tmpfs, root" in text
        words = next(x for x in text.splitlines() if x.startswith("open depth=1  ")).split()
        assert words == [
            "open",
            "depth=1",
            "1,200",
            "1,300",
            "+100",
            "+8.33",
            "%",
            "slower",
            "typical",
        ]


def test_a_terminal_says_how_many_rows_are_left_out() -> None:
    many = tuple(replace(found_of(5000), detail=str(at)) for at in range(20))
    judged = Gated((Applied(many[0].rule, many, 0, 0),), report())
    (section,) = document(judged, Detail.SHORT).sections
    (table,) = section.tables
    assert (len(table.rows), table.more) == (13, ("Not shown: 8 rows: --all.",))
    (section,) = document(judged, Detail.TERMINAL).sections
    assert (len(section.tables[0].rows), section.tables[0].more) == (21, ())
