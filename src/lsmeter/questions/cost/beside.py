# SPDX-License-Identifier: GPL-2.0-or-later
"""Printed values of a study beside a run's own, row by row, and what differs; pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lsmeter.catalogue.studies import Published
from lsmeter.catalogue.studies import Row as Printed
from lsmeter.core.groups import grouped
from lsmeter.core.model import Place
from lsmeter.core.model.conclusion import Comparison
from lsmeter.measure.instruments import instruments
from lsmeter.questions.cost.grids import told_apart
from lsmeter.questions.cost.model import Report
from lsmeter.tables.fields import By, Each, Field, Row, fields_of
from lsmeter.tables.model import Column, Kind, Section, Shown, Table, Value
from lsmeter.tables.values import percent

_RULE = (
    "Overheads, + is worse, each over its own baseline. Kernels, machines and instruments differ: "
    "signs and order can be compared, sizes only with care."
)
_SPURIOUS = "(s)"
# Our comparisons by suite and benchmark, and by place without its suite: a row may be of several.
_Found = Mapping[tuple[str, str], Mapping[Place, Comparison]]


def sections(report: Report) -> Iterator[Section]:
    """Yield a section for each study that was named."""
    ours = _comparisons(report)
    for number, study in enumerate(report.beside, 1):
        lead = tuple(filter(None, (_RULE, _printed(study), _here(report), study.note)))
        yield Section(
            f"Beside {study.title}",
            lead,
            (_table(study, ours),),
            key="beside" if number == 1 else f"beside-{number}",
        )


def _printed(study: Published) -> str:
    setups = "; ".join(f"{name}: {title}" for name, title in study.setups.items())
    over = f", over {study.baseline}" if study.baseline else ", without a baseline"
    return (
        f"Printed: {study.source}. {study.kernel}; {study.hardware}; {study.instrument}{over}. "
        f"{setups}."
    )


def _here(report: Report) -> str:
    """Say the same of the run."""
    instrument = instruments().get(report.instrument)
    title = f"{instrument.name} instrument ({instrument.title})" if instrument else ""
    kernels = ", ".join(f"{kernel.name} ({kernel.release})" for kernel in report.kernels)
    machine = dict(report.host).get("processor", "") or "its host: --format html"
    machine = "an emulated processor" if report.instrument == "exact" else machine
    return f"Here: {kernels}; {machine}; {title}, over {report.baseline_setup}."


def _comparisons(report: Report) -> _Found:
    found = grouped(
        ((item.place.suite, item.benchmark.id), (replace(item.place, suite=""), item))
        for item in report.comparisons
    )
    return {name: dict(items) for name, items in found.items()}


def _places(rows: Sequence[Printed], ours: _Found) -> list[Place]:
    """Return where the benchmarks of some rows were measured."""
    wanted = (name for row in rows for name in row.benchmarks)
    return list(dict.fromkeys(place for name in wanted for place in ours.get(name, {})))


def _table(study: Published, ours: _Found) -> Table:
    places = _places(study.rows, ours)
    names = _names(places)
    columns = (
        Column("row", "row", Kind.NAME),
        *(column for name in study.setups for column in _printed_columns(study, name)),
        *(Column(f"own_{name}", name, Kind.PERCENT) for name in names),
    )
    rows: list[tuple[Value, ...]] = []
    table = ""
    for row in study.rows:
        if row.table != table:
            table = row.table
            rows.append((table,))
        own = (_own(row, ours, place) for place in places)
        printed = [value for name in study.setups for value in _printed_values(study, row, name)]
        rows.append((Shown(row.name, row.name, hover=row.note), *printed, *own))
    return Table("beside", "", columns, tuple(rows), more=tuple(_lacking(study, ours)))


def _names(places: Sequence[Place]) -> list[str]:
    """Name places by their setup, and by all else in which they differ."""
    apart = zip(places, told_apart(places), strict=True)
    return [" ".join(filter(None, (place.setup, words))) for place, words in apart]


def _printed_columns(study: Published, setup: str) -> Iterator[Column]:
    over = any(row.overhead(setup) is not None for row in study.rows)
    yield Column(f"printed_{setup}", f"printed: {setup}", Kind.PERCENT if over else Kind.COUNT)
    if _scatters(study, setup):
        yield Column(f"printed_sd_{setup}", "sd, %", Kind.NAME, joined=True)


def _printed_values(study: Published, row: Printed, setup: str) -> Iterator[Value]:
    """Give a printed overhead; of a row without one the value itself, with its unit."""
    overhead, value = row.overhead(setup), row.values.get(setup)
    if overhead is not None:
        said = percent(overhead)
        if setup in row.printed_percent and _in_whole(study):
            said = said.replace(".0", "")
        yield Shown(overhead, f"{said} {_SPURIOUS}" if row.spurious else said)
    else:
        yield None if value is None else Shown(value, f"{value:g} {row.unit}")
    if _scatters(study, setup):
        scatter = row.scatter(setup)
        yield "; ".join(f"{100 * part:#.2g}" for part in scatter) if scatter else None


def _in_whole(study: Published) -> bool:
    """Say whether a study printed its changes in whole per cent."""
    printed = (value for row in study.rows for value in row.printed_percent.values())
    return all(value.is_integer() for value in printed)


def _contradicted(study: Published) -> Iterator[str]:
    """Name the changes that are not those of the printed values, with these."""
    digit = 1.0 if _in_whole(study) else 0.1
    for row in study.rows:
        for setup, printed in row.printed_percent.items():
            computed = row.computed(setup)
            if computed is not None and abs(100 * computed - printed) > digit:
                yield f"{row.name} {percent(computed)}"


def _scatters(study: Published, setup: str) -> bool:
    return any(row.scatter(setup) is not None for row in study.rows)


def _own(row: Printed, ours: _Found, place: Place) -> float | None:
    """Return our overhead: of several benchmarks that of their sum."""
    parts = [ours.get(name, {}).get(place) for name in row.benchmarks]
    found = [item.in_line for item in parts if item is not None]
    if not found or len(found) < len(parts):
        return None
    if len(found) == 1:
        return found[0].overhead
    base = math.fsum(item.baseline_value for item in found)
    return math.fsum(item.value for item in found) / base - 1 if base else None


def _lacking(study: Published, ours: _Found) -> Iterator[str]:
    """Name the rows without a benchmark of ours, and those that the run did not measure."""
    without = [row.name for row in study.rows if not row.benchmarks]
    if without:
        yield f"No benchmark of lsmeter: {', '.join(without)}."
    suites = {suite for suite, _ in ours}
    unmeasured = (
        (suite, row.name)
        for row in study.rows
        for suite, name in row.benchmarks
        if (suite, name) not in ours
    )
    for suite, names in grouped(unmeasured).items():
        why = "without a number" if suite in suites else f"needs --suite {suite}"
        yield f"Not in this run, {why}: {', '.join(dict.fromkeys(names))}."
    if off := ", ".join(_contradicted(study)):
        yield f"The study's own values give another change: {off}."
    if any(row.scatter(setup) for row in study.rows for setup in study.setups):
        yield "sd: standard deviations of both means (without; with), as printed, in % of each."
    if spurious := [row.name for row in study.rows if row.spurious]:
        why = "the study calls the change spurious, as it lies within the scatter of its runs"
        yield f"{_SPURIOUS} {why}: {', '.join(spurious)}."
    noted = grouped((row.note, row.name) for row in study.rows if row.note and row.benchmarks)
    if noted:
        said = (f"{', '.join(dict.fromkeys(names))}: {note}" for note, names in noted.items())
        yield f"Of the rows: {'; '.join(said)}."


_ROW = Row(
    (
        *(field for field in fields_of(Printed) if field.key != "benchmarks"),
        Field("benchmarks", of=Each(By(str))),
        Field("overheads", of=By(float)),
        Field(
            "own",
            of=Each(Row((*(f for f in fields_of(Place) if f.key != "suite"), Field("overhead")))),
        ),
    )
)
STUDY = Row(
    (
        *(field for field in fields_of(Published) if field.key != "rows"),
        Field("rows", of=Each(_ROW)),
    )
)


def entries(report: Report) -> list[dict[str, Any]]:
    """Return the same for programs; `lsmeter help report-json` describes it."""
    ours = _comparisons(report)
    return [
        {**vars(study), "rows": [_entry(study, row, ours) for row in study.rows]}
        for study in report.beside
    ]


def _entry(study: Published, row: Printed, ours: _Found) -> dict[str, Any]:
    printed = {name: over for name in study.setups if (over := row.overhead(name)) is not None}
    own = [
        {key: value for key, value in vars(at).items() if key != "suite"} | {"overhead": over}
        for at in _places([row], ours)
        if (over := _own(row, ours, at)) is not None
    ]
    benchmarks = [{"suite": suite, "id": name} for suite, name in row.benchmarks]
    return {**vars(row), "benchmarks": benchmarks, "overheads": printed, "own": own}
