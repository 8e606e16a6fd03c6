# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of the result channel: a strict, bounded, incremental reader of untrusted bytes.

The grammar: `lsmeter help protocol`. A line is `<number> <kind> <fields> *<crc32>`; whatever is
not one is garbage, and reading goes on with the next line.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from lsmeter.core.model import BenchmarkStatus
from lsmeter.core.printable import printable

VERSION = 2
LINE_BYTES = 4096
TOTAL_BYTES = 64 << 20
MAX_LINES = 1_000_000
MAX_VALUES = 1_000_000  # readings of one benchmark
MAX_TOTAL_VALUES = 16_000_000  # readings of one boot
MAX_ROUNDS = 128  # of one benchmark
MAX_TICKS = 16  # that follow one round
MAX_CYCLES = 128  # of one round
MAX_HOOKS = 512  # of one benchmark
MAX_SAID = 1000  # characters of what a client said last
MAX_MOMENTS = 2000  # of one batch
SOURCES = ("stat", "meminfo", "vmstat", "disks", "net", "avc", "processes")  # of a moment
MAX_GARBAGE = 100  # lines; nothing is read after the next one
ENDLESS_BYTES = 64 << 10  # of one line: nothing is read after them
_MAX_INT = 2**63 - 1
_EXCERPT_BYTES = 60
_SHORT = 120  # characters of a line that is remembered

_TAIL = re.compile(rb"(.*) \*([0-9a-f]{8})", re.DOTALL)
_RUN = re.compile(r"(0|[1-9][0-9]{0,18})(?:x([1-9][0-9]{0,6}))?")


class BadLineError(Exception):
    """Why a line is not one of the protocol, or cannot stand where it does."""


class ContradictionError(Exception):
    """What a guest says against what it was asked, or against what it has said before."""


class LineReader:
    """Gives each line's kind and fields to `take`, and keeps what is garbage.

    Bytes come in pieces of any size; one unfinished line is held at most. Once it is over, nothing
    is read any more: a flood costs no time.
    """

    def __init__(self, take: Callable[[str, list[Any]], None]) -> None:
        self.garbage: list[str] = []  # one line each
        self.over = False  # also for `take` to set
        self._take = take
        self._pending = bytearray()
        self._length = 0  # of the unfinished line, of which no more than it may have is pending
        self._offset = 0  # of its first byte
        self._next = 0  # the number that the next line must have
        self._lines = 0

    def feed(self, data: bytes) -> None:
        """Take more bytes. Never raises for what they hold."""
        for start in range(0, len(data), ENDLESS_BYTES):
            *finished, rest = data[start : start + ENDLESS_BYTES].split(b"\n")
            for piece in finished:
                self._collect(piece)
                if self.over:
                    return
                self._finish_line()
            self._collect(rest)

    def close(self) -> None:
        """Say that no more bytes come: an unfinished line is garbage."""
        if self._length:
            self._add_garbage("the last line is not finished")

    def _collect(self, piece: bytes) -> None:
        if self.over:
            return
        self._pending += piece[: LINE_BYTES - 1 - len(self._pending)]
        self._length += len(piece)
        self.over = self._length >= ENDLESS_BYTES

    def _finish_line(self) -> None:
        try:
            self._parse(bytes(self._pending))
            self._lines += 1
        except BadLineError as error:
            self._add_garbage(str(error))
        self._pending.clear()
        self._offset += self._length + 1
        self._length = 0

    def _add_garbage(self, reason: str) -> None:
        if len(self.garbage) >= MAX_GARBAGE:
            self.over, reason = True, "too much garbage; the rest of it is not read"
        excerpt = self._pending[:_EXCERPT_BYTES].decode("latin-1").encode("unicode_escape")
        self.garbage.append(printable(f"byte {self._offset}: {reason}: {excerpt.decode()}"))

    def _parse(self, line: bytes) -> None:
        if self._length >= LINE_BYTES:
            raise BadLineError("a line is too long")
        if self._offset > TOTAL_BYTES or self._lines >= MAX_LINES:
            raise BadLineError("more than any honest guest says")
        match = _TAIL.fullmatch(line)
        if match is None:
            raise BadLineError("no checksum at the end of the line")
        body, checksum = match.groups()
        if zlib.crc32(body) != int(checksum, 16):
            raise BadLineError("the checksum is wrong")
        if not body.isascii():
            raise BadLineError("bytes that are not ASCII")
        number, kind, fields = [*body.decode("ascii").split(" ", 2), "", ""][:3]
        if number != str(self._next):
            _value("number", number, "line number")
            # Take up the count from here: one lost line is one error, not one for each line.
            lost = f"line {self._next} was expected, {number} came"
            self._next = int(number) + 1
            raise BadLineError(lost)
        self._next += 1
        if kind not in _FIELDS:
            raise BadLineError("an unknown kind of line")
        self._take(kind, [*_read(kind, fields)])


def _usual_values(kind: str, text: str) -> tuple[Any, ...] | None:
    """Return the values of fields that are short and plain; None where any is not."""
    known = _FIELDS[kind]
    if not (usual := known.usual.fullmatch(text)):
        return None
    pairs = zip(known.convert, usual.groups(), strict=True)
    return tuple(None if found is None else convert(found) for convert, found in pairs)


# Guests repeat themselves: most lines are those of other windows, or of other boots.
_repeated_values = lru_cache(8192)(_usual_values)


