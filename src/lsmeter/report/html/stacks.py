# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the layers of a cost as stacked bars, a panel for each setup; takes numbers as they are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import altair as alt

from lsmeter.report import numbers
from lsmeter.report.chapters.deciding import BASE, Stack, dearest, stacks
from lsmeter.report.html import palette, svg
from lsmeter.report.html.page import Figure
from lsmeter.report.html.plots import LABEL, WIDTH, Specification, finish
from lsmeter.report.model import Report

_PANELS = 3  # in a row
_LETTER = 8  # pixels, of a label
# The same layer has the same colour in every report; what is not here gets one of the rest.
_COLOURS = {
    BASE: palette.SERIES[0],
    "+ capability": palette.SERIES[7],
    "+ hooks": palette.SERIES[2],
    "+ permissive policy": palette.SERIES[5],
    "+ policy": palette.SERIES[1],
    "+ enforcing": palette.SERIES[1],
    "+ hooks and policy": palette.SERIES[6],
    "+ audit": palette.SERIES[4],
    "+ integrity": palette.SERIES[3],
}
_REST = (palette.SERIES[7], palette.SERIES[6], palette.SERIES[5], palette.SERIES[4])


def figures(report: Report) -> tuple[Figure, ...]:
    """Return a figure for each kernel, file system and user."""
    places: dict[tuple[str, str, str], list[Stack]] = {}
    for stack in stacks(report):
        places.setdefault((stack.kernel, stack.filesystem, stack.user), []).append(stack)
    found = []
    for number, ((kernel, filesystem, user), group) in enumerate(places.items(), 1):
        where = f"{kernel}, {filesystem}, user {user}"
        specification = _bars(group, report.unit)
        if specification is None:
            continue
        caption = (
            f"{where}. For each operation the variant to which the layers add most; bars stack "
            f"from the base upwards, in typical {numbers.measure(report.unit, report.instrument)}. "
            "Tick: the cost of the tested setup. A layer below zero is drawn to the left."
        )
        drawing = svg.drawn(
            specification,
            identity=f"layers-{number}",
            title=f"Hooking and deciding, {where}",
            description=caption,
        )
        found.append(Figure("Layers of the cost", caption, drawing))
    return tuple(found)


def _layer(head: str) -> str:
    """Name a layer for all panels: the hooks of each module are drawn alike."""
    name, _, setup = head.partition(": ")
    if name != "+ hooks" or not setup:
        return head
    return "+ capability" if setup == "capability" else name


def _rows(panel: str, stack: Stack, benchmarks: tuple[str, ...]) -> Iterator[dict[str, object]]:
    for item in stack.costs:
        if item.benchmark.id not in benchmarks:
            continue
        parts = (item.base_value, *(layer.difference for layer in item.layers))
        for place, (head, value) in enumerate(zip(stack.heads, parts, strict=True)):
            if math.isfinite(value):
                yield {
                    "setup": panel,
                    "benchmark": item.benchmark.id,
                    "layer": _layer(head),
                    "order": place,
                    "cost": value,
                    "whole": item.value,
                }


def _bars(group: list[Stack], unit: str) -> Specification | None:
    panels = _panel_names(group)
    benchmarks = dearest(group)
    rows = [
        row
        for panel, stack in zip(panels, group, strict=True)
        for row in _rows(panel, stack, benchmarks)
    ]
    if not rows:
        return None
    heads = list(dict.fromkeys(_layer(head) for stack in group for head in stack.heads))
    in_row = min(len(group), _PANELS)
    width = max(200, (WIDTH - 150) // in_row - 24)
    # The browser's letters may be wider than those that the plot is laid out with.
    room = min(LABEL, _LETTER * max(map(len, benchmarks)))
    base = alt.Chart().encode(
        y=alt.Y(
            field="benchmark",
            type="nominal",
            sort=list(benchmarks),
            axis=alt.Axis(title=None, minExtent=room),
        )
    )
    bars = base.mark_bar(height={"band": 0.7}).encode(
        x=alt.X(
            field="cost",
            type="quantitative",
            stack="zero",
            scale=alt.Scale(nice=False, padding=6),
            axis=alt.Axis(title=numbers.unit_word(unit), format=",d", tickCount=4),
        ),
        color=alt.Color(
            field="layer",
            type="nominal",
            scale=_scale(heads),
            sort=heads,
            legend=alt.Legend(title=None, orient="top", columns=4, columnPadding=24),
        ),
        order=alt.Order(field="order", type="quantitative"),
    )
    tick = base.mark_tick(thickness=2, color=palette.INK, height=15).encode(
        x=alt.X(field="whole", type="quantitative")
    )
    layers = alt.layer(bars, tick, data=alt.InlineData(values=rows)).properties(
        width=width, height=21 * len(benchmarks)
    )
    chart = layers.facet(
        facet=alt.Facet(
            field="setup",
            type="nominal",
            sort=panels,
            header=alt.Header(title=None, labelLimit=width),
        ),
        columns=in_row,
        spacing=22,
    )
    return finish(chart)


def _panel_names(group: list[Stack]) -> list[str]:
    """Name panels by setup; one whose benchmarks have other layers comes twice, numbered."""
    names: list[str] = []
    for stack in group:
        again = sum(name.partition(" (")[0] == stack.setup for name in names)
        names.append(f"{stack.setup} ({again + 1})" if again else stack.setup)
    return names


def _scale(heads: list[str]) -> alt.Scale:
    colours: dict[str, str] = {}
    rest = itertools.cycle(_REST)
    for head in heads:
        usual = _COLOURS.get(head.partition(":")[0])
        # Two integrity modules in one stack must not look alike.
        alike = ":" in head and usual in colours.values()
        colours[head] = next(rest) if usual is None or alike else usual
    return alt.Scale(domain=heads, range=list(colours.values()))
