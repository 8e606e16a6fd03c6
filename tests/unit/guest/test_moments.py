# SPDX-License-Identifier: GPL-2.0-or-later
"""Moments of a monitored guest: which lines are believed, which contradict what was asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lsmeter.core.model import BenchmarkStatus
from lsmeter.guest.protocol import MAX_MOMENTS
from lsmeter.guest.session import Session, parse_session
from tests.unit.guest.lines import asked, ended, lines, restated

STAT = "cpu,441,0,1242,11,0,0,0,0,0,0;ctxt,6788;"
SAID = lines(
    "begin 0 page",
    "moment 0 0 begin 1000000000 lost=0",
    f"seen 0 stat {STAT}",
    "seen 0 processes 92,0,0,7,0,1,1556480,33,init;",
    "moment 0 0 within 1050000000 lost=0",
    f"seen 0 stat {STAT}",
    "moment 0 0 end 1070000000 lost=3",
    "moment 0 1 begin 1100000000 lost=0",
    "moment 0 1 end 1200000000 lost=0",
    "said 0 units=1",
    "samples 0 7",
    ended(0, 7),
    "bye 1",
)
REQUEST = asked("page", clients=(("page", "1", "client", "/client"),), monitor_ms=50, vary=1)


def read(said: bytes, **more: object) -> Session:
    return parse_session(said, replace(REQUEST, warmup=1, **more))  # type: ignore[arg-type]


def test_moments_are_kept_as_they_came() -> None:
    found = read(SAID)
    assert (found.garbage, found.contradiction) == ((), "")
    assert [item.status for item in found.samples] == [BenchmarkStatus.OK]
    first, *_, last = found.moments
    assert (first.batch, first.when, first.time_ns) == (0, "begin", 1_000_000_000)
    assert first.texts == {"stat": STAT, "processes": "92,0,0,7,0,1,1556480,33,init;"}
    assert [moment.lost for moment in found.moments] == [0, 0, 3, 0, 0]
    assert (last.batch, last.when, last.texts) == (1, "end", {})


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        ("moment 0 0 begin", "moment 0 0 within", "the within of batch 0 out of its order"),
        ("moment 0 0 begin", "moment 0 1 begin", "the begin of batch 1 out of its order"),
        ("moment 0 0 within", "moment 0 0 begin", "the begin of batch 0 out of its order"),
        ("moment 0 1 begin", "moment 0 0 within", "the within of batch 0 out of its order"),
        ("moment 0 1 begin", "moment 0 2 begin", "the begin of batch 2 out of its order"),
        ("1000000000 lost=0", "1000000000 lost=1", "the begin of batch 0 out of its order"),
        ("within 1050000000", "within 1000000000", "no later than the last"),
        ("begin 1100000000", "begin 1060000000", "no later than the last"),
        ("seen 0 processes 92,0,0,7,0,1,1556480,33,init;", f"seen 0 stat {STAT}", "stat twice"),
        ("moment 0 1 end 1200000000 lost=0\n", "", "moments of its last batch are missing"),
        ("said 0", "moment 0 2 begin 1300000000 lost=0\nsaid 0", "batch 2 out of its order"),
    ],
)
def test_what_cannot_follow_contradicts(old: str, new: str, detail: str) -> None:
    assert detail in read(restated(SAID, (old, new))).contradiction


def test_moments_that_nobody_asked_for_contradict() -> None:
    assert "a moment that nobody asked for" in read(SAID, monitor_ms=0).contradiction


def test_a_monitored_guest_that_says_nothing_contradicts() -> None:
    said = lines("begin 0 page", "said 0 units=1", "samples 0 7", ended(0, 7), "bye 1")
    assert "moments of its last batch are missing" in read(said).contradiction


def test_a_benchmark_that_failed_may_have_some() -> None:
    said = lines(
        "begin 0 page", "moment 0 0 begin 5 lost=0", ended(0, status="failed", failures=1), "bye 1"
    )
    assert (read(said).contradiction, len(read(said).moments)) == ("", 1)


@pytest.mark.parametrize(
    "line",
    [
        "seen 0 stat cpu,1",
        "seen 0 stat cpu 1;",
        "seen 0 stat cpu,%2c;",
        "seen 0 stat ;",
        "seen 0 shadow root,1;",
        "seen 0 stat",
        "moment 0 0 begin 1 lost=x",
        "moment 0 0 after 1 lost=0",
        "moment 0 0 begin 1",
        "moment 0 0 begin -1 lost=0",
    ],
)
def test_lines_of_another_form_are_garbage(line: str) -> None:
    said = lines("begin 0 page", "moment 0 0 begin 1 lost=0", line)
    assert len(read(said).garbage) == 1


def test_what_is_seen_at_no_moment_is_garbage() -> None:
    assert len(read(lines("begin 0 page", f"seen 0 stat {STAT}")).garbage) == 1


def test_a_flood_of_moments_contradicts() -> None:
    within = (f"moment 0 0 within {at} lost=0" for at in range(2, MAX_MOMENTS + 2))
    found = read(lines("begin 0 page", "moment 0 0 begin 1 lost=0", *within))
    assert f"more than {MAX_MOMENTS} moments" in found.contradiction
    assert len(found.moments) == MAX_MOMENTS
