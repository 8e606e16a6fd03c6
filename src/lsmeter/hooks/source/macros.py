# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds uses of the framework's macros in text, with the conditions that they are under.

Hook lists are made with macros that stand where C has no calls, so no C parser reads them.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_ARGUMENTS_CHARS = 4000
MAX_USES = 5000  # in one file; the longest list of a kernel has fewer than 300
MAX_NESTING = 64  # of #if, as in lsmeter.hooks.source.conditions

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_DEFINE = re.compile(r"[ \t]*#[ \t]*define\b")
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|else|elif|endif)\b(.*)$")


@dataclass(frozen=True)
class Use:
    """One use of a macro: its arguments as written, where, and under which conditions."""

    arguments: tuple[str, ...]
    line: int
    condition: str


def without_comments(text: str) -> str:
    """Blank the comments of `text`, keeping its lines."""
    return _COMMENT.sub(lambda found: "\n" * found.group(0).count("\n") or " ", text)


def uses(text: str, macro: str) -> Iterator[Use]:
    """Yield every use of `macro` in `text` (without comments), #define lines left out."""
    conditions = conditions_by_line(text)
    starts = [0, *(found.end() for found in re.finditer(r"\n", text))]
    matches = re.finditer(rf"\b{re.escape(macro)}\s*\(", text)
    for found in itertools.islice(matches, MAX_USES):
        line = bisect.bisect_right(starts, found.start())
        if _DEFINE.match(text, starts[line - 1]):
            continue
        arguments = _arguments(text, found.end())
        if arguments:
            yield Use(arguments, line, conditions[line - 1])


def conditions_by_line(text: str) -> tuple[str, ...]:
    """Return for every line the #if conditions it is under, joined with && (both branches)."""
    stack: list[str] = []
    joined = ""
    result: list[str] = []
    for line in text.split("\n"):
        found = _CONDITIONAL.match(line)
        if found:
            _follow(stack, found[1], " ".join(found[2].split()))
            outer = stack[:MAX_NESTING]
            joined = " && ".join(condition for condition in outer if "CONFIG_" in condition)
        result.append(joined)
    return tuple(result)


def _follow(stack: list[str], directive: str, rest: str) -> None:
    if directive in ("if", "ifdef", "ifndef"):
        stack.append(f"!{rest}" if directive == "ifndef" else rest)
    elif stack and directive == "else":
        stack[-1] = f"!({stack[-1]})"
    elif stack and directive == "elif":
        stack[-1] = rest
    elif stack:
        stack.pop()


def _arguments(text: str, start: int) -> tuple[str, ...]:
    """Split the arguments that begin at `start` at their commas; () when they never end."""
    parts: list[str] = []
    depth, begin = 0, start
    for at in range(start, min(len(text), start + MAX_ARGUMENTS_CHARS)):
        char = text[at]
        if char in "([{":
            depth += 1
        elif char in ")]}" and depth:
            depth -= 1
        elif char in ",)" and not depth:
            parts.append(" ".join(text[begin:at].split()))
            begin = at + 1
            if char == ")":
                return tuple(parts)
    return ()
