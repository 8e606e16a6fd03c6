# SPDX-License-Identifier: GPL-2.0-or-later
"""Call trees of two sides merged by stack: folded stacks, and flame graphs for pages; pure.

A graph is nested elements of HTML. A frame's width is that part of its caller's which it has of
its instructions, so that the page's style sheet alone can give any frame the whole width: a frame
is a link to itself. The root is on top, its callees below.

Widths are inclusive instructions, of two sides the larger, so that what vanished is still seen.
Colours are those of a function's own instructions: its callers do not hide it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from itertools import count as numbered

from lsmeter.questions.attribution.account import Account, operation
from lsmeter.questions.attribution.profile import Function, Tree
from lsmeter.tables.data import scrub_text
from lsmeter.tables.model import Document, Figure, Section
from lsmeter.tables.render import render
from lsmeter.tables.values import count

# Of the root's width: a narrower frame cannot be seen. What is left out is stated.
_LEAST = 1 / 20_000
_LEAST_KEY = 0.05  # of the root's width, to be reached with the keyboard
_MAX_ROWS = 200  # browsers flatten what is nested deeper than 512 elements
_NAME = "lsmeter-flame-graph"


@dataclass
class Side:
    """What one side has of a frame: own instructions, those with all below, and calls."""

    own: float = 0
    inclusive: float = 0
    calls: float = 0


@dataclass
class Frame:
    """A function below the same callers in all trees of both sides."""

    function: Function
    before: Side = field(default_factory=Side)
    after: Side = field(default_factory=Side)
    width: float = 0  # instructions: the larger own ones of both sides, and the widths of all below
    children: dict[Function, Frame] = field(default_factory=dict)

    @property
    def own_change(self) -> float:
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


def merge(title: str, before: Mapping[str, Tree], after: Mapping[str, Tree]) -> Frame:
    """Merge the trees of benchmarks below one root called `title`: each operation counts once."""
    root = Frame(Function(title))
    for trees, tested in ((before, False), (after, True)):
        variants = Counter(map(operation, trees))
        for name, tree in trees.items():
            many = variants[operation(name)]
            frames: list[Frame] = []
            for node in tree.nodes:
                children = (frames[node.parent] if node.parent >= 0 else root).children
                frame = children.setdefault(node.function, Frame(node.function))
                side = frame.after if tested else frame.before
                # Whole numbers stay so.
                side.own += node.self_insns if many == 1 else node.self_insns / many
                side.calls += node.calls if many == 1 else node.calls / many
                frames.append(frame)
    for frame in reversed(tuple(root.walk())):
        below = frame.children.values()
        frame.before.inclusive = frame.before.own + sum(item.before.inclusive for item in below)
        frame.after.inclusive = frame.after.own + sum(item.after.inclusive for item in below)
        frame.width = max(frame.before.own, frame.after.own, 0) + sum(i.width for i in below)
    return root


def changed(item: Account) -> Figure:
    """Return a graph of what changed from the baseline to the tested side."""

    def draw(identity: str) -> str:
        return _drawn(merge("all", item.before, item.after), identity)

    return Figure(
        "What changed",
        "Width: inclusive instructions of all operations, each once; of both sides the larger. "
        "Colour: the function's own instructions, against those of "
        f"{item.baseline.cell.place.setup}. Select a frame to give it the whole width, one of "
        "its callers to go back; its title has its numbers.",
        draw,
        (("heat-9", "more"), ("heat-5", "the same"), ("heat-1", "fewer")),
    )


def _look(frame: Frame, largest: float) -> tuple[str, str]:
    """Return a frame's class in the style sheet, which is its colour, and its title."""
    before, after, own = frame.before, frame.after, frame.own_change
    grown = after.inclusive - before.inclusive
    # The root of the share keeps small changes visible beside large ones.
    steps = math.ceil(5 * math.sqrt(abs(own) / largest))
    name, module = frame.function
    title = (
        f"{name}{f' [{module}]' if module else ''}: {before.inclusive:,.0f} to "
        f"{after.inclusive:,.0f} instructions ({grown:+,.0f}, {own:+,.0f} its own), "
        f"{count(before.calls)} to {count(after.calls)} calls"
    )
    return f"heat-{5 + steps if own > 0 else 5 - steps}", title


