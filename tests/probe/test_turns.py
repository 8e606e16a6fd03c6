# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that measure in turns: in step whatever becomes of one of them, and never for ever."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.model import BenchmarkStatus
from lsmeter.guest.probe import Program
from lsmeter.guest.request import Request
from lsmeter.guest.session import Session, parse_session
from lsmeter.machines.here import Seat, seats
from lsmeter.machines.workplace import relocated
from tests.conftest import DEADLINE_S
from tests.probe.conftest import built
from tests.probe.test_native import USER

OPS = Path(__file__).with_name("turn_ops.c")
IDS = ("empty", "trouble", "stat depth=1")


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return built(tmp_path_factory.mktemp("turns"), f"OPS={OPS}", "CFLAGS=-O2 -DTURNS_HOLD_S=10")


def begin(
    probe: Program, top: Path, seat: Seat, *ids: str, setup: str = "running", **more: Any
) -> tuple[subprocess.Popen[bytes], Request]:
    options: dict[str, object] = {"samples": 30, "warmup": 5, "timed": True, "user": USER, **more}
    asked = Request("file", ids, icount_shift=0, **options)  # type: ignore[arg-type]
    asked = replace(asked, setup=relocated(parse_setup(setup), top))
    (top / "request").write_bytes(asked.to_bytes())
    words = [str(probe.path), "native", str(top), str(top / "request"), *seat]
    return subprocess.Popen(words, stdout=subprocess.PIPE), asked


def in_turns(
    probe: Program, home: Path, troubles: tuple[str, ...], **more: Any
) -> list[tuple[Session, int]]:
    """Run a process for each trouble, "" for none; gives sessions and exit codes."""
    begun = []
    with seats(len(troubles)) as places:
        for seat, trouble in zip(places, troubles, strict=True):
            top = home / seat[1]
            top.mkdir()
            top.joinpath(trouble or "none").touch()
            begun.append(begin(probe, top, seat, *IDS, **more))
        ends = [process.communicate(timeout=DEADLINE_S)[0] for process, _ in begun]
    return [
        (parse_session(said, asked), process.returncode)
        for said, (process, asked) in zip(ends, begun, strict=True)
    ]


def statuses(session: Session) -> list[BenchmarkStatus]:
    return [item.status for item in session.samples]


OK = BenchmarkStatus.OK


def test_those_who_take_turns_say_so_by_one_name(troubled: Program, tmp_path: Path) -> None:
    found = in_turns(troubled, tmp_path, ("", "", ""))
    facts = [dict(session.facts) for session, _ in found]
    assert [code for _, code in found] == [0, 0, 0]
    assert [statuses(session) for session, _ in found] == [[OK] * 3] * 3
    assert all(len(item.values) == 30 for session, _ in found for item in session.samples)
    assert len({fact["turns.ring"] for fact in facts}) == 1
    assert {fact["turns.members"] for fact in facts} == {"3"}
    assert not [fact for fact in facts if "turns.lost" in fact or "turns.without" in fact]


@pytest.mark.parametrize(
    ("trouble", "status"),
    [("skip", "skipped"), ("crash", "crashed"), ("fail", "failed"), ("hang", "timeout")],
)
def test_what_goes_wrong_in_one_leaves_the_others_in_step(
    troubled: Program, tmp_path: Path, trouble: str, status: str
) -> None:
    """The deadline counts what a benchmark takes, not what it waits for its turns."""
    found = in_turns(troubled, tmp_path, ("", trouble, ""), benchmark_deadline_ms=2_000)
    assert [code for _, code in found] == [0, 0, 0]
    first, second, third = (session for session, _ in found)
    assert statuses(first) == statuses(third) == [OK] * 3
    assert statuses(second) == [OK, BenchmarkStatus(status), OK]
    names = {dict(session.facts).get("turns.ring") for session, _ in found}
    assert len(names) == 1
    assert None not in names


def test_one_that_is_killed_is_left_out(troubled: Program, tmp_path: Path) -> None:
    found = in_turns(troubled, tmp_path, ("", "killed", ""))
    assert [code for _, code in found] == [0, -9, 0]
    assert not found[1][0].complete
    for session, _ in (found[0], found[2]):
        facts = dict(session.facts)
        assert statuses(session) == [OK] * 3
        assert (facts["turns.members"], facts["turns.without"]) == ("3", "1 of 3")


def test_one_that_hangs_is_left_out_and_goes_on_alone(troubled: Program, tmp_path: Path) -> None:
    with seats(2) as places:
        begun = []
        for seat, trouble in zip(places, ("none", "stopped"), strict=True):
            top = tmp_path / trouble
            top.mkdir()
            top.joinpath(trouble).touch()
            begun.append(begin(troubled, top, seat, *IDS))
        (first, asked), (hung, same) = begun
        session = parse_session(first.communicate(timeout=DEADLINE_S)[0], asked)
        hung.send_signal(signal.SIGCONT)
        alone = parse_session(hung.communicate(timeout=DEADLINE_S)[0], same)
    assert statuses(session) == statuses(alone) == [OK] * 3
    assert dict(session.facts)["turns.without"] == "1 of 2"
    assert "turns.lost" in dict(alone.facts)
    assert "turns.ring" not in dict(alone.facts)


def test_setups_keep_their_places_behind_landlock(troubled: Program, tmp_path: Path) -> None:
    found = in_turns(troubled, tmp_path, ("", ""), setup="landlock:layers=2")
    if int(dict(found[0][0].facts).get("landlock.abi", "0")) < 0:
        pytest.skip("no Landlock runs here")
    assert [statuses(session) for session, _ in found] == [[OK] * 3] * 2


def test_who_comes_late_goes_on_alone_and_says_so(troubled: Program, tmp_path: Path) -> None:
    with seats(1) as (seat,):
        for name in ("first", "late"):
            (tmp_path / name).mkdir()
            process, asked = begin(troubled, tmp_path / name, seat, *IDS)
            session = parse_session(process.communicate(timeout=DEADLINE_S)[0], asked)
            assert statuses(session) == [OK] * 3
            assert ("turns.lost" in dict(session.facts)) == (name == "late")
            assert ("turns.ring" in dict(session.facts)) == (name == "first")


@pytest.mark.parametrize("place", ["9", "-1"])
def test_a_place_that_is_not_there_is_refused(
    troubled: Program, tmp_path: Path, place: str
) -> None:
    with seats(2) as (seat, _):
        process, asked = begin(troubled, tmp_path, (seat[0], place), *IDS)
        session = parse_session(process.communicate(timeout=DEADLINE_S)[0], asked)
    assert process.returncode == 2
    assert "turns" in session.errors[0]
    empty = tmp_path / "empty"
    empty.touch()
    process, asked = begin(troubled, tmp_path, (str(empty), "0"), *IDS)
    assert process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 2
