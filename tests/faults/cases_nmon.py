# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are no nmon files, or damaged ones, where `lsmeter monitor` reads them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.faults.case import Case
from tests.faults.field import Ended, Field

_REAL = (Path(__file__).parents[1] / "data/nmon/nmon-16n.nmon").read_bytes()


def _shown(make: Callable[[Path], object], field: Field) -> Ended:
    make(field.home / "x.nmon")
    return field("monitor", "x.nmon", "--format", "html")


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"AAA,progname,nmon\n")
        file.truncate((64 << 20) + 1)


def _holds(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda _: None, "no such file"),
    "FIFO": (os.mkfifo, "FIFO"),
    "endless device": (lambda path: path.symlink_to("/dev/zero"), "device"),
    "link to itself": (lambda path: path.symlink_to(path.name), "symbolic links"),
    "directory": (Path.mkdir, "not a run directory"),
    "64 MiB and a byte": (_sparse, "larger than"),
    "empty": (_holds(b""), "it is no nmon file"),
    "another format": (_holds(b"\x89PNG\r\n\x1a\n" + bytes(1000)), "it is no nmon file"),
    "heads alone": (_holds(_REAL[: _REAL.index(b"ZZZZ")]), "it has no snapshot"),
    "a line without an end": (_holds(b"AAA," + b"x" * (1 << 20) + b"\n"), "line 1 has more than"),
    "another number of values": (_holds(_REAL.replace(b",83.3,", b",", 1)), "CPU_ALL has"),
    "control characters": (_holds(_REAL.replace(b"83.3", b"\x1b[2J", 1)), "is no number"),
}
CASES = [
    Case("nmon file", name, partial(_shown, make), frozenset({2}), says=says, recovers=False)
    for name, (make, says) in _FILES.items()
]
# Its last line is left out, and the page says so.
CASES.append(
    Case(
        "nmon file",
        "cut off",
        partial(_shown, _holds(_REAL[:-30])),
        frozenset({0}),
        says="cut off in line",
        recovers=False,
    )
)
