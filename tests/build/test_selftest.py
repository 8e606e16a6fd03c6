# SPDX-License-Identifier: GPL-2.0-or-later
"""In guests: no injected cost hides, and no cost is seen where there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lsmeter.catalogue.setups.inject import Way
from lsmeter.core.errors import ExitCode
from lsmeter.core.model.arch import X86_64
from lsmeter.questions.selftest.scenarios import PLANS, selftest_kernel
from tests.build.kernels import PLAIN, plain
from tests.conftest import Done, Lsmeter

PLAN = PLANS[Way.MODULE]
SCENARIOS = PLAN.scenarios
pytestmark = [pytest.mark.build, pytest.mark.guest]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Lsmeter:
    plain()
    selftest_kernel(X86_64)
    return Lsmeter(tmp_path_factory.mktemp("selftest"))


@pytest.fixture(scope="module")
def done(home: Lsmeter) -> Done:
    return home("selftest", "exact", "--run-dir", "run", COLUMNS="180")


@pytest.fixture(scope="module")
def data(home: Lsmeter, done: Done) -> dict[str, Any]:
    """Return the same again as data: from the store, into another run directory."""
    again = home("selftest", "exact", "--run-dir", "again", "--format", "json", "-o", "self.json")
    assert again.code == done.code, again.err
    assert again.err.count(": from the store") == 3 * len(PLAN.setups), again.err
    found: dict[str, Any] = json.loads((home.home / "self.json").read_text())
    return found


def test_all_scenarios_pass(done: Done) -> None:
    assert done.code == 0, done.out + done.err
    assert f"{len(SCENARIOS)} of {len(SCENARIOS)} scenarios pass" in done.out
    assert f"{len(PLAN.bystanders)} further comparisons in which nothing was injected" in done.out


def test_the_table_has_a_row_for_each(done: Done) -> None:
    rows = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    for scenario in SCENARIOS:
        assert rows[scenario.name].rstrip().endswith("pass"), rows[scenario.name]
    assert "inject_rcu_file_free" in done.out


def test_a_second_run_measures_nothing_again(data: dict[str, Any]) -> None:
    assert data["passed"]
    assert [row["name"] for row in data["scenarios"]] == [item.name for item in SCENARIOS]


def test_every_injected_function_is_named_with_its_cost(data: dict[str, Any]) -> None:
    """Says in other words what the judge did, so that a judge that is too mild is found."""
    for row, scenario in zip(data["scenarios"], SCENARIOS, strict=True):
        named = {charge["function"]: charge["insns"] for charge in row["named"]}
        for site, insns in scenario.site_insns.items():
            assert named.get(site.function, 0) == pytest.approx(float(insns), rel=0.1, abs=10)


def test_no_injected_cost_is_called_equivalent(data: dict[str, Any]) -> None:
    for row in data["scenarios"]:
        assert (row["verdict"] == "equivalent") == row["control"], row["name"]
        assert row["difference"] != "none" or row["control"], row["name"]


def test_the_run_is_a_run_like_any_other(home: Lsmeter, done: Done) -> None:
    assert done.code == 0
    told = home("report", "run", "--format", "json")
    assert told.code == 0
    assert Path(home.home / "run" / "manifest.json").is_file()
    assert {item["baseline_setup"] for item in json.loads(told.out)["comparisons"]} == {"inject"}


def test_all_scenarios_pass_on_arm64(lsmeter: Lsmeter) -> None:
    """Its cycles are long: some sides have windows of another length, some ticks many workers."""
    done = lsmeter("selftest", "exact", "--arch", "arm64", "--seed", "3", "--run-dir", "run")
    assert done.code == 0, done.out + done.err
    assert f"{len(SCENARIOS)} of {len(SCENARIOS)} scenarios pass" in done.out


def test_a_kernel_that_takes_no_programs_is_named_with_what_it_lacks(lsmeter: Lsmeter) -> None:
    done = lsmeter("selftest", "exact", "--kernel", f"built:{PLAIN}", "--run-dir", "run")
    assert done.code == ExitCode.INFRASTRUCTURE, done.out + done.err
    assert "error: nothing was injected, and nothing measured: bpf-inject cannot" in done.err
