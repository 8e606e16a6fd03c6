# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds what one file each adds: every public module of a package offers one named object.

A package of the registry (kernel sources, machines, report formats, programs) needs no list of
its members: a new file is found by its presence.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from lsmeter.core.errors import UsageError

T = TypeVar("T")

_MOST_NEAR = 5
_MOST_SHOWN = 24
_LONGEST = 100


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


def find(kind: str, name: str, known: Mapping[str, T], *, where: str = "") -> T:
    """Return what is registered as `name`; UsageError names the known ones when nothing is."""
    if name not in known:
        raise unknown(kind, name, known, where=where)
    return known[name]


def near(word: str, names: Iterable[str]) -> list[str]:
    """Return at most five names near a word, the nearest first; capitals do not matter."""
    known = {name.casefold(): name for name in names if len(name) <= _LONGEST}
    word = word.casefold()[:_LONGEST]
    close = difflib.get_close_matches(word, known, n=_MOST_NEAR)
    begun = [name for name in known if len(word) > 1 and name.startswith(word)]
    # Two or three letters are an abbreviation: md of markdown.
    letters = re.compile(".*".join(map(re.escape, word)) if 1 < len(word) < 4 else "(?!)")
    short = [name for name in known if letters.match(name)]
    return [known[name] for name in dict.fromkeys((*close, *begun, *short))][:_MOST_NEAR]


def nearest(word: str, names: Iterable[str]) -> str:
    """Return "; did you mean X?" for the name nearest to `word`, or an empty string."""
    found = near(word, names)
    return f"; did you mean {found[0]}?" if found else ""


def unknown(kind: str, word: str, names: Iterable[str], *, where: str = "") -> UsageError:
    """Build the error for a name that no registry knows: where, what, and the nearest ones."""
    known = sorted(names)
    place = f"{where}: " if where else ""
    shown = known if len(known) <= _MOST_SHOWN else near(word, known)
    hint = f"known: {', '.join(shown)}"
    if shown is not known:
        hint = f"near: {', '.join(shown)}" if shown else f"{len(known)} are known, none like it"
    title = f"{place}unknown {kind} '{word[:_LONGEST]}'{nearest(word, known)}"
    return UsageError(title, hint=hint)
