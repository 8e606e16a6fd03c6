# SPDX-License-Identifier: GPL-2.0-or-later
"""Formats of CI: what each reader accepts, whatever names hold, with nothing dropped unsaid."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import jsonschema
import kcidb_io
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Place
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.compare import document as compare
from lsmeter.questions.cost.document import report_document
from lsmeter.questions.gate import document as gate
from lsmeter.questions.gate.judge import judge_runs
from lsmeter.questions.gate.rules import margin_rule, parse_rule
from lsmeter.sources.kernels.build.source import resolve_source
from lsmeter.tables.data import scrubbed
from lsmeter.tables.model import Detail, Document
from lsmeter.tables.render import Files, find_format, render, rendered
from lsmeter.tables.results import Quantity, Result, Results, Rule, Status, distinct
from tests.unit.gate.test_judged import junit
from tests.unit.model_builders import kernel
from tests.unit.report import builders
from tests.unit.report.test_compared import AFTER, BEFORE, run
from tests.unit.report.test_formats import all_verdicts, zero_baseline

SCHEMA = kcidb_io.schema.V5_3
PATH = re.compile(r"lsmeter(\.?[A-Za-z0-9_-]+)*")
# As Bencher's documentation states it: names of at most 1024 characters, measures of at most 64.
BMF = {
    "type": "object",
    "propertyNames": {"minLength": 1, "maxLength": 1024},
    "additionalProperties": {
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"minLength": 1, "maxLength": 64},
        "additionalProperties": {
            "type": "object",
            "properties": {
                name: {"type": "number"} for name in ("value", "lower_value", "upper_value")
            },
            "required": ["value"],
            "additionalProperties": False,
        },
    },
}
# What Bencher's reader does beyond the types (lib/bencher_valid, of which there is no package): it
# counts bytes, and leaves benchmarks out by the end of their name. Built from source once (0.6.12),
# it took every benchmark of 40 documents of the strategy below.
BENCHER_BYTES, BENCHER_MEASURE_BYTES = 1024, 64
BENCHER_DROPS = ("_bencher_ignore", "BencherIgnore", "-bencher-ignore")
HOSTILE = (
    *("", "#", "ok 1 - x", "not ok 7 x # SKIP y", "# Subtest: x", "1..9", "KTAP version 1"),
    *("a\nok 1 - b", "\r\n1..2", "\x00", "\x1b[31m", "a.b/c:d", "日本語 🙂", "\ud800", '<&">]]>'),
    *("Kernel panic - not syncing: VFS:", "reboot: System halted", "x" * 3000, "..", "_", " "),
    *("\u202eok", "\u2028ok 2 - z", "\x85ok 3 - q", "- ", "depth=4", "depth:4"),
    *("\N{GRINNING FACE}" * 400, "x_bencher_ignore", "BencherIgnore", "x-bencher-ignore"),
)

words = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40))
numbers = st.one_of(st.integers(-(10**30), 10**30), st.floats(allow_nan=False, width=32)).filter(
    lambda value: abs(value) < 1e300
)
quantities = st.builds(Quantity, words, numbers, words, st.none() | numbers, st.none() | numbers)
places = st.builds(Place, words, words, words, words, words, st.sampled_from((1, 4)))
items = st.builds(
    Result,
    *(st.sampled_from(Status), places, words, words),
    quantities=st.lists(quantities, max_size=3).map(tuple),
    log=st.lists(words, max_size=2).map(tuple),
).map(lambda item: replace(item, quantities=()) if item.status is Status.MISSING else item)
lists = st.lists(items, max_size=6).map(tuple)
rules = st.lists(st.builds(Rule, words, words, lists, words), min_size=1, max_size=4).map(tuple)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    held = draw(rules)
    kernels = tuple(kernel(draw(words)) for _ in range(draw(st.integers(0, 2))))
    every = tuple(chain.from_iterable(rule.items for rule in held))
    return Document("x", 1, draw(words), results=Results(every, kernels, draw(words), held))


def results_of(document: Document) -> Results:
    """Return the results as formats get them."""
    found = scrubbed(document).results
    assert found is not None
    return found


@given(documents())
@settings(max_examples=25, deadline=None)
def test_kcidb_takes_every_result(document: Document) -> None:
    check_kcidb(document)


def check_kcidb(document: Document) -> list[dict[str, Any]]:
    found = json.loads(render(document, "kcidb"))
    assert SCHEMA.is_valid_exactly(found)
    tests: list[dict[str, Any]] = found["tests"]
    expected = [
        (item, number)
        for item in results_of(document).items
        for number in item.quantities or (None,)
    ]
    assert len({item["id"] for item in tests}) == len(tests) == len(expected)
    assert len({(item["build_id"], item["path"]) for item in tests}) == len(tests)
    assert {item["build_id"] for item in tests} <= {item["id"] for item in found["builds"]}
    for test, (item, number) in zip(tests, expected, strict=True):
        assert PATH.fullmatch(test["path"]), test["path"]
        assert test["environment"]["misc"] == vars(item.place)
        assert test["misc"]["benchmark"] == item.benchmark
        assert item.said in test["comment"]
        if number and test["status"] != "SKIP":
            assert test["number"] == {"value": number.value, "unit": number.unit}
        else:
            assert "number" not in test
    return tests


@given(documents())
@settings(max_examples=25, deadline=None)
def test_bencher_takes_every_number_and_the_rest_is_said(document: Document) -> None:
    check_bmf(document)


def check_bmf(document: Document) -> dict[str, Any]:
    files = rendered(document, "bmf")
    assert isinstance(files, Files)
    found: dict[str, Any] = json.loads(files.files["bmf.json"])
    jsonschema.validate(found, BMF)
    for name, measures in found.items():
        assert len(name.encode()) <= BENCHER_BYTES
        assert not name.endswith(BENCHER_DROPS)
        assert all(len(measure.encode()) <= BENCHER_MEASURE_BYTES for measure in measures)
    every = results_of(document)
    known = {(item.benchmark, *every.where(item)) for item in every.items if item.quantities}
    assert len(found) == len(known)
    values = {metric["value"] for measures in found.values() for metric in measures.values()}
    last = {
        (item.benchmark, *every.where(item), each.name, each.unit): each.value
        for item in every.items
        for each in item.quantities
    }
    assert values == set(last.values())
    without = [item.said for item in every.items if not item.quantities]
    assert all(text.endswith(said) for text, said in zip(files.left_out, without, strict=True))
    return found


@pytest.fixture(scope="module")
def kunit() -> Iterator[Any]:
    """Return the parser of the kernel's own source."""
    tools = resolve_source("debian-source:6.1").path / "tools/testing/kunit"
    sys.path.insert(0, str(tools))
    try:
        yield importlib.import_module("kunit_parser")
    finally:
        sys.path.remove(str(tools))
        for name in ("kunit_parser", "kunit_printer"):
            sys.modules.pop(name, None)


