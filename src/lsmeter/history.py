# SPDX-License-Identifier: GPL-2.0-or-later
"""The typical overhead of each setup over kernel versions, from a report on several; pure.

As Table 1 of ASIA CCS'21 does for Linux 2.4 to 5.3: a row for each operation, a column for each
kernel. An operation's overhead is the median over its variants, of the typical counts.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from lsmeter.report.model import Report

ALL = "all operations"
MISSING = "\N{EN DASH}"
_PANEL = 260  # pixels


@dataclass(frozen=True)
class Point:
    """A setup's overhead on one operation and one kernel (fractions; positive is worse)."""

    kernel: str
    release: str
    setup: str
    operation: str  # ALL: the median over every benchmark but the controls
    median: float
    largest: float
    benchmarks: int


@dataclass(frozen=True)
class History:
    """The points of a report, and the order in which to show them."""

    title: str
    unit: str
    instrument: str
    baseline_setup: str
    kernels: tuple[str, ...]  # oldest first
    setups: tuple[str, ...]
    operations: tuple[str, ...]
    points: tuple[Point, ...]

    def find(self, kernel: str, setup: str, operation: str) -> Point | None:
        """Return one point, if there was anything to compare."""
        for point in self.points:
            if (point.kernel, point.setup, point.operation) == (kernel, setup, operation):
                return point
        return None


def version_key(release: str) -> tuple[int, ...]:
    """Return what orders kernels by version: "6.12.9-cloud" comes after "6.1.100"."""
    return tuple(int(part) for part in re.findall(r"\d+", release.partition("-")[0])[:4])


def make_history(report: Report) -> History:
    """Gather the medians of every setup, operation and kernel of `report`."""
    releases = {kernel.name: kernel.release for kernel in report.kernels}
    found: dict[tuple[str, str, str], list[float]] = {}
    for item in report.comparisons:
        if item.benchmark.control or not math.isfinite(item.overhead):
            continue
        for operation in (item.benchmark.operation, ALL):
            key = (item.kernel, item.setup, operation)
            found.setdefault(key, []).append(item.overhead)
    points = tuple(
        Point(
            kernel=kernel,
            release=releases.get(kernel, ""),
            setup=setup,
            operation=operation,
            median=statistics.median(values),
            largest=max(values, key=abs),
            benchmarks=len(values),
        )
        for (kernel, setup, operation), values in found.items()
    )
    named = dict.fromkeys(point.operation for point in points if point.operation != ALL)
    return History(
        title=report.title,
        unit=report.unit,
        instrument=report.instrument.value,
        baseline_setup=report.baseline_setup,
        kernels=tuple(
            sorted({point.kernel for point in points}, key=lambda name: version_key(releases[name]))
        ),
        setups=tuple(dict.fromkeys(point.setup for point in points)),
        operations=(ALL, *sorted(named)),
        points=points,
    )


def as_data(history: History) -> dict[str, Any]:
    """Return the history as plain data: format lsmeter-history, version 1, a list `points`."""
    return {
        "format": "lsmeter-history",
        "version": 1,
        "baseline_setup": history.baseline_setup,
        "instrument": history.instrument,
        "unit": history.unit,
        "kernels": list(history.kernels),
        "points": [vars(point) for point in history.points],
    }


def rows_of(history: History, setup: str) -> list[tuple[str, list[str]]]:
    """Return the rows of one setup: an operation, and its overhead on each kernel as text."""
    return [
        (
            operation,
            [_text(history.find(kernel, setup, operation)) for kernel in history.kernels],
        )
        for operation in history.operations
    ]


def _text(point: Point | None) -> str:
    return MISSING if point is None else f"{point.median * 100:+.1f} %"


def plot(history: History) -> dict[str, Any]:
    """Return a Vega-Lite plot: overhead over kernels, a line for each setup, by operation."""
    rows = [
        {
            "kernel": point.release.partition("-")[0] or point.kernel,
            "setup": point.setup,
            "operation": point.operation,
            "overhead": point.median * 100,
        }
        for point in history.points
    ]
    order = list(dict.fromkeys(_releases(history)))
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(point=True)
        .encode(
            x=alt.X(field="kernel", type="ordinal", sort=order, title="kernel"),
            y=alt.Y(
                field="overhead",
                type="quantitative",
                title=f"typical overhead over {history.baseline_setup}, % of {history.unit}",
            ),
            color=alt.Color(field="setup", type="nominal", sort=list(history.setups), title=None),
        )
        .properties(width=_PANEL, height=_PANEL)
        .facet(
            facet=alt.Facet(
                field="operation", type="nominal", sort=list(history.operations), title=None
            ),
            columns=3,
        )
        .properties(title=f"{history.title} ({history.instrument} instrument)")
    )
    described: dict[str, Any] = chart.to_dict()
    return described


def _releases(history: History) -> Sequence[str]:
    by_kernel = {point.kernel: point.release for point in history.points}
    return [by_kernel[name].partition("-")[0] or name for name in history.kernels]
