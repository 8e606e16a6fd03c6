# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that contradict what they were asked or what they said, break off, or are killed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults.case import Case
from tests.faults.field import Ended, Field
from tests.unit.guest.lines import bodies, lines

_BOOT = "selinux/readings-0"
_BEGIN = r"(?m)^begin 1 .*$"
_END = r"(?m)^end 1 status=ok n=20 failures=0 errno=0 detail=$"

# What a guest says, changed: the first match of a pattern, and what stands in its place.
_CONTRADICTIONS = {
    "a benchmark twice": (_BEGIN, "begin 1 stat%20depth=1"),
    "another benchmark": (_BEGIN, "begin 1 write%20size=1"),
    "an index left out": (_BEGIN, "begin 2 open%20depth=1"),
    "a sweep": (r"(?m)^(begin 1 .*)$", r"\1 sweep=0"),
    "counts": (_END, r"counts 1 inode_permission 2x20\n\g<0>"),
    "a state": (_END, r"state 1 avc before n:%201\n\g<0>"),
    "a second whole cost": (_END, r"whole 1 status=ok errno=0 detail=\n\g<0>"),
    "a window after the whole cost": (
        r"(?m)^(window 1 .*)\n(whole 1 .*)$",
        r"\1\n\2\n\1",
    ),
    "a whole cost that failed and is ok": (
        r"whole 1 status=ok errno=0",
        "whole 1 status=ok errno=5",
    ),
    "a million readings": (r"(?m)^samples 1 .*$", "samples 1 7x1000000"),
    "one reading": (
        r"(?ms)^samples 1 .*?^window 1 (.*?)^end 1 status=ok n=20",
        r"samples 1 7\nwindow 1 \1end 1 status=ok n=1",
    ),
    "no reading": (
        r"(?ms)^samples 1 .*?^window 1 (.*?)^end 1 status=ok n=20",
        r"window 1 \1end 1 status=ok n=0",
    ),
    "ok with failures": (_END, "end 1 status=ok n=20 failures=3 errno=0 detail="),
    "ok with an errno": (_END, "end 1 status=ok n=20 failures=0 errno=13 detail="),
    "more at the end": (r"(?m)^bye .*", "bye 99"),
    "an end after one benchmark": (r"(?ms)^begin 1 .*", "bye 1"),
    "a second list of modules": (
        r"(?m)^fact lsm .*$",
        r"\g<0>\nfact lsm lockdown,capability,selinux",
    ),
    "an overriding list of modules": (r"(?m)^fact lsm .*$", r"fact lsm capability\n\g<0>"),
    "another release": (r"fact kernel.release .*", "fact kernel.release 6.12.9"),
    "no release": (r"fact kernel.release .*\n", ""),
    "another command line": (r"%20nokaslr", ""),
    "another file system": (r"fact filesystem tmpfs", "fact filesystem ext4"),
    "another user": (r"fact worker.uid 0", "fact worker.uid 1000"),
    "a window with other ticks": (r"(?m)^(window 1 12 \d+ \d+ \d+ \d+),\S+$", r"\1"),
    "no whole cost": (r"(?ms)^window 1 .*?^whole 1 .*?\n", ""),
    "windows in another order": (r"(?m)^(window 1 .*)\n(window 1 .*)$", r"\2\n\1"),
    "a window left out": (
        r"(?m)^window 1 (?:\d+ ){4}\S+\n(?=window 1 \d+ \d+ \d+ \d+$)",
        "",
    ),
    "a window of other cycles": (r"(?m)^window 1 24", "window 1 36"),
    "no windows": (r"(?m)^(?:window 1 .*\n)+", ""),
    "a thousand facts": (
        r"(?m)^fact lsm",
        "".join(f"fact f{number} 1\n" for number in range(1000)) + "fact lsm",
    ),
    "what turns a terminal": (_BEGIN, "begin 1 %1b%5b2J%e2%80%aeevil"),
}
_FLOOD_BYTES = 16 << 20
_ENDINGS: dict[str, tuple[dict[str, Any], str]] = {
    "killed by the kernel": ({"exit_code": -9}, "killed by SIGKILL"),
    "killed by SIGSEGV": ({"exit_code": -11}, "killed by SIGSEGV"),
    "killed by no signal of ours": ({"exit_code": -63}, "killed by signal 63"),
    "over its deadline": ({"ending": "deadline", "exit_code": None}, "--boot-deadline"),
    "silent": ({"ending": "silent", "exit_code": None}, "--boot-deadline"),
    "a flood": ({"ending": "flooded", "exit_code": None}, "exceeds the limit"),
    "QEMU's complaint": ({"exit_code": 1, "stderr": "qemu: \x1b[2Jno KVM\n"}, "no KVM"),
}


