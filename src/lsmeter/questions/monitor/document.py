# SPDX-License-Identifier: GPL-2.0-or-later
"""A system over time as a document: `lsmeter help monitoring`."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.frame import run_document
from lsmeter.questions.monitor.figures import Monitored, find_monitored
from lsmeter.questions.monitor.plots import figures
from lsmeter.questions.monitor.series import GROUPS, TABLES, Monitoring, top
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import (
    Column,
    Detail,
    Document,
    Item,
    Kind,
    Section,
    Shown,
    Table,
    Tone,
    Value,
)
from lsmeter.tables.values import first_of

NAME = "lsmeter-monitoring"
_TITLE = "What the servers do over time"
_LEAD = (
    "Of the whole guest: server, client and lsmeter's own init. The kernel's figures, in seconds "
    "of the guest's clock; those of CPU are counted in ticks of 10 ms."
)
_LEAD_OF_HOST = (
    "Of the server's host: all that runs there. The kernel's figures, in seconds; those of CPU are "
    "counted in ticks of 10 ms."
)
_EXACT = (
    "Of all instructions executed in the batches that count, not of time. driver: lsmeter's init, "
    "which takes the moments; interrupts: and softirqs, the network of both ends."
)
_MOST_PROCESSES = 12
_SHARE = 0.05  # % of the processors: a smaller one is not said
_TOP = (
    "% of one processor, of all processes of a name together; MiB: the most at one time, what "
    "they share counted for each."
)
_MEANS = "Means: over the batches that count; least and most: of all the time."
_BENCHMARK = Column("benchmark", "benchmark", Kind.NAME)


def document(run: RunData, detail: Detail, *, boots: Sequence[Monitored] | None = None) -> Document:
    """Return what a run shows over time: of these boots, or of each cell's first."""
    found = list(find_monitored(run, first_only=True)) if boots is None else boots
    sections = tuple(section for item in found for section in _of_boot(item, detail))
    entries = [{**vars(item.found), "facts": dict(item.found.facts)} for item in found]
    data = {"boots": entries} if detail is Detail.DATA else {}
    made = run_document(run, NAME, _TITLE, sections, (), data)
    return replace(made, answer=first_of(filter(None, map(sentence, found))))


def sentence(item: Monitored) -> str:
    """Say what the processors do in the batches that count; "" where that is not known."""
    batches = [batch for batch in item.found.batches if not batch.warmup]
    shares = ((series, item.found.mean_in(series, batches)) for series in item.found.of("cpu"))
    said = [f"{mean:.1f} % {series.title}" for series, mean in shares if mean and mean >= _SHARE]
    whole_s = math.fsum(batch.end_s - batch.begin_s for batch in batches)
    of = f"{len(batches)} batches, {whole_s:.2f} s"
    return f"{item.place.label}: CPU {', '.join(said)}; {of}." if said else ""


def _of_boot(item: Monitored, detail: Detail) -> Iterator[Section]:
    found, place = item.found, item.place
    title = f"{place.suite} with {place.setup} on {place.kernel}, {place.filesystem}: over time"
    if detail is Detail.DATA:
        yield Section(title, tables=(_moments(found),))
        return
    tables = (*_load(found), *_exact(item), *_top(found))
    whole_s = found.times_s[-1] - found.times_s[0]
    span = f"{len(found.times_s):,} moments in {whole_s:,.2f} s, every {found.every_ms / 1000:g} s."
    yield Section(
        title,
        lead=(_LEAD_OF_HOST if item.of_host else _LEAD, f"Boot {item.boot.index}: {span}"),
        tables=tables if detail is Detail.SHORT else (*tables, _series(found)),
        figures=tuple(figures(found)) if detail is Detail.FULL else (),
        items=tuple(Item(note, tone=Tone.WARNING) for note in found.notes),
    )


def _load(found: Monitoring) -> Iterator[Table]:
    """Show the mean of some series in the batches that count, benchmark by benchmark."""
    heads = TABLES["load"]
    series = [(item, head) for name, head in heads.items() if (item := found.find(name))]
    columns = (
        _BENCHMARK,
        Column("guest_s", "seconds"),
        *(Column(item.name, head) for item, head in series),
    )
    rows: list[tuple[Value, ...]] = []
    for benchmark, batches in found.by_benchmark.items():
        whole_s = math.fsum(batch.end_s - batch.begin_s for batch in batches)
        means = (_figure(found.mean_in(item, batches)) for item, _ in series)
        rows.append((benchmark, Shown(whole_s, f"{whole_s:.2f}"), *means))
    yield Table("load", "Beside the load, means over the batches that count", columns, tuple(rows))


def _figure(value: float | None) -> Value:
    if value is None:
        return None
    return Shown(value, f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}")


def _exact(item: Monitored) -> Iterator[Table]:
    """Show whose instructions the batches are made of, as the plugin counted them."""
    if not item.exact:
        return
    columns = (_BENCHMARK, *(Column(name, name, Kind.SHARE) for name in TABLES["modes"]))
    rows: list[tuple[Value, ...]] = []
    for benchmark, batches in item.found.by_benchmark.items():
        known = (item.exact.get((benchmark, batch.number)) for batch in batches)
        counted = list(filter(None, known))
        sums = [
            sum(tally.total(kind, of=[account]) for tally in counted)
            for account, kind in TABLES["modes"].values()
        ]
        rows.append((benchmark, *(value / (sum(sums) or 1) for value in sums)))
    title = "The same batches, counted exactly: whose instructions"
    yield Table("exact", title, columns, tuple(rows), lead=(_EXACT,))


def _top(found: Monitoring) -> Iterator[Table]:
    uses = top(found.processes)
    if not uses:
        return
    fields = (
        named("process", "name"),
        Field("processes", "how many"),
        Field("user_percent", "user %", lambda use: _figure(use.user_percent)),
        Field("system_percent", "kernel %", lambda use: _figure(use.system_percent)),
        Field("resident_mib", "MiB", lambda use: _figure(use.resident_kib / 1024)),
    )
    title = "Processes that used most"
    yield tabled("top", title, fields, uses[:_MOST_PROCESSES], more=(_TOP,))


def _series(found: Monitoring) -> Table:
    fields = (
        *(named("series", "name"), named("unit")),
        Field("mean", "mean", lambda item: _figure(found.mean_in(item, found.counting))),
        Field("least", "least", lambda item: _figure(min(item.known))),
        Field("most", "most", lambda item: _figure(max(item.known))),
    )
    every = chain.from_iterable(map(found.of, GROUPS))
    more = (_MEANS,) if found.batches else ()
    return tabled("series", "All series", fields, every, more=more)


def _moments(found: Monitoring) -> Table:
    """Return every value: a row for each moment."""
    columns = (
        Column("time_s", "time_s"),
        _BENCHMARK,
        Column("batch", "batch"),
        *(Column(item.name, item.name) for item in found.series),
    )
    rows = tuple(
        (time_s, *batch, *(item.values[at] for item in found.series))
        for at, (time_s, batch) in enumerate(zip(found.times_s, _batches(found), strict=True))
    )
    return Table("moments", "", columns, rows)


def _batches(found: Monitoring) -> Iterator[tuple[Value, Value]]:
    """Give benchmark and number of the batch of each moment."""
    for time_s in found.times_s:
        at = bisect_left(found.batches, time_s, key=lambda batch: batch.end_s)
        inside = at < len(found.batches) and found.batches[at].begin_s <= time_s
        batch = found.batches[at] if inside else None
        yield (batch.benchmark, batch.number) if batch else (None, None)
