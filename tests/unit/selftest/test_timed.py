# SPDX-License-Identifier: GPL-2.0-or-later
"""The selftest of the timed instrument: what is spun is found, and what is not found is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lsmeter.measure.experiment.plan import PlannedBoot
from lsmeter.questions.selftest.spun import Recovery, TimedReport, document, recoveries
from lsmeter.tables.render import Options, render
from tests.unit import timed_builders as timed

READINGS = 40
SPUN_NS = 100.0
TOTAL = round(READINGS * SPUN_NS * timed.HZ / 1e9)
ONE = TOTAL // READINGS
FACTS = {f"spin.ticks.{timed.STAT.id}": f"{TOTAL} {ONE} {ONE}"}


def found(path: Path, ns: float, facts: dict[str, str] | None = None) -> tuple[Recovery, ...]:
    """Return what is found where each operation took `ns` longer."""

    def vary(draw: np.random.Generator, planned: PlannedBoot, name: str, count: int) -> Any:
        longer = ns / 500 * (planned.cell.setup.name != "capability" and name == timed.STAT.id)
        return timed.noise(draw, planned, name, count) + longer

    run = timed.run(path, {}, setups=("spin",), facts=facts or FACTS, vary=vary)
    return tuple(item for item in recoveries(run) if item.setup == "spin")


def test_what_was_spun_is_found(tmp_path: Path) -> None:
    (item,) = found(tmp_path / "run", SPUN_NS)
    assert (item.truth.mean, item.truth.share) == (SPUN_NS, 1.0)
    assert item.passed


@pytest.mark.parametrize("ns", [0.0, 70.0, 130.0])
def test_what_was_not_spun_is_not_found(tmp_path: Path, ns: float) -> None:
    (item,) = found(tmp_path / "run", ns)
    assert not item.passed


@pytest.mark.parametrize("said", ["", "7", "x y z", "0 0 0", "1 2 3 4", "9" * 400 + " 1 1"])
def test_a_probe_that_does_not_say_what_it_spun_is_no_truth(tmp_path: Path, said: str) -> None:
    facts = {f"spin.ticks.{timed.STAT.id}": said}
    assert found(tmp_path / "run", SPUN_NS, facts) == ()


def test_the_document_says_what_passed(tmp_path: Path) -> None:
    made = TimedReport(found(tmp_path / "run", SPUN_NS))
    assert made.passed
    data = json.loads(render(document(made), "json", Options(width=80)))
    assert data["passed"] is True
    assert data["spun"][0]["truth"]["mean"] == SPUN_NS
    text = render(document(made), "text", Options(width=72))
    assert "1 of 1 times spun on this machine are found" in " ".join(text.split())


def test_the_document_says_what_failed(tmp_path: Path) -> None:
    wrong = TimedReport(found(tmp_path / "run", 0.0))
    assert not wrong.passed
    text = render(document(wrong), "text", Options(width=72))
    assert text.count("FAIL") == 2
    assert not TimedReport(()).passed  # it was to be measured, and no truth was told
