# SPDX-License-Identifier: GPL-2.0-or-later
"""Colours of the plots, as names that the page's style sheet gives a value for light and dark.

A plot is drawn with a stand-in colour for each name, since the plot library takes real colours
only; the stand-ins are then replaced in the SVG by references to the style sheet.
"""

from __future__ import annotations

import itertools

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


def heat_legend() -> tuple[tuple[str, str], ...]:
    """Return the custom property and the range in words of each colour of the heat map."""
    names = [PROPERTIES[colour] for colour in HEAT]
    bounds = [f"{bound:+d} %" for bound in HEAT_BOUNDS]
    ranges = [f"under {bounds[0]}"]
    ranges += [f"{low} to {high}" for low, high in itertools.pairwise(bounds)]
    ranges.append(f"over {bounds[-1]}")
    return tuple(zip(names, ranges, strict=True))
