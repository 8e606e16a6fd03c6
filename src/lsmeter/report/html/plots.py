# SPDX-License-Identifier: GPL-2.0-or-later
"""Describes the plots of a grid in Vega-Lite; draws nothing, and takes numbers as they are."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from typing import Any

import altair as alt

from lsmeter.report import numbers
from lsmeter.report.content import Grid, Group, Row
from lsmeter.report.html import palette

WIDTH = 1110  # pixels of a plot on a wide page
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
LABEL = 190  # pixels for the longest label of an axis
_STRONG = 20  # per cent, from where a cell is dark enough for the other ink

Specification = dict[str, Any]


def finish(chart: alt.Chart | alt.LayerChart | alt.FacetChart) -> Specification:
    """Apply the one look of all plots."""
    axis = alt.AxisConfig(
        labelColor=palette.INK,
        titleColor=palette.INK,
        domainColor=palette.GRID,
        tickColor=palette.GRID,
        gridColor=palette.GRID,
        labelFontSize=12,
        titleFontSize=12,
        titleFontWeight="normal",
        labelLimit=LABEL,
        labelPadding=6,
    )
    config = alt.Config(
        background="transparent",
        font="Liberation Sans, Arial, sans-serif",
        axis=axis,
        view=alt.ViewConfig(stroke=None),
        header=alt.HeaderConfig(
            labelColor=palette.INK,
            titleColor=palette.INK,
            labelFontSize=13,
            labelFontWeight="bold",
            labelLimit=LABEL,
        ),
        legend=alt.LegendConfig(
            labelColor=palette.INK,
            titleColor=palette.INK,
            labelFontSize=12,
            labelLimit=LABEL,
            symbolSize=80,
        ),
    )
    specification: Specification = chart.properties(config=config, padding=4).to_dict()
    return specification


def _finite_overheads(group: Group, index: int) -> list[float]:
    found = (row.slots[index].comparison for row in group.rows)
    return [c.overhead for c in found if c is not None and math.isfinite(c.overhead)]


def bars(grid: Grid) -> Specification | None:
    """Draw median (bar) and largest (tick) overhead of each operation, a panel per setup."""
    rows = []
    for index, name in enumerate(list(grid.heads)):
        for group in grid.groups:
            found = _finite_overheads(group, index)
            if found:
                median = statistics.median(found) * 100
                rows.append(
                    {
                        "setup": name,
                        "operation": group.operation,
                        "median": median,
                        "largest": max(found, key=abs) * 100,
                        "sign": "worse" if median > 0 else "better",
                    }
                )
    if not rows:
        return None
    panels = min(len(grid.columns), 6)
    base = alt.Chart().encode(
        y=alt.Y(
            field="operation", type="nominal", sort=[g.operation for g in grid.groups], title=None
        )
    )
    overhead = alt.Axis(title=None, grid=True, tickCount=4, labelExpr="datum.label + ' %'")
    bar = base.mark_bar(height={"band": 0.62}).encode(
        x=alt.X(field="median", type="quantitative", axis=overhead),
        color=alt.Color(
            field="sign",
            type="nominal",
            scale=alt.Scale(
                domain=["worse", "better"], range=[palette.BAR_WORSE, palette.BAR_BETTER]
            ),
            legend=None,
        ),
    )
    tick = base.mark_tick(thickness=2, color=palette.INK, height=14).encode(
        x=alt.X(field="largest", type="quantitative")
    )
    zero = base.mark_rule(color=palette.INK, strokeWidth=1).encode(x=alt.datum(0))
    layers = alt.layer(bar, tick, zero, data=alt.InlineData(values=rows)).properties(
        width=max(120, (WIDTH - 110) // panels - 24), height=21 * len(grid.groups)
    )
    chart = layers.facet(
        facet=alt.Facet(field="setup", type="nominal", sort=list(grid.heads), title=None),
        columns=panels,
        spacing=22,
    )
    return finish(chart)


def _heat_rows(grid: Grid) -> Iterator[dict[str, object]]:
    names = list(grid.heads)
    for row in grid.rows:
        for index, slot in enumerate(row.slots):
            item = slot.comparison
            usable = item is not None and math.isfinite(item.overhead)
            overhead = item.overhead * 100 if item is not None and usable else None
            yield {
                "benchmark": row.benchmark.id,
                "setup": names[index],
                "overhead": overhead,
                "text": "\N{EN DASH}" if overhead is None else _tenths(overhead / 100),
                "strong": overhead is not None and not -_STRONG <= overhead < _STRONG,
            }


def _tenths(fraction: float) -> str:
    return numbers.percent(fraction).removesuffix(" %")


def _heat_heads(grid: Grid, width: int) -> alt.Axis:
    """Put the setups' names above their columns, aslant where they are longer than that."""
    longest = max(map(len, grid.heads))
    aslant = 7 * longest > width
    return alt.Axis(
        orient="top",
        title=None,
        labelAngle=-35 if aslant else 0,
        labelAlign="left" if aslant else "center",
        domain=False,
        ticks=False,
        labelLimit=260 if aslant else width,
        minExtent=min(160, 5 * longest) if aslant else 0,
        labelFontWeight="bold",
    )


