# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads what the probe sends: a strict, bounded, incremental parser of untrusted bytes.

The grammar is in docs/protocol.md. A line is `<number> <kind> <fields> *<crc32>`; whatever is
not one becomes a GarbageError event, and the parser goes on with the next line.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

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
    Part,
    RoundDone,
    State,
    Ticked,
    Values,
    WholeEnd,
)
from lsmeter.model import BenchmarkStatus, Idle, Round

VERSION = 1
LINE_BYTES = 4096
TOTAL_BYTES = 64 << 20
MAX_VALUES = 1_000_000  # readings of one benchmark
MAX_TOTAL_VALUES = 16_000_000  # readings of one boot
MAX_ROUNDS = 64  # of one benchmark
MAX_HOOKS = 512  # of one benchmark
UNREAD = 2**32 - 1  # in counts: a counter was not read, or went back (probe/counter.h)
MAX_EVENTS = 1_000_000
MAX_GARBAGE = 100  # after so many it is told once more, and then no longer
_MAX_INT = 2**63 - 1
_EXCERPT_BYTES = 60

_TAIL = re.compile(rb"(.*) \*([0-9a-f]{8})", re.DOTALL)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_RUN = re.compile(r"(0|[1-9][0-9]{0,18})(?:x([1-9][0-9]{0,6}))?")
_HOOK = re.compile(r"[a-z0-9_.]{1,63}")
_TEXT = re.compile(r"(?:[0-9A-Za-z_.,:;/=+()-]|%[0-9a-f]{2})*")


class _BadLine(Exception):  # noqa: N818  (never leaves this module)
    """Why a line is not one of the protocol."""


