# SPDX-License-Identifier: GPL-2.0-or-later
"""Services under load, timed: throughput, and what the clients said of each batch."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from lsmeter.core.groups import grouped
from lsmeter.core.inputs import whole_number
from lsmeter.core.model import BenchmarkStatus, Boot
from lsmeter.measure.instruments.timed import HZ, OPERATIONS
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import ManifestCell
from lsmeter.measure.tasks.workload import said_by
from lsmeter.tables.model import Column, Kind, Section, Shown, Table, Value

TASKS = frozenset({"load", "visit"})
_OWN = {"units", "failed", "timeouts"}  # that are 0, or what was asked for
_MOST = 6  # columns of what clients say
_LEAD = (
    "Medians over all batches. Units a second are those of the batch as it was timed; all else is "
    "what the client said last of each batch."
)


def sections(run: RunData) -> Iterator[Section]:
    """Give a table for each suite of services under load."""
    cells = (cell for cell in run.manifest.cells if cell.task.name in TASKS)
    suites = grouped(((cell.place.suite, cell.place.kernel), cell) for cell in cells)
    for (suite, kernel), mine in suites.items():
        title = f"{suite} on {kernel}: the clients"
        yield Section(title, lead=(_LEAD,), tables=(_table(run, mine),))


def _table(run: RunData, cells: Sequence[ManifestCell]) -> Table:
    found = [row for cell in cells for row in _rows(run, cell)]
    names = list(dict.fromkeys(name for _, _, _, said in found for name in said))[:_MOST]
    heads = (
        Column("benchmark", "benchmark", Kind.NAME, joined=True),
        Column("setup", "setup", Kind.NAME),
        Column("units_per_s", "units/s"),
        *(Column(name, name) for name in names),
    )
    rows: list[tuple[Value, ...]] = [
        (benchmark, setup, _figure(rate), *(_figure(said.get(name)) for name in names))
        for benchmark, setup, rate, said in sorted(found, key=lambda row: row[0])
    ]
    return Table("clients", "", heads, tuple(rows), fixed=2)


def _figure(value: float | None) -> Value:
    return (
        None if value is None else Shown(value, f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}")
    )


def _rows(
    run: RunData, cell: ManifestCell
) -> Iterator[tuple[str, str, float | None, dict[str, float]]]:
    """Give each benchmark of a cell: its name, the setup, units a second, what was said."""
    boots = [boot for boot in run.boots_of(cell) if boot.status.usable]
    for benchmark in run.manifest.benchmarks_of(cell):
        rates = [rate for boot in boots for rate in _rates(boot, benchmark.id)]
        mine = [x for boot in boots for x in boot.samples if x.benchmark == benchmark.id]
        said = grouped(of for item in mine for line in item.said for of in said_by(line).items())
        medians = {n: statistics.median(v) for n, v in said.items() if n not in _OWN}
        if rates or medians:
            rate = statistics.median(rates) if rates else None
            yield benchmark.id, cell.place.setup, rate, medians


def _rates(boot: Boot, benchmark: str) -> list[float]:
    """Return the units a second of each batch."""
    facts = dict(boot.facts)
    ticks, units = (whole_number(facts.get(key, "")) for key in (HZ, OPERATIONS + benchmark))
    if ticks is None or units is None:
        return []
    return [
        units * ticks / value
        for item in boot.samples
        if item.benchmark == benchmark and item.status is BenchmarkStatus.OK
        for value in item.values
        if value
    ]
