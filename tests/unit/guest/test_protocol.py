# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import zlib
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.guest import protocol
from lsmeter.guest.events import (
    Begin,
    Bye,
    Counts,
    End,
    ErrorLine,
    Event,
    Fact,
    GarbageError,
    Hello,
    IdleSpan,
    RoundDone,
    Ticked,
    Values,
    WholeEnd,
)
from lsmeter.guest.protocol import Parser
from lsmeter.model import BenchmarkStatus, Idle, Round


def line(body: str) -> bytes:
    data = body.encode()
    return data + b" *%08x\n" % zlib.crc32(data)


def session(*bodies: str) -> bytes:
    hello = line("0 hello version=1 probe=lsmeter-probe")
    return hello + b"".join(line(f"{n} {body}") for n, body in enumerate(bodies, 1))


def parse(data: bytes) -> list[Event]:
    parser = Parser()
    return [*parser.feed(data), *parser.close()]


def reasons(data: bytes) -> list[str]:
    return [event.reason for event in parse(data) if isinstance(event, GarbageError)]


GOOD = session(
    "fact lsm lockdown,capability",
    "fact kernel.cmdline a%20b%0a",
    "begin 0 open%20depth=1",
    "samples 0 10x3,12,10x2",
    "samples 0 7",
    "counts 0 inode_permission 2x7",
    "counts 0 d_instantiate 1x6",
    "counts 0 d_instantiate 0",
    "end 0 status=ok n=7 failures=0 errno=0 detail=",
    "begin 1 empty sweep=500",
    "end 1 status=failed n=0 failures=3 errno=13 detail=no%20luck",
    "error out%20of%20it",
    "bye 2",
)


def test_every_kind_of_line() -> None:
    assert parse(GOOD) == [
        Hello(1, "lsmeter-probe"),
        Fact("lsm", "lockdown,capability"),
        Fact("kernel.cmdline", "a b\n"),
        Begin(0, "open depth=1"),
        Values(0, (10, 10, 10, 12, 10, 10)),
        Values(0, (7,)),
        Counts(0, "inode_permission", (2,) * 7),
        Counts(0, "d_instantiate", (1,) * 6),
        Counts(0, "d_instantiate", (0,)),
        End(0, BenchmarkStatus.OK, 7, 0, 0, ""),
        Begin(1, "empty", "500"),
        End(1, BenchmarkStatus.FAILED, 0, 3, 13, "no luck"),
        ErrorLine("out of it"),
        Bye(2),
    ]


@given(st.lists(st.integers(1, len(GOOD) - 1), unique=True).map(sorted))
def test_pieces_of_any_size_give_the_same_events(cuts: list[int]) -> None:
    parser = Parser()
    edges = [0, *cuts, len(GOOD)]
    events = [e for a, b in pairwise(edges) for e in parser.feed(GOOD[a:b])]
    assert events == parse(GOOD)


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=100), st.text(max_size=200))
def test_round_trip(values: list[int], text: str) -> None:
    encoded = quote(text, safe="_.,:;/=+()-").replace("~", "%7e")
    encoded = "".join(
        c.lower() if n and "%" in encoded[max(0, n - 2) : n] else c for n, c in enumerate(encoded)
    )
    data = session(
        f"fact key {encoded}",
        "begin 0 empty",
        "samples 0 " + ",".join(map(str, values)),
        f"end 0 status=ok n={len(values)} failures=0 errno=0 detail=",
    )
    events = parse(data)
    assert events[1] == Fact("key", text)
    assert events[3] == Values(0, tuple(values))
    assert not reasons(data)


@given(st.binary(max_size=3000))
def test_any_bytes_give_only_garbage(data: bytes) -> None:
    events = parse(data)
    assert all(isinstance(event, GarbageError) for event in events)
    assert len(events) <= data.count(b"\n") + 1


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed(at: int, change: int) -> None:
    damaged = bytearray(GOOD)
    damaged[at] ^= change
    assert reasons(bytes(damaged))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("fact onlykey", "a wrong number of fields"),
        ("fact key va%ZZ", "value: not encoded as it must be"),
        ("begin 1 empty extra=1", "sweep= was expected"),
        ("samples 0 1", "readings of a benchmark that has not begun"),
        ("end 0 status=ok n=0 failures=0 errno=0 detail=", "readings of a benchmark that"),
        ("counts 0 open 1", "readings of a benchmark that has not begun"),
        ("counts 0 open", "a wrong number of fields"),
        ("counts 0 Open 1", "hook: not a name"),
        ("counts 0 open 1,", "readings: not numbers"),
        ("dance", "an unknown kind of line"),
        ("hello version=1 probe=again", "hello must come first, and once"),
        ("bye 01", "benchmarks: not a number"),
        ("bye 99999999999999999999", "benchmarks: not a number"),
        ("", "an unknown kind of line"),
    ],
)
def test_wrong_lines(body: str, reason: str) -> None:
    (said,) = reasons(session(body))
    assert said.startswith(reason)


def test_wrong_version_and_missing_hello() -> None:
    assert reasons(line("0 hello version=2 probe=x")) == ["version 2 of the protocol, not 1"]
    assert reasons(line("0 bye 0")) == ["hello must come first, and once"]


