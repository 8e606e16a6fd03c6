# SPDX-License-Identifier: GPL-2.0-or-later
"""Chooses the branches of conditional code: a kernel with every option on.

`#ifdef CONFIG_X` is read, its `#else` is not; `#ifndef CONFIG_X` is not, its `#else` is.
OPTIONS_OFF lists what is off all the same. A condition that cannot be judged counts as true. What
was conditional, and under which condition, is kept for every line.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field, replace

# Not parts of a kernel as distributions build it, or not C at all; macros a file tests for
# before it gives its own (#ifndef NAME, #define NAME) are never CONFIG_ and stay undefined.
OPTIONS_OFF = frozenset(
    {
        "0",
        "CONFIG_PREEMPT_RT",
        "CONFIG_SLUB_TINY",
        "CONFIG_SLOB",
        "CONFIG_CC_IS_CLANG",
        "MODULE",
        "__cplusplus",
        "__ASSEMBLY__",
        "__ASSEMBLER__",
        "__CHECKER__",
        "__GENKSYMS__",
    }
)
MAX_EXPRESSION_TOKENS = 400
MAX_NESTING = 64

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*([a-z]+)\b((?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)
_TOKEN = re.compile(r"[A-Za-z_]\w*|0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*|&&|\|\||[<>=!]=|\S")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_ASKS = {"defined", "IS_ENABLED", "IS_BUILTIN", "IS_REACHABLE", "IS_MODULE"}


@dataclass(frozen=True)
class Region:
    """Lines (first and last, from 1) that are read only under a condition.

    outer is the index of the region around it in Prepared.regions, or -1.
    """

    first: int
    last: int
    condition: str
    outer: int = -1


@dataclass(frozen=True)
class Prepared:
    """A file's text with the branches chosen: dropped lines and directives are empty lines."""

    text: str
    regions: tuple[Region, ...]  # of what was kept, outer before inner
    dropped_lines: int
    defines: tuple[tuple[int, str], ...]  # line and text after #define, of what was kept

    def condition_at(self, line: int) -> str:
        """Return the conditions that `line` is under, joined with &&, or ""."""
        at = bisect.bisect_right(self.regions, line, key=lambda region: region.first) - 1
        inside: list[str] = []
        while at >= 0:
            region = self.regions[at]
            if region.last >= line:
                inside.append(region.condition)
            at = region.outer
        return " && ".join(reversed(inside))


@dataclass
class _Branch:
    """An open #if: which of its branches are taken, and where the present one began."""

    outer: bool  # whether the code around it is read
    taken: bool
    was_taken: bool
    condition: str
    first: int


@dataclass
class _State:
    pieces: list[str] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    defines: list[tuple[int, str]] = field(default_factory=list)
    stack: list[_Branch] = field(default_factory=list)
    dropped: int = 0

    def reads(self) -> bool:
        return not self.stack or (self.stack[-1].outer and self.stack[-1].taken)


def prepare(text: str) -> Prepared:
    """Choose the branches of `text`; the result has as many lines."""
    state = _State()
    position, line = 0, 1
    for found in _DIRECTIVE.finditer(text):
        line = _keep(state, text[position : found.start()], line)
        _directive(state, found.group(1), found.group(2), line)
        lines = found.group(0).count("\n")
        state.pieces.append("\n" * lines)
        line += lines
        position = found.end()
    line = _keep(state, text[position:], line)
    while state.stack:  # an #if without its #endif: a damaged file
        _close(state, line)
    pieces = "".join(state.pieces)
    return Prepared(pieces, _nested(state.regions), state.dropped, tuple(state.defines))


def _nested(regions: list[Region]) -> tuple[Region, ...]:
    """Sort regions, outer before inner, and tell each which one is around it."""
    done: list[Region] = []
    around: list[int] = []
    for region in sorted(regions, key=lambda region: (region.first, -region.last)):
        while around and done[around[-1]].last < region.last:
            around.pop()
        outer = around[-1] if around else -1
        around.append(len(done))
        done.append(replace(region, outer=outer))
    return tuple(done)


def _keep(state: _State, piece: str, line: int) -> int:
    lines = piece.count("\n")
    if state.reads():
        state.pieces.append(piece)
    else:
        state.pieces.append("\n" * lines)
        state.dropped += lines
    return line + lines


def _directive(state: _State, name: str, rest: str, line: int) -> None:
    if name == "define":
        if state.reads():
            state.defines.append((line, rest.strip()))
    elif name in ("if", "ifdef", "ifndef"):
        condition = _written(name, rest)
        taken = _truth(condition)
        state.stack.append(_Branch(state.reads(), taken, taken, condition, line))
    elif name in ("else", "elif") and state.stack:
        branch = state.stack[-1]
        _end_region(state, branch, line)
        condition = f"!({branch.condition})" if name == "else" else _written("if", rest)
        taken = not branch.was_taken and (name == "else" or _truth(condition))
        state.stack[-1] = _Branch(branch.outer, taken, branch.was_taken or taken, condition, line)
    elif name == "endif" and state.stack:
        _close(state, line)


def _close(state: _State, line: int) -> None:
    _end_region(state, state.stack.pop(), line)


def _end_region(state: _State, branch: _Branch, line: int) -> None:
    """Remember what was under a condition of the build; include guards are none."""
    if len(state.stack) > MAX_NESTING:
        return
    if branch.outer and branch.taken and "CONFIG_" in branch.condition:
        state.regions.append(Region(branch.first, line, branch.condition))


def _written(name: str, rest: str) -> str:
    """Put the three kinds of #if into one form, as a person writes it."""
    text = " ".join(_COMMENT.sub(" ", rest).replace("\\\n", " ").split())
    if name == "ifdef":
        return text
    return f"!{text}" if name == "ifndef" else text


def _truth(condition: str) -> bool:
    tokens = _TOKEN.findall(condition)
    if len(tokens) > MAX_EXPRESSION_TOKENS or tokens.count("(") > MAX_NESTING:
        return True
    return _Judge(tokens).either()


class _Judge:
    """Judges the truth of a condition: names by OPTIONS_OFF, comparisons as true."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def either(self) -> bool:
        value = self._both()
        while self._peek() == "||":
            self._at += 1
            value = self._both() or value
        return value

    def _both(self) -> bool:
        value = self._compared()
        while self._peek() == "&&":
            self._at += 1
            value = self._compared() and value
        return value

    def _compared(self) -> bool:
        value = self._one()
        while self._peek() not in ("", "||", "&&", ")"):
            value = True  # a number or version is compared: not known here
            self._at += 1
            if self._peek() == "(":
                self._one()
        return value

    def _one(self) -> bool:
        negated = False
        while self._peek() == "!":
            negated = not negated
            self._at += 1
        word = self._peek()
        self._at += 1
        if word == "(":
            value = self.either()
            self._at += 1
            return value != negated
        name = self._asked() if word in _ASKS else word
        if negated and not name.startswith("CONFIG_"):
            return True  # a file's own guard, or what it defines only if no one has yet
        return (name not in OPTIONS_OFF) != negated

    def _asked(self) -> str:
        name = self._peek()
        self._at += 1
        if name == "(":
            name = self._peek()
            self._at += 2
        return name
