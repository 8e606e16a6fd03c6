# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.model import BenchmarkStatus, HookReadings, Samples
from lsmeter.guest import protocol
from lsmeter.guest.request import Request
from lsmeter.guest.session import MAX_ERRORS, Session, SessionReader, parse_session
from tests.unit.guest.lines import ALL, asked, line, lines, restated

ASKED = asked("open depth=1", "empty", samples=7, count=True, sweep_values_ns=(500,))


def parse(data: bytes, asked: Request = ASKED) -> Session:
    return parse_session(data, asked)


def reasons(data: bytes, asked: Request = ASKED) -> list[str]:
    return [text.split(": ", 1)[1].rsplit(": ", 1)[0] for text in parse(data, asked).garbage]


SEVEN = (10, 10, 10, 12, 10, 10, 7)


def of_empty(samples: int) -> Request:
    return asked("empty", samples=samples, **ALL)


GOOD = lines(
    "fact lsm lockdown,capability",
    "fact kernel.cmdline a%20b%0a",
    "begin 0 open%20depth=1 sweep=500",
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
    assert parse(GOOD) == Session(
        facts=(("kernel.cmdline", "a b\n"), ("lsm", "lockdown,capability")),
        samples=(
            Samples("open depth=1", BenchmarkStatus.OK, SEVEN, delay_ns=500),
            Samples("empty", BenchmarkStatus.FAILED, (), 3, "EACCES: no luck", delay_ns=500),
        ),
        errors=("out of it",),
        garbage=(),
        greeted=True,
        complete=True,
        counts=(
            HookReadings("open depth=1", "inode_permission", (2,) * 7),
            HookReadings("open depth=1", "d_instantiate", (1,) * 6 + (0,)),
        ),
    )


@given(st.lists(st.integers(1, len(GOOD) - 1), unique=True).map(sorted))
def test_pieces_of_any_size_give_the_same_session(cuts: list[int]) -> None:
    reader = SessionReader(ASKED)
    for start, stop in pairwise([0, *cuts, len(GOOD)]):
        reader.feed(GOOD[start:stop])
    assert reader.finished == 2
    assert reader.close() == parse(GOOD)


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=100), st.text(max_size=200))
def test_round_trip(values: list[int], text: str) -> None:
    encoded = quote(text, safe="_.,:;/=+()-").replace("~", "%7e")
    encoded = "".join(
        c.lower() if n and "%" in encoded[max(0, n - 2) : n] else c for n, c in enumerate(encoded)
    )
    data = lines(
        f"fact key {encoded}",
        "begin 0 empty",
        "samples 0 " + ",".join(map(str, values)),
        f"end 0 status=ok n={len(values)} failures=0 errno=0 detail=",
    )
    found = parse(data, of_empty(len(values)))
    assert found.facts == (("key", text),)
    assert found.samples[0].values == tuple(values)
    assert not found.garbage


@given(st.binary(max_size=3000))
def test_any_bytes_give_only_garbage(data: bytes) -> None:
    found = parse(data)
    assert not found.greeted
    assert bool(data) == bool(found.garbage)
    assert len(found.garbage) <= data.count(b"\n") + 1


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
    (said,) = reasons(lines(body))
    assert said.startswith(reason)


def test_wrong_version_and_missing_hello() -> None:
    assert reasons(line("0 hello version=3 probe=x")) == ["version 3 of the protocol, not 2"]
    assert reasons(line("0 bye 0")) == ["hello must come first, and once"]


def test_one_lost_line_is_one_error() -> None:
    kept = GOOD.splitlines(keepends=True)
    assert reasons(b"".join([kept[0], *kept[2:]])) == ["line 1 was expected, 2 came"]


def test_readings_must_add_up() -> None:
    data = lines("begin 0 empty", "samples 0 1x2", "end 0 status=ok n=3 failures=0 errno=0 detail=")
    assert reasons(data, of_empty(3)) == ["3 readings were announced, 2 came"]


def test_every_reading_of_a_benchmark_counts_every_hook() -> None:
    begin, end = "begin 0 empty", "end 0 status=ok n=2 failures=0 errno=0 detail="
    many = lines(begin, "samples 0 1x2", "counts 0 file_open 1x2", "counts 0 file_open 1", end)
    assert reasons(many, of_empty(2)) == ["more counts than readings"]
    few = lines(begin, "samples 0 1x2", "counts 0 file_open 1", end)
    assert reasons(few, of_empty(2)) == ["hooks were not counted in every reading"]


def test_there_are_no_more_hooks_than_kernels_have() -> None:
    many = [f"counts 0 hook{number} 1" for number in range(protocol.MAX_HOOKS + 1)]
    data = lines("begin 0 empty", "samples 0 1", *many)
    assert reasons(data, of_empty(1)) == ["too many hooks"]


