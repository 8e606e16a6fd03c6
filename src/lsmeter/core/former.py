# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that were others once: they are taken until the next major version, and said once each."""

from __future__ import annotations

from collections.abc import Callable

_TOLD: set[tuple[str, str]] = set()
_TELL: list[Callable[[str], None]] = []


def tell_with(tell: Callable[[str], None]) -> None:
    """Tell of former names so from now on; until then of none."""
    _TELL[:] = [tell]
    _TOLD.clear()


def tell_former(old: str, new: str) -> None:
    """Say that a name is a former one, once."""
    if (old, new) not in _TOLD:
        _TOLD.add((old, new))
        for tell in _TELL:
            tell(f"{old} is the former name of {new}; version 2 will not take it")