def counts(kunit: Any, text: str) -> tuple[Counter[str], Any]:
    """Return how many points the kernel's parser sees of each outcome, and all that it saw."""
    shown = io.StringIO()
    printer = sys.modules["kunit_printer"].stdout
    printer._output = shown
    with contextlib.redirect_stdout(shown):
        test = kunit.parse_run_tests(text.split("\n"))
    found = {name: getattr(test.counts, name) for name in vars(test.counts)}
    return Counter({name: number for name, number in found.items() if number}), test


_SEEN = {Status.PASSED: "passed", Status.MEASURED: "passed", Status.FAILED: "failed"}


@pytest.mark.network
@given(documents())
@settings(max_examples=25, deadline=None)
def test_the_kernels_parser_sees_every_point(kunit: Any, document: Document) -> None:
    check_ktap(kunit, document)


def check_ktap(kunit: Any, document: Document) -> None:
    seen, test = counts(kunit, render(document, "ktap"))
    held = results_of(document).rules
    expected = Counter(
        _SEEN.get(item.status, "skipped") for rule in held for item in rule.items
    ) + Counter(skipped=sum(not rule.items for rule in held))
    assert seen == expected
    assert [len(rule.subtests) for rule in test.subtests] == [len(rule.items) for rule in held]


@given(documents())
@settings(max_examples=25, deadline=None)
def test_junit_is_xml_with_every_case(document: Document) -> None:
    root = junit(document)
    held = results_of(document).rules
    names = [[case.get("name") for case in suite.iter("testcase")] for suite in root]
    expected = [
        [*(["is judged"] if rule.unjudged else []), *(item.benchmark for item in rule.items)]
        for rule in held
    ]
    assert names == expected


def sides(tmp_path: Path) -> tuple[RunData, RunData]:
    return run(tmp_path / "a", BEFORE), run(tmp_path / "b", AFTER, "new")


