# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from lsmeter.core.model import BenchmarkStatus, HookReadings, Round, Samples, Setup, Whole
from lsmeter.core.model.setup import StateFile
from lsmeter.guest.session import Session, parse_session
from tests.unit.guest.lines import HELLO, asked, ended, line, lines, ran


def session(*bodies: str, of: tuple[str, ...], samples: int = 1, **more: Any) -> Session:
    return parse_session(lines("fact lsm capability", *bodies), asked(*of, samples=samples, **more))


def test_a_whole_boot() -> None:
    found = session(
        *ran(0, "empty", 5, 5),
        *ran(1, "stat%20depth=1", 9, 9),
        "bye 2",
        of=("empty", "stat depth=1"),
        samples=2,
    )
    assert found.complete
    assert found.greeted
    assert found.facts == (("lsm", "capability"),)
    assert found.samples == (
        Samples("empty", BenchmarkStatus.OK, (5, 5)),
        Samples("stat depth=1", BenchmarkStatus.OK, (9, 9)),
    )


CLIENT = (("a", "200", "client", "/client"),)


def test_what_clients_said() -> None:
    said = ("said 0 units=200%20failed=0", "said 0 " + "x" * 1500)
    found = session(*ran(0, "a", 5, 6, more=said), "bye 1", of=("a",), samples=2, clients=CLIENT)
    assert found.contradiction == ""
    assert found.samples[0].said == ("units=200 failed=0", "x" * 1000)


@pytest.mark.parametrize(
    ("count", "clients", "wrong"),
    [
        (1, CLIENT, "a is ok, with 2 readings, and clients of 1 batches said something"),
        (0, CLIENT, "a is ok, with 2 readings, and clients of 0 batches said something"),
        (3, CLIENT, "a: what a client said that nobody asked for"),
        (1, (), "a: what a client said that nobody asked for"),
    ],
)
def test_each_sample_has_what_its_client_said(
    count: int, clients: tuple[tuple[str, ...], ...], wrong: str
) -> None:
    more = ("said 0 units=1",) * count
    found = session(*ran(0, "a", 5, 6, more=more), "bye 1", of=("a",), samples=2, clients=clients)
    assert found.contradiction == wrong
    assert found.samples[0].values == ()


def test_what_was_said_before_a_failure_is_dropped() -> None:
    failed = ended(0, status="failed", failures=1, why="errno=0 detail=connect:%20refused")
    lines = ("begin 0 a", "said 0 units=1", failed, "bye 1")
    found = session(*lines, of=("a",), samples=2, clients=CLIENT)
    assert found.contradiction == ""
    assert found.samples == (Samples("a", BenchmarkStatus.FAILED, (), 1, "connect: refused"),)


def test_counts_are_put_together() -> None:
    counts = ("counts 0 file_open 1x2", "counts 0 capable 2x3", "counts 0 file_open 0")
    said = (*ran(0, "open", 5, 5, 5, more=counts), "bye 1")
    assert session(*said, of=("open",), samples=3, count=True).counts == (
        HookReadings("open", "file_open", (1, 1, 0)),
        HookReadings("open", "capable", (2, 2, 2)),
    )


def test_a_failed_benchmark_gives_no_number_and_no_counts() -> None:
    failed = ended(0, 1, 2, status="failed", failures=7, why="errno=13 detail=call%202")
    found = session(
        *("begin 0 a", "samples 0 1,2", "counts 0 capable 1x2", failed, "bye 1"),
        of=("a",),
        samples=2,
        count=True,
    )
    assert found.counts == ()
    assert found.samples == (Samples("a", BenchmarkStatus.FAILED, (), 7, "EACCES: call 2"),)


def test_what_was_not_reached_is_named() -> None:
    found = session(*ran(0, "a", 1), "begin 1 b", "samples 1 3", of=("a", "b", "c"))
    assert not found.complete
    assert found.unfinished == "b"
    assert [(s.benchmark, s.status.value, s.detail) for s in found.samples[1:]] == [
        ("b", "crashed", "the guest ended while it ran"),
        ("c", "crashed", "the guest ended before it"),
    ]


def test_sweep_values_go_with_their_samples() -> None:
    said = (*ran(0, "a sweep=0", 1), *ran(1, "a sweep=10", 2), "bye 2")
    found = session(*said, of=("a",), sweep_values_ns=(0, 10))
    assert [item.delay_ns for item in found.samples] == [0, 10]
    assert found.complete


def test_errors_are_kept_and_nothing_is_nothing() -> None:
    assert session("error no%20disk", of=()).errors == ("no disk",)
    empty = parse_session(b"", asked("a"))
    assert not empty.greeted
    assert not empty.complete
    assert empty.samples[0].status is BenchmarkStatus.CRASHED


def test_the_state_before_and_after_a_benchmark() -> None:
    states = ("state 0 avc before lookups%3a%201", "state 0 avc after lookups%3a%205")
    avc = Setup("", "", None, states=(StateFile("avc", "/avc"),))
    said = (*ran(0, "open", 5, more=states), "bye 1")
    (reading,) = session(*said, of=("open",), setup=avc).states
    assert (reading.benchmark, reading.state) == ("open", "avc")
    assert (reading.before, reading.after) == ((("lookups", 1),), (("lookups", 5),))


def test_the_whole_cost_goes_with_its_benchmark() -> None:
    more = (
        "ticked 0 2",
        "window 0 24 1 2 0 5,9",
        "window 0 12 1 2 0 5,8",
        "window 0 128 1 4 3",
        "whole 0 status=ok errno=0 detail=",
    )
    found = session(
        *ran(0, "open", 5, 5, 9, more=more),
        *ran(1, "empty", 7, 7, 7),
        "bye 2",
        of=("open", "empty"),
        samples=3,
        whole_ppm=1000,
    )
    opened, empty = found.samples
    assert opened.ticked == (2,)
    assert opened.whole == Whole(
        BenchmarkStatus.OK,
        (Round(24, 1, 2, 0, (5, 9)), Round(12, 1, 2, 0, (5, 8)), Round(128, 1, 4, 3)),
    )
    assert empty.whole is None
    assert empty.ticked == ()


def test_a_whole_cost_that_failed_keeps_the_readings() -> None:
    why = "system%20call%2085,%20number%201%20of%20the%20cycle"
    failed = (f"whole 0 status=failed errno=28 detail={why}",)
    said = (*ran(0, "creat", 5, 5, more=failed), "bye 1")
    (samples,) = session(*said, of=("creat",), samples=2, whole_ppm=1000).samples
    assert samples.status is BenchmarkStatus.OK
    assert samples.values == (5, 5)
    assert samples.whole == Whole(
        BenchmarkStatus.FAILED, (), "ENOSPC: system call 85, number 1 of the cycle"
    )


@pytest.mark.parametrize("version", [1, 3])
def test_another_version_of_the_protocol_is_garbage(version: int) -> None:
    hello = HELLO.replace("version=2", f"version={version}")
    found = parse_session(line(f"0 {hello}"), asked("a", whole_ppm=1000))
    assert f"version {version} of the protocol, not 2" in " ".join(found.garbage)
