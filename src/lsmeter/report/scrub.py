# SPDX-License-Identifier: GPL-2.0-or-later
"""Frees every text of a report of characters that could act on a terminal or hide text.

Guests choose some of the text that a report shows. Escape sequences, direction overrides and
lone surrogates must reach neither a terminal nor a file.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from lsmeter.report.model import Report

T = TypeVar("T")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def scrub_text(text: str) -> str:
    """Return `text` with white space as plain spaces and other unprintable characters replaced."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else " " if char.isspace() else _REPLACEMENT for char in text
    )


def scrubbed(report: Report) -> Report:
    """Return `report` with every string in it scrubbed, at any depth."""
    return _scrub(report, {})


def _scrub(value: T, seen: dict[int, Any]) -> T:
    """Scrub strings, tuples and frozen dataclasses; `seen` shares what occurs many times."""
    if isinstance(value, str):
        # Enumerations of strings are the program's own words.
        return scrub_text(value) if type(value) is str else value  # type: ignore[return-value]
    if id(value) in seen:
        return seen[id(value)]  # type: ignore[no-any-return]
    result: Any = value
    if isinstance(value, tuple):
        result = tuple(_scrub(item, seen) for item in value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        old = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        result = dataclasses.replace(
            value, **{name: _scrub(item, seen) for name, item in old.items()}
        )
    seen[id(value)] = result
    return result  # type: ignore[no-any-return]
