# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers with their intervals, and what is found when they are compared; pure.

Bounds of sums, differences, products and quotients are those of independent errors: how far each
side reaches adds in squares, down and up apart. A divisor reaches as far as its reciprocal does.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scipy.special import ndtri

from lsmeter.core.model import Place
from lsmeter.statistics.blocks import LEVEL

PERCENT = "%"
_MOST_TIMES = 100
_ONE_BOOT = "one boot does not show how far boots differ"
_ROWS = "more rows would tell, not more boots"


class MissingError(Exception):
    """Why a number is not known: one line."""


class UnitError(Exception):
    """Numbers of two units were added or compared."""


@dataclass(frozen=True)
class Source:
    """The rows that a number was read of: a benchmark under one setup, and under its baseline.

    of is the figure of a unit of a workload, as rules name it; "" of what has only one, and of
    calls. whole: of the whole cycle, not of the call.
    """

    part: str
    benchmark: str
    tested: Place
    baseline: Place | None = None
    of: str = ""
    whole: bool = False

    @property
    def row(self) -> Source:
        """The rows alone, whatever was read of them."""
        return replace(self, of="", whole=False)


@dataclass(frozen=True)
class Quantity:
    """A number, the least and the most that it may be (95 %), its unit, and where it was read.

    by_boots says that more boots would narrow the interval; sign is the operator of a formula that
    is its name, "" where it is none.
    """

    value: float
    low: float
    high: float
    unit: str = ""
    of: tuple[Source, ...] = ()
    name: str = ""
    by_boots: bool = True
    sign: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.text}".strip()

    @property
    def text(self) -> str:
        """The number with its unit and its interval."""
        text = _written(self.value, self.unit)
        near = max(abs(self.value) * 5e-4, 5e-3)
        if math.isinf(self.high - self.low):
            return f"{text} (one boot)"
        if self.high - self.low > near:
            text += f" ({_bare(self.low, self.unit)} to {_bare(self.high, self.unit)})"
        return text

    def __add__(self, other: Number) -> Quantity:
        return _sum(self, "+", as_quantity(other))

    __radd__ = __add__

    def __sub__(self, other: Number) -> Quantity:
        return _sum(self, "-", -as_quantity(other))

    def __rsub__(self, other: float) -> Quantity:
        return as_quantity(other) - self

    def __mul__(self, other: Number) -> Quantity:
        return _product(self, "*", as_quantity(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Number) -> Quantity:
        return _product(self, "/", as_quantity(other))

    def __rtruediv__(self, other: float) -> Quantity:
        return as_quantity(other) / self

    def __neg__(self) -> Quantity:
        return replace(self, value=-self.value, low=-self.high, high=-self.low)

    def __abs__(self) -> Quantity:
        if self.low >= 0:
            return self
        if self.high <= 0:
            return -self
        most = max(-self.low, self.high)
        return replace(self, value=abs(self.value), low=0.0, high=most)


Number = Quantity | float


def as_quantity(number: Number) -> Quantity:
    """Return a plain number as one without error."""
    return number if isinstance(number, Quantity) else Quantity(number, number, number)


def _written(value: float, unit: str) -> str:
    if unit == PERCENT:
        return f"{value:+,.1f} %"
    digits = 0 if abs(value) >= 1000 else 3 - max(0, len(str(int(abs(value)))) - 1)
    return f"{value:,.{digits}f} {unit}".strip() if value % 1 else f"{value:,.0f} {unit}".strip()


def _bare(value: float, unit: str) -> str:
    return _written(value, unit).removesuffix(unit).strip()


def _unit(one: Quantity, other: Quantity) -> str:
    """Return the unit that both have; a plain number has that of the other."""
    if one.unit and other.unit and one.unit != other.unit:
        raise UnitError(f"{one.unit} and {other.unit}")
    return one.unit or other.unit


def _named(one: Quantity, sign: str, other: Quantity) -> tuple[str, str]:
    """Return the name of a formula and its operator; none where a side has no name."""
    if not (one.name and other.name):
        return "", ""
    if sign in "*/":
        return f"{_inside(one)} {sign} {_inside(other)}", sign
    right = _inside(other) if sign == "-" and other.sign in {"+", "-"} else other.name
    return f"{one.name} {sign} {right}", sign


def _inside(item: Quantity) -> str:
    """Return a name to stand in another one: a formula in parentheses."""
    return f"({item.name})" if item.sign else item.name


def _sum(one: Quantity, sign: str, other: Quantity) -> Quantity:
    """Return the sum of two numbers; what is subtracted is negative already."""
    value = one.value + other.value
    down = math.hypot(one.value - one.low, other.value - other.low)
    up = math.hypot(one.high - one.value, other.high - other.value)
    name, sign = _named(one, sign, other)
    unit, of = _unit(one, other), one.of + other.of
    return Quantity(value, value - down, value + up, unit, of, name, sign=sign)


def _product(one: Quantity, sign: str, other: Quantity) -> Quantity:
    is_ratio = sign == "/"
    value = one.value / other.value if is_ratio else one.value * other.value
    factor = _reciprocal(other) if is_ratio else other
    reaches = (_reach(one, factor.value), _reach(factor, one.value))
    down, up = (math.hypot(*ends) for ends in zip(*reaches, strict=True))
    unit = "" if is_ratio and one.unit == other.unit else one.unit or other.unit
    name, sign = _named(one, sign, other)
    of = one.of + other.of
    return Quantity(value, value - down, value + up, unit, of, name, sign=sign)


def _reciprocal(item: Quantity) -> Quantity:
    """Return 1 / X: far above 1 / value where the interval comes near 0, without bounds for one."""
    if item.low <= 0 <= item.high:
        if not item.value or math.isfinite(item.high - item.low):
            raise MissingError(f"a ratio to {item}, which may be 0")
        return Quantity(1 / item.value, -math.inf, math.inf)
    return Quantity(1 / item.value, 1 / item.high, 1 / item.low)


def _reach(item: Quantity, factor: float) -> tuple[float, float]:
    """Return how far an interval reaches down and up, times a factor that may be negative."""
    if not factor:
        return 0.0, 0.0
    ends = ((item.value - item.low) * abs(factor), (item.high - item.value) * abs(factor))
    return ends if factor > 0 else (ends[1], ends[0])


def mean(items: Sequence[Quantity]) -> Quantity:
    """Return the mean."""
    return replace(_total(items) / float(len(items)), name=_of("mean", items))


def median(items: Sequence[Quantity]) -> Quantity:
    """Return the median, and those of all lower and upper bounds."""
    _total(items)
    value, low, high = (
        statistics.median(getattr(item, key) for item in items) for key in ("value", "low", "high")
    )
    of = tuple(source for item in items for source in item.of)
    return Quantity(value, low, high, items[0].unit, of, _of("median", items))


def _of(word: str, items: Sequence[Quantity]) -> str:
    """Name what was made of several numbers by the first of them."""
    more = f" and {len(items) - 1} more" if len(items) > 1 else ""
    return f"{word} of {_inside(items[0])}{more}" if items[0].name else ""


def _total(items: Sequence[Quantity]) -> Quantity:
    if not items:
        raise MissingError("no row")
    return replace(sum(items[1:], items[0]), name="", sign="")


def largest(items: Sequence[Quantity]) -> Quantity:
    """Return the largest, named after the one that has its value; any of them may be it."""
    return _outermost(items, max)


def smallest(items: Sequence[Quantity]) -> Quantity:
    """Return the smallest, as largest() does."""
    return _outermost(items, min)


def _outermost(items: Sequence[Quantity], choose: Callable[..., Any]) -> Quantity:
    _total(items)
    found: Quantity = choose(items, key=lambda item: item.value)
    low, high = (choose(getattr(item, end) for item in items) for end in ("low", "high"))
    return replace(found, low=low, high=high)


def total(items: Sequence[Quantity]) -> Quantity:
    """Return the sum."""
    return replace(_total(items), name=_of("sum", items))


def percent(share: Number) -> Quantity:
    """Return a share of two numbers of one unit in per cent; UnitError for what has a unit."""
    item = as_quantity(share)
    if item.unit:
        raise UnitError(f"{item.unit} and a share")
    return replace(item * 100.0, unit=PERCENT, name=item.name, sign=item.sign)


def half_width(item: Quantity) -> Quantity:
    """Return how far the interval reaches to either side, in the mean; MissingError of one boot."""
    if math.isinf(item.high - item.low):
        raise MissingError(f"{item.name}: {_ONE_BOOT}")
    half, name = (item.high - item.low) / 2, f"half-width of {_inside(item)}".removesuffix(" of ")
    return Quantity(half, half, half, item.unit, item.of, name)


def correlation(one: Sequence[Number], other: Sequence[Number]) -> Quantity:
    """Return the correlation of ranks, with the interval of Bonett and Wright (2000)."""
    sides = [[as_quantity(item) for item in side] for side in (one, other)]
    count = len(sides[0])
    if count != len(sides[1]) or count < 5:
        raise MissingError("a correlation needs five rows or more")
    try:
        value = statistics.correlation(*[_ranks([item.value for item in side]) for side in sides])
    except statistics.StatisticsError:
        raise MissingError("a correlation with what is the same in all rows") from None
    middle = math.atanh(max(-0.9999, min(0.9999, value)))
    half = 1.96 * math.sqrt((1 + value * value / 2) / (count - 3))
    of = tuple(source for side in sides for item in side for source in item.of)
    bounds = math.tanh(middle - half), math.tanh(middle + half)
    return Quantity(value, *bounds, "", of, f"correlation of {count} rows", by_boots=False)


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each; equal ones share the mean of theirs."""
    ordered = sorted(values)
    return [(bisect_left(ordered, item) + bisect_right(ordered, item)) / 2 for item in values]


@dataclass(frozen=True)
class Finding:
    """What comparing numbers says: true, false, or not told (None).

    text has the numbers. distance is how far the number that decided lies inside (positive) or
    outside of what was claimed, in unit; None where nothing was measured; share is the same as a
    fraction of the numbers that were compared, without sign. why says what keeps an open one from
    being told. clear is distance over how far the interval reaches towards the bound, 1 or more of
    what is told; tests is of how many comparisons it is the one that decides.
    """

    holds: bool | None
    text: str
    distance: float | None = None
    unit: str = ""
    of: tuple[Source, ...] = ()
    why: str = ""
    share: float = 0.0
    clear: float = math.inf
    tests: int = 1

    def __invert__(self) -> Finding:
        holds = None if self.holds is None else not self.holds
        away = None if self.distance is None else -self.distance
        # text says what was measured, which stays true whatever is asked of it.
        return replace(self, holds=holds, distance=away)

    @property
    def margin(self) -> str:
        """The distance in words."""
        if self.distance is None:
            return ""
        words = _written(abs(self.distance), "" if self.unit == PERCENT else self.unit)
        return f"{words} points" if self.unit == PERCENT else words


def unknown(why: str) -> Finding:
    """Return what is not told, and why."""
    return Finding(None, "", why=why)


def _boots(item: Quantity, away: float) -> str:
    """Say how many more boots would tell, by how far the number lies from what decides.

    Intervals narrow with the root of the number of boots; with that of a few, faster.
    """
    half = max(item.value - item.low, item.high - item.value)
    if math.isinf(half):
        return f"{_ONE_BOOT}: measure more"
    return _times(half / (away or 1e-9))


def _times(narrower: float) -> str:
    """Say how many more boots would make an interval so many times as narrow."""
    times = math.ceil(narrower**2)
    if times > _MOST_TIMES:
        return f"more than {_MOST_TIMES} times the boots would be needed"
    return f"at most {max(2, times)} times the boots would tell"


def _clear(away: float, reach: float) -> float:
    return abs(away) / reach if reach else math.inf


def _is(holds: object) -> str:
    return "is not " if holds is False else ""


def above(one: Number, other: Number, *, strictly: bool) -> Finding:
    """Say whether one number is above another, or not below it: clear of 0, whatever the error."""
    a, b = as_quantity(one), as_quantity(other)
    apart = a - b
    sign = ">" if strictly else "\N{GREATER-THAN OR EQUAL TO}"
    holds: bool | None = None
    if apart.low > 0 or (apart.low == 0 and not strictly):
        holds = True
    elif apart.high < 0 or (apart.high == 0 and strictly):
        holds = False
    why = ""
    if holds is None:
        said = _boots(apart, apart.value) if a.by_boots and b.by_boots else _ROWS
        why = f"the difference may be 0: {replace(apart, name='')}; {said}"
    text = f"{a} {_is(holds)}{sign} {b}"
    largest_value = max(abs(a.value), abs(b.value))
    share = abs(apart.value) / largest_value if largest_value else 0.0
    reach = apart.value - apart.low if apart.value > 0 else apart.high - apart.value
    clear = _clear(apart.value, reach)
    return Finding(holds, text, apart.value, apart.unit, apart.of, why, share, clear)


def below(one: Number, other: Number, *, strictly: bool) -> Finding:
    """Say whether one number is below another, or not above it: in words of this order."""
    found = above(other, one, strictly=strictly)
    sign = "<" if strictly else "\N{LESS-THAN OR EQUAL TO}"
    text = f"{as_quantity(one)} {_is(found.holds)}{sign} {as_quantity(other)}"
    return replace(found, text=text)


def within(number: Number, low: float, high: float) -> Finding:
    """Say whether a number lies between two others, with all of its interval, or outside with all.

    A value inside whose interval reaches over a bound is not told.
    """
    item = as_quantity(number)
    away = min(item.value - low, high - item.value)
    holds: bool | None = None
    if low <= item.low and item.high <= high:
        holds = True
    elif item.high < low or item.low > high:
        holds = False
    said = _boots(item, away) if item.by_boots else _ROWS
    why = "" if holds is not None else f"its interval reaches over a bound; {said}"
    text = f"{item} {_is(holds)}within {low:g} to {high:g}"
    share = abs(away) / ((high - low) / 2 or 1.0)
    down, up = item.value - item.low, item.high - item.value
    if away < 0:
        clear = _clear(away, down if item.value > high else up)
    else:
        clear = min(_clear(item.value - low, down), _clear(high - item.value, up))
    return Finding(holds, text, away, item.unit, item.of, why, share, clear)


def equal(one: Number, other: Number, margin: float) -> Finding:
    """Say whether two numbers are equivalent: all of their difference's interval in the margin."""
    a, b = as_quantity(one), as_quantity(other)
    found = within(a - b, -margin, margin)
    text = f"{a} {_is(found.holds)}equal to {b} \N{PLUS-MINUS SIGN}{margin:g}"
    return replace(found, text=text)


def every(found: Iterable[Finding]) -> Finding:
    """Join findings that all have to be true: the worst that is false decides, then an open one."""
    return _joined(list(found), decides=False)


def some(found: Iterable[Finding]) -> Finding:
    """Join findings of which one has to be true."""
    return _joined(list(found), decides=True)


def at_least(count: float, found: Sequence[Finding]) -> Finding:
    """Say whether so many findings are true."""
    true, is_open = (sum(item.holds is state for item in found) for state in (True, None))
    text = f"{true} of {len(found)} hold, at least {count:g} have to"
    holds = True if true >= count else False if true + is_open < count else None
    deciding = [item for item in found if item.holds is (holds is True)]
    of = tuple(source for item in deciding for source in item.of)
    why = next((item.why for item in found if item.holds is None), "") if holds is None else ""
    share = abs(true - count) / len(found) if found else 0.0
    return Finding(holds, text, true - count, "", of, why, share)


def _joined(found: Sequence[Finding], *, decides: bool) -> Finding:
    """Return the finding that decides: the farthest of that kind, an open one, else the nearest.

    Numbers of two units are far or near by their shares. What one finding decides for all has to
    be clearer the more there are, or chance would decide; what all have to bear out has not.
    """
    if not found:
        return unknown("no row")

    def away(item: Finding) -> tuple[float, float]:
        return item.share, abs(item.distance or 0.0)

    tests = sum(item.tests for item in found)
    if deciding := [item for item in found if item.holds is decides]:
        needed = _needed(tests)
        if told := [item for item in deciding if item.clear >= needed]:
            return replace(max(told, key=away), tests=tests)
        clearest = max(deciding, key=lambda item: item.clear)
        why = f"chance may put one of {tests} comparisons as far off; "
        why += _times(needed / clearest.clear)
        return replace(clearest, holds=None, tests=tests, why=why)
    if still_open := [item for item in found if item.holds is None]:
        return replace(still_open[0], tests=tests)
    return replace(min(found, key=away), tests=tests)


def _needed(tests: int) -> float:
    """Return how clear one of so many comparisons has to be to decide alone (Bonferroni)."""
    chance = (1 - LEVEL) / 2
    return float(ndtri(chance / tests) / ndtri(chance))
