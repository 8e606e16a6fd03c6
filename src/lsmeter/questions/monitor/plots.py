# SPDX-License-Identifier: GPL-2.0-or-later
"""Plots of a system over time in Vega-Lite, with the load shaded behind each; pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from lsmeter.core.groups import grouped
from lsmeter.questions.monitor.series import GROUPS, TABLES, Batch, Monitoring, Series
from lsmeter.tables import look
from lsmeter.tables.look import SERIES, Specification, channel, finish
from lsmeter.tables.model import Figure
from lsmeter.tables.svg import plotted

_WIDTH = 1000
_HEIGHT = 170
_MOST_POINTS = 240  # of a series, in a plot
_MOST_LINES = 8
_MOST_NAMES = 32
_ROW = 15  # pixels, of the names of benchmarks above a plot
_LETTER = 7


def shown(found: Monitoring, group: str) -> tuple[Series, ...]:
    """Return the series that the plot of a group has; what never is anything else than 0 is out."""
    ends = tuple(GROUPS[group].get("plotted", [""]))
    known = [item for item in found.of(group) if item.name.endswith(ends)]
    moving = [item for item in known if any(item.known)]
    return tuple(moving[:_MOST_LINES])


def figures(found: Monitoring) -> Iterator[Figure]:
    """Return a plot of each group that there is anything for."""
    for group, item in GROUPS.items():
        series = shown(found, group)
        if not series or len(found.times_s) < 2:
            continue
        left = len([each for each in found.of(group) if any(each.known)]) - len(series)
        known = ((one, found.mean_in(one, found.counting)) for one in series)
        means = ", ".join(
            f"{one.title} {_short(mean)} {one.unit}" for one, mean in known if mean is not None
        )
        where = " over those that count" * bool(found.batches)
        load = "Shaded: batches of the load; lighter: those for warming up. " * bool(found.batches)
        more = f" {left} further series are in the table." * bool(left)
        title = item["title"]
        yield plotted(
            title[0].upper() + title[1:],
            f"{load}Means{where}: {means}.{more}",
            partial(specification, found, group),
            named=f"{title} over time",
            said=f"{len(series)} series: {', '.join(one.title for one in series)}",
        )


def specification(found: Monitoring, group: str) -> Specification:
    """Return the plot of a group in Vega-Lite."""
    series, is_gauge = shown(found, group), group == "memory"
    rows = [row for item in series for row in _rows(found, item, is_gauge=is_gauge)]
    titles = [item.title for item in series]
    colours = [_colour(item, at) for at, item in enumerate(series)]
    x = channel(
        "s:Q",
        title="seconds of the guest's clock",
        scale={"domain": [found.times_s[0], found.times_s[-1]], "nice": False},
        axis={"grid": False, "format": "~r", "tickCount": 10, "labelOverlap": True},
    )
    colour = channel(
        "series:N",
        sort=titles,
        scale={"domain": titles, "range": colours},
        legend={"title": None, "orient": "top", "columns": 4, "columnPadding": 24, "offset": 22},
    )
    y = channel("value:Q", title=GROUPS[group]["axis"], axis={"tickCount": 4, "minExtent": 44})
    encoding = {"x": x, "y": y, "color": colour, "detail": channel("batch:N")}
    mark: Specification = {} if is_gauge else {"interpolate": "step-before"}
    if group == "cpu":
        rows = _stacked(rows)
        mark |= {"type": "area", "opacity": 1}
        encoding |= {"y": {**y, "scale": {"domain": [0, 100]}}, "y2": {"field": "low"}}
    else:
        mark |= {"type": "line", "strokeWidth": 1.5}
    data = {"data": {"values": rows}, "mark": mark, "encoding": encoding}
    layers = [*_load(found.batches, x), data]
    return finish({"layer": layers, "width": _WIDTH, "height": _HEIGHT}, right=40)


def _colour(item: Series, at: int) -> str:
    """Return a mode's own colour, as empty as its time where it has none; else those in turn."""
    mode = TABLES["cpu"].get(item.name)
    at = at if mode is None else mode.get("colour")
    return look.EMPTY if at is None else SERIES[at]


def _load(batches: Sequence[Batch], x: Specification) -> Iterator[Specification]:
    """Draw the batches behind what follows, and the names of benchmarks above."""
    if not batches:
        return
    bands = [{"s": b.begin_s, "end": b.end_s, "opacity": 0.5 if b.warmup else 1.0} for b in batches]
    yield {
        "data": {"values": bands},
        "mark": {"type": "rect", "color": look.EMPTY},
        "encoding": {
            "x": x,
            "x2": {"field": "end"},
            "opacity": channel("opacity:Q", scale=None, legend=None),
        },
    }
    by_name = grouped((batch.benchmark, batch) for batch in batches)
    whole_s = (batches[-1].end_s - batches[0].begin_s) or 1.0
    free_s = [0.0, 0.0, 0.0]  # where each row of names ends
    for batch, *_ in list(by_name.values())[:_MOST_NAMES]:
        row = next((at for at, end in enumerate(free_s) if end <= batch.begin_s), len(free_s) - 1)
        free_s[row] = batch.begin_s + whole_s * (len(batch.benchmark) + 2) * _LETTER / _WIDTH
        mark = {
            "type": "text",
            "align": "left",
            "baseline": "bottom",
            "fontSize": 12,
            "color": look.INK,
            "y": -4 - row * _ROW,
            "text": batch.benchmark,
        }
        values = [{"s": batch.begin_s}]
        yield {"data": {"values": values}, "mark": mark, "encoding": {"x": x}}


def _spans(found: Monitoring) -> Iterator[tuple[int, range]]:
    """Take moments together where there are too many; none reaches over the end of a batch.

    Give of each span in which stretch without a gap it is, and the places of its moments in time.
    """
    times_s = found.times_s
    size = math.ceil(len(times_s) / _MOST_POINTS)
    begins = {times_s[0], *(batch.begin_s for batch in found.batches)}
    starts = [at for at, time_s in enumerate(times_s) if time_s in begins]
    for batch, (first, end) in enumerate(pairwise((*starts, len(times_s))), 1):
        yield from ((batch, range(at, min(at + size, end))) for at in range(first + 1, end, size))


def _rows(found: Monitoring, series: Series, *, is_gauge: bool) -> Iterator[Specification]:
    """Give the mean of each span at its ends: a rate is one of a span, not of a moment.

    Of a gauge, give the last value of each.
    """
    last = -1
    for batch, places in _spans(found):
        value = series.values[places[-1]] if is_gauge else found.mean_at(series, places)
        if value is None:
            continue
        row = {"series": series.title, "value": round(value, 3), "batch": 0 if is_gauge else batch}
        if not is_gauge and batch != last:
            yield {**row, "s": found.times_s[places[0] - 1]}
        last = batch
        yield {**row, "s": found.times_s[places[-1]]}


def _stacked(rows: Sequence[Specification]) -> list[Specification]:
    """Put each series on those before it; Vega-Lite would also fill the gaps between batches."""
    high: dict[tuple[object, object], float] = {}
    found = []
    for row in rows:
        key = (row["batch"], row["s"])
        low = high.get(key, 0.0)
        high[key] = low + row["value"]
        found.append({**row, "low": low, "value": high[key]})
    return found


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}"
