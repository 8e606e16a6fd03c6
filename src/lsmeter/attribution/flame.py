# SPDX-License-Identifier: GPL-2.0-or-later
"""Call trees of two sides merged by stack: folded stacks, and flame graphs as SVG; pure.

A graph needs nothing else: real text, titles on hover, no script.

A frame's width is its inclusive instructions, its row its depth; the root is at the bottom. In
a difference graph the width is the larger of both sides, so that what vanished is still seen,
and the colour is that of the function's own instructions: its callers do not hide it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.sax.saxutils import escape

from lsmeter.attribution.account import Account
from lsmeter.attribution.profile import Function, Tree

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
class Side:
    """What one side has of a frame: own instructions, those with all below, and calls."""

    own: int = 0
    inclusive: int = 0
    calls: int = 0


@dataclass
class Frame:
    """A function below the same callers in all trees of both sides."""

    function: Function
    before: Side = field(default_factory=Side)
    after: Side = field(default_factory=Side)
    width: int = 0  # instructions: the larger own ones of both sides, and the widths of all below
    children: dict[Function, Frame] = field(default_factory=dict)

    @property
    def own_change(self) -> int:
        """Own instructions: after - before."""
        return self.after.own - self.before.own

    def walk(self) -> Iterator[Frame]:
        """Yield the frame and all below it, callers first."""
        work = [self]
        while work:
            frame = work.pop()
            yield frame
            work += frame.children.values()

    def functions(self, module: str) -> list[tuple[str, Side]]:
        """Return what the tested side spends in each function of a module, the largest first.

        A recursive function's inclusive instructions are counted once, in its outermost call.
        """
        found: dict[str, Side] = {}
        nothing: frozenset[Function] = frozenset()
        work = [(child, nothing) for child in self.children.values()]
        while work:
            frame, callers = work.pop()
            if frame.function.module == module:
                side = found.setdefault(frame.function.name, Side())
                side.own += frame.after.own
                side.calls += frame.after.calls
                side.inclusive += 0 if frame.function in callers else frame.after.inclusive
                callers |= {frame.function}
            work += [(child, callers) for child in frame.children.values()]
        return sorted(found.items(), key=lambda item: (-item[1].own, item[0]))


def merge(title: str, before: Iterable[Tree], after: Iterable[Tree]) -> Frame:
    """Merge the trees of both sides below one root called `title`."""
    root = Frame(Function(title))
    sides = [(tree, False) for tree in before] + [(tree, True) for tree in after]
    for tree, tested in sides:
        frames: list[Frame] = []
        for node in tree.nodes:
            children = (frames[node.parent] if node.parent >= 0 else root).children
            frame = children.setdefault(node.function, Frame(node.function))
            side = frame.after if tested else frame.before
            side.own += node.self_insns
            side.calls += node.calls
            frames.append(frame)
    for frame in reversed(tuple(root.walk())):
        below = frame.children.values()
        frame.before.inclusive = frame.before.own + sum(item.before.inclusive for item in below)
        frame.after.inclusive = frame.after.own + sum(item.after.inclusive for item in below)
        frame.width = max(frame.before.own, frame.after.own, 0) + sum(i.width for i in below)
    return root


class Graph(NamedTuple):
    """A flame graph as SVG, with its title and how to read it."""

    title: str
    caption: str
    drawing: str


_Colour = Callable[[Frame], str]
_Words = Callable[[Frame], str]


def graphs(item: Account) -> tuple[Graph, Graph]:
    """Draw what changed, and where instructions are spent."""
    base = item.baseline.cell.place.setup
    before, after = item.before.values(), item.after.values()
    return (
        Graph(
            "What changed",
            "Width: inclusive instructions, the larger of both sides; the root is at the bottom. "
            f"Red: more than {base}, blue: less, by the function's own instructions. Every frame "
            "has its numbers in its title.",
            difference_flame_graph(before, after, title=item.label),
        ),
        Graph(
            "Where instructions are spent",
            "Width: inclusive instructions of all operations, each once. Colour: the module of "
            "the function.",
            flame_graph(after, title=f"{item.place.label}: every operation once"),
        ),
    )


def graph_files(accounts: Iterable[Account]) -> dict[str, str]:
    """Return flame graphs and folded stacks as files, by name."""
    known = list(accounts)
    setups = [item.place.setup for item in known]
    files: dict[str, str] = {}
    for item in known:
        # The setup names the files where there is one account of it only.
        unique = setups.count(item.place.setup) == 1
        stem = re.sub(r"[^\w+-]+", "-", item.place.setup if unique else item.place.label)
        change, spent = graphs(item)
        files |= {
            f"{stem}.svg": spent.drawing,
            f"{stem}-difference.svg": change.drawing,
            f"{stem}.folded": folded(item.after),
            f"{stem}-difference.folded": folded_difference(item.before, item.after),
        }
    return files


def flame_graph(trees: Iterable[Tree], *, title: str) -> str:
    """Draw where the instructions of these trees are spent, coloured by module."""
    root = merge("all", (), trees)
    modules = sorted({frame.function.module for frame in root.walk()} - {""})
    legend = [(name or "kernel", _module_colour(name)) for name in (*modules, "")]

    def words(frame: Frame) -> str:
        side, whole = frame.after, root.after.inclusive
        share = side.inclusive / whole if whole else 0.0
        return f"{side.inclusive:,} instructions ({share:.1%}), {side.calls:,} calls"

    return _draw(root, title, legend, lambda frame: _module_colour(frame.function.module), words)


def difference_flame_graph(baseline: Iterable[Tree], tested: Iterable[Tree], *, title: str) -> str:
    """Draw what changed from baseline to tested: red grew, blue shrank, grey stayed."""
    root = merge("all", baseline, tested)
    largest = max(abs(frame.own_change) for frame in root.walk())
    legend = [("grew", _change_colour(1.0)), ("same", _change_colour(0.0))]
    legend.append(("shrank", _change_colour(-1.0)))

    def colour(frame: Frame) -> str:
        return _change_colour(frame.own_change / largest if largest else 0.0)

    def words(frame: Frame) -> str:
        before, after = frame.before, frame.after
        return (
            f"{before.inclusive:,} to {after.inclusive:,} instructions "
            f"({after.inclusive - before.inclusive:+,}, {frame.own_change:+,} its own), "
            f"{before.calls:,} to {after.calls:,} calls"
        )

    return _draw(root, title, legend, colour, words)


def _draw(
    root: Frame, title: str, legend: list[tuple[str, str]], colour: _Colour, words: _Words
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
    for frame, row, x, width in placed:
        parts.append(_frame(frame, (x, height - _FOOT - (row + 1) * _ROW, width), colour, words))
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


def _place(root: Frame) -> tuple[list[tuple[Frame, int, float, float]], int]:
    """Return each frame with its row, left edge and width, and how many are too narrow."""
    scale = (_WIDTH - 2 * _MARGIN) / root.width if root.width else 0.0
    placed: list[tuple[Frame, int, float, float]] = []
    hidden = 0
    work = [(root, 0, _MARGIN)]
    while work:
        frame, row, x = work.pop()
        width = frame.width * scale
        if width < _MIN_WIDTH or row >= _MAX_ROWS:
            hidden += 1
            continue
        placed.append((frame, row, x, width))
        for _, child in sorted(frame.children.items()):
            # A frame without a width was never charged: there is nothing to see.
            if child.width:
                work.append((child, row + 1, x))
                x += child.width * scale
    return placed, hidden


def _frame(frame: Frame, place: tuple[float, float, float], colour: _Colour, words: _Words) -> str:
    x, y, width = place
    name = frame.function.name
    owner = f" [{frame.function.module}]" if frame.function.module else ""
    shown = _shortened(name, (width - 6) / _FONT_PX)
    label = ""
    if shown:
        label = f'<text x="{x + 3:.1f}" y="{y + 12:g}" fill="#111111">{_text(shown)}</text>'
    return (
        f"<g><title>{_text(name + owner)}: {_text(words(frame))}</title>"
        f'<rect x="{x:.2f}" y="{y:g}" width="{width:.2f}" height="{_ROW - 1}" '
        f'fill="{colour(frame)}" stroke="#ffffff" stroke-width="0.4"/>{label}</g>'
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


def folded(trees: Mapping[str, Tree]) -> str:
    """Write every stack below its benchmark's name, with the instructions of its own."""
    stacks = (item for name in sorted(trees) for item in _stacks(merge(name, (), (trees[name],))))
    return "".join(f"{stack} {after}\n" for stack, _, after in stacks if after > 0)


def folded_difference(baseline: Mapping[str, Tree], tested: Mapping[str, Tree]) -> str:
    """Write the stacks of both with two numbers each, as tools for difference graphs read them."""
    names = sorted(baseline.keys() & tested.keys())
    roots = (merge(name, (baseline[name],), (tested[name],)) for name in names)
    stacks = (item for root in roots for item in _stacks(root))
    return "".join(f"{stack} {old} {new}\n" for stack, old, new in stacks if old or new)


def _stacks(root: Frame) -> list[tuple[str, int, int]]:
    """Return each stack as text with its own instructions on both sides, none below 0, sorted."""
    found: list[tuple[str, int, int]] = []
    work = [(root, _clean(root.function.name))]
    while work:
        frame, stack = work.pop()
        found.append((stack, max(frame.before.own, 0), max(frame.after.own, 0)))
        children = frame.children.values()
        work += [(child, f"{stack};{_clean(child.function.name)}") for child in children]
    return sorted(found)


def _clean(name: str) -> str:
    """Keep the two characters that have a meaning in the format out of a name."""
    return name.replace(";", ":").replace(" ", "_")
