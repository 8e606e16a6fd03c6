# SPDX-License-Identifier: GPL-2.0-or-later
"""How numbers, units and parameters are written, the same in every format."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

from lsmeter.conclusion import Verdict
from lsmeter.model import Benchmark, Instrument, ParamValue

T = TypeVar("T")

MISSING = "\N{EN DASH}"

# Word for a unit of the model, as used in running text.
_UNIT_WORDS = {"insns": "instructions", "ns": "nanoseconds"}

# One sign for each verdict, so that nothing depends on colour.
VERDICT_MARKS = {
    Verdict.SLOWER: "\N{BLACK UP-POINTING TRIANGLE}",
    Verdict.FASTER: "\N{BLACK DOWN-POINTING TRIANGLE}",
    Verdict.EQUIVALENT: "=",
    Verdict.INCONCLUSIVE: "?",
}
UNREPEATED_MARK = "~"
APART_MARK = "\N{NOT EQUAL TO}"  # mean or whole cost do not agree with the typical count


def count(value: float | None) -> str:
    """Write a cost with thousands separators: 1,234, or 1,234.5 when it is not whole."""
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def change(value: float) -> str:
    """Write a difference of two costs with its sign: +1,234; 0 has none."""
    return f"+{count(value)}" if 0 < value < math.inf else count(value)


def percent(fraction: float | None, *, sign: bool = True, space: str = " ") -> str:
    """Write a fraction as per cent with one decimal: +19.3 %; 0 has no sign."""
    if fraction is None or not math.isfinite(fraction):
        return MISSING
    text = f"{fraction * 100:+,.1f}" if sign else f"{fraction * 100:,.1f}"
    if fraction == 0:
        text = "0.0"
    return f"{text}{space}%"


def unit_word(unit: str) -> str:
    """Return the word for a unit: instructions for insns."""
    return _UNIT_WORDS.get(unit, unit)


def measure(unit: str, instrument: Instrument) -> str:
    """Name unit and instrument as every table and plot must."""
    per = " per operation" if unit in _UNIT_WORDS else ""
    return f"{unit_word(unit)}{per}, {instrument.value} instrument"


def variant(benchmark: Benchmark) -> str:
    """Write a benchmark's parameters: depth=4; an empty text when it has none."""
    return " ".join(f"{key}={value}" for key, value in benchmark.params)


def phrase(benchmark: Benchmark) -> str:
    """Write a benchmark for a sentence: open at depth 4."""
    words = [benchmark.operation]
    others = []
    for key, value in benchmark.params:
        if key == "depth":
            words.append(f"at depth {value}")
        else:
            others.append(f"{key}={value}")
    if others:
        words.append("with " + ", ".join(others))
    return " ".join(words)


def natural(value: ParamValue) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key by which 2 comes before 10, inside text too."""
    if isinstance(value, int):
        return ((0, value, ""),)
    return tuple((0, int(run), "") if _is_number(run) else (1, 0, run) for run in _runs(value))


def by_operation(items: Iterable[T], benchmark: Callable[[T], Benchmark]) -> dict[str, list[T]]:
    """Group by operation, in order of first appearance; the variants of each in natural order."""
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(benchmark(item).operation, []).append(item)
    for group in groups.values():
        group.sort(key=lambda item: natural(variant(benchmark(item))))
    return groups


def _is_number(text: str) -> bool:
    # Python refuses to read integers of thousands of digits; such text sorts as text.
    return text.isascii() and text.isdigit() and len(text) < 19


def _runs(text: str) -> list[str]:
    """Split into runs of digits and runs of other characters."""
    runs: list[str] = []
    for char in text:
        if runs and runs[-1][-1].isdigit() == char.isdigit():
            runs[-1] += char
        else:
            runs.append(char)
    return runs