def _read(kind: str, text: str) -> tuple[Any, ...]:
    """Return the values of a line's fields; None for an optional one that is not there."""
    usual = (_repeated_values if len(text) < _SHORT else _usual_values)(kind, text)
    if usual is not None:
        return usual
    known, fields = _FIELDS[kind], text.split(" ")
    if not known.least <= len(fields) <= len(known.fields):
        raise BadLineError("a wrong number of fields")
    values = []
    for (name, prefix, form), field in zip(known.fields, fields, strict=False):
        if not field.startswith(prefix):
            raise BadLineError(f"{prefix} was expected")
        values.append(_value(form, field.removeprefix(prefix), name))
    return (*values, *[None] * (len(known.fields) - len(fields)))


def _text(text: str) -> str:
    return unquote_to_bytes(text).decode("utf-8", "backslashreplace")


def _plain_runs(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def _runs(text: str, name: str) -> tuple[int, ...]:
    values: list[int] = []
    for run in text.split(","):
        match = _RUN.fullmatch(run)
        if match is None:
            raise BadLineError(f"{name}: not numbers")
        value, times = int(match[1]), int(match[2] or 1)
        if value > _MAX_INT or len(values) + times > MAX_VALUES:
            raise BadLineError(f"{name}: too large or too many")
        values += [value] * times
    return tuple(values)


def _value(kind: str, text: str, name: str) -> Any:  # noqa: ANN401  (what the kind says)
    if kind == "runs":
        return _runs(text, name)
    form, convert, wrong = _KINDS[kind]
    if not form.fullmatch(text) or (kind == "number" and int(text) > _MAX_INT):
        raise BadLineError(wrong.format(name))
    return convert(text)


# The form of each kind of field, its value, and what is said of what has another form.
_TEXT = re.compile("(?:[0-9A-Za-z_.,:;/=+()-]|%[0-9a-f]{2})*")
_SQUEEZED = re.compile("(?:[0-9A-Za-z_.:/+()-]+(?:,[0-9A-Za-z_.:/+()-]+)*;)+")
_KINDS: dict[str, tuple[re.Pattern[str], Callable[[str], Any], str]] = {
    "number": (re.compile("0|[1-9][0-9]{0,18}"), int, "{}: not a number"),
    "text": (_TEXT, _text, "{}: not encoded as it must be"),
    "hook": (re.compile("[a-z0-9_.]{1,63}"), str, "{}: not a name"),
    "status": (re.compile("|".join(BenchmarkStatus)), BenchmarkStatus, "an unknown {}"),
    "moment": (re.compile("before|after"), str, "a {} that is neither before nor after"),
    "when": (re.compile("begin|within|end"), str, "{}: neither begin, within nor end"),
    "source": (re.compile("|".join(SOURCES)), str, "an unknown {}"),
    "squeezed": (_SQUEEZED, str, "{}: not words and lines as they must be"),
}
# The fields of each kind of line: name:kind, name=kind where the line has the name as well, and ?
# after what may be left out.
_FIELD = re.compile(r"(\w+)([:=])(\w+)(\??)")
_GRAMMAR = {
    "hello": "version=number probe=text",
    "fact": "key:text value:text",
    "begin": "index:number benchmark:text sweep=number?",
    "samples": "index:number readings:runs",
    "said": "index:number text:text",
    "moment": "index:number batch:number when:when time_ns:number lost=number",
    "seen": "index:number source:source text:squeezed",
    "ticked": "index:number readings:runs",
    "window": "index:number cycles:number loop:number bulk:number ticks:number taken:runs?",
    "whole": "index:number status=status errno=number detail=text",
    "counts": "index:number hook:hook readings:runs",
    "state": "index:number name:text moment:moment state:text",
    "end": "index:number status=status n=number failures=number errno=number detail=text",
    "error": "error:text",
    "bye": "benchmarks:number",
}


# What a field is if it is short and plain, as nearly all are: all other forms are read one by one.
_PLAIN = "(?:0|[1-9][0-9]{0,17})"
_USUAL: dict[str, tuple[str, Callable[[str], Any]]] = {
    **{kind: (form.pattern, convert) for kind, (form, convert, _) in _KINDS.items()},
    "number": (_PLAIN, int),
    "runs": (f"{_PLAIN}(?:,{_PLAIN})*", _plain_runs),
}


class _Fields(NamedTuple):
    """The fields of a kind of line (name, prefix, kind), how many there are at least, and usual."""

    fields: tuple[tuple[str, str, str], ...]
    least: int
    usual: re.Pattern[str]
    convert: tuple[Callable[[str], Any], ...]


def _fields(text: str) -> _Fields:
    found = _FIELD.findall(text)
    each = [(name, f"{name}=" if sign == "=" else "", kind) for name, sign, kind, _ in found]
    forms = [f"{prefix}({_USUAL[kind][0]})" for _, prefix, kind in each]
    usual = forms[0]
    for form, (*_, optional) in zip(forms[1:], found[1:], strict=True):
        usual += f"(?: {form})?" if optional else f" {form}"
    least = sum(not optional for *_, optional in found)
    return _Fields(
        tuple(each), least, re.compile(usual), tuple(_USUAL[kind][1] for *_, kind in each)
    )


_FIELDS = {kind: _fields(text) for kind, text in _GRAMMAR.items()}