class Parser:
    """Turns bytes, fed in pieces of any size, into events; holds one unfinished line at most."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._offset = 0  # of the first pending byte
        self._next = 0  # the number that the next line must have
        self._open: tuple[int, int] | None = None  # benchmark that has begun, its readings so far
        self._hooks: dict[str, int] = {}  # of the open benchmark, with the readings of each
        self._rounds = 0  # of the open benchmark
        self._total_values = 0
        self._events = 0
        self._garbage = 0
        self._greeted = False
        self._closed = False  # said goodbye, or was more than it may be
        self._skipping = False  # inside a line that is too long

    def feed(self, data: bytes) -> list[Event]:
        """Take more bytes and return what they complete. Never raises for what they hold."""
        events: list[Event] = []
        start = 0
        while start < len(data):
            newline = data.find(b"\n", start)
            stop = len(data) if newline < 0 else newline
            self._collect(data[start:stop], events)
            if newline < 0:
                break
            self._finish_line(events)
            start = newline + 1
        return events

    def close(self) -> list[Event]:
        """Say that no more bytes come: an unfinished line is garbage."""
        events: list[Event] = []
        if self._pending and not self._skipping:
            self._add_garbage(events, "the last line is not finished", bytes(self._pending))
        self._pending.clear()
        return events

    def _collect(self, piece: bytes, events: list[Event]) -> None:
        room = LINE_BYTES - 1 - len(self._pending)
        self._pending += piece[: max(room, 0)]
        if self._skipping:
            self._offset += len(piece)
        elif len(piece) > room:
            self._skipping = True
            self._add_garbage(events, "a line is too long", bytes(self._pending))
            self._offset += len(self._pending) + len(piece) - max(room, 0)

    def _finish_line(self, events: list[Event]) -> None:
        line = bytes(self._pending)
        self._pending.clear()
        if self._skipping:
            self._skipping = False
            self._offset += 1
            return
        if self._offset > TOTAL_BYTES or self._events >= MAX_EVENTS:
            self._add_garbage(events, "more than any honest guest says", line)
            self._closed = True
        else:
            try:
                event = self._parse(line)
            except _BadLine as error:
                self._add_garbage(events, str(error), line)
            else:
                self._events += 1
                events.append(event)
        self._offset += len(line) + 1

    def _add_garbage(self, events: list[Event], reason: str, line: bytes) -> None:
        self._garbage += 1
        if self._garbage > MAX_GARBAGE + 1:
            return
        if self._garbage > MAX_GARBAGE:
            reason = "too much garbage; the rest of it is not listed"
        excerpt = line[:_EXCERPT_BYTES].decode("latin-1").encode("unicode_escape").decode()
        events.append(GarbageError(self._offset, reason, excerpt))

    def _parse(self, line: bytes) -> Event:
        if self._closed:
            raise _BadLine("a line after the last one")
        match = _TAIL.fullmatch(line)
        if match is None:
            raise _BadLine("no checksum at the end of the line")
        body, checksum = match.groups()
        if zlib.crc32(body) != int(checksum, 16):
            raise _BadLine("the checksum is wrong")
        if not body.isascii():
            raise _BadLine("bytes that are not ASCII")
        number, kind, *fields = [*body.decode("ascii").split(" "), ""][:-1] or ["", ""]
        if _number(number, "line number") != self._next:
            # Take up the count from here: one lost line is one error, not one for each line.
            lost = f"line {self._next} was expected, {number} came"
            self._next = int(number) + 1
            raise _BadLine(lost)
        self._next += 1
        reader = _READERS.get(kind)
        if reader is None:
            raise _BadLine("an unknown kind of line")
        event = reader(fields)
        self._check_order(event)
        return event

    def _check_order(self, event: Event) -> None:
        """Hold the event against what came before it."""
        if isinstance(event, Hello) == self._greeted:
            raise _BadLine("hello must come first, and once")
        self._greeted = True
        if isinstance(event, Begin):
            if self._open is not None:
                raise _BadLine("a benchmark begins inside another")
            self._open = (event.index, 0)
            self._hooks = {}
            self._rounds = 0
        elif isinstance(event, Part | End):
            self._check_open(event)
        elif isinstance(event, Bye):
            self._closed = True

    def _check_open(self, event: Part | End) -> None:
        if self._open is None or self._open[0] != event.index:
            raise _BadLine("readings of a benchmark that has not begun")
        seen = self._open[1]
        if isinstance(event, Values):
            seen += len(event.values)
            self._total_values += len(event.values)
            if seen > MAX_VALUES or self._total_values > MAX_TOTAL_VALUES:
                raise _BadLine("too many readings")
            self._open = (event.index, seen)
            return
        if isinstance(event, Counts):
            self._check_counts(event, seen)
            return
        if not isinstance(event, End):
            self._check_part(event, seen)
            return
        self._open = None
        if event.count != seen:
            raise _BadLine(f"{event.count} readings were announced, {seen} came")
        if any(counted != seen for counted in self._hooks.values()):
            raise _BadLine("hooks were not counted in every reading")

    def _check_part(self, event: Part, seen: int) -> None:
        if isinstance(event, Ticked) and any(place >= seen for place in event.places):
            raise _BadLine("a tick in a reading that was not taken")
        if isinstance(event, RoundDone):
            self._rounds += 1
            if self._rounds > MAX_ROUNDS:
                raise _BadLine("too many rounds")

    def _check_counts(self, event: Counts, seen: int) -> None:
        counted = self._hooks.get(event.hook, 0) + len(event.runs)
        self._total_values += len(event.runs)
        if counted > seen or self._total_values > MAX_TOTAL_VALUES:
            raise _BadLine("more counts than readings")
        self._hooks[event.hook] = counted
        if len(self._hooks) > MAX_HOOKS:
            raise _BadLine("too many hooks")


def _number(text: str, what: str) -> int:
    if not _NUMBER.fullmatch(text) or int(text) > _MAX_INT:
        raise _BadLine(f"{what}: not a number")
    return int(text)


def _text(text: str, what: str) -> str:
    if not _TEXT.fullmatch(text):
        raise _BadLine(f"{what}: not encoded as it must be")
    return unquote_to_bytes(text).decode("utf-8", "backslashreplace")


def _named(field: str, name: str) -> str:
    if not field.startswith(f"{name}="):
        raise _BadLine(f"{name}= was expected")
    return field[len(name) + 1 :]


def _count(fields: list[str], *allowed: int) -> None:
    if len(fields) not in allowed:
        raise _BadLine("a wrong number of fields")


def _hello(fields: list[str]) -> Event:
    _count(fields, 2)
    version = _number(_named(fields[0], "version"), "version")
    if version != VERSION:
        raise _BadLine(f"version {version} of the protocol, not {VERSION}")
    return Hello(version, _text(_named(fields[1], "probe"), "probe"))


def _fact(fields: list[str]) -> Event:
    _count(fields, 2)
    return Fact(_text(fields[0], "key"), _text(fields[1], "value"))


def _begin(fields: list[str]) -> Event:
    _count(fields, 2, 3)
    sweep = _text(_named(fields[2], "sweep"), "sweep") if len(fields) == 3 else ""
    return Begin(_number(fields[0], "index"), _text(fields[1], "benchmark"), sweep)


def _samples(fields: list[str]) -> Event:
    _count(fields, 2)
    return Values(_number(fields[0], "index"), _runs(fields[1]))


def _counts(fields: list[str]) -> Event:
    _count(fields, 3)
    if not _HOOK.fullmatch(fields[1]):
        raise _BadLine("hook: not a name")
    return Counts(_number(fields[0], "index"), fields[1], _runs(fields[2]))


def _ticked(fields: list[str]) -> Event:
    _count(fields, 2)
    return Ticked(_number(fields[0], "index"), _runs(fields[1]))


def _round(fields: list[str]) -> Event:
    _count(fields, 6)
    index, *numbers = (_number(field, "round") for field in fields)
    found = Round(*numbers)
    if not found.operations or found.taken > found.settle:
        raise _BadLine("a round that cannot be")
    return RoundDone(index, found)


def _whole(fields: list[str]) -> Event:
    _count(fields, 4)
    return WholeEnd(
        index=_number(fields[0], "index"),
        status=_status(fields[1]),
        errno=_number(_named(fields[2], "errno"), "errno"),
        detail=_text(_named(fields[3], "detail"), "detail"),
    )


def _idle(fields: list[str]) -> Event:
    _count(fields, 3)
    elapsed, taken, ticks = (_number(field, "idle") for field in fields)
    if not elapsed or taken > elapsed:
        raise _BadLine("an idle span that cannot be")
    return IdleSpan(Idle(elapsed, taken, ticks))


def _status(field: str) -> BenchmarkStatus:
    status = _named(field, "status")
    if status not in set(BenchmarkStatus):
        raise _BadLine("an unknown status")
    return BenchmarkStatus(status)


def _state(fields: list[str]) -> Event:
    _count(fields, 4)
    if fields[2] not in {"before", "after"}:
        raise _BadLine("a moment that is neither before nor after")
    return State(
        _number(fields[0], "index"),
        _text(fields[1], "name"),
        fields[2],
        _text(fields[3], "state"),
    )


def _runs(text: str) -> tuple[int, ...]:
    values: list[int] = []
    for run in text.split(","):
        match = _RUN.fullmatch(run)
        if match is None:
            raise _BadLine("readings: not numbers")
        value, times = int(match[1]), int(match[2] or 1)
        if value > _MAX_INT or len(values) + times > MAX_VALUES:
            raise _BadLine("readings: too large or too many")
        values += [value] * times
    return tuple(values)


def _end(fields: list[str]) -> Event:
    _count(fields, 6)
    return End(
        index=_number(fields[0], "index"),
        status=_status(fields[1]),
        count=_number(_named(fields[2], "n"), "n"),
        failures=_number(_named(fields[3], "failures"), "failures"),
        errno=_number(_named(fields[4], "errno"), "errno"),
        detail=_text(_named(fields[5], "detail"), "detail"),
    )


def _error(fields: list[str]) -> Event:
    _count(fields, 1)
    return ErrorLine(_text(fields[0], "error"))


def _bye(fields: list[str]) -> Event:
    _count(fields, 1)
    return Bye(_number(fields[0], "benchmarks"))


_READERS: dict[str, Callable[[list[str]], Event]] = {
    "hello": _hello,
    "fact": _fact,
    "begin": _begin,
    "samples": _samples,
    "ticked": _ticked,
    "round": _round,
    "whole": _whole,
    "idle": _idle,
    "counts": _counts,
    "state": _state,
    "end": _end,
    "error": _error,
    "bye": _bye,
}
