# SPDX-License-Identifier: GPL-2.0-or-later
"""A run that swept policy latencies as a document (`lsmeter help tunable-module`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lsmeter.core.groups import grouped
from lsmeter.core.model import Place
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.frame import run_document
from lsmeter.questions.cells.rows import PLACE, PLACED, run_contract
from lsmeter.questions.slopes.figures import Slope, Slopes, find_slopes, published_slope, table6
from lsmeter.statistics.regression import Regression, Whole
from lsmeter.tables import look
from lsmeter.tables.fields import Each, Field, Row, fields_of, named, tabled
from lsmeter.tables.model import Document, Item, Kind, Section, Shown, Table, Value
from lsmeter.tables.numbers import variant
from lsmeter.tables.svg import figure
from lsmeter.tables.values import MISSING, first_of, many, spanned

UNIT = "ns of the operation per ns of policy latency, exact instrument"

_LEGEND = (
    "calls: of hooks that consult the policy (inode_permission, file_permission) in one "
    f"operation; ?: no whole number. study: the slope on Linux 5.3 in ASIA CCS'21; {MISSING}: "
    f"none. slope: {UNIT}; error: its standard error; 95 %: its interval, which "
    "holds the slopes of the shorter and of the longer delays as well. "
    "residual: the largest, ns. intercept: ns of the operation at no policy latency."
)
_PATH_LEGEND = "part: one more component of the path. ns: at no policy latency."


_PLOT = "Latency over policy latency"
_PLOTTED = "Points are readings, lines the fits; a panel for each operation."


def document(run: RunData) -> Document:
    """Return what `slopes` shows: for each place its slopes, then the cost of a path."""
    return shown(run, find_slopes(run))


def shown(run: RunData, found: Slopes) -> Document:
    """Return the document of a run's slopes."""
    tables: list[Table] = []
    for place in dict.fromkeys(slope.place for slope in found.slopes):
        depths = [item for item in found.depths if item.place == place]
        tables.append(_slopes(found, place))
        if depths:
            title = f"{place.label}: cost of a path"
            tables.append(tabled("depths", title, _PATH, depths, more=(_PATH_LEGEND,)))
    swept = {slope.place.beside for slope in found.slopes}
    alone = [item for item in found.lookups if item.place.beside not in swept]
    for place, counts in grouped((item.place, item) for item in alone).items():
        tables.append(tabled("lookups", f"{place.label}: look-ups", _COUNTED, counts))
    doubts = tuple(
        Item(f"{slope.benchmark.id} ({slope.place.label}): {slope.hook_calls.reason}")
        for slope in found.slopes
        if slope.hook_calls.value is None
    )
    measured = {slope.benchmark.id for slope in found.slopes}
    footnotes = tuple(
        Item(f"{name}: {row['place']}: {row['note']}")
        for name, row in table6().items()
        if row["note"] and name in measured
    )
    lists = (("Not whole numbers", doubts), ("On the study's figures", footnotes))
    sections = (
        Section("", tables=tuple(tables)),
        *(Section(title, items=items) for title, items in lists if items),
    )
    title = "Calls of hooks that consult the policy, in each operation"
    data = _RESULTS.entry(found)
    made = run_document(run, CONTRACT.name, title, sections, found.problems, data)
    drawing = figure(_PLOT, _PLOTTED, specification(found)) if found.slopes else None
    answer = first_of((*_sentences(found), *_lookup_sentences(found)))
    return replace(made, answer=answer, picture=drawing)


def _sentences(found: Slopes) -> Iterator[str]:
    """Say of each place how many calls operations make, and how many slopes tell none."""
    for place, slopes in grouped((item.place, item) for item in found.slopes).items():
        known = {i.benchmark.id: i.hook_calls.value for i in slopes}
        whole = {name: calls for name, calls in known.items() if calls is not None}
        text = f"{place.label}: {len(whole)} of {many(len(slopes), 'slope')} are whole numbers"
        if whole:
            text += f", {spanned(whole)} calls of hooks that consult the policy in one operation"
        yield f"{text}."


