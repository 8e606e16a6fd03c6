# SPDX-License-Identifier: GPL-2.0-or-later
"""Plots in the form of a study's own, in Vega-Lite; drawn when a page is made."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from functools import partial

from lsmeter.questions.reproduce.compared import Plotted, Point
from lsmeter.questions.reproduce.figures import Tally
from lsmeter.questions.reproduce.judge import Verdict
from lsmeter.tables import look
from lsmeter.tables.look import SERIES, WIDTH, Specification, channel
from lsmeter.tables.model import Figure
from lsmeter.tables.svg import plotted
from lsmeter.tables.values import some

_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_HEIGHT = 260
_FREE = 24  # pixels left free beside and below labels that lean
_PICTURE = 400  # pixels of the plot beside a document's answer
_BAR = 9  # pixels of a bar, at least
_WIDE = 16  # numbers that lie so far apart get a logarithmic axis
_MOST_LACKING = 3
_LINE = 40  # characters of a line of a title that stands upright beside the plot


def figure(found: Plotted) -> Figure:
    """Return a plot; what could not be worked out is said under it."""
    plot = found.plot
    said = [plot.caption] if plot.caption else []
    said.append("Thin lines: 95 % intervals.")
    if unknown := sum(not _has_interval(point) for point in found.points):
        said.append(f"Of {unknown} without one the interval is not known: one boot.")
    if found.lacking:
        said.append(f"Not in it: {some(found.lacking, _MOST_LACKING)}.")
    return plotted(plot.title, " ".join(said), partial(specify, found))


def verdicts(found: Sequence[Tally]) -> Figure:
    """Return a bar for each study: its claims by verdict."""
    caption = "A bar for each study; its parts are its claims."
    return plotted("Claims by verdict", caption, partial(_by_verdict, found))


def _by_verdict(found: Sequence[Tally]) -> Specification:
    rows = [
        {"study": item.name, "verdict": verdict.value, "claims": count, "place": place}
        for item in found
        for place, (verdict, count) in enumerate(item.by_verdict.items())
    ]
    domain = [verdict.value for verdict in Verdict]
    colours = [look.BAR_BETTER, look.BAR_WORSE, look.EMPTY, look.GRID]  # in the order of Verdict
    legend = {"title": None, "orient": "top", "columns": 2, "columnPadding": 24}
    encoding = {
        "y": channel("study:N", sort=[item.name for item in found], axis={"title": None}),
        "x": channel("claims:Q", axis={"title": "claims"}),
        "color": channel("verdict:N", scale={"domain": domain, "range": colours}, legend=legend),
        "order": {"field": "place"},
    }
    size = {"width": _PICTURE, "height": {"step": 26}}
    spec = {"data": {"values": rows}, "mark": "bar", "encoding": encoding, **size}
    return look.finish(spec, left=_FREE)


def specify(found: Plotted) -> Specification | None:
    """Return the plot, a panel for each place; None without a point."""
    if not found.points:
        return None
    places = list(dict.fromkeys(str(point.where) for point in found.points))
    columns = min(len(places), 2)
    width = WIDTH // columns - 90
    names = list(dict.fromkeys(point.series or "ours" for point in found.points))
    y_title = textwrap.wrap(found.plot.y_title, _LINE)
    y = {"y": channel("y:Q", axis={"title": y_title, "tickCount": 6}), "color": _colour(names)}
    draw = _bars if found.plot.form == "bars" else _over_numbers
    spec = draw(found, names, y, width)
    label = _label(found)
    rows = [_row(point, label) for point in found.points]
    if len(places) == 1:
        return look.finish({"data": {"values": rows}, **spec}, left=_FREE, bottom=_FREE)
    header = {"title": None, "labelLimit": width}
    facets = look.facets(rows, spec, "place", columns, sort=places, header=header)
    return look.finish(facets, left=_FREE, bottom=_FREE)


def _row(point: Point, label: Callable[[str], str]) -> dict[str, object]:
    found: dict[str, object] = {"place": str(point.where), "series": point.series or "ours"}
    ends = (point.low, point.high) if _has_interval(point) else (point.y, point.y)
    return {**found, "x": label(point.x), "y": point.y, "low": ends[0], "high": ends[1]}


def _has_interval(point: Point) -> bool:
    return math.isfinite(point.high - point.low)


def _label(found: Plotted) -> Callable[[str], str]:
    """Return how an x is written: without its suite, where all have the same."""
    suites = {point.x.partition("/")[0] if "/" in point.x else "" for point in found.points}
    return lambda x: x.partition("/")[2] if len(suites) == 1 and "" not in suites else x


def _colour(names: list[str]) -> Specification:
    scale = {"domain": names, "range": [SERIES[n % len(SERIES)] for n in range(len(names))]}
    legend = {"title": None, "orient": "top", "columns": 4, "columnPadding": 24}
    return channel("series:N", scale=scale, legend=legend if len(names) > 1 else None)


def _interval(place: Specification, y: Specification) -> Specification:
    mark = {"type": "rule", "strokeWidth": 1, "color": look.INK}
    low = channel("low:Q", axis=y["y"]["axis"])
    return {"mark": mark, "encoding": {**place, "y": low, "y2": {"field": "high"}}}


def _bars(found: Plotted, names: list[str], y: Specification, width: int) -> Specification:
    """Draw a group of bars for each x, a bar for each series; y has value and colour."""
    xs = list(dict.fromkeys(map(_label(found), (point.x for point in found.points))))
    # Names end in what tells them apart, and a label that is cut loses its end.
    axis = {"title": found.plot.x_title or None, "labelAngle": -35, "labelLimit": 320}
    place = {
        "x": channel("x:N", sort=xs, axis=axis),
        "xOffset": channel("series:N", sort=names),
    }
    bar = {"mark": {"type": "bar"}, "encoding": {**place, **y}}
    least = _BAR * len(xs) * (len(names) + 1)
    return {"layer": [bar, _interval(place, y)], "width": max(width, least), "height": _HEIGHT}


def _over_numbers(found: Plotted, names: list[str], y: Specification, width: int) -> Specification:
    """Draw a line through the points of each series, or their line of regression."""
    xs = sorted({float(point.x) for point in found.points})
    axis = {"title": found.plot.x_title or None, "values": xs, "labelOverlap": True}
    scale = {"type": "log", "base": 2} if xs[0] > 0 and xs[-1] / xs[0] >= _WIDE else {"zero": False}
    x = {"x": channel("x:Q", axis={**axis, "format": ",~r"}, scale=scale)}
    shapes = {"domain": names, "range": [_SHAPES[n % len(_SHAPES)] for n in range(len(names))]}
    shape = {"shape": channel("series:N", scale=shapes, legend=None)}
    point = {
        "mark": {"type": "point", "filled": True, "size": 46},
        "encoding": {**x, **y, **shape},
    }
    through: Specification = {
        "mark": {"type": "line", "strokeWidth": 1.8},
        "encoding": {**x, **y},
    }
    if found.plot.form == "points":
        through["transform"] = [{"regression": "y", "on": "x", "groupby": ["series"]}]
    layers = [through, _interval(x, y), point]
    return {"layer": layers, "width": width, "height": _HEIGHT}
