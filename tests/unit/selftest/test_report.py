# SPDX-License-Identifier: GPL-2.0-or-later
"""The selftest's table: one row for each scenario, and why one failed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lsmeter.conclusion import Verdict
from lsmeter.model import Problem
from lsmeter.report.format import RenderOptions
from lsmeter.report.heading import Heading
from lsmeter.selftest.judge import Judgement, judge, judge_bystander
from lsmeter.selftest.report import FORMATS, SelftestReport
from lsmeter.selftest.scenarios import BYSTANDERS, SCENARIOS
from tests.unit.selftest.selftest_builders import true_comparison, true_seen

PLAIN = RenderOptions(width=180, colour=False)
HEADING = Heading(
    "Selftest", "2026-11-20T10:00:00+00:00", "0", "lsmeter selftest exact", "tmpfs", "root"
)


def report(*judgements: Judgement, bystander: Verdict = Verdict.EQUIVALENT) -> SelftestReport:
    """Return a report in which all passes but what is given in place of its scenario."""
    given = {item.scenario.name: item for item in judgements}
    first = BYSTANDERS[0]
    seen = replace(true_seen(first), comparison=replace(true_comparison(first), verdict=bystander))
    return SelftestReport(
        heading=HEADING,
        kernel="built:selftest",
        boots=2,
        judgements=tuple(given.get(item.name, judge(item, true_seen(item))) for item in SCENARIOS),
        bystanders=(judge_bystander(first, seen),),
    )


def spoilt() -> Judgement:
    scenario = SCENARIOS[0]
    comparison = replace(true_comparison(scenario), verdict=Verdict.EQUIVALENT)
    return judge(scenario, replace(true_seen(scenario), comparison=comparison))


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_there_is_a_row_for_each_scenario(form: str) -> None:
    text = FORMATS[form](report(), PLAIN)
    for item in SCENARIOS:
        assert item.name in text
    assert f"{len(SCENARIOS)} of {len(SCENARIOS)} scenarios pass" in text
    assert "FAIL" not in text
    assert "1 further comparisons in which nothing was injected: 1 equivalent" in text


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_what_fails_is_told_with_its_reason(form: str) -> None:
    text = FORMATS[form](report(spoilt()), PLAIN)
    assert f"FAIL: {len(SCENARIOS) - 1} of {len(SCENARIOS)} scenarios pass" in text
    assert "row-stat: called equivalent, and is slower" in text


def test_a_bystander_fails_the_test_too() -> None:
    told = report(bystander=Verdict.SLOWER)
    assert not told.passed
    text = FORMATS["table"](told, PLAIN)
    assert f"{BYSTANDERS[0].name}: called slower" in text
    assert (
        f"FAIL: {len(SCENARIOS)} of {len(SCENARIOS)} scenarios pass, "
        "0 of 1 comparisons in which nothing" in text
    )


def test_nothing_at_all_does_not_pass() -> None:
    assert report().passed
    assert not replace(report(), judgements=()).passed


def test_a_row_without_numbers_is_drawn() -> None:
    scenario = SCENARIOS[0]
    done = judge(scenario, replace(true_seen(scenario), comparison=None, charges=None, missing="x"))
    for form in FORMATS.values():
        assert "no numbers: x" in form(report(done), PLAIN)


def test_problems_are_shown() -> None:
    told = replace(report(), problems=(Problem("boot 1: panic", detail="oops"),))
    for form in FORMATS.values():
        assert "boot 1: panic" in form(told, PLAIN)


def test_the_document_has_every_number() -> None:
    data = json.loads(FORMATS["json"](report(spoilt()), PLAIN))
    assert data["format"] == "lsmeter-selftest"
    assert not data["passed"]
    assert len(data["scenarios"]) == len(SCENARIOS)
    row = data["scenarios"][0]
    assert row["truth"] == {"in_line": 200, "whole": 200, "is_least": False, "counted_whole": 200}
    assert row["whole"]["difference"] == 200
    assert row["verdict"] == "equivalent"
    assert row["named"][0] == {
        "function": "inject_inode_getattr",
        "hook": "inode_getattr",
        "context": "call",
        "insns": 200,
    }
    assert row["reasons"] == ["called equivalent, and is slower"]
