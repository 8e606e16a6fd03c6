# SPDX-License-Identifier: GPL-2.0-or-later
"""What strace and perf wrote is read to the last call, or refused in one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lsmeter.core.errors import UsageError
from lsmeter.questions.estimate.profiles import parse_profile, read_profile
from lsmeter.questions.estimate.profiles.model import Calls, Profile

DATA = Path(__file__).parents[2] / "data" / "profiles"
FILES = sorted(path.name for path in DATA.glob("*.txt"))


def text(name: str) -> bytes:
    return (DATA / name).read_bytes()


def of(profile: Profile, name: str) -> Calls:
    (found,) = [item for item in profile.calls if item.name == name]
    return found


@pytest.mark.parametrize(
    ("name", "calls", "tables"),
    [
        ("strace-c-f.txt", 1201, 1),
        ("strace-c-w.txt", None, 1),
        ("strace-c-columns.txt", 118, 1),
        ("strace-stderr.txt", None, 1),
        ("perf-trace-s.txt", None, 6),
        ("perf-trace-errno.txt", None, 1),
        ("perf-trace-calls.txt", None, 1),
    ],
)
def test_every_call_is_read(name: str, calls: int | None, tables: int) -> None:
    found = read_profile(DATA / name)
    assert found.tables == tables
    assert found.clock
    assert sum(1 for item in found.calls) == len({item.name for item in found.calls})
    if name.startswith("strace"):
        (total,) = re.findall(rb"^.*\btotal\b.*$", text(name), re.MULTILINE)
        assert str(round(found.total)).encode() in total.split()
        assert calls in {None, found.total}
    else:
        said = re.findall(rb", ([0-9]+) events, ", text(name))
        # An event as a call begins, one as it ends; the last one of a process does not end.
        assert sum(map(int, said)) - 2 * len(said) <= 2 * found.total <= sum(map(int, said))


def test_what_a_line_says() -> None:
    strace = read_profile(DATA / "strace-c-f.txt")
    assert of(strace, "newfstatat") == Calls("newfstatat", 281, 50, 0.001347)
    assert of(strace, "dup2") == Calls("dup2", 6, 0, 0.0)
    assert strace.calls[0].name == "newfstatat"  # most calls first
    perf = read_profile(DATA / "perf-trace-s.txt")
    assert of(perf, "wait4").calls == 7
    assert of(perf, "wait4").time_s == pytest.approx(0.007818)
    assert of(perf, "openat").errors == 74  # of six processes
    assert (strace.seconds, perf.seconds) == (None, None)
    seconds = read_profile(DATA / "perf-trace-calls.txt").seconds
    assert seconds is not None
    assert 0 < seconds < 1


@pytest.mark.parametrize("name", FILES)
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_file_that_was_cut_off_is_refused(name: str, share: float) -> None:
    whole = text(name).rstrip()
    with pytest.raises(UsageError) as caught:
        parse_profile(whole[: int(share * len(whole))], "x")
    assert "\n" not in caught.value.title


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_a_changed_byte_is_read_or_refused(name: str, data: st.DataObject) -> None:
    whole = bytearray(text(name))
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=5)):
        whole[at] = data.draw(st.integers(0, 255))
    try:
        found = parse_profile(bytes(whole), "x")
    except UsageError:
        return  # in one line, as below
    assert all(0 <= item.errors <= item.calls for item in found.calls)
    assert all(re.fullmatch("[a-z_][a-z0-9_]*", item.name) for item in found.calls)


@given(st.binary(max_size=2000))
@example(b"")
@example(b"\0" * 100)
@example(b"% time syscall\n------ -------\n")
@example(b"Summary of events:\n")
def test_any_bytes_end_in_one_line(data: bytes) -> None:
    with pytest.raises(UsageError) as caught:
        parse_profile(data, "x")
    assert "\n" not in caught.value.title


HEAD = b"% time     seconds  usecs/call     calls    errors syscall\n"
RULE = b"------ ----------- ----------- --------- --------- ----------------\n"


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (b"100.00    0.000001           1         2           read\n", "the total is not"),
        (b"100.00    0.000001           1         1         2 read\n", "more errors"),
        (b"100.00    0.000001           1         -           read\n", "not a line"),
        (b"100.00    0.000001           1         1           re\x1bad\n", "not a line"),
        (b"100.00    0.000001           1         1           Read\n", "not a line"),
        (b"100.00    0.000001           1         1         1 1 read\n", "not a line"),
    ],
)
def test_a_line_that_is_off_is_named(rows: bytes, says: str) -> None:
    total = b"100.00    0.000001           1         1           total\n"
    with pytest.raises(UsageError, match=says) as caught:
        parse_profile(HEAD + RULE + rows + RULE + total, "x")
    assert re.match("x:[345]: ", caught.value.title)


def test_a_number_that_is_wider_than_its_column_is_read() -> None:
    row = b"100.00 123456.000001           1 1234567890         1 read\n"
    total = b"100.00 123456.000001           1 1234567890         1 total\n"
    found = parse_profile(HEAD + RULE + row + RULE + total, "x")
    assert found.calls == (Calls("read", 1234567890, 1, 123456.000001),)


def test_a_summary_without_calls_says_what_to_do() -> None:
    text = b"syscall            % time\n---------------- ------\nread             100.00\n"
    with pytest.raises(UsageError) as caught:
        parse_profile(text, "x")
    assert "no column of calls" in caught.value.title
    assert "--summary-columns" in caught.value.hint


@pytest.mark.parametrize("name", ["strace-c-f.txt", "perf-trace-s.txt"])
def test_a_comma_may_stand_for_the_point(name: str) -> None:
    comma = re.sub(rb"(?<=[0-9])\.(?=[0-9])", b",", text(name))
    assert comma != text(name)
    assert parse_profile(comma, "x") == parse_profile(text(name), "x")


def test_a_summary_without_errors_knows_of_none() -> None:
    assert not read_profile(DATA / "strace-c-f.txt").errors_unknown
    lines = [b"    calls syscall", b"--------- -------", b"        3 read   "]
    total = [lines[1], b"        3 total  "]
    found = parse_profile(b"\n".join([*lines, *total]) + b"\n", "x")
    assert found.errors_unknown == {"read"}


def test_programs_of_two_kinds_are_added_up() -> None:
    one = HEAD + RULE + b"100.00    0.000001           1         3         1 read\n" + RULE
    one += b"100.00    0.000001                     3         1 total\n"
    mode = b"System call usage summary for 32 bit mode:\n"
    found = parse_profile(one + mode + one, "x")
    assert found.calls == (Calls("read", 6, 2, 0.000002),)
    assert found.tables == 2


def test_a_summary_whose_events_were_lost_is_refused() -> None:
    whole = b"LOST 30 events!\nLOST 12 events!\n" + text("perf-trace-s.txt")
    with pytest.raises(UsageError, match="perf lost 42 events"):
        parse_profile(whole, "x")


def test_the_newer_summaries_of_perf_are_read() -> None:
    lines = text("perf-trace-errno.txt").split(b"\n")
    (heads,) = (n for n, line in enumerate(lines) if b"stddev" in line)
    head = b"\n".join(lines[heads : heads + 3]) + b"\n"
    row = b"   io_uring_enter        12      3     1.500     0.001     0.100     0.900     12.00%\n"
    for kind in (b" thread (12)", b" total", b" cgroup /x"):
        table = kind + b", 24 events\n\n" + head + row + b"\n\n"
        found = parse_profile(b"\n Summary of events:\n\n" + table, "x")
        assert found.calls == (Calls("io_uring_enter", 12, 3, 0.0015),)