def _lookup_sentences(found: Slopes) -> Iterator[str]:
    for place, counts in grouped((item.place, item) for item in found.lookups).items():
        counters = grouped((item.name, (item.benchmark.id, item.runs)) for item in counts)
        said = "; ".join(f"{name} {spanned(dict(runs))}" for name, runs in counters.items())
        yield f"{place.label}: in one operation {said}."


def _slopes(found: Slopes, place: Place) -> Table:
    slopes = [slope for slope in found.slopes if slope.place == place]
    looked_up: dict[tuple[str, str, str], Shown] = {}
    first: dict[tuple[str, str], str] = {}  # counter of each file of a setup, by the file
    for item in found.lookups:
        if item.place.beside == place.beside:
            runs = Shown(item.runs, f"{item.runs}{'' if item.steady else '~'}")
            looked_up[item.place.setup, item.name, item.benchmark.id] = runs
            first.setdefault((item.place.setup, item.name.partition(".")[0]), item.name)
    counters = [(setup, counter) for (setup, _), counter in first.items()]

    def counted(setup: str, name: str) -> Field:
        def value(slope: Slope) -> Value:
            return looked_up.get((setup, name, slope.benchmark.id))

        return Field(name.replace(".", "_"), name.partition(".")[0], value)

    def study(slope: Slope) -> Value:
        printed = published_slope(slope)
        return None if printed is None else _number(printed, "g")

    fields = (
        named("operation", "benchmark.operation"),
        named("variant", lambda slope: variant(slope.benchmark)),
        Field("hook_calls", "calls", lambda slope: _whole(slope.hook_calls, None)),
        *(counted(*counter) for counter in counters),
        Field("published", "study", study),
        *_FIT,
    )

    legend = [
        f"{counter.partition('.')[0]}: {counter} of {setup} in one operation, by its own count; "
        f"{MISSING}: not read."
        for setup, counter in counters
    ]
    more = (" ".join([_LEGEND, *legend]),)
    return tabled("slopes", place.label, fields, slopes, more=more, fixed=2)


def _range(depths: tuple[int, ...]) -> str:
    if len(depths) > 2 and depths == tuple(range(depths[0], depths[-1] + 1)):
        return f"{depths[0]} to {depths[-1]}"
    return ", ".join(map(str, depths))


def _half_interval(fit: Regression) -> Value:
    if fit.slope.ci_low is None or fit.slope.ci_high is None:
        return None
    half = max(fit.slope.ci_high - fit.slope.value, fit.slope.value - fit.slope.ci_low)
    return Shown(half, f"±{_small(half).text}")


def _number(value: float, form: str) -> Shown:
    return Shown(value, format(value, form))


def _small(value: float | None) -> Shown:
    return Shown(value, MISSING if value is None else f"{value:.1e}" if value else "0")


def _r2(value: float | None) -> Shown:
    # Rounded down: 0.999999 must not be shown as a perfect fit.
    return Shown(value, MISSING if value is None else f"{int(value * 1e7) / 1e7:.7f}")


def _whole(whole: Whole, value: float | None) -> Shown:
    """Show a number of calls; one that is no whole number as it is, where that is known."""
    unknown = "?" if value is None else f"{value:.2f}"
    shown = whole.value if value is None else value
    return Shown(shown, unknown if whole.value is None else str(whole.value))


_FIT = (
    Field("slope", "slope", lambda i: _number(i.regression.slope.value, ",.4f")),
    Field("stderr", "error", lambda i: _small(i.regression.slope.stderr)),
    Field("half_interval", "95 %", lambda i: _half_interval(i.regression)),
    Field("r2", "r²", lambda i: _r2(i.regression.r2)),
    Field("max_residual_ns", "residual", lambda i: _number(i.regression.max_residual, ",.1f")),
    Field("intercept_ns", "intercept", lambda i: _number(i.regression.intercept.value, ",.0f")),
)
_COUNTED = (
    *(named("benchmark", "benchmark.id"), named("counter", "name")),
    Field("runs", "in one operation", lambda i: Shown(i.runs, f"{i.runs:,}{'~' * (not i.steady)}")),
)
_PATH = (
    named("operation"),
    named("depths", lambda fit: _range(fit.depths)),
    Field(
        *("hook_calls_per_component", "calls/part"),
        lambda fit: _whole(fit.per_component, fit.hook_calls.slope.value),
    ),
    Field(
        *("hook_calls_fixed", "calls fixed"),
        lambda fit: _whole(fit.fixed, fit.hook_calls.intercept.value),
    ),
    Field("latency_per_component_ns", "ns/part", lambda i: _number(i.latency.slope.value, ",.0f")),
    Field("latency_fixed_ns", "ns fixed", lambda i: _number(i.latency.intercept.value, ",.0f")),
    Field("latency_r2", "r² of ns", lambda fit: _r2(fit.latency.r2)),
)