def heat_map(grid: Grid) -> Specification | None:
    """Draw every overhead as a coloured cell with its number in per cent."""
    rows = list(_heat_rows(grid))
    if not any(row["overhead"] is not None for row in rows):
        return None
    width = min(132, max(64, 820 // len(grid.columns)))
    names = [row.benchmark.id for row in grid.rows]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            field="setup", type="nominal", sort=list(grid.heads), axis=_heat_heads(grid, width)
        ),
        y=alt.Y(
            field="benchmark",
            type="nominal",
            sort=names,
            axis=alt.Axis(
                title=None,
                domain=False,
                ticks=False,
                labelLimit=260,
                # A browser's letters may be wider than those that the drawing was laid out with.
                minExtent=min(260, 7 * max(map(len, names))),
            ),
        ),
    )
    scale = alt.Scale(type="threshold", domain=list(palette.HEAT_BOUNDS), range=list(palette.HEAT))
    cells = base.mark_rect().encode(
        color=alt.condition(
            "isValid(datum.overhead)",
            alt.Color(field="overhead", type="quantitative", scale=scale, legend=None),
            alt.value(palette.EMPTY),
        )
    )
    text = base.mark_text(fontSize=11).encode(
        text=alt.Text(field="text", type="nominal"),
        color=alt.condition("datum.strong", alt.value(palette.STRONG_INK), alt.value(palette.INK)),
    )
    return finish(alt.layer(cells, text).properties(width=alt.Step(width), height=alt.Step(19)))


def depth_groups(grid: Grid) -> tuple[Group, ...]:
    """Return the operations that were measured at several path depths."""
    return tuple(
        group
        for group in grid.groups
        if len({depth for depth in map(_depth, group.rows) if depth is not None}) > 1
    )


def _depth(row: Row) -> int | None:
    params = row.benchmark.params
    if len(params) == 1 and params[0][0] == "depth" and isinstance(params[0][1], int):
        return params[0][1]
    return None


def _depth_rows(grid: Grid, groups: tuple[Group, ...]) -> Iterator[dict[str, object]]:
    names = list(grid.heads)
    for group in groups:
        for row in group.rows:
            depth = _depth(row)
            if depth is None:
                continue
            costs = {name: slot.value for name, slot in zip(names, row.slots, strict=True)}
            if grid.baseline_setup is not None:
                mark = "" if grid.before_and_after else " (baseline)"
                costs = {f"{grid.baseline_head}{mark}": row.baseline_value(), **costs}
            else:
                before = {f"{n} before": row.baseline_value(i) for i, n in enumerate(names)}
                costs = {**before, **costs}
            for name, cost in costs.items():
                if cost is not None and math.isfinite(cost):
                    yield {
                        "operation": group.operation,
                        "depth": depth,
                        "setup": name,
                        "cost": cost,
                    }


def _cycled(names: list[str], marks: tuple[str, ...]) -> alt.Scale:
    """Give each name one of `marks`, again from the first where there are too few."""
    return alt.Scale(domain=names, range=[marks[n % len(marks)] for n in range(len(names))])


def depth_lines(grid: Grid, unit: str) -> Specification | None:
    """Draw cost against path depth, a panel per operation and a line per setup."""
    groups = depth_groups(grid)
    rows = list(_depth_rows(grid, groups))
    if not rows:
        return None
    names = list(dict.fromkeys(str(row["setup"]) for row in rows))
    depths = sorted({int(str(row["depth"])) for row in rows})
    legend = alt.Legend(title=None, orient="top", columns=min(len(names), 4), columnPadding=24)
    colours, shapes = _cycled(names, palette.SERIES), _cycled(names, _SHAPES)
    panels = min(len(groups), 2 if len(groups) <= 4 else 3)
    lines = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(point=alt.OverlayMarkDef(size=46, filled=True), strokeWidth=1.8)
        .encode(
            x=alt.X(
                field="depth",
                type="quantitative",
                axis=alt.Axis(values=depths, format="d", title="path depth", grid=False),
                scale=alt.Scale(domain=[depths[0] - 0.3, depths[-1] + 0.3], nice=False),
            ),
            y=alt.Y(
                field="cost",
                type="quantitative",
                axis=alt.Axis(title=numbers.unit_word(unit), format=",d", tickCount=6),
                scale=alt.Scale(zero=True),
            ),
            color=alt.Color(field="setup", type="nominal", scale=colours, legend=legend),
            shape=alt.Shape(field="setup", type="nominal", scale=shapes, legend=legend),
        )
        .properties(width=WIDTH // panels - 84, height=220)
    )
    chart = (
        lines.facet(
            facet=alt.Facet(
                field="operation", type="nominal", sort=[g.operation for g in groups], title=None
            ),
            columns=panels,
            spacing=30,
        )
        .resolve_scale(y="independent")
        .resolve_axis(x="independent")
    )
    return finish(chart)