def _drawn(root: Frame, identity: str) -> str:
    """Return a graph as HTML; identity is unique in the page."""
    largest = max(abs(frame.own_change) for frame in root.walk()) or 1
    hidden: list[Frame] = []
    numbers = numbered()

    def shown(frame: Frame, around: float, row: int) -> Iterator[str]:
        if frame.width < _LEAST * root.width or row >= _MAX_ROWS:
            hidden.append(frame)
            return
        key = f"{identity}-{next(numbers)}"
        reached = "" if frame.width >= _LEAST_KEY * root.width else ' tabindex="-1"'
        colour, title = _look(frame, largest)
        yield (
            f'<div class="frame" id="{key}" style="width:{100 * frame.width / around:.4f}%">'
            f'<a class="{colour}" href="#{key}" title="{_text(title)}"{reached}>'
            f'{_text(frame.function.name)}</a><div class="below">'
        )
        for _, child in sorted(frame.children.items()):
            # A frame without a width was never charged: there is nothing to see.
            if child.width:
                yield from shown(child, frame.width, row + 1)
        yield "</div></div>"

    frames = shown(root, root.width, 0) if root.width else ()
    drawing = "\n".join(('<div class="flame">', *frames, "</div>"))
    if not hidden:
        return drawing
    share = sum(frame.width for frame in hidden) / root.width
    return (
        f'{drawing}\n<p class="note">{len(hidden):,} frames are too narrow to be drawn: with what '
        f"they call, {100 * share:.2f} % of the width.</p>"
    )


def _text(text: str) -> str:
    return escape(scrub_text(text))


def file_stems(accounts: Iterable[Account]) -> Iterator[tuple[str, Account]]:
    """Yield accounts with the names of their files: the setup's where it has one account only."""
    known = list(accounts)
    setups = [item.place.setup for item in known]
    for item in known:
        unique = setups.count(item.place.setup) == 1
        yield re.sub(r"[^\w+-]+", "-", item.place.setup if unique else item.place.label), item


def graph_files(accounts: Iterable[Account]) -> dict[str, str]:
    """Return a page with the flame graph, and folded stacks, by the names of their files."""
    files: dict[str, str] = {}
    for stem, item in file_stems(accounts):
        page = Document(_NAME, 1, item.label, sections=(Section("", figures=(changed(item),)),))
        files[f"{stem}.html"] = render(page, "html")
        files[f"{stem}.folded"] = folded(item.after)
        files[f"{stem}-difference.folded"] = folded_difference(item.before, item.after)
    return files


def folded(trees: Mapping[str, Tree]) -> str:
    """Write every stack below its benchmark's name, with the instructions of its own."""
    stacks = _stacks({}, trees, sorted(trees))
    return "".join(f"{stack} {after}\n" for stack, _, after in stacks if after > 0)


def folded_difference(baseline: Mapping[str, Tree], tested: Mapping[str, Tree]) -> str:
    """Write the stacks of both with two numbers each, as tools for difference graphs read them."""
    stacks = _stacks(baseline, tested, sorted(baseline.keys() & tested.keys()))
    return "".join(f"{stack} {old} {new}\n" for stack, old, new in stacks if old or new)


def _stacks(
    before: Mapping[str, Tree], after: Mapping[str, Tree], names: Iterable[str]
) -> Iterator[tuple[str, float, float]]:
    """Yield each stack as text with its own instructions on both sides, none below 0, sorted."""
    for name in names:
        sides = ({name: trees[name]} if name in trees else {} for trees in (before, after))
        work = [(merge(name, *sides), "")]
        found = []
        while work:
            frame, callers = work.pop()
            # Two characters have a meaning in the format.
            stack = callers + frame.function.name.replace(";", ":").replace(" ", "_")
            found.append((stack, max(frame.before.own, 0), max(frame.after.own, 0)))
            work += [(child, f"{stack};") for child in frame.children.values()]
        yield from sorted(found)
