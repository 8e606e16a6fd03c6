# SPDX-License-Identifier: GPL-2.0-or-later
"""Flame graphs as SVG that needs nothing else: real text, titles on hover, no script; pure.

A frame's width is its inclusive instructions, its row its depth; the root is at the bottom. In
a difference graph the width is the larger of both sides, so that what vanished is still seen,
and the colour is that of the function's own instructions: its callers do not hide it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from xml.sax.saxutils import escape

from lsmeter.hooks.attribution.folded import Frame, merge
from lsmeter.hooks.attribution.profile import Function, Tree

_WIDTH = 1110.0  # pixels: as wide as the plots of a page
_MARGIN = 10.0
_ROW = 17
_HEAD = 58
_FOOT = 14
_FONT_PX = 11
# Widths of letters in the widest of the sans-serif fonts in use, as parts of the font's size; of
# those not named here, the average.
_LETTER = 0.62
_LETTERS = {"m": 0.98, "w": 0.82, "M": 0.87, "W": 0.99, "\u2026": 1.0, "_": 0.5} | dict.fromkeys(
    "ijlf.,:[]()I't", 0.39
)
_LEAST_LABEL = 4  # letters before the dots: fewer say nothing
# Narrower frames cannot be seen; they are left out and their number is stated.
_MIN_WIDTH = 0.3
_MAX_ROWS = 300

# Hues (degrees) far apart for the modules; the rest of the kernel stays grey-yellow.
_HUES = {
    "framework": 210,
    "selinux": 0,
    "apparmor": 275,
    "smack": 320,
    "tomoyo": 140,
    "landlock": 95,
    "bpf": 180,
    "capability": 235,
    "ima": 25,
    "evm": 340,
    "integrity": 12,
}
_REST_HUE = 48


@dataclass
class _Box:
    """A frame of the drawing. baseline is 0 throughout in a graph of one side."""

    function: Function
    tested: int = 0  # inclusive instructions
    baseline: int = 0
    tested_calls: int = 0
    baseline_calls: int = 0
    own_change: int = 0  # of its own instructions
    width: int = 0  # instructions that the frame is wide
    children: tuple[_Box, ...] = ()


_Colour = Callable[[_Box], str]
_Words = Callable[[_Box], str]


def flame_graph(trees: Iterable[Tree], *, title: str) -> str:
    """Draw where the instructions of these trees are spent, coloured by module."""
    root = _boxes(None, merge(trees, "all"))
    modules = sorted({box.function.module for box in _walk(root)} - {""})
    legend = [(name, _module_colour(name)) for name in modules] + [("kernel", _module_colour(""))]

    def words(box: _Box) -> str:
        share = box.tested / root.tested if root.tested else 0.0
        return f"{box.tested:,} instructions ({share:.1%}), {box.tested_calls:,} calls"

    return _draw(root, title, legend, lambda box: _module_colour(box.function.module), words)


def difference_flame_graph(baseline: Iterable[Tree], tested: Iterable[Tree], *, title: str) -> str:
    """Draw what changed from baseline to tested: red grew, blue shrank, grey stayed."""
    root = _boxes(merge(baseline, "all"), merge(tested, "all"))
    largest = max((abs(box.own_change) for box in _walk(root)), default=0)
    legend = [("grew", _change_colour(1.0)), ("same", _change_colour(0.0))]
    legend.append(("shrank", _change_colour(-1.0)))

    def colour(box: _Box) -> str:
        return _change_colour(box.own_change / largest if largest else 0.0)

    def words(box: _Box) -> str:
        return (
            f"{box.baseline:,} to {box.tested:,} instructions "
            f"({box.tested - box.baseline:+,}, {box.own_change:+,} its own), "
            f"{box.baseline_calls:,} to {box.tested_calls:,} calls"
        )

    return _draw(root, title, legend, colour, words)


def _boxes(baseline: Frame | None, tested: Frame | None) -> _Box:
    """Merge two trees by function, bottom up, without recursion."""
    root = _new_box(baseline, tested)
    work = [(root, baseline, tested, False)]
    while work:
        box, before, after, ready = work.pop()
        if ready:
            own = max(before.self_insns if before else 0, after.self_insns if after else 0, 0)
            box.width = own + sum(child.width for child in box.children)
            box.tested += sum(child.tested for child in box.children)
            box.baseline += sum(child.baseline for child in box.children)
            continue
        work.append((box, before, after, True))
        old = before.children if before else {}
        new = after.children if after else {}
        functions = sorted(old.keys() | new.keys(), key=lambda item: (item.name, item.module))
        pairs = [(old.get(function), new.get(function)) for function in functions]
        box.children = tuple(_new_box(*pair) for pair in pairs)
        work += [(child, *pair, False) for child, pair in zip(box.children, pairs, strict=True)]
    return root


def _new_box(before: Frame | None, after: Frame | None) -> _Box:
    frame = after or before
    assert frame is not None  # noqa: S101  (one side always has it)
    own = (after.self_insns if after else 0) - (before.self_insns if before else 0)
    return _Box(
        function=frame.function,
        own_change=own,
        tested=after.self_insns if after else 0,
        baseline=before.self_insns if before else 0,
        tested_calls=after.calls if after else 0,
        baseline_calls=before.calls if before else 0,
    )


def _walk(root: _Box) -> Iterable[_Box]:
    work = [root]
    while work:
        box = work.pop()
        yield box
        work += box.children


def _draw(
    root: _Box, title: str, legend: list[tuple[str, str]], colour: _Colour, words: _Words
) -> str:
    placed, hidden = _place(root)
    rows = 1 + max((row for _, row, _, _ in placed), default=0)
    height = _HEAD + rows * _ROW + _FOOT
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {height}" '
            f'width="{_WIDTH:g}" height="{height}" role="img" '
            f'font-family="sans-serif" font-size="{_FONT_PX}">'
        ),
        f"<title>{_text(title)}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{_MARGIN:g}" y="22" font-size="16" fill="#222222">{_text(title)}</text>',
        *_legend(legend, hidden),
    ]
    for box, row, x, width in placed:
        parts.append(_frame(box, (x, height - _FOOT - (row + 1) * _ROW, width), colour, words))
    parts.append("</svg>\n")
    return "\n".join(parts)


def _legend(legend: list[tuple[str, str]], hidden: int) -> list[str]:
    parts = []
    x = _MARGIN
    for name, fill in legend:
        parts.append(
            f'<rect x="{x:g}" y="34" width="12" height="12" fill="{fill}" stroke="#888888"/>'
            f'<text x="{x + 16:g}" y="44" fill="#222222">{_text(name)}</text>'
        )
        x += 34 + len(name) * _FONT_PX * _LETTER
    if hidden:
        parts.append(
            f'<text x="{_WIDTH - _MARGIN:g}" y="44" text-anchor="end" fill="#555555">'
            f"{hidden:,} frames are too narrow to be drawn</text>"
        )
    return parts


def _place(root: _Box) -> tuple[list[tuple[_Box, int, float, float]], int]:
    """Return each frame with its row, left edge and width, and how many are too narrow."""
    scale = (_WIDTH - 2 * _MARGIN) / root.width if root.width else 0.0
    placed: list[tuple[_Box, int, float, float]] = []
    hidden = 0
    work = [(root, 0, _MARGIN)]
    while work:
        box, row, x = work.pop()
        width = box.width * scale
        if width < _MIN_WIDTH or row >= _MAX_ROWS:
            hidden += 1
            continue
        placed.append((box, row, x, width))
        for child in box.children:
            # A frame without a width was never charged: there is nothing to see.
            if child.width:
                work.append((child, row + 1, x))
                x += child.width * scale
    return placed, hidden


def _frame(box: _Box, place: tuple[float, float, float], colour: _Colour, words: _Words) -> str:
    x, y, width = place
    name = box.function.name
    owner = f" [{box.function.module}]" if box.function.module else ""
    shown = _shortened(name, (width - 6) / _FONT_PX)
    label = ""
    if shown:
        label = f'<text x="{x + 3:.1f}" y="{y + 12:g}" fill="#111111">{_text(shown)}</text>'
    return (
        f"<g><title>{_text(name + owner)}: {_text(words(box))}</title>"
        f'<rect x="{x:.2f}" y="{y:g}" width="{width:.2f}" height="{_ROW - 1}" '
        f'fill="{colour(box)}" stroke="#ffffff" stroke-width="0.4"/>{label}</g>'
    )


def _shortened(name: str, room: float) -> str:
    """Return as much of a name as has room (in sizes of the font), "" when that says nothing."""
    widths = [_LETTERS.get(char, _LETTER) for char in name]
    if sum(widths) <= room:
        return name
    used = _LETTERS["\u2026"]
    for kept, width in enumerate(widths):
        used += width
        if used > room:
            return f"{name[:kept]}\u2026" if kept >= _LEAST_LABEL else ""
    return name


def _module_colour(module: str) -> str:
    if not module:
        return f"hsl({_REST_HUE},35%,80%)"
    hue = _HUES.get(module, zlib.crc32(module.encode()) % 360)
    return f"hsl({hue},70%,72%)"


def _change_colour(change: float) -> str:
    """Map -1 .. 1 to blue .. grey .. red."""
    if not change:
        return "hsl(0,0%,93%)"
    # The root of the share keeps small changes visible beside large ones.
    light = 92 - 40 * abs(change) ** 0.5
    return f"hsl({0 if change > 0 else 215},80%,{light:.0f}%)"


def _text(text: str) -> str:
    """Escape for XML; characters that XML cannot hold become a replacement character."""
    return escape("".join(char if char.isprintable() else "\ufffd" for char in text))
