# SPDX-License-Identifier: GPL-2.0-or-later
"""The look of all plots, and the pieces of Vega-Lite that they share; pure.

Colours are names that the page's style sheet gives a value. A plot is drawn with a stand-in colour
for each name, since the plot library takes real colours only; the stand-ins are then replaced in
the SVG by references to the style sheet, which has values for light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Specification = dict[str, Any]

WIDTH = 1110  # pixels of a plot on a wide page
PANEL = {"width": 260, "height": 260}  # of a plot of its own
LABEL = 190  # pixels for the longest label of an axis

INK = "#010101"  # text and axes
GRID = "#010102"
BAR_WORSE = "#010103"
BAR_BETTER = "#010104"
EMPTY = "#010105"
STRONG_INK = "#010106"  # text on the strongest colours of the heat map

SERIES = tuple(f"#0102{place:02x}" for place in range(8))

# Bounds of the heat map's colours in per cent; fixed, so that a colour means the same everywhere.
HEAT_BOUNDS = (-40, -20, -10, -5, -1, 1, 5, 10, 20, 40)
HEAT = tuple(f"#0103{place:02x}" for place in range(len(HEAT_BOUNDS) + 1))

# Stand-in colour to the name of a custom property in the style sheet.
PROPERTIES = {
    INK: "--ink",
    GRID: "--grid",
    BAR_WORSE: "--worse",
    BAR_BETTER: "--better",
    EMPTY: "--empty",
    STRONG_INK: "--strong-ink",
    **{colour: f"--series-{place}" for place, colour in enumerate(SERIES)},
    **{colour: f"--heat-{place}" for place, colour in enumerate(HEAT)},
}

_WORDS = {"labelColor": INK, "titleColor": INK, "labelLimit": LABEL}
_LINES = {"domainColor": GRID, "tickColor": GRID, "gridColor": GRID}
_SIZES = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
_CONFIG = {
    "background": "transparent",
    "font": "Liberation Sans, Arial, sans-serif",
    "axis": {**_WORDS, **_LINES, **_SIZES, "labelPadding": 6},
    "view": {"stroke": None},
    "header": {**_WORDS, "labelFontSize": 13, "labelFontWeight": "bold"},
    "legend": {**_WORDS, "labelFontSize": 12, "symbolSize": 80},
}
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_TYPES = {"N": "nominal", "O": "ordinal", "Q": "quantitative"}


def channel(name: str, **words: object) -> Specification:
    """Return an encoding of a field; its name ends in a letter for its type: setup:N."""
    field, _, kind = name.partition(":")
    return {"field": field, "type": _TYPES[kind], **words}


def facets(
    rows: Sequence[object], spec: Specification, field: str, columns: int, **words: object
) -> Specification:
    """Return a plot with a panel for each value of a field."""
    facet = channel(f"{field}:N", title=None, **words)
    return {"data": {"values": rows}, "facet": facet, "columns": columns, "spec": spec}


def finish(plot: Specification, *, left: int = 4, right: int = 4, bottom: int = 4) -> Specification:
    """Return the plot with the one look of the page's plots, and so many pixels left free.

    Labels are as wide as the reader's font has them, which may be more than was reckoned with.
    """
    padding = {"left": left, "top": 4, "bottom": bottom, "right": right}
    return {"$schema": SCHEMA, **plot, "config": _CONFIG, "padding": padding}
