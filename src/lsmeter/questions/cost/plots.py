# SPDX-License-Identifier: GPL-2.0-or-later
"""The plots of a run's page in Vega-Lite, with their captions; drawn when a page is made."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from lsmeter.core.groups import grouped
from lsmeter.questions.cost import findings, summary
from lsmeter.questions.cost.grids import Grid, Group, Row, place_label
from lsmeter.questions.cost.layers import BASE, Stack, largest, stacks
from lsmeter.questions.cost.model import Report
from lsmeter.tables import look, numbers
from lsmeter.tables.look import LABEL, SERIES, WIDTH, Specification, channel, finish
from lsmeter.tables.model import Figure
from lsmeter.tables.svg import plotted
from lsmeter.tables.values import MISSING, percent

_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_STRONG = 20  # per cent, from where a cell is dark enough for the other ink
_NARROW = 400  # pixels of the picture's axis: with its labels it can be read on a small screen
_TALL = 470  # pixels, with which it stands in the first screen
_PANELS = 3  # of layers, in a row
_LETTER = 8  # pixels, of a label: a browser's letters may be wider than those of the layout
# The same layer has the same colour in every report; what is not here gets one of the rest.
_COLOURS = {
    BASE: SERIES[0],
    "+ capability": SERIES[7],
    "+ hooks": SERIES[2],
    "+ permissive policy": SERIES[5],
    "+ policy": SERIES[1],
    "+ enforcing": SERIES[1],
    "+ hooks and policy": SERIES[6],
    "+ audit": SERIES[4],
    "+ integrity": SERIES[3],
}
_REST = (SERIES[7], SERIES[6], SERIES[5], SERIES[4])

Rows = list[dict[str, object]]


def _panels(
    rows: Rows, spec: Specification, field: str, names: list[str], columns: int, **more: object
) -> Specification:
    """Draw a panel for each name."""
    header = {"title": None, "labelLimit": spec["width"]}
    plot = look.facets(rows, spec, field, columns, sort=names, header=header)
    return finish({**plot, "spacing": 24, **more})


def _legend(names: list[str], most: int = 4) -> Specification:
    columns = min(len(names), most)
    return {"title": None, "orient": "top", "columns": columns, "columnPadding": 24}


def dots(grid: Grid) -> Specification | None:
    """Draw each operation's overhead as tables have it (dot), and the range of its variants (line).

    The line holds all their intervals. Controls are left out, as in the table.
    """
    rows: Rows = []
    for index, name in enumerate(grid.heads):
        for group in grid.groups:
            found = findings.tested(group.comparisons(index))
            if found:
                share = findings.operation(found).overhead
                changes = [c.decided for c in found]
                lows, highs = zip(
                    *((c.overhead_low, c.overhead_high) for c in changes), strict=True
                )
                ends = (min(lows), max(highs)) if math.isfinite(sum((*lows, *highs))) else ()
                low, high = (end * 100 for end in ends or (share, share))
                row = {"setup": name, "operation": group.operation, "overhead": share * 100}
                rows.append({**row, "low": low, "high": high})
    if not rows:
        return None
    names = list(grid.heads)
    operations = list(dict.fromkeys(str(row["operation"]) for row in rows))
    step = max(4.0, min(14.0, _TALL / (len(operations) * (len(names) + 1))))
    y = {
        "y": channel(
            "operation:N",
            sort=operations,
            title=None,
            axis={"grid": True},
            scale={"paddingInner": 0.05},
        ),
        "yOffset": channel("setup:N", sort=names, scale={"domain": names, "paddingOuter": 0.4}),
        "color": _cycled(names, SERIES, columns=3),
    }
    axis = {"title": "overhead in %", "grid": True, "tickCount": 6}
    x, low = channel("overhead:Q", axis=axis), channel("low:Q", axis=axis)
    line = {
        "mark": {"type": "rule", "strokeWidth": 1.4},
        "encoding": {**y, "x": low, "x2": {"field": "high"}},
    }
    point = {"mark": {"type": "circle", "size": 38, "opacity": 1}, "encoding": {**y, "x": x}}
    zero = {
        "mark": {"type": "rule", "color": look.INK, "strokeWidth": 1},
        "encoding": {"x": {"datum": 0}},
    }
    plot = {"data": {"values": rows}, "layer": [zero, line, point], "width": _NARROW}
    return finish({**plot, "height": {"step": step, "for": "offset"}})


def _heat_rows(grid: Grid) -> Iterator[dict[str, object]]:
    for row in grid.rows:
        for name, slot in zip(grid.heads, row.slots, strict=True):
            found = slot.comparison.overhead if slot.comparison is not None else math.nan
            overhead = found * 100 if math.isfinite(found) else None
            yield {
                "benchmark": row.benchmark.id,
                "setup": name,
                "overhead": overhead,
                "text": MISSING if overhead is None else percent(found).removesuffix(" %"),
                "strong": overhead is not None and not -_STRONG <= overhead < _STRONG,
            }


def heat_map(grid: Grid) -> Specification | None:
    """Draw every overhead as a coloured cell with its number in per cent."""
    rows = list(_heat_rows(grid))
    if not any(row["overhead"] is not None for row in rows):
        return None
    width = min(132, max(64, 820 // len(grid.columns)))
    names = [row.benchmark.id for row in grid.rows]
    # The setups' names stand above their columns, aslant where they are longer than that.
    longest = max(map(len, grid.heads))
    aslant = 7 * longest > width
    plain = {"title": None, "domain": False, "ticks": False}
    heads = {
        **plain,
        "orient": "top",
        "labelAngle": -35 if aslant else 0,
        "labelAlign": "left" if aslant else "center",
        "labelLimit": 260 if aslant else width,
        "minExtent": min(160, 5 * longest) if aslant else 0,
        "labelFontWeight": "bold",
    }
    labels = {**plain, "labelLimit": 260, "minExtent": min(260, _LETTER * max(map(len, names)))}
    place = {
        "x": channel("setup:N", sort=list(grid.heads), axis=heads),
        "y": channel("benchmark:N", sort=names, axis=labels),
    }
    scale = {"type": "threshold", "domain": list(look.HEAT_BOUNDS), "range": list(look.HEAT)}
    colour = channel("overhead:Q", scale=scale, legend=None)
    known = {"condition": {"test": "isValid(datum.overhead)", **colour}, "value": look.EMPTY}
    ink = {"condition": {"test": "datum.strong", "value": look.STRONG_INK}, "value": look.INK}
    plot = {
        "data": {"values": rows},
        "layer": [
            {"mark": {"type": "rect"}, "encoding": {**place, "color": known}},
            {
                "mark": {"type": "text", "fontSize": 11},
                "encoding": {**place, "text": channel("text:N"), "color": ink},
            },
        ],
        "width": {"step": width},
        "height": {"step": 19},
    }
    return finish(plot, right=5 * len(grid.heads[-1]) if aslant else 4)


def _depth_groups(grid: Grid) -> tuple[Group, ...]:
    """Return the operations that were measured at several path depths."""
    return tuple(g for g in grid.groups if len({_depth(row) for row in g.rows} - {None}) > 1)


def _depth(row: Row) -> int | None:
    found = dict(row.benchmark.params)
    depth = found.get("depth") if len(found) == 1 else None
    return depth if isinstance(depth, int) else None


def _depth_rows(grid: Grid) -> Iterator[dict[str, object]]:
    for group in _depth_groups(grid):
        for row in group.rows:
            depth = _depth(row)
            costs = {n: slot.value for n, slot in zip(grid.heads, row.slots, strict=True)}
            if grid.baseline_setup is not None:
                mark = "" if grid.before_and_after else " (baseline)"
                costs = {f"{grid.baseline_head}{mark}": row.baseline_value(), **costs}
            else:
                heads = enumerate(grid.heads)
                costs = {**{f"{n} before": row.baseline_value(i) for i, n in heads}, **costs}
            for name, cost in costs.items():
                if depth is not None and cost is not None and math.isfinite(cost):
                    found = {"operation": group.operation, "depth": depth}
                    yield {**found, "setup": name, "cost": cost}


def _cycled(names: list[str], marks: tuple[str, ...], columns: int = 4) -> Specification:
    """Give each name one of `marks`, again from the first where there are too few."""
    scale = {"domain": names, "range": [marks[n % len(marks)] for n in range(len(names))]}
    return channel("setup:N", scale=scale, legend=_legend(names, columns))


def depth_lines(grid: Grid, unit: str) -> Specification | None:
    """Draw cost against path depth, a panel per operation and a line per setup."""
    rows = list(_depth_rows(grid))
    if not rows:
        return None
    names = list(dict.fromkeys(str(row["setup"]) for row in rows))
    depths = sorted({int(str(row["depth"])) for row in rows})
    groups = [group.operation for group in _depth_groups(grid)]
    panels = min(len(groups), 2 if len(groups) <= 4 else 3)
    depth = {"values": depths, "format": "d", "title": "path depth", "grid": False}
    cost = {"title": numbers.unit_word(unit), "format": ",d", "tickCount": 6}
    inside = {"domain": [depths[0] - 0.3, depths[-1] + 0.3], "nice": False}
    point = {"size": 46, "filled": True}
    spec = {
        "mark": {"type": "line", "point": point, "strokeWidth": 1.8},
        "encoding": {
            "x": channel("depth:Q", axis=depth, scale=inside),
            "y": channel("cost:Q", axis=cost, scale={"zero": True}),
            "color": _cycled(names, SERIES),
            "shape": _cycled(names, _SHAPES),
        },
        "width": WIDTH // panels - 84,
        "height": 220,
    }
    resolve = {"scale": {"y": "independent"}, "axis": {"x": "independent"}}
    return _panels(rows, spec, "operation", groups, panels, resolve=resolve)


def _layer(head: str) -> str:
    """Name a layer for all panels: the hooks of each module are drawn alike."""
    name, _, setup = head.partition(": ")
    if name != "+ hooks" or not setup:
        return head
    return "+ capability" if setup == "capability" else name


def _layer_rows(
    panel: str, stack: Stack, benchmarks: tuple[str, ...]
) -> Iterator[dict[str, object]]:
    for item in stack.costs:
        parts = (item.base_value, *(layer.difference for layer in item.layers))
        for place, (head, value) in enumerate(zip(stack.heads, parts, strict=True)):
            if item.benchmark.id in benchmarks and math.isfinite(value):
                found = {"setup": panel, "benchmark": item.benchmark.id, "layer": _layer(head)}
                yield {**found, "order": place, "cost": value, "whole": item.value}


def layer_bars(group: list[Stack], unit: str) -> Specification | None:
    """Draw the layers of costs as stacked bars, a panel for each setup."""
    panels: list[str] = []
    for stack in group:
        # One whose benchmarks have other layers comes twice, numbered.
        again = sum(name.partition(" (")[0] == stack.place.setup for name in panels)
        panels.append(f"{stack.place.setup} ({again + 1})" if again else stack.place.setup)
    benchmarks = largest(group)
    pairs = zip(panels, group, strict=True)
    rows = [row for panel, stack in pairs for row in _layer_rows(panel, stack, benchmarks)]
    if not rows:
        return None
    heads = list(dict.fromkeys(_layer(head) for stack in group for head in stack.heads))
    in_row = min(len(group), _PANELS)
    width = max(200, (WIDTH - 150) // in_row - 24)
    extent = min(LABEL, _LETTER * max(map(len, benchmarks)))
    labels = {"title": None, "minExtent": extent}
    y = channel("benchmark:N", sort=list(benchmarks), axis=labels)
    axis = {"title": numbers.unit_word(unit), "format": ",d", "tickCount": 4}
    scale = {"nice": False, "padding": 6}
    legend = {**_legend(heads), "columns": 4}
    bar = {
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "y": y,
            "x": channel("cost:Q", stack="zero", scale=scale, axis=axis),
            "color": channel("layer:N", scale=_layer_scale(heads), sort=heads, legend=legend),
            "order": channel("order:Q"),
        },
    }
    tick = {
        "mark": {"type": "tick", "thickness": 2, "color": look.INK, "height": 15},
        "encoding": {"y": y, "x": channel("whole:Q")},
    }
    spec = {"layer": [bar, tick], "width": width, "height": 21 * len(benchmarks)}
    return _panels(rows, spec, "setup", panels, in_row)


def _layer_scale(heads: list[str]) -> Specification:
    colours: dict[str, str] = {}
    rest = itertools.cycle(_REST)
    for head in heads:
        usual = _COLOURS.get(head.partition(":")[0])
        # Two integrity modules in one stack must not look alike.
        alike = ":" in head and usual in colours.values()
        colours[head] = next(rest) if usual is None or alike else usual
    return {"domain": heads, "range": list(colours.values())}


def picture(report: Report, grids: Sequence[Grid]) -> Figure | None:
    """Return the plot that says most: the overheads of the first grid that has any."""
    return next((_dots(report, grid) for grid in grids if grid.compared), None)


def _dots(report: Report, grid: Grid) -> Figure:
    caption = (
        f"Overhead over {summary.baseline(report, (grid,))} by operation and setup, in % of "
        f"{summary.measured(report)}; right of zero is worse. Dot: median of an operation's "
        "variants, by the number that decided. Line: from the least to the largest of all of them, "
        "with their intervals."
    )
    title = "Overhead of each operation"
    named = f"{title}, {place_label(report, grid)}"
    return plotted(title, caption, partial(dots, grid), named=named)


def of_grid(report: Report, grid: Grid, *, first: bool) -> tuple[Figure, ...]:
    """Return dots, heat map and depth lines of a grid; what has no numbers is not drawn.

    The dots of the first one are the picture of the page.
    """
    unit = f"Unit: {report.words.typical} {summary.measured(report)}"
    against = summary.baseline(report, (grid,))
    where = place_label(report, grid)
    heat = (
        f"Typical overhead in % over {against}; positive is worse. {unit}. {MISSING} means no "
        "number."
    )
    depth = f"Cost of operations by path depth. Lower is better. {unit}."
    return (
        *(() if first else (_dots(report, grid),)),
        plotted(
            *("Every benchmark", heat, partial(heat_map, grid), _heat_scale()),
            named=f"Every benchmark, {where}",
        ),
        plotted(
            *("Cost against path depth", depth, partial(depth_lines, grid, report.unit)),
            named=f"Cost against path depth, {where}",
        ),
    )


def _heat_scale() -> tuple[tuple[str, str], ...]:
    """Return the class and the range in words of each colour of the heat map."""
    bounds = [f"{bound:+d} %" for bound in look.HEAT_BOUNDS]
    ranges = (
        f"under {bounds[0]}",
        *(f"{low} to {high}" for low, high in itertools.pairwise(bounds)),
        f"over {bounds[-1]}",
    )
    return tuple((f"heat-{place}", words) for place, words in enumerate(ranges))


def of_layers(report: Report) -> tuple[Figure, ...]:
    """Return a figure of layers for each kernel, suite, file system and user."""
    places = grouped((replace(stack.place, setup=""), stack) for stack in stacks(report))
    measure = numbers.measure(report.unit, report.instrument)
    return tuple(
        plotted(
            "Layers of the cost",
            f"{', '.join(place.beside)}. For each operation the variant to which the layers add "
            f"most; bars stack from the base upwards, in {report.words.typical} {measure}. Tick: "
            "the cost of the tested setup. A layer below zero is drawn to the left.",
            partial(layer_bars, group, report.unit),
            named=f"Layers of the cost, {', '.join(place.beside)}",
        )
        for place, group in places.items()
    )
