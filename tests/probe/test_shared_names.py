# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that several suites have are told apart: planned, run, reported, compared, indexed.

All suites of the catalogue take part, with recorded guests; every number is another one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lsmeter.core.model import Benchmark, Cell, Problem
from lsmeter.guest.probe import Program, catalogue
from lsmeter.measure.experiment.select import select_benchmarks
from lsmeter.measure.results.directory import RunData, read_run
from lsmeter.questions.cells.cells import cell_results
from lsmeter.questions.cells.frame import problem_section
from lsmeter.questions.cost.build import compare_runs, run_report
from lsmeter.questions.cost.document import report_document
from lsmeter.questions.index.figures import indices
from lsmeter.tables.model import Detail
from lsmeter.tables.render import Options, render
from tests.unit.model_builders import kernel
from tests.unit.run_builders import Scripted, carry_out, plan_of, said_by

SHARED, ITS_SUITES = "pipe size=512", ("ipc", "unixbench")
SLOWER = 5000
SAMPLING = {"samples": 3, "warmup": 0, "whole_ppm": 0}


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_DATA", str(tmp_path / "data"))


@pytest.fixture(scope="module")
def every(probe: Program) -> tuple[Benchmark, ...]:
    return catalogue(probe)


@pytest.fixture(scope="module")
def suites(every: tuple[Benchmark, ...]) -> list[str]:
    return list(dict.fromkeys(item.suite for item in every))


class Measured:
    """A run of every suite under two setups; the shared benchmark of one suite may be slower."""

    def __init__(self, path: Path, every: tuple[Benchmark, ...], slower: str = "") -> None:
        numbers = {item: 100 + 2 * place for place, item in enumerate(every)}
        self.costs = {
            (item.suite, item.id, setup): number
            + (setup == "yama")
            + SLOWER * ((item.suite, item.id) == (slower, SHARED))
            for item, number in numbers.items()
            for setup in ("capability", "yama")
        }
        suites = [*dict.fromkeys(item.suite for item in every)]
        words = {"suites": suites, "setups": ["yama"], "sampling": SAMPLING}
        plan = plan_of((kernel(SECURITY_YAMA="y"),), every, words)
        carry_out(plan, path, Scripted(self._answer), fresh=True)
        self.run: RunData = read_run(path)

    def _answer(self, cell: Cell) -> bytes:
        name = cell.setup.name
        lsms = ",".join(dict.fromkeys(("capability", name)))
        blocks = {
            benchmark: (f"samples {self.costs[cell.suite, benchmark, name]}x3",)
            for benchmark in cell.benchmarks
        }
        return said_by(
            cell,
            (f"fact lsm {lsms}", *(("fact yama.ptrace_scope 1",) if name == "yama" else ())),
            blocks,
        )


def test_some_names_are_shared_and_no_suite_has_one_twice(every: tuple[Benchmark, ...]) -> None:
    assert max(Counter((item.suite, item.id) for item in every).values()) == 1
    shared = {name for name, times in Counter(item.id for item in every).items() if times > 1}
    learnt_from = {
        *("poll fds=10", "poll fds=500", "select fds=100", "select fds=500"),
        *("getdents entries=10", "getdents entries=1000"),
    }
    assert shared == {"empty", "getppid", SHARED, *learnt_from}


def test_each_is_chosen_alone_by_its_suite(every: tuple[Benchmark, ...], suites: list[str]) -> None:
    def chosen(*patterns: str) -> tuple[Benchmark, ...]:
        return select_benchmarks(every, suites, patterns, controls=False)

    for item in every:
        found = chosen(f"{item.suite}/{item.id}")  # an operation's name is all its variants
        assert item in found
        assert {(one.suite, one.operation) for one in found} == {(item.suite, item.operation)}
        assert len(found) == 1 or item.id == item.operation
    assert [item.suite for item in chosen(SHARED)] == [*ITS_SUITES]
    assert {item.operation for item in chosen("unixbench/s*")} == {
        *("shell1", "shell8", "spawn", "syscall")
    }


def test_every_number_is_reported_with_its_suite(
    every: tuple[Benchmark, ...], tmp_path: Path
) -> None:
    measured = Measured(tmp_path / "run", every)
    report = run_report(measured.run)
    assert report.problems == ()
    shown = report_document(report, Detail.DATA)
    data = json.loads(render(shown, "json", Options()))
    found = {
        (item["suite"], item["id"], item["setup"]): item["mean"]["value"]
        for item in data["estimates"]
    }
    assert found == measured.costs
    assert len(data["comparisons"]) == len(every)
    for item in data["comparisons"]:
        key = item["suite"], item["id"]
        assert item["baseline_value"] == measured.costs[*key, "capability"]
        assert item["difference"] == 1


@pytest.mark.parametrize("suite", ITS_SUITES)
def test_what_became_slower_in_one_suite_did_so_in_no_other(
    every: tuple[Benchmark, ...], tmp_path: Path, suite: str
) -> None:
    before = Measured(tmp_path / "before", every)
    after = Measured(tmp_path / "after", every, slower=suite)
    moved = {
        (item.place.suite, item.benchmark.id)
        for item in compare_runs(before.run, after.run).comparisons
        if item.difference
    }
    assert moved == {(suite, SHARED)}

    def typical() -> Iterator[tuple[str, float]]:
        left, right = (
            [item for result in cell_results(run.run) for item in result.estimates]
            for run in (after, before)
        )
        for index in indices(left, right, "capability"):
            if index.place.setup == "capability":
                yield index.place.suite, round(index.typical.value, 6)

    assert {name for name, value in typical() if value != 100} == {suite}


def test_problems_of_a_shared_name_are_joined_for_one_suite_only() -> None:
    problems = [
        Problem(f"{SHARED}: no number for {setup} on K", "K", setup, SHARED, "no pipe", suite=suite)
        for setup in ("capability", "yama")
        for suite in ITS_SUITES
    ]
    (section,) = problem_section(problems)
    assert [item.text for item in section.items] == [
        f"no number for capability, yama on K ({suite} · {SHARED}): no pipe" for suite in ITS_SUITES
    ]
