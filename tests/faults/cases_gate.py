# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of rules and of other programs that are wrong, and runs that a gate can judge no more."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.faults.case import Case
from tests.faults.field import Ended, Field

DATA = Path(__file__).parents[1] / "data" / "imported"
_GATE = ("gate", "run", "run", "--max", "open<=2%")
_BOMB = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "b">]><PhoronixTestSuite>&b;'
_MIB = 1 << 20


def _import(form: str, make: Callable[[Path], object], field: Field) -> Ended:
    make(field.home / "file")
    return field("import", form, "file", "--setup", "mine", "--run-dir", "imported")


def _speaking(path: Path) -> None:
    """Write results in whose midst somebody speaks to the terminal."""
    lines = (DATA / "lmbench-1").read_text().splitlines(keepends=True)
    path.write_text("".join((*lines[:60], "\x1b]0;owned\x07 \u202e\n", *lines[60:])))


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(17 * _MIB)


def _rules(make: Callable[[Path], object], field: Field) -> Ended:
    make(field.home / "gate.toml")
    return field("gate", "run", "run", "--rules", "gate.toml")


def _damaged(pattern: str, field: Field) -> Ended:
    for path in field.run_dir.glob(pattern):
        path.write_bytes(path.read_bytes()[:-9])
    return field(*_GATE)


def _full(field: Field) -> Ended:
    return field(*_GATE, "--junit", "/dev/full")


def _text(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


# name, what is done, exit code, what is said
_IMPORTS = (
    ("a pipe", "lmbench", os.mkfifo, 2, "a FIFO"),
    ("17 MiB", "unixbench", _large, 2, "larger than"),
    ("a document type", "phoronix", _text(_BOMB), 2, "document type"),
    ("a line that speaks to the terminal", "lmbench", _speaking, 0, r"\x1b]0;owned"),
    ("no text", "lmbench", lambda path: path.write_bytes(bytes(range(256))), 2, "does not begin"),
)
_RULES = (
    ("a pipe", os.mkfifo, "a fifo"),
    ("no table", _text("rule = 3\n"), "rule"),
    ("a number for a limit", _text('[[rule]]\nbenchmark = "open"\nmax = 2\n'), "rule.0.max"),
)
CASES = [
    *(
        Case("import", name, partial(_import, form, make), frozenset({code}), says, recovers=False)
        for name, form, make, code, says in _IMPORTS
    ),
    *(
        Case(
            *("gate", f"rules: {name}", partial(_rules, make), frozenset({2}), says),
            recovers=False,
            measured=True,
        )
        for name, make, says in _RULES
    ),
    *(
        Case(
            *("gate", name, partial(_damaged, pattern), frozenset({code}), says),
            measured=True,
        )
        for name, pattern, code, says in (
            ("every boot is damaged", "boots/*/samples.parquet", 125, "a number is missing"),
            ("the manifest is damaged", "manifest.json", 7, "manifest.json: damaged"),
        )
    ),
    Case("gate", "junit on a full disk", _full, frozenset({7}), recovers=False, measured=True),
]
