# SPDX-License-Identifier: GPL-2.0-or-later
"""What was recorded comes back: by setup, task and index, with its ending and outputs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.errors import UsageError
from lsmeter.core.limits import Limits
from lsmeter.core.model import Task
from lsmeter.guest.capture import Capture, Ending
from lsmeter.machines.replay import MACHINE, RECORD, REPLAY, record
from lsmeter.measure.experiment.plan import PlannedBoot
from tests.unit.model_builders import cell

READINGS = PlannedBoot(cell(parse_setup("landlock:layers=2")), 0, 42)
NAME = READINGS.cell.setup.name
ATTRIBUTED = replace(READINGS, cell=replace(READINGS.cell, task=Task("attribute")), index=1)
HUNG = Capture(b"0 hello", b"Linux\n", Ending.SILENT, None, 61.5, "warning")
WHOLE = Capture(b"1 bye", b"", Ending.EXITED, 0, 2.0, outputs={"attribution": b"tree"})


@pytest.fixture(autouse=True)
def _recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RECORD, str(tmp_path))
    monkeypatch.setenv(REPLAY, str(tmp_path))
    record(READINGS, HUNG)
    record(ATTRIBUTED, WHOLE)


def replayed(planned: PlannedBoot, told: list[bytes] | None = None) -> Capture:
    told = [] if told is None else told
    return asyncio.run(MACHINE.run(planned, Limits(), told.append))


def test_each_boot_is_replayed_as_it_was() -> None:
    told: list[bytes] = []
    assert replayed(READINGS, told) == HUNG
    assert replayed(ATTRIBUTED, told) == WHOLE
    assert told == [HUNG.results, WHOLE.results]


def test_the_recordings_are_its_identity(tmp_path: Path) -> None:
    before = MACHINE.identity()
    assert MACHINE.identity(["attribution"]).keys() == {"recordings", "attribution"}
    (tmp_path / NAME / "readings-0/results").write_bytes(b"other")
    assert MACHINE.identity() != before


def test_what_was_never_recorded_or_is_damaged_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"readings-7: no recording of this boot"):
        replayed(replace(READINGS, index=7))
    (tmp_path / NAME / "readings-0/capture.json").write_text("{}")
    with pytest.raises(UsageError, match=r"readings-0: no recording of this boot: 'ending'"):
        replayed(READINGS)


def test_without_a_directory_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(REPLAY)
    with pytest.raises(UsageError, match="needs LSMETER_REPLAY"):
        MACHINE.identity()
    monkeypatch.delenv(RECORD)
    record(READINGS, HUNG)  # nowhere
