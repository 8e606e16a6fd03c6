# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns dataclasses into plain data, and frees text of what could act on a terminal; pure.

Guests choose some of the text that a document shows. Escape sequences, direction overrides and
lone surrogates must reach neither a terminal nor a file.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

from lsmeter.core.printable import printable

T = TypeVar("T")


def plain(value: object) -> object:
    """Return mappings, lists and plain values; a number that does not exist is None."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def scrub_text(text: str) -> str:
    """Return `text` printable, on one line."""
    if text.isprintable():
        return text
    return printable("".join(" " if char.isspace() else char for char in text))


def scrubbed(value: T) -> T:
    """Return `value` with every string in it scrubbed, at any depth."""
    return _scrub(value, {})


def _scrub(value: T, seen: dict[int, Any]) -> T:
    """Scrub strings in containers and frozen dataclasses; `seen` shares what occurs many times."""
    if isinstance(value, str):
        # Enumerations of strings are the program's own words.
        return value if isinstance(value, Enum) else scrub_text(value)  # type: ignore[return-value]
    if id(value) in seen:
        return seen[id(value)]  # type: ignore[no-any-return]
    result: Any = value
    if isinstance(value, tuple | list):
        result = type(value)(_scrub(item, seen) for item in value)
    elif isinstance(value, Mapping):
        result = {_scrub(key, seen): _scrub(item, seen) for key, item in value.items()}
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in dataclasses.fields(value))
        clean = {name: _scrub(getattr(value, name), seen) for name in names}
        result = dataclasses.replace(value, **clean)
    seen[id(value)] = result
    return result  # type: ignore[no-any-return]
