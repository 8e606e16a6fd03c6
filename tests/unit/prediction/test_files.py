# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of calibrations: what was written comes back; what anybody else wrote is judged first."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lsmeter.core.errors import LsmeterError, UsageError
from lsmeter.measure.results.documents import DamagedResultError, sealed
from lsmeter.questions.time import calibration as calibrations
from lsmeter.questions.time.calibration import (
    Overheads,
    find_calibration,
    keep,
    kept,
    of_host,
    read_calibration,
)
from tests.unit.prediction import synthetic

GOOD = synthetic.calibration(operations=6, variants=2)


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_DATA", str(tmp_path / "data"))


def written(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Write a file that is sealed as it should be, with a change of its content."""
    content = json.loads(calibrations.to_bytes(GOOD))
    for key in ("format", "version", "sha256"):
        del content[key]
    change(content)
    path = folder / "given.json"
    path.write_bytes(sealed(calibrations.FORMAT, calibrations.VERSION, content))
    return path


def test_what_was_written_comes_back() -> None:
    path = keep(GOOD)
    assert path.name == "synthetic.json"
    assert read_calibration(path) == GOOD
    assert find_calibration("synthetic") == GOOD
    assert find_calibration(str(path)) == GOOD


def test_one_that_tried_no_setup_is_read_and_tells_no_overhead(tmp_path: Path) -> None:
    """Those of version 3 have nothing of overheads."""
    content = json.loads(calibrations.to_bytes(GOOD))
    for key in ("format", "version", "sha256", "overheads"):
        del content[key]
    path = tmp_path / "three.json"
    path.write_bytes(sealed(calibrations.FORMAT, 3, content))
    assert read_calibration(path) == GOOD
    assert not read_calibration(path).tells_overheads
    told = replace(GOOD, overheads=Overheads(("landlock",), 45, 0.02, 0.08))
    assert read_calibration(keep(told)) == told
    assert told.tells_overheads


def test_a_wrong_error_of_overheads_is_refused(tmp_path: Path) -> None:
    worse = {"setups": ["landlock"], "changed": 3, "median": -0.1, "most": 0.2}
    with pytest.raises(DamagedResultError, match="below 0"):
        read_calibration(written(tmp_path, lambda content: content.update(overheads=worse)))


def test_the_newest_of_this_host_serves() -> None:
    other = replace(GOOD.host, microcode="0x2")
    keep(replace(GOOD, name="old", created="2026-01-01T00:00:00+00:00"))
    keep(replace(GOOD, name="new", created="2026-02-01T00:00:00+00:00"))
    keep(replace(GOOD, name="other", created="2026-03-01T00:00:00+00:00", host=other))
    assert [item.name for item in kept()] == ["other", "new", "old"]
    found = of_host(GOOD.host)
    assert found is not None
    assert found.name == "new"
    assert of_host(replace(other, kernel="7.0")) is None


def test_a_damaged_one_is_passed_over_and_named_when_asked_for() -> None:
    keep(GOOD)
    path = keep(replace(GOOD, name="bad"))
    path.write_bytes(path.read_bytes().replace(b"0.", b"1.", 1))
    assert [item.name for item in kept()] == ["synthetic"]
    with pytest.raises(DamagedResultError, match="digest"):
        find_calibration("bad")


def test_a_name_that_is_none_gets_the_nearest() -> None:
    keep(GOOD)
    with pytest.raises(UsageError, match=r"'syntetic'.*synthetic"):
        find_calibration("syntetic")
    with pytest.raises(UsageError, match="cannot read"):
        find_calibration("no/such.json")


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "is missing": lambda c: c.pop("weights_ns"),
    "unknown key 'more'": lambda c: c.update(more=1),
    "there is no event 'magic'": lambda c: c["weights_ns"].update(magic=1.0),
    "no weights": lambda c: c.update(weights_ns={}),
    "below 0": lambda c: c["weights_ns"].update(locked=-1.0),
    "too large": lambda c: c["weights_ns"].update(locked=1e300),
    "valid number": lambda c: c["weights_ns"].update(locked="1"),
    "ends before": lambda c: c["insns"].update(least=1e9),
    "takes no time": lambda c: c["left_out"][0].update(measured_ns=0.0),
    "covers 5 operations": lambda c: c.update(left_out=c["left_out"][:10]),
    "of no block": lambda c: c.update(blocks=0),
    "cannot be printed": lambda c: c["host"].update(cpu="\x1b[2J"),
    "more than 200 letters": lambda c: c["host"].update(cpu="x" * 201),
    "entries in one place": lambda c: c.update(left_out=c["left_out"] * 1000),
    "too deep|more than 16 deep": lambda c: c.update(name=json.loads("[" * 40 + "]" * 40)),
}


@pytest.mark.parametrize("said", CHANGES)
def test_what_cannot_be_is_refused_in_one_line(tmp_path: Path, said: str) -> None:
    words = {"is missing": "weights_ns: Field required"}.get(said, said)
    with pytest.raises(LsmeterError, match=words) as caught:
        read_calibration(written(tmp_path, CHANGES[said]))
    assert "\n" not in caught.value.title
    assert "given.json" in caught.value.title


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b"{" * 100_000, b'{"format": 1}'])
def test_what_is_no_calibration_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "given.json"
    path.write_bytes(data)
    with pytest.raises(DamagedResultError):
        read_calibration(path)


def test_a_pipe_is_not_waited_for() -> None:
    with pytest.raises(UsageError, match="character device"):
        read_calibration(Path("/dev/zero"))
