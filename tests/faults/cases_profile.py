# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are no profile and no study, or damaged ones, where `estimate` and `--beside` read."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.faults.case import Case
from tests.faults.field import Ended, Field

_DATA = Path(__file__).parents[1] / "data" / "profiles"
_STRACE = (_DATA / "strace-c-f.txt").read_bytes()
_PERF = (_DATA / "perf-trace-s.txt").read_bytes()
_TABLE = _PERF.index(b"\n\n\n") + 3  # behind the first thread's


def _estimated(make: Callable[[Path], object], field: Field) -> Ended:
    make(field.home / "x.txt")
    return field("estimate", "--profile", "x.txt", "none")


def _beside(make: Callable[[Path], object], field: Field) -> Ended:
    make(field.home / "x.toml")
    return field("report", "none", "--beside", "x.toml")


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.write(_STRACE)
        file.truncate((64 << 20) + 1)


def _holds(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda _: None, "cannot read it"),
    "FIFO": (os.mkfifo, "FIFO"),
    "endless device": (lambda path: path.symlink_to("/dev/zero"), "device"),
    "link to itself": (lambda path: path.symlink_to(path.name), "symbolic links"),
    "directory": (Path.mkdir, "not a run directory"),
    "64 MiB and a byte": (_sparse, "larger than"),
    "empty": (_holds(b""), "it is empty"),
    "another format": (_holds(b"\x89PNG\r\n\x1a\n" + bytes(1000)), "neither a summary"),
    "strace without its summary": (_holds(b'openat(3, "x") = 4\n' * 9), "neither a summary"),
    "strace cut off": (_holds(_STRACE[:-60]), "cut off"),
    "strace edited": (_holds(_STRACE.replace(b"       281 ", b"       999 ", 1)), "the total"),
    "strace with controls": (_holds(_STRACE.replace(b"fcntl", b"\x1b[2Jf", 1)), "not a line"),
    "strace compressed": (_holds(gzip.compress(_STRACE, mtime=0)), "neither a summary"),
    "strace without calls": (
        _holds(b"syscall          % time\n---------------- ------\nread   100.00\n"),
        "no column of calls",
    ),
    "perf cut off in a table": (_holds(_PERF[: _TABLE - 40]), "cut off"),
    "perf cut off between tables": (_holds(_PERF[:_TABLE]), "cut off"),
    "perf with a number too long": (
        _holds(_PERF.replace(b"newfstatat            64", b"newfstatat " + b"9" * 40, 1)),
        "not a line",
    ),
}
_STUDIES: dict[str, tuple[Callable[[Path], object], str]] = {
    "FIFO": (os.mkfifo, "FIFO"),
    "no TOML": (_holds(b"[[rows]"), "not valid TOML"),
    "no key": (_holds(b""), "missing"),
    "64 MiB and a byte": (_sparse, "larger than"),
}
CASES = [
    *(
        Case("profile", name, partial(_estimated, make), frozenset({2}), says=says, recovers=False)
        for name, (make, says) in _FILES.items()
    ),
    *(
        Case("study", name, partial(_beside, make), frozenset({2}), says=says, recovers=False)
        for name, (make, says) in _STUDIES.items()
    ),
]
