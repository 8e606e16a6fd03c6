# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts lines of code: lines that hold more than blanks and comments.

The rule for a module: every .c and .h file of its folder and the folders below, without those of
another module in them, without KUnit tests (*_test.c) and without files that .gitignore names
(a build makes them). All branches of conditional code count. A module of a single file in
security/ is that file.
"""

from __future__ import annotations

import re

_SKIP = re.compile(
    r"/\*.*?(?:\*/|\Z)|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?", re.DOTALL
)
_TEST = re.compile(r"(_test|_kunit)\.c$")


def code_lines(text: str) -> int:
    """Count the lines of C in `text` that are neither blank nor only a comment."""
    without = _SKIP.sub(_replace, text)
    return sum(1 for line in without.split("\n") if line.strip())


def counts(path: str, ignored: frozenset[str]) -> bool:
    """Tell whether a file counts for its module; `ignored` are the names in its .gitignore."""
    return not _TEST.search(path) and path.rpartition("/")[2] not in ignored


def _replace(found: re.Match[str]) -> str:
    text = found.group(0)
    if text.startswith(("/*", "//")):
        return "\n" * text.count("\n") or " "
    return "x" + "\n" * text.count("\n")
