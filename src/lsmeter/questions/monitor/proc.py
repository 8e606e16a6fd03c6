# SPDX-License-Identifier: GPL-2.0-or-later
"""The texts of /proc and of SELinux's cache, as the probe cuts them, to numbers; pure.

A text is lines that end in a semicolon, of words with commas between (`lsmeter help protocol`). It
comes from a guest: what is not of the known form is left out, and nothing raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lsmeter.core.inputs import whole_number

TICKS_PER_S = 100  # of the times in /proc/stat and /proc/PID/stat, on every x86
PAGE_KIB = 4
_MOST_DEVICES = 16  # disks, interfaces
Numbers = dict[str, int]
Lines = list[list[str]]

_CPU = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_DISK = {3: "reads", 5: "read_sectors", 7: "writes", 9: "written_sectors", 12: "busy_ms"}
_NET = {0: "received_bytes", 1: "received", 8: "sent_bytes", 9: "sent"}


@dataclass(frozen=True)
class Usage:
    """What /proc/PID/stat says of one process."""

    name: str
    pid: int
    user_ticks: int
    system_ticks: int
    minor_faults: int
    major_faults: int
    threads: int
    size_bytes: int
    resident_pages: int


_USAGE = 8  # numbers of it


def numbers_of(texts: Mapping[str, str]) -> Numbers:
    """Return all numbers of a moment by name: `cpu.user`, `net.eth0.sent_bytes`, `avc.misses`."""
    found: Numbers = {}
    for source, read in _READERS.items():
        found.update(read(lines_of(texts.get(source, ""))))
    return found


def processes_of(texts: Mapping[str, str]) -> dict[int, Usage]:
    """Return what each process has used until a moment."""
    found = {}
    for *words, name in lines_of(texts.get("processes", "")):
        numbers = [number for number in map(whole_number, words) if number is not None]
        if len(numbers) == len(words) == _USAGE:
            found[numbers[0]] = Usage(name, *numbers)
    return found


def lines_of(text: str) -> Lines:
    """Take a text apart."""
    return [line.split(",") for line in text.split(";")[:-1]]


def _pairs(prefix: str) -> Callable[[Lines], Iterator[tuple[str, int]]]:
    def read(lines: Lines) -> Iterator[tuple[str, int]]:
        for name, *words in lines:
            number = whole_number(words[0]) if words else None
            if number is not None:
                yield f"{prefix}.{name.removesuffix(':')}", number

    return read


def _stat(lines: Lines) -> Iterator[tuple[str, int]]:
    for name, *words in lines:
        numbers = [whole_number(word) for word in words]
        if name == "cpu":
            pairs = zip(_CPU, numbers, strict=False)
            yield from ((f"cpu.{mode}", ticks) for mode, ticks in pairs if ticks is not None)
        elif numbers and numbers[0] is not None:
            yield f"stat.{name}", numbers[0]


def _rows(
    kind: str, name_at: int, places: Mapping[int, str]
) -> Callable[[Lines], Iterator[tuple[str, int]]]:
    """Read a line for each device; places are those of its numbers."""

    def read(lines: Lines) -> Iterator[tuple[str, int]]:
        for line in lines[:_MOST_DEVICES]:
            for at, name in places.items():
                number = whole_number(line[at]) if at < len(line) else None
                if number is not None:
                    yield f"{kind}.{line[name_at].removesuffix(':')}.{name}", number

    return read


def _avc(lines: Lines) -> Iterator[tuple[str, int]]:
    """Add up the processors' lines, which stand below the names."""
    head, *rows = lines or [[]]
    for at, name in enumerate(head):
        column = [whole_number(row[at]) for row in rows if at < len(row)]
        known = [number for number in column if number is not None]
        if known and not name.isdigit():
            yield f"avc.{name}", sum(known)


_READERS: dict[str, Callable[[Lines], Iterator[tuple[str, int]]]] = {
    "stat": _stat,
    "meminfo": _pairs("memory"),
    "vmstat": _pairs("vm"),
    "disks": _rows("disk", 2, _DISK),
    "net": _rows("net", 0, {at + 1: name for at, name in _NET.items()}),
    "avc": _avc,
}