def _recorded(change: Callable[[Path], object], field: Field) -> Ended:
    change(field.own_captures() / _BOOT)
    return field.main()


def _restate(pattern: str, new: str, folder: Path) -> None:
    text = "\n".join(bodies((folder / "results").read_bytes()))
    said = re.sub(pattern, new, text, count=1)
    assert said != text, pattern
    (folder / "results").write_bytes(lines(*said.splitlines()))


def _ended(facts: dict[str, Any], folder: Path) -> None:
    """End a guest in another way, in the middle of its second benchmark."""
    known = json.loads((folder / "capture.json").read_text())
    (folder / "capture.json").write_text(json.dumps({**known, **facts}))
    said = (folder / "results").read_bytes()
    (folder / "results").write_bytes(said[: said.index(b" samples 1") + 9])


def _garbage(data: bytes, folder: Path) -> None:
    (folder / "results").write_bytes((folder / "results").read_bytes() + data)


def _flood(data: bytes, folder: Path) -> None:
    """End a guest for what it says, of which much has come."""
    _ended({"ending": "refused", "exit_code": None}, folder)
    _garbage(data * (_FLOOD_BYTES // len(data)), folder)


def _console(data: bytes, folder: Path) -> None:
    (folder / "console").write_bytes(data)


# Tests of the parser have all contradictions: these go through the whole command.
_SHORT = (
    *("a benchmark twice", "no reading", "a second list of modules", "another release"),
    *("another command line", "what turns a terminal", "killed by the kernel", "a flood"),
    *("QEMU's complaint", "a panic", "no end of a line", "a flood of lines", "a flood of one line"),
)


def _case(name: str, change: Callable[[Path], object], says: str) -> Case:
    """Return a case; what was recorded is part of the cells, so that no run continues another."""
    long = name.partition(": ")[2] not in _SHORT
    inject = partial(_recorded, change)
    # What was finished before an end is kept.
    sound = not name.startswith("ends:")
    return Case("guest", name, inject, frozenset({1}), says, sound, recovers=False, long=long)


CASES = [
    *(
        _case(f"contradicts: {name}", partial(_restate, *change), "contradiction")
        for name, change in _CONTRADICTIONS.items()
    ),
    *(
        _case(f"ends: {name}", partial(_ended, facts), says)
        for name, (facts, says) in _ENDINGS.items()
    ),
    _case("garbage: a line", partial(_garbage, b"junk \x1b[2J\n"), "garbage"),
    _case("garbage: no end of a line", partial(_garbage, b"x" * 100_000), "garbage"),
    _case("garbage: NUL", partial(_garbage, bytes(5000)), "garbage"),
    _case("garbage: a flood of lines", partial(_flood, b"\nsay\x07\x1b[2J"), "(and 100 more)"),
    _case("garbage: a flood of ends", partial(_flood, b"\n"), "(and 100 more)"),
    _case("garbage: a flood of one line", partial(_flood, b"\x07"), "garbage"),
    _case(
        "console: a panic", partial(_console, b"Kernel panic - not syncing: \x1b[1mhi\n"), "panic"
    ),
    _case("console: an oops", partial(_console, b"[    1.0] BUG: \xe2\x80\xaebad\n"), "oops"),
]
