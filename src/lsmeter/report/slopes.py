# SPDX-License-Identifier: GPL-2.0-or-later
"""A run that swept policy latencies as a document; docs/tunable-module.md describes its JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lsmeter.analysis.slopes import DepthFit, Slope, Slopes, find_slopes
from lsmeter.model import Place
from lsmeter.report.frame import notes_of, placed, problem_section, run_data, run_facts
from lsmeter.report.numbers import variant
from lsmeter.results.directory import RunData
from lsmeter.statistics.regression import Whole
from lsmeter.tables import look
from lsmeter.tables.model import Column, Document, Item, Kind, Section, Shown, Table, Value
from lsmeter.tables.values import MISSING

UNIT = "ns of the operation per ns of policy latency, exact instrument"

_LEGEND = (
    "calls: of hooks that consult the policy (inode_permission, file_permission) in one "
    f"operation; ?: no whole number. study: the slope on Linux 5.3 in ASIA CCS'21; {MISSING}: "
    f"none. slope: {UNIT}; error: its standard error; 95 %: half its confidence interval. "
    "residual: the largest, ns. intercept: ns of the operation at no policy latency."
)
_PATH_LEGEND = "part: one more component of the path. ns: at no policy latency."

_SlopeColumn = tuple[Column, Callable[[Slope], Value]]


def document(run: RunData) -> Document:
    """Return what `slopes` shows: for each place its slopes, then the cost of a path."""
    found = find_slopes(run)
    tables: list[Table] = []
    for place in dict.fromkeys(slope.place for slope in found.slopes):
        depths = [item for item in found.depths if item.place == place]
        tables.append(_slopes(found, place))
        tables += [_depths(place, depths)] if depths else []
    doubts = tuple(
        Item(f"{slope.benchmark.id} ({_name(slope.place)}): {slope.hook_calls.reason}")
        for slope in found.slopes
        if slope.hook_calls.value is None
    )
    measured = {slope.benchmark.id for slope in found.slopes}
    footnotes = tuple(
        Item(f"{row.benchmark}: {row.place}: {row.note}")
        for row in found.published
        if row.note and row.benchmark in measured
    )
    lists = (("Not whole numbers", doubts), ("On the study's figures", footnotes))
    return Document(
        "lsmeter-slopes",
        1,
        "Calls of hooks that consult the policy, in each operation",
        facts=run_facts(run),
        sections=(
            Section("", tables=tuple(tables)),
            *(Section(title, items=items) for title, items in lists if items),
            *problem_section(found.problems),
        ),
        notes=notes_of(run),
        data=_data(run, found),
    )


def _name(place: Place) -> str:
    return f"{place.setup} on {place.kernel}"


def _slopes(found: Slopes, place: Place) -> Table:
    counters = _counters(found, place)
    columns: list[_SlopeColumn] = [
        (Column("operation", "operation", Kind.NAME), lambda s: s.benchmark.operation),
        (Column("variant", "variant", Kind.NAME), lambda s: variant(s.benchmark)),
        (Column("hook_calls", "calls"), lambda s: _share(s.hook_calls, None)),
        *(_looked_up(found, place, *counter) for counter in counters),
        (Column("published", "study"), lambda s: _published(found, s)),
        (Column("slope", "slope"), lambda s: _fixed(s.regression.slope.value, 4)),
        (Column("stderr", "error"), lambda s: _small(s.regression.slope.stderr)),
        (Column("half_interval", "95 %"), _half_interval),
        (Column("r2", "r²"), lambda s: _r2(s.regression.r2)),
        (Column("max_residual_ns", "residual"), lambda s: _fixed(s.regression.max_residual, 1)),
        (Column("intercept_ns", "intercept"), lambda s: _fixed(s.regression.intercept.value, 0)),
    ]
    slopes = [slope for slope in found.slopes if slope.place == place]
    legend = [
        f"{counter.partition('.')[0]}: {counter} of {setup} in one operation, by its own count; "
        f"{MISSING}: not read."
        for setup, counter in counters
    ]
    return Table(
        "slopes",
        _name(place),
        tuple(column for column, _ in columns),
        tuple(tuple(write(slope) for _, write in columns) for slope in slopes),
        more=(" ".join([_LEGEND, *legend]),),
        fixed=2,
    )


def _looked_up(found: Slopes, place: Place, setup: str, counter: str) -> _SlopeColumn:
    """Return the column of one of a module's counters."""
    known = {
        item.benchmark.id: item
        for item in found.lookups
        if (item.place.kernel, item.place.setup, item.counter) == (place.kernel, setup, counter)
    }

    def write(slope: Slope) -> Value:
        item = known.get(slope.benchmark.id)
        if item is None:
            return None
        return Shown(item.value, f"{item.value}{'' if item.steady else '~'}")

    return Column(counter.replace(".", "_"), counter.partition(".")[0]), write