def test_run_lengths_cannot_fill_memory() -> None:
    many = protocol.MAX_VALUES
    data = lines("begin 0 empty", f"samples 0 1x{many}", "samples 0 1")
    assert reasons(data, of_empty(many)) == ["too many readings"]
    assert reasons(lines("begin 0 empty", f"samples 0 1x{many},1x{many}"), of_empty(many)) == [
        "readings: too large or too many"
    ]


def test_an_endless_line_is_held_in_bounds() -> None:
    reader = SessionReader(asked())
    for _ in range(15):
        reader.feed(b"x" * 4096)
    assert len(reader._lines._pending) < protocol.LINE_BYTES
    reader.feed(b"\n" + lines())
    found = reader.close()
    assert found.greeted
    assert [text.split(": ")[1] for text in found.garbage] == ["a line is too long"]
    assert not reader.over


def test_garbage_is_told_a_hundred_times_at_most() -> None:
    said = reasons(b"junk\n" * 100_000)
    assert len(said) == protocol.MAX_GARBAGE + 1
    assert said[-1] == "too much garbage; the rest of it is not read"


FLOODS = {
    "lines": lines() + b"junk\n" * 40_000,
    "ends of lines": lines() + b"\n" * 200_000,
    "no end of a line": lines() + b"x" * 200_000,
    "errors": lines(*["error no"] * 5000),
}


@pytest.mark.parametrize("said", FLOODS.values(), ids=FLOODS)
@pytest.mark.parametrize("size", [1, 1000, 1 << 30])
def test_nothing_is_read_of_a_flood(
    said: bytes, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it comes: once it is known for one, no line is looked at and nothing is held."""
    reader, seen = SessionReader(asked()), list[bytes]()
    parse_line = reader._lines._parse

    def counted(line: bytes) -> None:
        seen.append(line)
        parse_line(line)

    monkeypatch.setattr(reader._lines, "_parse", counted)
    for start in range(0, len(said), size):
        reader.feed(said[start : start + size])
    assert reader.over
    assert len(seen) <= MAX_ERRORS + 2
    assert len(reader._lines._pending) < protocol.LINE_BYTES
    found = reader.close()
    assert found.greeted
    assert found.garbage or found.contradiction == f"more than {MAX_ERRORS} errors"
    assert found == parse(said, asked())


def test_a_contradiction_ends_the_reading() -> None:
    reader = SessionReader(asked())
    reader.feed(lines("fact a 1", "fact a 2"))
    assert reader.over
    assert reader.close().contradiction.startswith("the fact a twice")
    assert not SessionReader(asked()).over


def test_garbage_names_its_place_and_is_escaped() -> None:
    (text,) = parse(GOOD + b"\x1b[31m\xff\n").garbage
    assert text.startswith(f"byte {len(GOOD)}: ")
    assert text.endswith(": \\x1b[31m\\xff")


def test_an_unfinished_line_is_garbage_at_the_end_only() -> None:
    (text,) = parse(GOOD[:-5]).garbage
    assert "the last line is not finished" in text


TOO_MANY = f"1x{protocol.MAX_TICKS + 2}"
WHOLE = lines(
    "begin 0 open%20depth=1",
    "samples 0 10x4",
    "ticked 0 1,3",
    "window 0 24 816 94072 0 0,2900,2900x4",
    "window 0 12 408 47040 0 0,2900,2900x4",
    "window 0 128 4352 500900 1",
    "whole 0 status=ok errno=0 detail=",
    "end 0 status=ok n=4 failures=0 errno=0 detail=",
    "bye 1",
)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("ticked 0 1,3", "ticked 0 1,4", "a tick in a reading that was not taken"),
        ("ticked 0 1,3", "ticked 1 1", "readings of a benchmark that has not begun"),
        ("window 0 24 816", "window 0 0 816", "a window that cannot be"),
        ("816 94072", "94073 94072", "a window that cannot be"),
        ("window 0 128", "window 0 129", "a window that cannot be"),
        ("500900 1", "500900 500901", "a window that cannot be"),
        ("128 4352 500900 1", f"128 4352 500900 1 {TOO_MANY}", "a window that cannot be"),
        ("window 0 128 4352 500900 1", "window 0 128 4352", "a wrong number of fields"),
        ("whole 0 status=ok", "whole 0 status=good", "an unknown status"),
        ("window 0 128", "idle 300 400 1\nwindow 0 128", "an unknown kind of line"),
    ],
)
def test_whole_costs_that_cannot_be(old: str, new: str, reason: str) -> None:
    one = asked("open depth=1", samples=4, **ALL)
    assert reason in reasons(restated(WHOLE, (old, new)), one)
    assert parse(WHOLE, one).complete


def test_windows_without_end_are_refused() -> None:
    many = ["window 0 24 1 9 0"] * (protocol.MAX_ROUNDS + 1)
    one = asked("getppid", **ALL)
    assert "too many windows" in reasons(lines("begin 0 getppid", *many), one)
