# SPDX-License-Identifier: GPL-2.0-or-later
"""How values are written for people, the same in every format; pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from lsmeter.tables.model import Column, Kind, Raw, Shown, Value

MISSING = "\N{EN DASH}"
NUMBERS = frozenset({Kind.COUNT, Kind.CHANGE, Kind.PERCENT, Kind.SHARE})


def count(value: float | None) -> str:
    """Write a number with thousands separators: 1,234, or 1,234.5 when it is not whole."""
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def change(value: float | None) -> str:
    """Write a difference with its sign: +1,234; 0 has none."""
    return f"+{count(value)}" if value is not None and 0 < value < math.inf else count(value)


def percent(fraction: float | None, *, sign: bool = True, space: str = " ") -> str:
    """Write a fraction as per cent with one decimal: +19.3 %; 0 has no sign."""
    if fraction is None or not math.isfinite(fraction):
        return MISSING
    text = f"{fraction * 100:+,.1f}" if sign else f"{fraction * 100:,.1f}"
    return f"{'0.0' if fraction == 0 else text}{space}%"


def many(number: int, noun: str) -> str:
    """Write a number of things: 1 boot, 2 boots."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def left_out(smaller: int, still: int) -> str:
    """Say what a table of changes leaves out: 10 smaller changes, 3 unchanged; "" for nothing."""
    said = [many(smaller, "smaller change")] if smaller > 0 else []
    return ", ".join([*said, *([f"{still} unchanged"] if still else [])])


def spanned(numbers: Mapping[str, int]) -> str:
    """Write the least and the most of some numbers, each with what has it: 1 (read) to 9 (open)."""
    least, most = min(numbers, key=numbers.__getitem__), max(numbers, key=numbers.__getitem__)
    if numbers[least] == numbers[most]:
        return count(numbers[least])
    return f"{count(numbers[least])} ({least}) to {count(numbers[most])} ({most})"


def some(names: Iterable[str], most: int) -> str:
    """Name the first of several, and say how many more there are."""
    found = list(names)
    more = [f"{len(found) - most:,} more"] if len(found) > most else []
    return ", ".join((*found[:most], *more))


def first_of(texts: Iterable[str], most: int = 9) -> tuple[str, ...]:
    """Return sentences that one screen holds, and how many more there are."""
    found = tuple(texts)
    left = len(found) - most
    return (*found[:most], f"{left:,} more: in the tables.") if left > 0 else found


def raw(value: Value) -> Raw:
    """Return what programs get of a value; numbers that do not exist are None."""
    found = value.value if isinstance(value, Shown) else value
    return None if isinstance(found, float) and not math.isfinite(found) else found


def shown(value: Value, column: Column) -> Shown:
    """Return a value with its text."""
    if isinstance(value, Shown):
        return value
    if value is None or value == "":
        return Shown(value, MISSING if column.kind is not Kind.NAME or value is None else "")
    if isinstance(value, bool):
        return Shown(value, "yes" if value else "no")
    if isinstance(value, str):
        return Shown(value, value)
    if column.kind in {Kind.PERCENT, Kind.SHARE}:
        return Shown(value, percent(value, sign=column.kind is Kind.PERCENT))
    return Shown(value, change(value) if column.kind is Kind.CHANGE else count(value))


def natural(value: str | int) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key by which 2 comes before 10, inside text too."""
    if isinstance(value, int):
        return ((0, value, ""),)
    # Python refuses to read integers of thousands of digits; such text sorts as text.
    return tuple(
        (0, int(run), "") if run.isascii() and run.isdigit() and len(run) < 19 else (1, 0, run)
        for run in re.split(r"([0-9]+)", value)
        if run
    )
