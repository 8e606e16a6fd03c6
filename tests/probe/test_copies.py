# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies of a benchmark that run at once: readings of each, under the load of all."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.core.host import cores
from lsmeter.core.model import BenchmarkStatus
from lsmeter.guest.probe import Program
from lsmeter.guest.request import Request
from lsmeter.guest.session import Session, parse_session
from tests.conftest import DEADLINE_S
from tests.probe.conftest import built
from tests.probe.test_native import USER
from tests.probe.test_request import check
from tests.probe.test_turns import IDS, OK, OPS, in_turns, statuses

SLOW_NS = 2_000_000  # turn_ops.c
pytestmark = pytest.mark.skipif(cores() < 2, reason="each copy has a CPU of its own")


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return built(tmp_path_factory.mktemp("copies"), f"OPS={OPS}")


def ask(*ids: str, **more: object) -> Request:
    options: dict[str, object] = {"samples": 30, "warmup": 5, "copies": 2, **more}
    return Request("file", ids, icount_shift=0, timed=True, user=USER, **options)  # type: ignore[arg-type]


def run(probe: Program, top: Path, asked: Request) -> tuple[Session, int]:
    (top / "request").write_bytes(asked.to_bytes())
    words = [str(probe.path), "native", str(top), str(top / "request")]
    done = subprocess.run(words, stdout=subprocess.PIPE, timeout=DEADLINE_S, check=False)
    return parse_session(done.stdout, asked), done.returncode


def test_readings_are_of_each_copy_by_turns(troubled: Program, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    session, code = run(troubled, tmp_path, ask("empty", "uneven", "stat depth=1"))
    facts = dict(session.facts)
    assert (code, statuses(session), facts["copies"]) == (0, [OK] * 3, "2")
    assert [len(item.values) for item in session.samples] == [30] * 3
    ticks = SLOW_NS * int(facts["timing.hz"]) / 1e9
    uneven = session.samples[1].values
    assert min(uneven[1::2]) >= ticks
    assert min(uneven[0::2]) < ticks


def test_the_fast_one_goes_on_until_the_slow_one_is_done(troubled: Program, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    run(troubled, tmp_path, ask("uneven"))
    fast, slow = (int((tmp_path / f"made.{place}").read_text()) for place in (0, 1))
    assert slow >= 35
    assert fast > slow


@pytest.mark.parametrize(
    ("trouble", "status"),
    [("skip", "skipped"), ("crash", "crashed"), ("fail", "failed"), ("hang", "timeout")],
)
@pytest.mark.parametrize("place", [0, 1])
def test_what_goes_wrong_in_one_copy_went_wrong(
    troubled: Program, tmp_path: Path, trouble: str, status: str, place: int
) -> None:
    tmp_path.joinpath(f"{trouble}.{place}").touch()
    session, code = run(troubled, tmp_path, ask(*IDS, benchmark_deadline_ms=3_000))
    assert code == 0
    assert statuses(session) == [OK, BenchmarkStatus(status), OK]
    assert not session.samples[1].values


def test_setups_that_take_turns_have_copies_each(troubled: Program, tmp_path: Path) -> None:
    found = in_turns(troubled, tmp_path, ("", "crash.1", ""), copies=2)
    assert [code for _, code in found] == [0, 0, 0]
    first, second, third = (statuses(session) for session, _ in found)
    assert first == third == [OK] * 3
    assert second == [OK, BenchmarkStatus.CRASHED, OK]
    assert len({dict(session.facts)["turns.ring"] for session, _ in found}) == 1


def test_more_copies_than_processors_are_refused(troubled: Program, tmp_path: Path) -> None:
    session, code = run(troubled, tmp_path, ask(*IDS, copies=1024))
    assert code == 0
    assert f"1024 copies at once, with {cores()} CPUs" in session.errors[0]
    assert not any(item.values for item in session.samples)


@pytest.mark.parametrize("more", [{"timed": False}, {"cold": True}])
def test_copies_are_of_warm_times_alone(
    troubled: Program, tmp_path: Path, more: dict[str, bool]
) -> None:
    wrong = replace(ask("empty"), **more).to_bytes()  # type: ignore[arg-type]
    assert "copies needs timed" in check(troubled, tmp_path, wrong)
