# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads nmon files, of nmon itself and our own, into series; pure, bounded, never raises another.

The file is not trusted: sizes and numbers are limited. Sections that are not known are left out,
and named. A file that was cut off in its last line is read without that line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

from lsmeter.core.inputs import whole_number
from lsmeter.core.printable import printable
from lsmeter.questions.monitor.nmon_writer import AVC, BATCHES, MEMORY, MONTHS, PROCESSES, TIMES
from lsmeter.questions.monitor.rates import TITLES
from lsmeter.questions.monitor.series import Batch, Monitoring, Process, Series

MAX_BYTES = 64 << 20
MAX_LINE_BYTES = 64 << 10
MAX_SNAPSHOTS = 100_000
MAX_COLUMNS = 1000  # of a section
MAX_VALUES = 4_000_000  # of all series
MAX_TOP = 500_000
MAX_BATCHES = 1000
MAX_NOTED = 12
_NAME_CHARS = 40
_SNAPSHOT = re.compile(r"T[0-9]{4,7}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,12})?")
_NONE = frozenset({"", "nan", "-nan", "inf", "-inf"})  # what nmon writes of what it cannot divide
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d),(\d{1,2})-([A-Za-z]{3})-(\d{4})", re.ASCII)
# Column: group, name, title, unit. Sections of devices have a form for each of their columns.
_CPU = {
    "User%": ("cpu_user_percent", "in user space"),
    "Sys%": ("cpu_system_percent", "in the kernel, interrupts included"),
    "Wait%": ("cpu_wait_percent", "waiting for disks"),
    "Steal%": ("cpu_steal_percent", "taken by the host"),
    "Idle%": ("cpu_idle_percent", "idle"),
}


