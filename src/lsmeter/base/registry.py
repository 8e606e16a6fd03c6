# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds what one file each adds: every public module of a package offers one named object.

A package of the registry (setups, kernel sources, machines, report formats) needs no list of
its members: a new file is found by its presence.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterable
from typing import TypeVar

from lsmeter.base.errors import UsageError

T = TypeVar("T")


def members(package: str, attribute: str, kind: type[T]) -> tuple[T, ...]:
    """Return `attribute` of every public module of `package`, sorted by module name.

    A module whose name begins with an underscore is private and is passed over, and so is one
    without the attribute; an attribute of another type is a programming error (TypeError).
    """
    home = importlib.import_module(package)
    names = sorted(item.name for item in pkgutil.iter_modules(home.__path__))
    modules = [importlib.import_module(f"{package}.{name}") for name in names if name[0] != "_"]
    found = tuple(getattr(module, attribute) for module in modules if hasattr(module, attribute))
    if wrong := [value for value in found if not isinstance(value, kind)]:
        raise TypeError(f"{package}: {attribute} is no {kind.__name__}: {wrong[0]!r}")
    return found


def nearest(word: str, names: Iterable[str]) -> str:
    """Return "; did you mean X?" for the name nearest to `word`, or an empty string."""
    close = difflib.get_close_matches(word, list(names), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def unknown(kind: str, word: str, names: Iterable[str], *, where: str = "") -> UsageError:
    """Build the error for a name that no registry knows: where, what, and the nearest one."""
    known = sorted(names)
    place = f"{where}: " if where else ""
    return UsageError(
        f"{place}unknown {kind} '{word}'{nearest(word, known)}",
        hint=f"known: {', '.join(known)}",
    )
