# SPDX-License-Identifier: GPL-2.0-or-later
"""In guests of a kernel as it ships: whole costs hold what BPF programs injected."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lsmeter.catalogue.setups.inject import Way
from lsmeter.core.errors import ExitCode
from lsmeter.questions.selftest.scenarios import PLANS
from tests.conftest import Lsmeter

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

PLAN = PLANS[Way.BPF]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    lsmeter = Lsmeter(tmp_path_factory.mktemp("selftest"))
    words = ("--kernel", "debian:6.1", "--condition", "icount_shift=1", "--format", "json")
    done = lsmeter("selftest", "exact", *words, "-o", "found.json")
    assert done.code in {ExitCode.OK, ExitCode.SELFTEST}, done.err
    found = json.loads((lsmeter.home / "found.json").read_text())
    assert found["passed"] == (done.code == ExitCode.OK)
    return {row["name"]: row for row in found["scenarios"]}


def test_every_interval_holds_the_truth(rows: dict[str, dict[str, Any]]) -> None:
    assert list(rows) == [item.name for item in PLAN.scenarios]
    for name, row in rows.items():
        truth, whole = row["truth"]["whole"], row["whole"]
        assert whole["low"] <= truth <= whole["high"], (name, truth, whole)


def test_the_programs_counted_what_was_injected(rows: dict[str, dict[str, Any]]) -> None:
    for name, row in rows.items():
        truth, counted = row["truth"]["whole"], row["truth"]["counted_whole"]
        assert counted == pytest.approx(truth, rel=0.2, abs=3), name  # in no period: of some cycles


def test_no_cost_is_missed(rows: dict[str, dict[str, Any]]) -> None:
    for item in PLAN.scenarios:
        allowed = {verdict.value for verdict in item.verdicts}
        if item.is_control:
            allowed.add("inconclusive")
        assert rows[item.name]["verdict"] in allowed, item.name