def _named_twice(end: str, value: str, of: object = None) -> tuple[Field, ...]:
    """Return what is said of hook calls, also as it was named before."""
    return tuple(Field(f"{name}{end}", value=value, of=of) for name in _CALLS)


_CALLS = ("hook_calls", "authorisations")
_SLOPE = Row(
    (
        *PLACED,
        Field("slope", value="regression.slope.value"),
        *(Field(n, value=f"regression.slope.{n}") for n in ("stderr", "ci_low", "ci_high")),
        *(Field(n, value=f"regression.{n}") for n in ("confidence", "r2", "max_residual")),
        Field(
            "max_residual_delay_ns",
            value=lambda item: item.points[item.regression.max_residual_at].delay_ns,
            of=int,
        ),
        Field("intercept", value="regression.intercept.value"),
        *_named_twice("", "hook_calls.value", int | None),
        *_named_twice("_reason", "hook_calls.reason", str),
        Field("published", value=published_slope),
        Field("delays", value=lambda item: len({i.delay_ns for i in item.points}), of=int),
        *fields_of(Slope, "points"),
    )
)
_LOOKUP = Row(
    (
        *(*PLACED, named("counter", "name"), Field("per_operation", value="runs", of=int)),
        Field("steady", kind=Kind.YES),
    )
)
_DEPTH = Row(
    (
        *(*PLACE, named("benchmark", "operation"), Field("depths", of=Each(int))),
        *_named_twice("_per_component", "hook_calls.slope.value"),
        *_named_twice("_fixed", "hook_calls.intercept.value"),
        *_named_twice("_r2", "hook_calls.r2"),
        Field("latency_per_component_ns", value="latency.slope.value"),
        Field("latency_fixed_ns", value="latency.intercept.value"),
        Field("latency_r2", value="latency.r2"),
    )
)
_RESULTS = Row(
    (
        Field("unit", value=lambda _: UNIT, of=str),
        Field("delays_ns", of=Each(int)),
        *(Field("slopes", of=Each(_SLOPE)), Field("lookups", of=Each(_LOOKUP))),
        Field("depths", of=Each(_DEPTH)),
    )
)
CONTRACT = run_contract("lsmeter-slopes", *_RESULTS.fields)


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
    points = [row for slope in found.slopes for row in _points(slope, several=several)]
    operations = list(dict.fromkeys(str(row["operation"]) for row in points))
    return {
        "$schema": look.SCHEMA,
        "title": f"{_PLOT} (exact instrument)",
        **look.facets(points, {"layer": layers, **look.PANEL}, "operation", 3, sort=operations),
        "resolve": {"scale": {"color": "independent", "y": "independent"}},
    }


def _points(slope: Slope, *, several: bool) -> list[dict[str, object]]:
    fit = slope.regression
    ends = (slope.points[0].policy_ns, slope.points[-1].policy_ns)
    found = [("reading", point.policy_ns, point.latency_ns) for point in slope.points]
    found += [("fit", x_ns, fit.intercept.value + fit.slope.value * x_ns) for x_ns in ends]
    where = (slope.place.label,) if several else ()
    named = {
        "operation": slope.benchmark.operation,
        "series": " ".join(filter(None, (variant(slope.benchmark), *where))),
    }
    return [
        {**named, "kind": kind, "policy_us": x_ns / 1000, "latency_us": y_ns / 1000}
        for kind, x_ns, y_ns in found
    ]
