# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of other programs made to take for ever: what is read grows with their size, no faster.

One that takes longer hangs until the campaign ends it. A linear reader needs a second or two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.faults.case import Case
from tests.faults.field import Ended, Field

_DATA = Path(__file__).parents[1] / "data"
_LMBENCH = (_DATA / "imported" / "lmbench-1").read_bytes()
_UNIXBENCH = (_DATA / "imported" / "unixbench-1").read_bytes()
_XML = (_DATA / "imported" / "phoronix-1.xml").read_bytes()
_JSON = (_DATA / "imported" / "phoronix-1.json").read_bytes()
_PERF = (_DATA / "profiles" / "perf-trace-s.txt").read_bytes()
_MB = 1_000_000

_STRACE_TABLE = b"""% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
100.00    0.000001           1         1           read
------ ----------- ----------- --------- --------- ----------------
100.00    0.000001           1         1           total
"""


def _result(system: str, before: bytes, many: bytes) -> bytes:
    """Put something into the first result of a file of the Phoronix Test Suite."""
    assert before in _XML, system
    return _XML.replace(before, before + many, 1)


def _lmbench(line: bytes) -> bytes:
    first, _, rest = _LMBENCH.partition(b"\n")
    return first + b"\n" + line + b"\n" + rest


def _units(width: int) -> bytes:
    line = next(line for line in _PERF.split(b"\n") if line.strip().startswith(b"(msec)"))
    return _PERF.replace(line, b" " * 8 + b"(a)" * width + b"!", 1)


# The format, or "profile"; what is read; how that ends; what is said.
_FILES: dict[str, tuple[str, Callable[[], bytes], int, str]] = {
    "newlines": ("unixbench", lambda: b"\n" * _MB + _UNIXBENCH, 0, ""),
    "blanks before a system": (
        "unixbench",
        lambda: _UNIXBENCH.replace(b"   OS:", b"\n" * _MB + b"   OS:", 1),
        0,
        "",
    ),
    "blanks within a result": (
        "unixbench",
        lambda: _UNIXBENCH.replace(b"variables ", b"variables" + b" " * _MB, 1),
        0,
        "",
    ),
    "digits of a score": (
        "unixbench",
        lambda: _UNIXBENCH + (b"System Benchmarks Index Score " + b"1" * 90) * 20_000,
        *(0, ""),
    ),
    "digits of a version": ("lmbench", lambda: b"[lmbench" + b"1" * _MB, 2, "does not begin as"),
    "times in the last line": (
        "lmbench",
        lambda: _LMBENCH.rstrip() + b"\n[Mon " + b"11:11:11 1111 " * 70_000,
        *(2, "cut short"),
    ),
    "a line of colons": ("lmbench", lambda: _lmbench(b"a: 1 " * 200_000), 0, "left out: a: 1"),
    "a heading over many rows": (
        "lmbench",
        lambda: _lmbench(b'"' + b"x" * _MB + b"\n" + b"1 1\n" * 100_000),
        *(0, "left out"),
    ),
    "entries of one name": (
        "phoronix",
        lambda: _result(
            "xml",
            b"<Data>",
            b"<Entry><Identifier>a</Identifier><Value>1</Value></Entry>" * 200_000,
        ),
        *(0, ""),
    ),
    "results in results": (
        "phoronix",
        lambda: _result("xml", b"<Result>", b"<Result>" * 500_000 + b"</Result>" * 500_000),
        *(0, ""),
    ),
    "values": (
        "phoronix",
        lambda: _XML.replace(b"<RawString>", b"<RawString>" + b"1:" * 2 * _MB, 1),
        *(2, "more than 5000 values"),
    ),
    "half a character": (
        "phoronix",
        lambda: _JSON.replace(b'"GVNO3"', b'"GVNO3\\ud800"'),
        *(2, "it is no whole JSON file"),
    ),
    "systems without end": (
        "phoronix",
        lambda: _XML.replace(
            b"<System>",
            b"<System><Identifier>" + b"a" * 20 + b"</Identifier></System>\n<System>"
            b"<Identifier>" + b"b" * 8 * _MB + b"</Identifier></System>\n<System>",
            1,
        ),
        *(2, "3 systems"),
    ),
    "units of perf": ("profile", lambda: _units(200), 2, "not a line of perf's summary"),
    "tables of strace": ("profile", lambda: _STRACE_TABLE * 30_000, 2, "no such run directory"),
    "heads of strace": (
        "profile",
        lambda: (
            (b"calls " * 500_000 + b"syscall\n" + b"- " * 500_000 + b"-\n")
            + b"  1 read\n" * 4000
            + _STRACE_TABLE
        ),
        *(2, "no such run directory"),
    ),
}


def _read(program: str, make: Callable[[], bytes], field: Field) -> Ended:
    (field.home / "x").write_bytes(make())
    if program == "profile":
        return field("estimate", "--profile", "x", "none")
    return field("import", program, "x", "--setup", "s", "--run-dir", "r")


CASES = [
    Case(
        "growth",
        f"{program}: {name}",
        partial(_read, program, make),
        frozenset({code}),
        says,
        recovers=False,
    )
    for name, (program, make, code, says) in _FILES.items()
]
