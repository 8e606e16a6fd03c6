# SPDX-License-Identifier: GPL-2.0-or-later
"""The selftest's document: one row for each scenario, and why one failed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lsmeter.core.model import Problem
from lsmeter.core.model.conclusion import Verdict
from lsmeter.questions.selftest.document import SelftestReport, document
from lsmeter.questions.selftest.judge import Judgement, judge
from lsmeter.tables.render import Options, render
from tests.unit.model_builders import TEXT_FORMATS, change
from tests.unit.selftest.selftest_builders import BPF, MODULE, true_comparison, true_seen

SCENARIOS, BYSTANDERS = MODULE.scenarios, MODULE.bystanders
FORMS = TEXT_FORMATS
FOR_PEOPLE = [name for name in FORMS if name not in {"csv", "json"}]


def report(*judgements: Judgement, bystander: Verdict = Verdict.EQUIVALENT) -> SelftestReport:
    """Return a report in which all passes but what is given in place of its scenario."""
    given = {item.scenario.name: item for item in judgements}
    first = BYSTANDERS[0]
    seen = replace(true_seen(first), comparison=replace(true_comparison(first), verdict=bystander))
    return SelftestReport(
        judgements=tuple(given.get(item.name, judge(item, true_seen(item))) for item in SCENARIOS),
        bystanders=(judge(first, seen),),
        facts=(("kernels", "built:selftest"),),
        data=(("kernel", "built:selftest"),),
    )


def shown(told: SelftestReport, form: str) -> str:
    text = render(document(told), form, Options(width=180))
    return " ".join(text.split()) if form in {"table", "text"} else text


def spoilt() -> Judgement:
    scenario = SCENARIOS[0]
    comparison = replace(true_comparison(scenario), verdict=Verdict.EQUIVALENT)
    return judge(scenario, replace(true_seen(scenario), comparison=comparison))


@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_there_is_a_row_for_each_scenario(form: str) -> None:
    text = shown(report(), form)
    for item in SCENARIOS:
        assert item.name in text
    assert f"{len(SCENARIOS)} of {len(SCENARIOS)} scenarios pass" in text
    assert "FAIL" not in text
    assert "1 further comparisons in which nothing was injected: 1 equivalent" in text


def test_a_row_has_each_number_as_it_is_known() -> None:
    rows = {row[0].text: row[3:] for row in document(report()).tables[0].rows}
    truth, counted, typical, mean, whole, interval, inside, verdict, named, result = rows[
        "row-stat"
    ]
    assert [item.text for item in (truth, counted, typical, mean, whole, verdict)] == [
        *("+200", "+200", "0", "+200 ±100.0", "+200", "▲ slower"),
    ]
    assert (interval, inside) == ("+198 to +202", "yes")
    assert (named, result) == ("inject_inode_getattr +200", "pass")
    truth, counted, *_ = rows["blob-creat"]
    assert (truth.text, counted) == ("≥+125", None)


@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_what_fails_is_told_with_its_reason(form: str) -> None:
    text = shown(report(spoilt()), form)
    assert f"FAIL: {len(SCENARIOS) - 1} of {len(SCENARIOS)} scenarios pass" in text
    assert "row-stat: called equivalent, and is slower" in text


def test_a_bystander_fails_the_test_too() -> None:
    told = report(bystander=Verdict.SLOWER)
    assert not told.passed
    text = shown(told, "table")
    assert f"{BYSTANDERS[0].name}: called slower" in text
    assert (
        f"FAIL: {len(SCENARIOS)} of {len(SCENARIOS)} scenarios pass, "
        "0 of 1 comparisons in which nothing" in text
    )


def test_nothing_at_all_does_not_pass() -> None:
    assert report().passed
    assert not replace(report(), judgements=()).passed


@pytest.mark.parametrize("form", [*FOR_PEOPLE, "json"])
def test_a_row_without_numbers_and_problems_are_shown(form: str) -> None:
    scenario = SCENARIOS[0]
    done = judge(scenario, replace(true_seen(scenario), comparison=None, charges=None, missing="x"))
    told = replace(report(done), problems=(Problem("boot 1: panic", detail="oops"),))
    assert "no numbers: x" in shown(told, form)
    assert "boot 1: panic" in shown(told, form)


def test_the_data_have_every_number() -> None:
    data = json.loads(shown(report(spoilt()), "json"))
    assert (data["format"], data["kernel"], data["passed"]) == (
        "lsmeter-selftest",
        "built:selftest",
        False,
    )
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


def test_an_interval_beside_the_truth_is_told() -> None:
    scenario = SCENARIOS[0]
    beside = replace(true_comparison(scenario), whole=change(5000, 5203, 2.0))
    told = report(judge(scenario, replace(true_seen(scenario), comparison=beside)))
    row = document(told).tables[0].rows[0]
    assert row[8:10] == ("+201 to +205", "no")


def test_a_bpf_program_is_named_by_its_hook() -> None:
    told = replace(report(), judgements=tuple(judge(x, true_seen(x)) for x in BPF.scenarios))
    named = {row[0].text: row[11] for row in document(told).tables[0].rows}
    assert named["always"] == "BPF program below inode_getattr +500"
    assert named["inode-rcu-creat"] == "BPF program +5,000"