def test_a_report_has_each_number_and_each_problem(tmp_path: Path) -> None:
    shapes = (
        *(builders.report(), builders.report(setups=("capability",), benchmarks=())),
        *(all_verdicts(), zero_baseline()),
    )
    for report in shapes:
        document = report_document(report, Detail.DATA)
        tests = check_kcidb(document)
        assert sum(item["status"] == "MISS" for item in tests) >= len(report.problems)
        check_bmf(document)
    paths = {test["path"] for test in check_kcidb(report_document(shapes[0], Detail.DATA))}
    deep = "lsmeter.file.open.depth_4.selinux.tmpfs.root"
    assert {deep, f"{deep}.mean", f"{deep}.whole"} <= paths


def test_a_comparison_says_what_only_one_run_has(tmp_path: Path) -> None:
    document = compare.document(*sides(tmp_path), Detail.DATA)
    tests = check_kcidb(document)
    lost = [item["path"] for item in tests if item["status"] == "SKIP"]
    assert "lsmeter.file.chmod.depth_1.selinux.tmpfs.root" in lost
    assert sum(".tomoyo." in path for path in lost) == len(BEFORE["tomoyo"])
    files = rendered(document, "bmf")
    assert isinstance(files, Files)
    assert len(files.left_out) == len(lost)
    assert all("only the first run has it" in text for text in files.left_out)


def test_a_gate_has_a_status_for_each_outcome(tmp_path: Path) -> None:
    before, after = sides(tmp_path)
    rule = [parse_rule(text) for text in ("open@selinux<=1%", "stat<=1%", "chmod<=1%")]
    document = gate.document(judge_runs(before, after, rule, "skip"), Detail.DATA)
    statuses = {item["path"]: item["status"] for item in check_kcidb(document)}
    assert statuses["lsmeter.file.open.depth_1.selinux.tmpfs.root"] == "FAIL"
    assert statuses["lsmeter.file.stat.depth_1.capability.tmpfs.root"] == "PASS"
    *_, last = render(document, "ktap").splitlines()
    assert last.startswith("not ok 3 - chmod # SKIP")


@pytest.mark.network
def test_the_kernels_parser_fails_a_broken_rule_and_passes_no_empty_one(
    kunit: Any, tmp_path: Path
) -> None:
    before, after = sides(tmp_path)
    for texts, status in (
        (["open@selinux<=1%", "stat<=1%"], "FAILURE"),
        (["chmod<=1%"], "SKIPPED"),
        (["stat<=1%"], "SUCCESS"),
    ):
        gated = judge_runs(before, after, [parse_rule(text) for text in texts], "skip")
        document = gate.document(gated, Detail.DATA)
        check_ktap(kunit, document)
        assert counts(kunit, render(document, "ktap"))[1].status.name == status
        assert (gated.code == 0) == (status == "SUCCESS")


def test_runs_of_nothing_in_common_pass_in_no_format(tmp_path: Path) -> None:
    before = run(tmp_path / "a", {"selinux": BEFORE["selinux"]}, baseline="selinux")
    after = run(tmp_path / "b", {"tomoyo": BEFORE["tomoyo"]}, baseline="tomoyo")
    document = gate.document(judge_runs(before, after, [margin_rule(0.01)], "pass"), Detail.DATA)
    (said,) = check_kcidb(document)
    assert (said["status"], said["path"]) == ("MISS", "lsmeter.rule")
    assert "in no setup, file system or user in common" in said["comment"]
    assert check_bmf(document) == {}
    assert render(document, "ktap").splitlines()[-1].startswith("not ok 1 - * # SKIP ")
    assert 'skipped="1"' in render(document, "junit")


@pytest.mark.parametrize("form", ["kcidb", "bmf", "ktap", "junit"])
def test_what_has_no_results_is_refused_in_one_line(form: str) -> None:
    with pytest.raises(UsageError, match=f"--format {form}: Title: it has no results") as caught:
        rendered(Document("lsmeter-slopes", 1, "Title"), form)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match=f"--format {form}: not of lsmeter slopes; these have it"):
        find_format(form).check("slopes")
    find_format(form).check("gate")


@given(st.lists(st.sampled_from(("a", "a-2", "a-3", "x" * 40, "x" * 39 + "y")), max_size=12))
def test_names_differ_and_have_their_length(names: list[str]) -> None:
    found = [*distinct(names, 20)]
    assert len(set(found)) == len(names) == len(found)
    assert all(len(name) <= 20 for name in found)
