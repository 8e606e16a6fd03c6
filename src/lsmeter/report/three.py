# SPDX-License-Identifier: GPL-2.0-or-later
"""How the three numbers of a benchmark (typical, in-line mean, whole cost) stand to each other.

Pure. A table is headed by the typical one; where another says more or less than the margin
allows, the reader must see it in the same cell.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lsmeter.conclusion import Change, Comparison, Estimate
from lsmeter.model import Instrument
from lsmeter.report import numbers
from lsmeter.report.model import Report

PLUS_MINUS = "\N{PLUS-MINUS SIGN}"
RULE = (
    "Typical: the most frequent reading of one call. In-line mean: over the readings into which "
    "no timer tick fell. Whole cost: what a call costs with those that prepare and undo it (its "
    "cycle) and all that they leave to be done later."
)


def apart(item: Comparison, margin: float) -> bool:
    """Say whether the mean or the whole cost tells another difference than the typical count."""
    return whole_apart(item, margin) or mean_apart(item, margin)


def whole_apart(item: Comparison, margin: float) -> bool:
    """Say whether the whole difference is not the typical one, by more than the margin."""
    return item.whole is not None and _apart(item.typical, item.whole, margin)


def mean_apart(item: Comparison, margin: float) -> bool:
    """Say whether the in-line mean differs otherwise than the typical count does."""
    return item.mean is not None and _apart(item.typical, item.mean, margin)


def _apart(typical: Change, other: Change, margin: float) -> bool:
    """Compare in the unit of the values: the base of a whole cost is another one."""
    separate = other.low > typical.high or other.high < typical.low
    allowed = margin * abs(typical.baseline_value)
    return separate and abs(other.difference - typical.difference) > allowed


def mark(item: Comparison, margin: float) -> str:
    """Return the mark of a cell whose numbers do not agree, else an empty text."""
    return numbers.APART_MARK if apart(item, margin) else ""


@dataclass(frozen=True)
class Medians:
    """Medians of the overheads (fractions); None where there is none."""

    typical: float | None
    mean: float | None
    whole: float | None

    @property
    def text(self) -> str:
        """Write all three, each with what it covers."""
        whole = "whole cost not measured"
        if self.whole is not None:
            whole = f"whole cost {numbers.percent(self.whole)}"
        mean = [] if self.mean is None else [f"in-line mean {numbers.percent(self.mean)}"]
        return ", ".join((f"typical {numbers.percent(self.typical)}", *mean, whole))


def medians(found: Iterable[Comparison]) -> Medians:
    """Return the median overhead of each number."""
    items = list(found)
    return Medians(
        _median(items, lambda item: item.typical),
        _median(items, lambda item: item.mean),
        _median(items, lambda item: item.whole),
    )


def _median(
    items: Iterable[Comparison], part: Callable[[Comparison], Change | None]
) -> float | None:
    changes = (part(item) for item in items)
    found = [item.overhead for item in changes if item is not None and math.isfinite(item.overhead)]
    return statistics.median(found) if found else None


def certain(item: Comparison) -> tuple[Change, ...]:
    """Return the changes of which 0 is no possible value."""
    changes = (item.typical, item.mean, item.whole)
    return tuple(c for c in changes if c is not None and (c.low > 0 or c.high < 0))


def largest_whole(found: Iterable[Comparison]) -> Comparison | None:
    """Return the comparison with the largest overhead of the whole cost."""
    best: Comparison | None = None
    most = -math.inf
    for item in found:
        if item.whole is not None and item.whole.overhead > most:
            best, most = item, item.whole.overhead
    return best


def unmeasured(report: Report) -> str:
    """Say that no whole cost was measured; empty where one was, or where none can be."""
    if report.instrument is not Instrument.EXACT or not report.estimates:
        return ""
    if any(item.whole is not None for item in report.estimates):
        return ""
    quick = " (--quick)" if ("whole_ppm", "0") in report.conditions else ""
    return (
        f"amortised and deferred costs were not measured{quick}; no verdict 'equivalent' is given."
    )


def spread(found: Iterable[Estimate]) -> str:
    """Say how far the whole costs of single boots lie from each other."""
    spreads = sorted(
        (item.whole.boot_high - item.whole.boot_low) / item.whole.value
        for item in found
        if item.whole is not None
        and item.whole.boots > 1
        and item.whole.value > 0
        and item.benchmark.cycle
    )
    if not spreads:
        return ""
    near = spreads[min(len(spreads) - 1, math.ceil(0.95 * len(spreads)) - 1)]
    return (
        f"Boots differ in a whole cost by {_fine(statistics.median(spreads))} (median), by at "
        f"most {_fine(near)} in 95 % of {len(spreads):,} values, by {_fine(spreads[-1])} at most."
    )


def _fine(fraction: float) -> str:
    return f"{fraction * 100:.2f} %"


def amount(change: Change) -> str:
    """Write a difference and how well it is known: +1,039 ±10."""
    half = (change.high - change.low) / 2
    if not math.isfinite(half):
        return f"{numbers.change(round(change.difference) + 0.0)} {PLUS_MINUS}?"
    if half == 0:
        return f"{numbers.change(round(change.difference, 1) + 0.0)} {PLUS_MINUS}0"
    digits = 1 if half < 1 else 0
    value = round(change.difference, digits) + 0.0
    return f"{numbers.change(value)} {PLUS_MINUS}{numbers.count(round(half, digits) + 0.0)}"


def level(value: float, low: float, high: float) -> str:
    """Write a cost and how well it is known, at worst: 4,475 ±11."""
    half = max(high - value, value - low)
    if not math.isfinite(half):
        return f"{numbers.count(round(value) + 0.0)} {PLUS_MINUS}?"
    digits = 1 if 0 < half < 1 else 0
    known = numbers.count(round(half, digits) + 0.0)
    return f"{numbers.count(round(value, digits) + 0.0)} {PLUS_MINUS}{known}"
