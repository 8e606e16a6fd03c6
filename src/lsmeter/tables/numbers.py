# SPDX-License-Identifier: GPL-2.0-or-later
"""How units, benchmarks, verdicts and uncertain numbers are written, the same everywhere; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Protocol, TypeVar

from lsmeter.core.groups import grouped
from lsmeter.core.model import Benchmark
from lsmeter.core.model.conclusion import Change, Number, Verdict
from lsmeter.tables.model import Tone
from lsmeter.tables.values import MISSING, change, count, natural

# Word for a unit of the model, as used in running text.
_UNIT_WORDS = {"insns": "instructions", "ns": "nanoseconds"}

# One sign for each verdict, so that nothing depends on colour.
VERDICT_MARKS = {
    Verdict.SLOWER: "\N{BLACK UP-POINTING TRIANGLE}",
    Verdict.FASTER: "\N{BLACK DOWN-POINTING TRIANGLE}",
    Verdict.EQUIVALENT: "=",
    Verdict.INCONCLUSIVE: "?",
}
TONES = {
    Verdict.SLOWER: Tone.WORSE,
    Verdict.FASTER: Tone.BETTER,
    Verdict.EQUIVALENT: Tone.QUIET,
    Verdict.INCONCLUSIVE: Tone.WARNING,
}
# Beside the verdict: the number that it is of, where that is not the typical one.
DECIDED_MARKS = {Number.TYPICAL: "", Number.MEAN: "m", Number.WHOLE: "w"}
SOME_MARK = "*"  # of an operation's variants
UNREPEATED_MARK = "~"
APART_MARK = "\N{NOT EQUAL TO}"  # mean or whole cost do not agree with the typical count
ARROW = "\N{RIGHTWARDS ARROW}"
PLUS_MINUS = "\N{PLUS-MINUS SIGN}"
DOT = " \N{MIDDLE DOT} "


def overhead(share: float | None, verdict: Verdict | None = None, digits: int = 1) -> str:
    """Write a fraction as per cent without the sign; what a verdict is of is never written as 0."""
    if share is None or not math.isfinite(share):
        return MISSING
    text = f"{share * 100:+,.{digits}f}"
    if share == 0:
        return text[1:]
    if verdict in {Verdict.SLOWER, Verdict.FASTER} and not float(text.replace(",", "")):
        return f"{share * 100:+.{-math.floor(math.log10(abs(share * 100)))}f}"
    return text


def unit_word(unit: str) -> str:
    """Return the word for a unit: instructions for insns."""
    return _UNIT_WORDS.get(unit, unit)


def measure(unit: str, instrument: str, *, apart: bool = False) -> str:
    """Name unit and instrument as every table and plot must; apart says that it is no time."""
    no_time = ", not time," if apart and unit == "insns" else ""
    per = " per operation" if unit in _UNIT_WORDS else ""
    return f"{unit_word(unit)}{no_time}{per}, {instrument} instrument"


def variant(benchmark: Benchmark) -> str:
    """Write a benchmark's parameters: depth=4; an empty text when it has none."""
    return " ".join(f"{key}={value}" for key, value in benchmark.params)


class _Measured(Protocol):
    @property
    def benchmark(self) -> Benchmark: ...


T = TypeVar("T", bound=_Measured)


def by_operation(items: Iterable[T]) -> dict[str, list[T]]:
    """Group by operation, in order of first appearance; the variants of each in natural order.

    Parameters stand in the order in which they appear.
    """
    groups = grouped((item.benchmark.operation, item) for item in items)
    kinds = (item.benchmark for found in groups.values() for item in found)
    seen = dict.fromkeys((kind.operation, name) for kind in kinds for name, _ in kind.params)
    names = {name: place for place, name in enumerate(seen)}

    def rank(item: T) -> list[object]:
        kind = item.benchmark
        return [(names[kind.operation, name], natural(value)) for name, value in kind.params]

    return {operation: sorted(found, key=rank) for operation, found in groups.items()}


def amount(item: Change) -> str:
    """Write a difference and how well it is known: +1,039 ±10."""
    half = (item.high - item.low) / 2
    digits = 1 if half < 1 else 0
    return change(round(item.difference, digits) + 0.0) + _known(half, digits)


def level(value: float, low: float, high: float) -> str:
    """Write a cost and how well it is known, at worst: 4,475 ±11."""
    half = max(high - value, value - low)
    digits = 1 if 0 < half < 1 else 0
    return count(round(value, digits) + 0.0) + _known(half, digits)


def _known(half: float, digits: int) -> str:
    """Write half an interval; of a single value there is none."""
    return f" {PLUS_MINUS}{count(round(half, digits) + 0.0)}" if math.isfinite(half) else ""