def _titled(columns: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Give the columns that we write the name and the title of our own series."""
    return {column: (name, TITLES[name]) for column, name in columns.items() if name}


_PLAIN = {
    "CPU_ALL": ("cpu", "%", _CPU),
    "MEM": ("memory", "MiB", _titled(MEMORY)),
    "PROC": ("kernel", "1/s", _titled(PROCESSES)),
    "AVC": ("avc", "1/s", _titled(AVC)),
}
_DEVICES: dict[str, tuple[str, str, str | dict[str, str]]] = {
    "NET": ("network", "KiB/s", {"read": "received_kib_per_s", "write": "sent_kib_per_s"}),
    "NETPACKET": (
        "network",
        "1/s",
        {"read": "received_packets_per_s", "write": "sent_packets_per_s"},
    ),
    "DISKBUSY": ("disk", "%", "busy_percent"),
    "DISKREAD": ("disk", "KiB/s", "read_kib_per_s"),
    "DISKWRITE": ("disk", "KiB/s", "written_kib_per_s"),
    "DISKXFER": ("disk", "1/s", "transfers_per_s"),
}
_DISKS = re.compile(r"(DISK(?:BUSY|READ|WRITE|XFER))[0-9]{0,3}")  # one for each 150 disks
_NET_COLUMN = re.compile(r"(.{1,40})-(read|write)(?:-KB)?/s")
_TOP_COLUMNS = 13


class DamagedNmonError(Exception):
    """Why a file cannot be read as nmon's: one line."""


@dataclass
class _Section:
    columns: list[str]
    rows: dict[str, list[float | None]] = field(default_factory=dict)


@dataclass
class _File:
    """What the lines say, as far as they are read."""

    facts: dict[str, str] = field(default_factory=dict)
    sections: dict[str, _Section] = field(default_factory=dict)
    times: dict[str, datetime] = field(default_factory=dict)
    top: list[tuple[str, list[str]]] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    ignored: dict[str, None] = field(default_factory=dict)
    values: int = 0


def read_nmon(data: bytes) -> Monitoring:
    """Read a file; DamagedNmonError for one that is none, or damaged before its last line."""
    if not data.startswith(b"AAA,"):
        raise DamagedNmonError("it is no nmon file: it does not begin with 'AAA,'")
    if len(data) > MAX_BYTES:
        raise DamagedNmonError(f"it has more than {MAX_BYTES} bytes")
    *lines, rest = data.split(b"\n")
    notes = [f"cut off in line {len(lines) + 1}, which is left out"] if rest else []
    file = _File()
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE_BYTES:
            raise DamagedNmonError(f"line {number} has more than {MAX_LINE_BYTES} bytes")
        try:
            _take(file, line.rstrip(b"\r").decode("utf-8", "replace").split(","))
        except DamagedNmonError as error:
            raise DamagedNmonError(f"line {number}: {error}") from None
    return _monitoring(file, notes)


def _take(file: _File, words: list[str]) -> None:
    kind, first = words[0], words[1] if len(words) > 1 else ""
    if kind == "AAA":
        if len(file.facts) < MAX_COLUMNS:
            file.facts[first] = printable(",".join(words[2:])[:200])
    elif kind == "ZZZZ":
        _take_time(file, words)
    elif kind == "TOP":
        _take_top(file, words)
    elif kind.startswith("BBB"):
        if words[2:3] == [BATCHES]:
            _take_batch(file, words[3:])
    elif _known(kind):
        _take_row(file, kind, words)
    elif kind.strip():
        named = printable(kind[:_NAME_CHARS])
        if len(file.ignored) < MAX_COLUMNS:
            file.ignored[re.sub(r"[0-9]+$", "", named)] = None


def _known(kind: str) -> bool:
    return kind in _PLAIN or kind in _DEVICES or kind == TIMES or bool(_DISKS.fullmatch(kind))


def _take_time(file: _File, words: list[str]) -> None:
    if len(words) != 4 or not _SNAPSHOT.fullmatch(words[1]):
        raise DamagedNmonError("ZZZZ is not followed by a snapshot, a time and a date")
    if words[1] in file.times:
        raise DamagedNmonError(f"the snapshot {words[1]} twice")
    if len(file.times) == MAX_SNAPSHOTS:
        raise DamagedNmonError(f"more than {MAX_SNAPSHOTS} snapshots")
    said = ",".join(words[2:])
    match = _TIME.fullmatch(said)
    try:
        hour, minute, second, day, name, year = match.groups() if match else ("",) * 6
        date = int(year), MONTHS.index(name.upper()) + 1, int(day)
        clock = int(hour), int(minute), int(second)
        file.times[words[1]] = datetime(*date, *clock, tzinfo=UTC)
    except ValueError:
        wrong = printable(said[:_NAME_CHARS])
        raise DamagedNmonError(f"'{wrong}' is no time and date") from None


def _take_row(file: _File, kind: str, words: list[str]) -> None:
    section = file.sections.get(kind)
    if section is None:
        if len(words) > MAX_COLUMNS + 2:
            raise DamagedNmonError(f"{kind} has more than {MAX_COLUMNS} columns")
        names = [printable(word[:_NAME_CHARS]) for word in words[2:]]
        while names and not names[-1]:
            names.pop()
        file.sections[kind] = _Section(names)
        return
    snapshot, values = words[1] if len(words) > 1 else "", words[2:]
    if not _SNAPSHOT.fullmatch(snapshot):
        raise DamagedNmonError(f"{kind} of no snapshot: '{printable(snapshot[:_NAME_CHARS])}'")
    if snapshot in section.rows:
        raise DamagedNmonError(f"{kind} twice in the snapshot {snapshot}")
    file.values += len(values)
    if file.values > MAX_VALUES:
        raise DamagedNmonError(f"more than {MAX_VALUES} values")
    wanted = len(section.columns)
    if len(values) < wanted or any(values[wanted:]):
        raise DamagedNmonError(f"{kind} has {len(values)} values, its head has {wanted}")
    section.rows[snapshot] = [_number(value) for value in values[:wanted]]


def _number(text: str) -> float | None:
    text = text.strip()
    if text.lower() in _NONE:
        return None
    if not _NUMBER.fullmatch(text):
        raise DamagedNmonError(f"'{printable(text[:_NAME_CHARS])}' is no number")
    return float(text)


def _take_top(file: _File, words: list[str]) -> None:
    """Take a process; heads are those whose second word is no number."""
    if len(words) < _TOP_COLUMNS or whole_number(words[1]) is None:
        return
    if len(file.top) == MAX_TOP:
        raise DamagedNmonError(f"more than {MAX_TOP} lines of TOP")
    file.top.append((words[2], [words[1], *words[3:]]))


def _take_batch(file: _File, words: list[str]) -> None:
    if len(file.batches) == MAX_BATCHES:
        raise DamagedNmonError(f"more than {MAX_BATCHES} batches")
    try:
        benchmark, number, warmup, begin_s, end_s = ",".join(words).strip('"').split(",")
        times = float(begin_s), float(end_s)
        if not all(map(math.isfinite, times)):
            raise DamagedNmonError("a batch without a time")
        named = printable(benchmark[:200])
        if (place := whole_number(number)) is None:
            raise DamagedNmonError("a batch without a number")
        file.batches.append(Batch(named, place, warmup == "1", *times))
    except ValueError:
        raise DamagedNmonError("a batch that is not one") from None


def _monitoring(file: _File, notes: list[str]) -> Monitoring:
    if not file.times:
        raise DamagedNmonError("it has no snapshot (ZZZZ): nothing was recorded, or it was cut off")
    order = sorted(file.times, key=lambda name: (file.times[name], name))
    own_s = _own_times(order, file.sections.pop(TIMES, None))
    filled = {kind: section for kind, section in file.sections.items() if section.rows}
    if len(order) * sum(len(item.columns) for item in filled.values()) > 2 * MAX_VALUES:
        raise DamagedNmonError(f"more than {2 * MAX_VALUES} values, most of them missing")
    clocks = (file.times[name] - file.times[order[0]] for name in order)
    times_s = own_s or tuple(clock.total_seconds() for clock in clocks)
    series = tuple(item for item in _series(filled, order) if item.known)
    if file.ignored:
        named = list(file.ignored)
        more = f" and {len(named) - MAX_NOTED} more" if len(named) > MAX_NOTED else ""
        notes.append(f"sections that are left out: {', '.join(named[:MAX_NOTED])}{more}")
    spans = [later - sooner for sooner, later in pairwise(times_s)]
    said = file.facts.get("interval", "")
    every_s = float(said) if _NUMBER.fullmatch(said) else min(spans, default=0.0)
    facts = {
        "host": file.facts.get("host", ""),
        "system": file.facts.get("OS", "").replace(",", " "),
        "made by": f"{file.facts.get('progname', '')} {file.facts.get('version', '')}".strip(),
        "begun": f"{file.times[order[0]]:%Y-%m-%d %H:%M:%S}",
    }
    return Monitoring(
        file.facts.get("host", ""),
        tuple((name, value) for name, value in facts.items() if value),
        0 if own_s else round(1000 * every_s),  # of the clock, which our own times are not of
        times_s,
        series,
        tuple(file.batches),
        tuple(_processes(file, dict(zip(order, times_s, strict=True)))),
        tuple(notes),
    )


def _own_times(order: Sequence[str], own: _Section | None) -> tuple[float, ...]:
    """Return the seconds of lsmeter's own section; nothing where a snapshot has none."""
    rows = [own.rows.get(name, [None])[:1] for name in order] if own else []
    known = [row[0] for row in rows if row and row[0] is not None]
    return tuple(known) if len(known) == len(order) and sorted(set(known)) == known else ()


def _series(sections: Mapping[str, _Section], order: Sequence[str]) -> Iterator[Series]:
    for kind, section in sections.items():
        for at, column in enumerate(section.columns):
            made = _column(kind, column)
            if made:
                rows = (section.rows.get(name) for name in order)
                values = tuple(
                    None if row is None or row[at] is None or row[at] < 0 else row[at]  # type: ignore[operator]
                    for row in rows
                )
                yield Series(*made, values)


def _column(kind: str, column: str) -> tuple[str, str, str, str] | None:
    """Return group, name, title and unit of a column's series; None for one that has none."""
    if kind in _PLAIN:
        group, unit, names = _PLAIN[kind]
        if column not in names:
            return None
        name, title = names[column]
        return group, name, title, "tasks" if name.endswith("_tasks") else unit
    disks = _DISKS.fullmatch(kind)
    group, unit, end = _DEVICES[disks[1] if disks else kind]
    if isinstance(end, str):
        return group, f"{group}_{column}_{end}", f"{column}: {end.partition('_')[0]}", unit
    found = _NET_COLUMN.fullmatch(column)
    if not found:
        return None
    name = end[found[2]]
    words = " ".join(reversed(name.split("_")[:2])) if "packets" in name else name.split("_")[0]
    return group, f"{group}_{found[1]}_{name}", f"{found[1]}: {words}", unit


def _processes(file: _File, times_s: Mapping[str, float]) -> Iterator[Process]:
    last: dict[str, float] = {}
    before_s = min(times_s.values(), default=0.0)
    for snapshot in sorted({name for name, _ in file.top if name in times_s}, key=times_s.get):  # type: ignore[arg-type]
        last[snapshot] = times_s[snapshot] - before_s
        before_s = times_s[snapshot]
    for snapshot, words in file.top:
        if snapshot not in last:
            continue
        pid, *rest = words
        try:
            numbers = [_number(word) or 0.0 for word in rest[:10]]
        except DamagedNmonError:
            continue  # of a TOP with other columns
        yield Process(
            times_s[snapshot],
            last[snapshot],
            int(pid),
            printable(rest[10][:_NAME_CHARS]),
            numbers[1],
            numbers[2],
            numbers[3],
            numbers[4],
            numbers[8],
            numbers[9],
        )
