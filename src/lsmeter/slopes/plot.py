# SPDX-License-Identifier: GPL-2.0-or-later
"""Describes the plot of latency over policy latency in Vega-Lite; draws nothing."""

from __future__ import annotations

from typing import Any

import altair as alt

from lsmeter.report import numbers
from lsmeter.slopes.model import Slope, SlopesReport

_PANEL = 260  # pixels
_PANELS = 3  # in a row
_NS_PER_US = 1000


def specification(report: SlopesReport) -> dict[str, Any]:
    """Return a plot with a panel for each operation: readings as points, fits as lines."""
    colour = alt.Color(field="series", type="nominal", title=None)
    points = (
        alt.Chart()
        .transform_filter("datum.kind == 'reading'")
        .mark_point(size=24, filled=True)
        .encode(x=_axis("policy_us", "policy latency, µs"), y=_latency(), color=colour)
    )
    lines = (
        alt.Chart()
        .transform_filter("datum.kind == 'fit'")
        .mark_line(strokeWidth=1)
        .encode(x=_axis("policy_us", "policy latency, µs"), y=_latency(), color=colour)
    )
    several = len({(slope.kernel, slope.setup) for slope in report.slopes}) > 1
    rows = [row for slope in report.slopes for row in _rows(slope, several=several)]
    operations = list(dict.fromkeys(str(row["operation"]) for row in rows))
    chart = (
        alt.layer(points, lines, data=alt.InlineData(values=rows))
        .properties(width=_PANEL, height=_PANEL)
        .facet(
            facet=alt.Facet(field="operation", type="nominal", sort=operations, title=None),
            columns=_PANELS,
        )
        .resolve_scale(color="independent", y="independent")
        .properties(title=report.heading.title)
    )
    described: dict[str, Any] = chart.to_dict()
    return described


def _axis(field: str, title: str) -> alt.X:
    return alt.X(field=field, type="quantitative", title=title)


def _latency() -> alt.Y:
    return alt.Y(field="latency_us", type="quantitative", title="latency, µs of guest time")


def _rows(slope: Slope, *, several: bool) -> list[dict[str, object]]:
    where = (slope.setup, slope.kernel) if several else ()
    series = " ".join(part for part in (numbers.variant(slope.benchmark), *where) if part)
    named = {"operation": slope.benchmark.operation, "series": series}
    rows: list[dict[str, object]] = [
        {
            **named,
            "kind": "reading",
            "policy_us": point.policy_ns / _NS_PER_US,
            "latency_us": point.latency_ns / _NS_PER_US,
        }
        for point in slope.sweep.points
    ]
    fit = slope.regression
    for policy_ns in (slope.sweep.points[0].policy_ns, slope.sweep.points[-1].policy_ns):
        latency_ns = fit.intercept.value + fit.slope.value * policy_ns
        rows.append(
            {
                **named,
                "kind": "fit",
                "policy_us": policy_ns / _NS_PER_US,
                "latency_us": latency_ns / _NS_PER_US,
            }
        )
    return rows
