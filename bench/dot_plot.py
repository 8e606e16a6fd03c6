# SPDX-License-Identifier: GPL-2.0-or-later
"""A dot plot with intervals as SVG, for light or for dark pages; pure.

It names no font file and holds no script, so nothing is fetched when it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH = 800
_LEFT, _RIGHT = 240, 24  # of the plot's area
_TOP = 96
_STEP = 9  # from one setup's dot to the next one's
_GAP = 14  # from one row to the next

# Colours of Okabe and Ito that colour-blind readers tell apart, for each kind of page.
_COLOURS = {
    False: ("#0072b2", "#d55e00", "#009e73", "#9a6a00", "#b0568f", "#4d4d4d"),
    True: ("#56b4e9", "#f0843c", "#2ec49a", "#e6b422", "#d98cb8", "#c8c8c8"),
}
_INK = {False: ("#1f2328", "#59636e", "#d1d9e0"), True: ("#f0f6fc", "#9198a1", "#3d444d")}


class Dot(NamedTuple):
    """A value with its interval."""

    name: str
    value: float
    low: float
    high: float


def _mark(shape: int, x: float, y: float, colour: str) -> str:
    """Return one of six shapes, so that colour is not all that tells setups apart."""
    if shape == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'
    if shape == 1:
        return f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6" fill="{colour}"/>'
    corners = {
        2: ((0, -4), (4, 3), (-4, 3)),
        3: ((0, -4), (4, 0), (0, 4), (-4, 0)),
        4: ((0, 4), (4, -3), (-4, -3)),
        5: ((-4, -4), (4, -4), (0, 0), (4, 4), (-4, 4), (0, 0)),
    }[shape]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="{colour}"/>'


def _text(x: float, y: float, text: str, colour: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}"{more}>{escape(text)}</text>'


def _key(names: Sequence[str], colours: Sequence[str], ink: str) -> list[str]:
    found, x = [], 24.0
    for shape, name in enumerate(names):
        found.append(_mark(shape, x, 68, colours[shape]))
        found.append(_text(x + 9, 72, name, ink))
        x += 36 + 7.6 * len(name)
    return found


def dot_plot(title: str, unit: str, rows: Mapping[str, Sequence[Dot]], *, dark: bool) -> str:
    """Return the picture: a row for each name, in it a dot with a bar for each of its values."""
    ink, faint, line = _INK[dark]
    colours = _COLOURS[dark]
    names = [dot.name for dot in next(iter(rows.values()))]
    top = math.ceil(max(dot.high for dots in rows.values() for dot in dots) / 5) * 5
    low = min(0.0, *(dot.low for dots in rows.values() for dot in dots))
    bottom = -5 if low < -1 else min(0.0, low)

    def across(value: float) -> float:
        return _LEFT + (value - bottom) / (top - bottom) * (WIDTH - _LEFT - _RIGHT)

    height = _STEP * len(names)
    end = _TOP + (height + _GAP) * len(rows)
    body = [_text(24, 26, title, ink, ' font-size="16" font-weight="600"')]
    body += [_text(24, 46, unit, faint), *_key(names, colours, ink)]
    for tick in range(0, top + 1, 5):
        x = across(tick)
        body.append(f'<path d="M{x:.1f} {_TOP - 8}V{end}" stroke="{line if tick else faint}"/>')
        label = f"+{tick} %" if tick else "0"
        body.append(_text(x, end + 18, label, faint, ' text-anchor="middle"'))
    for at, (row, dots) in enumerate(rows.items()):
        y = _TOP + at * (height + _GAP)
        if at:
            rule = y - _GAP / 2
            body.append(f'<path d="M24 {rule:.1f}H{WIDTH - _RIGHT}" stroke="{line}"/>')
        middle = y + height / 2 + 4
        body.append(_text(_LEFT - 12, middle, row, ink, ' text-anchor="end"'))
        for place, dot in enumerate(dots):
            height_of = y + _STEP * (place + 0.5)
            bar = f"M{across(dot.low):.1f} {height_of:.1f}H{across(dot.high):.1f}"
            body.append(f'<path d="{bar}" stroke="{colours[place]}" stroke-width="2"/>')
            body.append(_mark(place, across(dot.value), height_of, colours[place]))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {end + 32}" role="img"'
        ' font-family="system-ui, sans-serif" font-size="13">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", *body, "</svg>", ""])