def test_one_lost_line_is_one_error() -> None:
    lines = GOOD.splitlines(keepends=True)
    assert reasons(b"".join([lines[0], *lines[2:]])) == ["line 1 was expected, 2 came"]


def test_readings_must_add_up() -> None:
    data = session(
        "begin 0 empty", "samples 0 1x2", "end 0 status=ok n=3 failures=0 errno=0 detail="
    )
    assert reasons(data) == ["3 readings were announced, 2 came"]


def test_every_reading_of_a_benchmark_counts_every_hook() -> None:
    begin, end = "begin 0 empty", "end 0 status=ok n=2 failures=0 errno=0 detail="
    many = session(begin, "samples 0 1x2", "counts 0 file_open 1x2", "counts 0 file_open 1", end)
    assert reasons(many) == [
        "more counts than readings",
    ]
    few = session(begin, "samples 0 1x2", "counts 0 file_open 1", end)
    assert reasons(few) == ["hooks were not counted in every reading"]


def test_there_are_no_more_hooks_than_kernels_have() -> None:
    lines = [f"counts 0 hook{number} 1" for number in range(protocol.MAX_HOOKS + 1)]
    data = session("begin 0 empty", "samples 0 1", *lines)
    assert reasons(data) == ["too many hooks"]


def test_run_lengths_cannot_fill_memory() -> None:
    many = protocol.MAX_VALUES
    data = session("begin 0 empty", f"samples 0 1x{many}", "samples 0 1")
    assert reasons(data) == ["too many readings"]
    assert reasons(session("begin 0 empty", f"samples 0 1x{many},1x{many}")) == [
        "readings: too large or too many"
    ]


def test_an_endless_line_is_held_in_bounds() -> None:
    parser = Parser()
    events = [event for _ in range(1000) for event in parser.feed(b"x" * 4096)]
    assert [e.reason for e in events if isinstance(e, GarbageError)] == ["a line is too long"]
    assert len(parser._pending) < protocol.LINE_BYTES
    parser.feed(b"\n")
    assert parser.feed(line("0 hello version=1 probe=p")) == [Hello(1, "p")]


def test_garbage_is_told_a_hundred_times_at_most() -> None:
    said = reasons(b"junk\n" * 100_000)
    assert len(said) == protocol.MAX_GARBAGE + 1
    assert said[-1] == "too much garbage; the rest of it is not listed"


def test_garbage_names_its_place_and_is_escaped() -> None:
    (event,) = [e for e in parse(GOOD + b"\x1b[31m\xff\n") if isinstance(e, GarbageError)]
    assert event.offset == len(GOOD)
    assert event.excerpt == "\\x1b[31m\\xff"


def test_an_unfinished_line_is_garbage_at_the_end_only() -> None:
    parser = Parser()
    parser.feed(GOOD[:-5])
    (event,) = parser.close()
    assert isinstance(event, GarbageError)
    assert event.reason == "the last line is not finished"


WHOLE = session(
    "idle 32000 400 128",
    "begin 0 open%20depth=1",
    "samples 0 10x4",
    "ticked 0 1,3",
    "round 0 500 17300 1161003 1838718 20563",
    "round 0 500 17300 1162245 1837724 20563",
    "whole 0 status=ok errno=0 detail=",
    "end 0 status=ok n=4 failures=0 errno=0 detail=",
    "bye 1",
)


def test_whole_costs_and_ticks() -> None:
    events = parse(WHOLE)
    assert not reasons(WHOLE)
    assert IdleSpan(Idle(32000, 400, 128)) in events
    assert Ticked(0, (1, 3)) in events
    assert RoundDone(0, Round(500, 17300, 1161003, 1838718, 20563)) in events
    assert WholeEnd(0, BenchmarkStatus.OK, 0, "") in events


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("ticked 0 1,3", "ticked 0 1,4", "a tick in a reading that was not taken"),
        ("ticked 0 1,3", "ticked 1 1", "readings of a benchmark that has not begun"),
        ("round 0 500 17300", "round 0 0 17300", "a round that cannot be"),
        ("1838718 20563", "183 20563", "a round that cannot be"),
        ("round 0 500 17300", "round 0 17300", "a wrong number of fields"),
        ("whole 0 status=ok", "whole 0 status=good", "an unknown status"),
        ("idle 32000 400", "idle 300 400", "an idle span that cannot be"),
        ("idle 32000 400", "idle 0 0", "an idle span that cannot be"),
    ],
)
def test_whole_costs_that_cannot_be(old: str, new: str, reason: str) -> None:
    lines = [line.rsplit(b" *", 1)[0].decode() for line in WHOLE.splitlines()][1:]
    bodies = [text.split(" ", 1)[1].replace(old, new) for text in lines]
    assert reason in reasons(session(*bodies))


def test_rounds_without_end_are_refused() -> None:
    many = ["round 0 500 1 9 9 1"] * (protocol.MAX_ROUNDS + 1)
    assert "too many rounds" in reasons(session("begin 0 a", *many))
