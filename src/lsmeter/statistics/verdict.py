# SPDX-License-Identifier: GPL-2.0-or-later
"""From the differences of two sides to a verdict; pure.

No one number can clear a side of what another one shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lsmeter.model.conclusion import Change, Verdict

# Instructions: what a guest does for itself leaves a whole cost uncertain by a few instructions,
# and of smaller cycles those are more than a usual margin.
LEAST_BASE = 1000
NO_TYPICAL = "no typical count"


@dataclass(frozen=True)
class Numbers:
    """What two sides differ by.

    typical is None where there is no typical count, mean and whole where they were not measured.
    moved is what moved between calls, as a fraction of one; spread says how whole costs vary.
    """

    typical: Change | None
    mean: Change | None
    whole: Change | None
    moved: float = 0.0
    spread: str = ""

    @property
    def in_line(self) -> Change | None:
        """The typical count, or the in-line mean where there is none."""
        return self.typical or self.mean


def verdict(found: Numbers, margin: float) -> tuple[Verdict, str]:
    """Say what the numbers allow, and why where they allow nothing.

    Worse is what is worse for certain and may be so by more than the margin, in any number, unless
    another number says that in total it is not. Equivalent needs the in-line cost, the whole cost
    and what moved inside the margin. Where there is no typical count, that is said of any verdict.
    """
    ruling, cause = _verdict(found, margin)
    if found.typical is not None:
        return ruling, cause
    both = found.whole is not None and found.mean is not None
    named = "in-line mean and whole cost" if both else "the in-line mean"
    return ruling, f"{NO_TYPICAL}; {cause or f'verdict from {named}'}"


def _verdict(found: Numbers, margin: float) -> tuple[Verdict, str]:
    mean, whole = found.mean, found.whole
    total = whole or mean
    signs = [_beyond(item, margin) for item in (found.in_line, whole) if item is not None]
    if mean is not None:
        signs.append((mean.overhead_low > margin) - (mean.overhead_high < -margin))
    worse, better = max(signs, default=0) > 0, min(signs, default=0) < 0
    if worse and better:
        return Verdict.INCONCLUSIVE, f"the numbers disagree: {_said(found)}"
    if not worse and not better:
        return _inside(found, margin)
    if total is None or (total.low > 0 if worse else total.high < 0):
        return Verdict.SLOWER if worse else Verdict.FASTER, ""
    certain = [item for item in (found.in_line, mean) if item and (item.low > 0 or item.high < 0)]
    if all(item.low <= total.high and item.high >= total.low for item in certain):
        return Verdict.INCONCLUSIVE, _unknown(
            "whole cost" if whole else "in-line mean", total, found
        )
    return Verdict.INCONCLUSIVE, f"cost moved between calls: {_said(found)}"


def _inside(found: Numbers, margin: float) -> tuple[Verdict, str]:
    """Decide where no number is beyond the margin."""
    in_line, whole = found.in_line, found.whole
    if in_line is None or whole is None:
        what = "the in-line cost was" if in_line is None else "amortised and deferred costs were"
        return Verdict.INCONCLUSIVE, f"{what} not measured"
    if (
        found.typical is None
        and not _is_within(in_line, margin)
        and _covers(whole, in_line, margin)
    ):
        known, source = {"whole cost": whole}, "verdict from the whole cost"
    else:
        named = "in-line cost" if found.typical else "in-line mean"
        known, source = {named: in_line, "whole cost": whole}, ""
    for name, item in known.items():
        if math.isnan(item.overhead):
            return Verdict.INCONCLUSIVE, f"{name}: the baseline is 0"
        if not _is_within(item, margin):
            return Verdict.INCONCLUSIVE, _unknown(name, item, found)
    if found.moved > margin:
        what = "peaks moved" if found.typical else "cost moved between calls"
        return Verdict.INCONCLUSIVE, f"{what}, worth {found.moved:.1%} of a call"
    return Verdict.EQUIVALENT, source


def is_known(item: Change, margin: float) -> bool:
    """Say whether bounds tell anything: they lie inside the margin, or on one side of 0."""
    return not item.overhead_low <= 0 <= item.overhead_high or _is_within(item, margin)


def relevant(whole: Change | None) -> Change | None:
    """Return a whole change with overheads that are fractions of LEAST_BASE at least."""
    if whole is None or whole.baseline_value >= LEAST_BASE:
        return whole
    return replace(
        whole,
        overhead=whole.difference / LEAST_BASE,
        overhead_low=whole.low / LEAST_BASE,
        overhead_high=whole.high / LEAST_BASE,
    )


def _is_within(item: Change, margin: float) -> bool:
    return item.overhead_low >= -margin and item.overhead_high <= margin


def _covers(whole: Change, mean: Change, margin: float) -> bool:
    """Say whether a whole cost changed by less than the margin is worth of the in-line cost alone.

    Of a cycle, which costs more than the call in it, a fraction within the margin could hide more.
    """
    return max(abs(whole.low), abs(whole.high)) <= margin * mean.baseline_value


def _beyond(item: Change, margin: float) -> int:
    """Return 1 for worse for certain and perhaps by more than the margin, -1 for better."""
    if item.overhead_low > 0 and item.overhead_high > margin:
        return 1
    if item.overhead_high < 0 and item.overhead_low < -margin:
        return -1
    return 0


def _unknown(name: str, item: Change, found: Numbers) -> str:
    spread = found.spread if item is found.whole else ""
    bounds = f"{item.overhead_low:+.2%} to {item.overhead_high:+.2%}"
    return f"{name} not known well enough: {bounds}{spread}"


def _said(found: Numbers) -> str:
    return ", ".join(_each(found))


def _each(found: Numbers) -> Iterator[str]:
    named = (("typical", found.typical), ("mean", found.mean), ("whole", found.whole))
    yield from (f"{name} {item.overhead:+.1%}" for name, item in named if item is not None)
