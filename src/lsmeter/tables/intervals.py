# SPDX-License-Identifier: GPL-2.0-or-later
"""A plot of numbers with their intervals, a row for each and a panel for each kind; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from lsmeter.tables import look
from lsmeter.tables.model import Figure
from lsmeter.tables.svg import plotted

_WIDTH, _ROW, _FREE = 400, 22, 24  # pixels; beside labels, whose width is a guess


class Bounded(NamedTuple):
    """A number with its interval, whose ends are None or infinite where they are not known."""

    panel: str
    name: str
    value: float
    low: float | None
    high: float | None


def intervals(
    title: str,
    caption: str,
    axis: str,
    usual: float,
    found: Iterable[Bounded],
    *,
    alike: bool = False,
) -> Figure | None:
    """Draw numbers as dots and their intervals as lines; None where there is no number.

    axis: what stands at it. usual: the number at which a line stands across. alike: all panels have
    one axis, since their numbers are of one kind.
    """
    rows = []
    for item in found:
        low, high = (
            item.value if end is None or math.isinf(end) else end for end in (item.low, item.high)
        )
        if math.isfinite(item.value):
            rows.append(item._replace(low=low, high=high)._asdict())
    if not rows:
        return None
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    y = {"y": look.channel("name:N", sort=None, title=None)}
    of = {"axis": {"title": axis, "grid": True, "tickCount": 6}, "scale": {"zero": False}}
    dot, end = (look.channel(f"{name}:Q", **of) for name in ("value", "low"))
    layers = [
        {"mark": {"type": "rule", "color": look.INK}, "encoding": {"x": {"datum": usual}}},
        {"mark": "rule", "encoding": {**y, "x": end, "x2": {"field": "high"}}},
        {"mark": {"type": "circle", "size": 38, "opacity": 1}, "encoding": {**y, "x": dot}},
    ]
    spec = {"layer": layers, "width": _WIDTH, "height": {"step": _ROW}}
    header = {"title": None, "labelLimit": _WIDTH}
    plot = look.facets(rows, spec, "panel", 1, sort=panels, header=header)
    plot["resolve"] = {"scale": {"x": "shared" if alike else "independent", "y": "independent"}}

    return plotted(title, caption, lambda: look.finish(plot, left=_FREE))
