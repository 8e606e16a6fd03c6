# SPDX-License-Identifier: GPL-2.0-or-later
"""From the differences of two sides to a verdict, the same for report, compare, gate and all; pure.

No one number can clear a side of what another one shows. The margin is a fraction of the call: what
a cycle costs beside the call does not widen it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lsmeter.core.model.conclusion import Change, Number, Verdict

# Instructions: what a guest does for itself leaves a whole cost uncertain by a few instructions,
# and of smaller calls those are more than a usual margin.
LEAST_BASE = 1000
NO_TYPICAL = "no typical count"


@dataclass(frozen=True)
class Numbers:
    """What two sides differ by, in fractions of the call (or whatever the margin is in).

    typical is None where there is no typical count, mean and whole where they were not measured.
    needed are those without which nothing is equivalent; the mean stands in for the typical count.
    moved is what moved between calls; spread says how whole costs vary. unit is that of the margin,
    empty for fractions.
    """

    typical: Change | None
    mean: Change | None
    whole: Change | None
    moved: float = 0.0
    spread: str = ""
    needed: frozenset[Number] = frozenset({Number.TYPICAL, Number.WHOLE})
    unit: str = ""

    @property
    def in_line(self) -> Change | None:
        """The typical count, or the in-line mean where there is none."""
        return self.typical or self.mean

    @property
    def head(self) -> Number:
        """The number that stands for the call itself."""
        found = Number.MEAN if self.mean is not None else Number.WHOLE
        return found if self.typical is None and self.of(found) is not None else Number.TYPICAL

    def of(self, number: Number) -> Change | None:
        """Return one of the numbers."""
        found: Change | None = getattr(self, number.value)
        return found

    def write(self, value: float, digits: int) -> str:
        """Write a value with its sign: +1.25%, or +50.00 insns."""
        return f"{value:+.{digits}f} {self.unit}" if self.unit else f"{value:+.{digits}%}"

    def each(self) -> Iterator[tuple[Number, Change]]:
        """Yield the numbers that there are."""
        yield from ((number, item) for number in Number if (item := self.of(number)) is not None)


@dataclass(frozen=True)
class Ruling:
    """A verdict, the number that it is of, and why it is inconclusive or what it rests on."""

    verdict: Verdict
    decided_by: Number
    cause: str = ""


def verdict(found: Numbers, margin: float) -> Ruling:
    """Say what the numbers allow, and why where they allow nothing.

    Worse is what is worse for certain and may be so by more than the margin, in any number, unless
    another number says that in total it is not. Equivalent needs the in-line cost, the whole cost
    and what moved inside the margin. Where there is no typical count, that is said of any verdict.
    """
    ruling = _verdict(found, margin)
    if found.typical is not None or Number.TYPICAL not in found.needed:
        return ruling
    both = found.whole is not None and found.mean is not None
    named = "in-line mean and whole cost" if both else "the in-line mean"
    return replace(ruling, cause=f"{NO_TYPICAL}; {ruling.cause or f'verdict from {named}'}")


def _verdict(found: Numbers, margin: float) -> Ruling:
    signs = {number: _beyond(found, number, item, margin) for number, item in found.each()}
    worse, better = 1 in signs.values(), -1 in signs.values()
    if worse and better:
        return _open(found.head, f"the numbers disagree: {_said(found)}")
    if not worse and not better:
        return _inside(found, margin)
    total = found.whole or found.mean
    if total is None or (total.overhead_low > 0 if worse else total.overhead_high < 0):
        beyond = [number for number, sign in signs.items() if sign]
        sure = (number for number in beyond if _certain(found.of(number), margin))
        ruling = Verdict.SLOWER if worse else Verdict.FASTER
        return Ruling(ruling, next(sure, beyond[0]))
    certain = [item for item in (found.in_line, found.mean) if item and _certain(item, 0)]
    if all(item.low <= total.high and item.high >= total.low for item in certain):
        number = Number.WHOLE if found.whole else Number.MEAN
        return _open(number, _unknown(number, total, found))
    return _open(found.head, f"cost moved between calls: {_said(found)}")


def _inside(found: Numbers, margin: float) -> Ruling:
    """Decide where no number is beyond the margin."""
    if Number.TYPICAL in found.needed and found.in_line is None:
        return _open(found.head, "the in-line cost was not measured")
    if Number.WHOLE in found.needed and found.whole is None:
        return _open(found.head, "amortised and deferred costs were not measured")
    known = {found.head: found.of(found.head), Number.WHOLE: found.whole}
    mean, source = found.mean, ""
    alone = found.typical is None and mean is not None and not _is_within(mean, margin)
    if alone and found.whole is not None and _is_within(found.whole, margin):
        # The margin of a whole cost is that of the call: within it, nothing hides in the mean.
        del known[Number.MEAN]
        source = "verdict from the whole cost"
    for number, item in known.items():
        if item is not None and math.isnan(item.overhead):
            return _open(number, f"{_name(number, found)}: the baseline is 0")
        if item is not None and not _is_within(item, margin):
            return _open(number, _unknown(number, item, found))
    if found.moved > margin:
        what = "peaks moved" if found.typical else "cost moved between calls"
        worth = found.write(found.moved, 1).removeprefix("+") + ("" if found.unit else " of a call")
        return _open(found.head, f"{what}, worth {worth}")
    return Ruling(Verdict.EQUIVALENT, next(iter(known)), source)


def _open(number: Number, cause: str) -> Ruling:
    return Ruling(Verdict.INCONCLUSIVE, number, cause)


def of_call(whole: Change | None, call: float) -> Change | None:
    """Return a whole change with overheads that are fractions of the call's cost.

    Of a call below LEAST_BASE they are fractions of that.
    """
    base = max(call, LEAST_BASE)
    return whole and replace(
        whole,
        overhead=whole.difference / base,
        overhead_low=whole.low / base,
        overhead_high=whole.high / base,
    )


def may_be_beyond(item: Change, margin: float) -> bool:
    """Say whether a number is worse or better for certain, and perhaps by more than the margin."""
    return _certain(item, 0) and not _is_within(item, margin)


def _is_within(item: Change, margin: float) -> bool:
    return item.overhead_low >= -margin and item.overhead_high <= margin


def _certain(item: Change | None, margin: float) -> bool:
    """Say whether a number is worse or better by more than the margin, whatever else holds."""
    return item is not None and (item.overhead_low > margin or item.overhead_high < -margin)


def _beyond(found: Numbers, number: Number, item: Change, margin: float) -> int:
    """Return 1 for worse for certain and perhaps by more than the margin, -1 for better.

    A mean beside a typical count must be beyond it for certain: its interval is the widest.
    """
    if not may_be_beyond(item, margin):
        return 0
    if number is Number.MEAN and found.typical is not None and not _certain(item, margin):
        return 0
    return 1 if item.overhead_low > 0 else -1


def _name(number: Number, found: Numbers) -> str:
    if number is Number.WHOLE:
        return "whole cost"
    return "in-line mean" if found.typical is None or number is Number.MEAN else "in-line cost"


def _unknown(number: Number, item: Change, found: Numbers) -> str:
    spread = found.spread if number is Number.WHOLE else ""
    of = " of the call" if number is Number.WHOLE and not found.unit else ""
    bounds = f"{found.write(item.overhead_low, 2)} to {found.write(item.overhead_high, 2)}{of}"
    return f"{_name(number, found)} not known well enough: {bounds}{spread}"


def _said(found: Numbers) -> str:
    return ", ".join(f"{number} {found.write(item.overhead, 1)}" for number, item in found.each())