def _counters(found: Slopes, place: Place) -> list[tuple[str, str]]:
    """Return setup and name of the first counter of each file that was read on a kernel."""
    first: dict[tuple[str, str], str] = {}
    for item in found.lookups:
        if item.place.kernel == place.kernel:
            first.setdefault((item.place.setup, item.counter.partition(".")[0]), item.counter)
    return [(setup, counter) for (setup, _), counter in first.items()]


def _depths(place: Place, depths: list[DepthFit]) -> Table:
    columns = (
        Column("operation", "operation", Kind.NAME),
        Column("depths", "depths", Kind.NAME),
        Column("hook_calls_per_component", "calls/part"),
        Column("hook_calls_fixed", "calls fixed"),
        Column("latency_per_component_ns", "ns/part"),
        Column("latency_fixed_ns", "ns fixed"),
        Column("latency_r2", "r² of ns"),
    )
    rows = tuple(
        (
            fit.operation,
            _range(fit.depths),
            _share(fit.per_component, fit.hook_calls.slope.value),
            _share(fit.fixed, fit.hook_calls.intercept.value),
            _fixed(fit.latency.slope.value, 0),
            _fixed(fit.latency.intercept.value, 0),
            _r2(fit.latency.r2),
        )
        for fit in depths
    )
    return Table("depths", f"{_name(place)}: cost of a path", columns, rows, more=(_PATH_LEGEND,))


def _range(depths: tuple[int, ...]) -> str:
    if len(depths) > 2 and depths == tuple(range(depths[0], depths[-1] + 1)):
        return f"{depths[0]} to {depths[-1]}"
    return ", ".join(map(str, depths))


def _half_interval(slope: Slope) -> Value:
    term = slope.regression.slope
    if term.ci_low is None or term.ci_high is None:
        return None
    half = (term.ci_high - term.ci_low) / 2
    return Shown(half, f"±{_small(half).text}")


def _fixed(value: float, digits: int) -> Shown:
    return Shown(value, f"{value:,.{digits}f}")


def _small(value: float | None) -> Shown:
    if value is None:
        return Shown(None, MISSING)
    return Shown(value, "0" if value == 0 else f"{value:.1e}")


def _r2(value: float | None) -> Shown:
    # Rounded down: 0.999999 must not be shown as a perfect fit.
    return Shown(value, MISSING if value is None else f"{int(value * 1e7) / 1e7:.7f}")


def _share(whole: Whole, value: float | None) -> Shown:
    unknown = "?" if value is None else f"{value:.2f}"
    shown = whole.value if value is None else value
    return Shown(shown, unknown if whole.value is None else str(whole.value))


def _published(found: Slopes, slope: Slope) -> Value:
    row = found.published_for(slope)
    return None if row is None else Shown(row.slope, f"{row.slope:g}")


