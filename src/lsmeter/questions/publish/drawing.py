# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines over releases as geometry: where points, segments and ticks lie; pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from lsmeter.questions.publish.figures import Line, Point, Release

WIDTH, HEIGHT = 680, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 14, 12, 40
_PLOT = HEIGHT - _TOP - _BOTTOM
_TICKS = 5
_LABEL_PX = 46  # between two labels of the axis of releases


class Tick(NamedTuple):
    """A label of an axis, and where it stands."""

    at: int
    text: str


class Mark(NamedTuple):
    """A point on the drawing."""

    x: int
    y: int
    point: Point


@dataclass(frozen=True)
class Trace:
    """One line: its segments as an SVG path, and its points; rank: which colour it has."""

    rank: int
    path: str
    marks: tuple[Mark, ...]

    @property
    def dots(self) -> str:
        """All points as one path, of segments without length."""
        return "".join(f"M{mark.x} {mark.y}h0" for mark in self.marks)


@dataclass(frozen=True)
class Drawing:
    """One state of a graph's two switches: unit (percent, insns), start (zero, fit).

    start is "any" where both are the same.
    """

    unit: str
    start: str
    traces: tuple[Trace, ...]
    values: tuple[Tick, ...]
    releases: tuple[Tick, ...]


def drawings(lines: Sequence[tuple[int, Line]], shown: Sequence[Release]) -> tuple[Drawing, ...]:
    """Draw ranked lines over the releases that are shown, in each state of the switches."""
    places = {release: index for index, release in enumerate(shown)}
    found: list[Drawing] = []
    for unit in ("percent", "insns"):
        zero, fit = (_drawing(lines, places, unit, start) for start in ("zero", "fit"))
        same = zero.values == fit.values
        found += [replace(zero, start="any")] if same else [zero, fit]
    return tuple(found)


def value_of(line: Line, point: Point, unit: str) -> float | None:
    """Return what is drawn of a point: per cent, or what the setup adds in the graph's unit."""
    change = point.change(line.number)
    if change is None:
        return None
    return change.overhead * 100 if unit == "percent" else change.difference


def _drawing(
    lines: Sequence[tuple[int, Line]], places: dict[Release, int], unit: str, start: str
) -> Drawing:
    found = {
        (rank, index): value
        for rank, line in lines
        for index, point in enumerate(line.points)
        if point.release in places and (value := value_of(line, point, unit)) is not None
    }
    ticks = nice_ticks([*found.values(), *([0.0] if start == "zero" else [])])
    low, high = ticks[0], ticks[-1]
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(places) - 1)

    def y(value: float) -> int:
        return round(HEIGHT - _BOTTOM - (value - low) / (high - low) * _PLOT)

    def x(release: Release) -> int:
        return round(_LEFT + places[release] * step)

    traces = []
    for rank, line in lines:
        marks = {
            index: Mark(x(point.release), y(found[rank, index]), point)
            for index, point in enumerate(line.points)
            if (rank, index) in found
        }
        traces.append(Trace(rank, _path(line, marks), tuple(marks.values())))
    labels = tuple(Tick(y(value), f"{value:,.10g}") for value in ticks)
    return Drawing(unit, start, tuple(traces), labels, _labels(places, x))


def _path(line: Line, marks: dict[int, Mark]) -> str:
    """Join each point with the one that it is held against."""
    index = {point.release: number for number, point in enumerate(line.points)}
    found: list[str] = []
    last: Mark | None = None
    for number, mark in marks.items():
        before = line.before(number)
        old = marks.get(index[before.release]) if before else None
        if old is None:
            continue
        if old is not last:
            found.append(f"M{old.x} {old.y}")
        flat = old.y == mark.y
        if flat and old is last and found[-1].startswith("H"):
            found.pop()  # what stays as it is needs one segment
        found.append(f"H{mark.x}" if flat else f"L{mark.x} {mark.y}")
        last = mark
    return "".join(found)


def _labels(places: dict[Release, int], x: Callable[[Release], int]) -> tuple[Tick, ...]:
    """Label the first release of each series; of one series alone, the releases."""
    several = len({release.series for release in places}) > 1
    found: list[Tick] = []
    seen: set[str] = set()
    for release in places:
        text = release.series if several else release.name.rpartition("-")[0] or release.name
        if text not in seen and (not found or x(release) - found[-1].at >= _LABEL_PX):
            found.append(Tick(x(release), text))
        seen.add(text)
    return tuple(found)


def nice_ticks(values: Sequence[float]) -> tuple[float, ...]:
    """Return evenly spaced round numbers that hold the values: 1, 2 or 5 times a power of ten."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    spread = high - low or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(spread / _TICKS))
    step = next(power * n for n in (1, 2, 5, 10, 20) if spread / (power * n) <= _TICKS)
    first, last = math.floor(low / step), math.ceil(high / step)
    return tuple(round(n * step, 10) for n in range(first, max(last, first + 1) + 1))
