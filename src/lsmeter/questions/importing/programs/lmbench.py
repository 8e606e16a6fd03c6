# SPDX-License-Identifier: GPL-2.0-or-later
"""lmbench: the file of one `make results`, such as results/x86_64-linux-gnu/host.0.

It begins with a line of the system and ends with the date. Between them are lines that end in a
unit, and tables: a heading, then a size and a value in each line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lsmeter.core.model import Better
from lsmeter.questions.importing import (
    ForeignError,
    Format,
    Parsed,
    Reading,
    benchmark,
    number,
    plain,
)

_FIRST = re.compile(r"\[lmbench ?([0-9]\S*) results for (\S+) (\S+) (\S+) ")
_LAST = re.compile(r"\[[A-Z][a-z]{2} .{0,40}[0-9]:[0-9]{2}:[0-9]{2}.{0,40}[0-9]{4}[^\]]{0,40}\]")
_UNITS = {
    "nanoseconds": ("ns", Better.LOWER),
    "microseconds": ("us", Better.LOWER),
    "milliseconds": ("ms", Better.LOWER),
    "MB/sec": ("MB/s", Better.HIGHER),
    "KB/sec": ("KB/s", Better.HIGHER),
}
_NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,15})?)"
_LINE = re.compile(rf"(.+?): {_NUMBER} ({'|'.join(_UNITS)})")
_SELECT = re.compile(r"Select on ([0-9]{1,9}) (tcp )?fd's")
_PATH = re.compile(r"(^File | on )\S*/\S*")  # where files were written is no part of a name
_HTTP = re.compile(rf"Avg xfer: .*, {_NUMBER} MB/sec")
_ROW = re.compile(rf"([0-9][0-9.]{{0,15}}[kKmMgG]?)\s+{_NUMBER}(?: MB/sec)?")
_FILES = re.compile(r"([0-9]{1,9}k)\t([0-9]{1,9})\t([0-9]{1,12})\t([0-9]{1,12})")
_SWITCH = re.compile(r'"size=([0-9]{1,9}k?) ovr=[0-9.]+')
_STRIDE = re.compile(r'"stride=([0-9]{1,9})')
_LOWER = {"mappings": "us"}
_SUITE = "lmbench"
_MOST_CHARS = 1000  # of a line


def parse(text: str, system: str) -> Parsed:
    """Read a file of results; ForeignError with what is wrong with it."""
    if system:
        raise ForeignError("--system: results of lmbench are of one system")
    lines = text.splitlines()
    first = _FIRST.match(lines[0]) if lines else None
    if first is None:
        raise ForeignError("it does not begin as results of lmbench do: '[lmbench3.0 results for'")
    said = [line for line in lines if line.strip()]
    if not _LAST.fullmatch(said[-1].strip()):
        raise ForeignError("it is cut short: lmbench ends with the date")
    left: list[str] = []
    found = tuple(_readings(lines, left))
    if not found:
        raise ForeignError("no line of it has a number of lmbench")
    return Parsed(found, first[1], first[4], left_out=tuple(left))


def _readings(lines: Sequence[str], left: list[str]) -> Iterator[Reading]:
    """Yield each number; what is neither a number, nor a heading, nor a fact goes to `left`."""
    head = kind = ""
    known: dict[str, Reading] = {}
    for raw in lines:
        line = raw.strip()
        if not line or line.startswith("["):
            head = "" if line else head
            continue
        try:
            readings = list(_of(line, raw, head, kind)) if len(raw) <= _MOST_CHARS else []
        except ForeignError:  # a 0: it was not measured
            readings = []
        if not readings and (line.startswith('"') or ("bandwidth" in line and ":" not in line)):
            head = line[:_MOST_CHARS]
        elif not readings:
            kind = line if line.endswith(" load latency") else kind
            left.append(line)
        for item in readings:
            first = known.setdefault(item.benchmark.id, item)
            if first is item:
                yield item
            elif first.values != item.values:  # lmbench prints some tables twice
                left.append(f"{item.benchmark.id}, a second time: {line}")


def _of(line: str, raw: str, head: str, kind: str) -> Iterator[Reading]:
    if match := _LINE.fullmatch(line):
        title = _PATH.sub(r"\1", match[1]).replace("  ", " ").strip()
        unit, better = _UNITS[match[3]]
        params: tuple[tuple[str, str | int], ...] = ()
        if select := _SELECT.fullmatch(title):
            title = f"Select on {'tcp ' if select[2] else ''}file descriptors"
            params = (("fds", int(select[1])),)
        yield _reading(title, unit, better, match[2], params)
    elif match := _HTTP.fullmatch(line):
        yield _reading("HTTP transfer", "MB/s", Better.HIGHER, match[1], ())
    elif match := _FILES.fullmatch(raw.strip("\n")):
        size = (("size", match[1]),)
        for title, value in (("File create", match[3]), ("File delete", match[4])):
            yield _reading(title, "files/s", Better.HIGHER, value, size)
    elif head and (match := _ROW.fullmatch(line)):
        yield _row(head, kind, match[1], match[2])


def _row(head: str, kind: str, at: str, value: str) -> Reading:
    params: tuple[tuple[str, str | int], ...]
    if switch := _SWITCH.fullmatch(head):
        params = (("size", switch[1]), ("processes", at))
        return _reading("Context switch", "us", Better.LOWER, value, params)
    if stride := _STRIDE.match(head):
        params = (("stride", int(stride[1])), ("size", at))
        return _reading(kind or "Memory load latency", "ns", Better.LOWER, value, params)
    title = head.strip('"')
    unit = _LOWER.get(plain(title))
    better = Better.HIGHER if unit is None else Better.LOWER
    return _reading(title, unit or "MB/s", better, value, (("size", at),))


def _reading(
    title: str, unit: str, better: Better, value: str, params: tuple[tuple[str, str | int], ...]
) -> Reading:
    kind = benchmark(_SUITE, title, unit, better, params=params)
    return Reading(kind, (number(value),))


FORMAT = Format(
    name="lmbench",
    title="lmbench 2 and 3: results/ARCH/HOST.N",
    covers="lmbench prints one number of its repetitions (the median, or the least); a call that "
    "fails counts as a fast one",
    parse=parse,
)