def _data(run: RunData, found: Slopes) -> dict[str, Any]:
    return {
        **run_data(run),
        "unit": UNIT,
        "delays_ns": found.delays_ns,
        "slopes": [_slope_data(found, slope) for slope in found.slopes],
        "lookups": [
            {
                **placed(item.place, item.benchmark),
                "counter": item.counter,
                "per_operation": item.value,
                "steady": item.steady,
            }
            for item in found.lookups
        ],
        "depths": [_depth_data(fit) for fit in found.depths],
        "problems": [vars(problem) for problem in found.problems],
        "notes": notes_of(run),
    }


def _slope_data(found: Slopes, slope: Slope) -> dict[str, Any]:
    fit = slope.regression
    published = found.published_for(slope)
    return {
        **placed(slope.place, slope.benchmark),
        "slope": fit.slope.value,
        "stderr": fit.slope.stderr,
        "ci_low": fit.slope.ci_low,
        "ci_high": fit.slope.ci_high,
        "confidence": fit.confidence,
        "r2": fit.r2,
        "max_residual": fit.max_residual,
        "max_residual_delay_ns": slope.sweep.points[fit.max_residual_at].delay_ns,
        "intercept": fit.intercept.value,
        "hook_calls": slope.hook_calls.value,
        "hook_calls_reason": slope.hook_calls.reason,
        # The name that hook_calls had.
        "authorisations": slope.hook_calls.value,
        "authorisations_reason": slope.hook_calls.reason,
        "published": None if published is None else published.slope,
        "delays": len(slope.sweep.points),
        "points": slope.sweep.points,
    }


def _depth_data(fit: DepthFit) -> dict[str, Any]:
    calls = {
        "per_component": fit.hook_calls.slope.value,
        "fixed": fit.hook_calls.intercept.value,
        "r2": fit.hook_calls.r2,
    }
    return {
        **vars(fit.place),
        "benchmark": fit.operation,
        "depths": fit.depths,
        **{f"hook_calls_{name}": value for name, value in calls.items()},
        # The name that hook_calls had.
        **{f"authorisations_{name}": value for name, value in calls.items()},
        "latency_per_component_ns": fit.latency.slope.value,
        "latency_fixed_ns": fit.latency.intercept.value,
        "latency_r2": fit.latency.r2,
    }


def specification(found: Slopes) -> look.Specification:
    """Return a plot in Vega-Lite with a panel for each operation: readings, and fits as lines."""
    encoding = {
        "x": look.channel("policy_us:Q", title="policy latency, µs"),
        "y": look.channel("latency_us:Q", title="latency, µs of guest time"),
        "color": look.channel("series:N", title=None),
    }
    marks = {
        "reading": {"type": "point", "size": 24, "filled": True},
        "fit": {"type": "line", "strokeWidth": 1},
    }
    layers = [
        {"transform": [{"filter": f"datum.kind == '{kind}'"}], "mark": mark, "encoding": encoding}
        for kind, mark in marks.items()
    ]
    several = len({slope.place for slope in found.slopes}) > 1
    rows = [row for slope in found.slopes for row in _points(slope, several=several)]
    operations = list(dict.fromkeys(str(row["operation"]) for row in rows))
    return {
        "$schema": look.SCHEMA,
        "title": "Latency over policy latency (exact instrument)",
        **look.facets(rows, {"layer": layers, **look.PANEL}, "operation", 3, sort=operations),
        "resolve": {"scale": {"color": "independent", "y": "independent"}},
    }


def _points(slope: Slope, *, several: bool) -> list[dict[str, object]]:
    fit = slope.regression
    ends = (slope.sweep.points[0].policy_ns, slope.sweep.points[-1].policy_ns)
    found = [("reading", point.policy_ns, point.latency_ns) for point in slope.sweep.points]
    found += [("fit", x_ns, fit.intercept.value + fit.slope.value * x_ns) for x_ns in ends]
    where = (slope.place.setup, slope.place.kernel) if several else ()
    named = {
        "operation": slope.benchmark.operation,
        "series": " ".join(filter(None, (variant(slope.benchmark), *where))),
    }
    return [
        {**named, "kind": kind, "policy_us": x_ns / 1000, "latency_us": y_ns / 1000}
        for kind, x_ns, y_ns in found
    ]
