# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditions as Kconfig writes them: `A && (B || !C) && D = "x"`, evaluated in three values.

What only the running kconfig can know, such as `$(cc-option,…)`, is UNKNOWN.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum

_TOKEN = re.compile(
    r"\s*(\$\((?:[^()]|\([^()]*\))*\)|&&|\|\||!=|<=|>=|[!=<>()]|\"[^\"]*\"|'[^']*'|[A-Za-z0-9_.\-]+)"
)
_COMPARISONS = ("=", "!=", "<", ">", "<=", ">=")
_SYMBOL = re.compile(r"(?=.*[A-Z])[A-Za-z0-9_]+")


class Value(IntEnum):
    """The truth of a condition; m counts as YES here, since it lets an option be set."""

    NO = 0
    UNKNOWN = 1
    YES = 2


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            return [*found, "$(unreadable)"]
        found.append(match[1])
        at = match.end()
    return found


class _Parser:
    """Recursive descent; an expression that makes no sense becomes UNKNOWN, never an error."""

    def __init__(self, tokens: list[str], config: Mapping[str, str]) -> None:
        self._tokens = tokens
        self._config = config
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        word = self._peek()
        self._at += 1
        return word

    def disjunction(self) -> Value:
        value = self._conjunction()
        while self._peek() == "||":
            self._next()
            value = max(value, self._conjunction())
        return value

    def _conjunction(self) -> Value:
        value = self._term()
        while self._peek() == "&&":
            self._next()
            value = min(value, self._term())
        return value

    def _term(self) -> Value:
        word = self._next()
        if word == "!":
            return Value(Value.YES - self._term())
        if word == "(":
            value = self.disjunction()
            self._next()
            return value
        if self._peek() in _COMPARISONS:
            return _compare(self._text(word), self._next(), self._text(self._next()))
        text = self._text(word)
        if text is None:
            return Value.UNKNOWN
        return Value.YES if text in ("y", "m") else Value.NO

    def _text(self, word: str) -> str | None:
        """Return the value of a symbol or constant; None when only kconfig knows it."""
        if not word or word.startswith("$("):
            return None
        if word[0] in "\"'":
            return None if "$(" in word else word[1:-1]
        if _SYMBOL.fullmatch(word):
            return self._config.get(word, "n").strip('"')
        return word


def _compare(left: str | None, operator: str, right: str | None) -> Value:
    if left is None or right is None:
        return Value.UNKNOWN
    if operator in ("=", "!="):
        return Value.YES if (left == right) == (operator == "=") else Value.NO
    try:
        difference = int(left, 0) - int(right, 0)
    except ValueError:
        return Value.UNKNOWN
    true = {"<": difference < 0, ">": difference > 0, "<=": difference <= 0}
    return Value.YES if true.get(operator, difference >= 0) else Value.NO


def evaluate(condition: str, config: Mapping[str, str]) -> Value:
    """Return the truth of `condition` under `config` (options without prefix)."""
    return _Parser(_tokens(condition), config).disjunction()


def conjuncts(condition: str) -> tuple[str, ...]:
    """Split at the outermost `&&`, so that the false part can be named alone."""
    parts: list[list[str]] = [[]]
    depth = 0
    for word in _tokens(condition):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == "||" and depth == 0:
            return (condition,)
        if word == "&&" and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return tuple(_joined(part) for part in parts if part)


def _joined(tokens: list[str]) -> str:
    return re.sub(r"(?<=[!(]) | (?=\))", "", " ".join(tokens))


def symbols(condition: str) -> tuple[str, ...]:
    """Return the names of the options in `condition`, each once, in order."""
    names = [word for word in _tokens(condition) if _SYMBOL.fullmatch(word)]
    return tuple(dict.fromkeys(names))
