# SPDX-License-Identifier: GPL-2.0-or-later
"""The event vector of each benchmark, beside that of the baseline; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Benchmark, Place, Problem
from lsmeter.measure.tasks.events import BY_ADDRESS, EVENTS
from lsmeter.questions.cells.rows import PLACED
from lsmeter.questions.events.figures import EventCell, EventCount
from lsmeter.tables import numbers
from lsmeter.tables.fields import BENCHMARK, By, Field, Row, fields_of, flat_table, tabled
from lsmeter.tables.model import Detail, Document, Kind, Raw, Section, Shown, Table, Value
from lsmeter.tables.values import change, count

NAME = "lsmeter-events"
VERSION = 1
_LEAD = (
    "How often each event occurs in one call: the median of all readings, and the difference to "
    "the baseline. Caches, TLBs and branch predictor are models; `lsmeter help events` defines "
    "them. Events that never occur have no column."
)
_UNSTEADY = f"{numbers.UNREPEATED_MARK} fewer than half of the readings have this number."


@dataclass(frozen=True)
class _Event:
    """One event of a benchmark, and how often the baseline has it."""

    found: EventCount
    baseline_value: int | None

    @property
    def difference(self) -> int | None:
        """Return tested - baseline; None for the baseline itself."""
        return None if self.baseline_value is None else self.found.typical - self.baseline_value


@dataclass(frozen=True)
class _Row:
    """A benchmark of one setup with its events by name, those that the baseline has as well."""

    place: Place
    benchmark: Benchmark
    events: Mapping[str, _Event]


EVENT = Row(
    (
        Field("value", value="found.typical", of=int),
        *fields_of(EventCount, "share", "least", "most", of="found."),
        Field("repeats", value="found.repeats", kind=Kind.YES),
        *fields_of(_Event, "baseline_value"),
        Field("difference", of=int | None),
    )
)
VECTOR = Row((*PLACED, Field("events", of=By(EVENT))))


def sections(cells: Sequence[EventCell], baseline: str, detail: Detail) -> Iterator[Section]:
    """Yield a section for each setup that was measured with events, the baseline first.

    Where there is little room, each operation has one row.
    """
    for number, cell in enumerate(cells, 1):
        found = numbers.by_operation(_rows(cells, baseline, cell)).values()
        shown = [row for group in found for row in (group[:1] if detail is Detail.SHORT else group)]
        left = sum(map(len, found)) - len(shown)
        more = (f"{left:,} more benchmarks: --all, or --format csv.",) if left else ()
        yield Section(
            f"Events: {cell.cell.place.label}",
            (_LEAD,) if number == 1 else (),
            (_table(shown, (_UNSTEADY, *more)),),
            key="events" if number == 1 else f"events-{number}",
        )


def document(
    title: str,
    cells: Sequence[EventCell],
    baseline: str,
    problems: Iterable[Problem],
    detail: Detail,
) -> Document:
    """Return the events of a run alone; UsageError where it was made without."""
    if not cells:
        raise UsageError("this run has no events", hint="make one: lsmeter run --events ...")
    found = entries(cells, baseline)
    if detail is Detail.DATA:
        table = flat_table("events", [*_long(found)])
        data = {"title": title, "baseline_setup": baseline, "events": found}
        return Document(NAME, VERSION, title, sections=(Section("", tables=(table,)),), data=data)
    notes = [f"{item.title}: {item.detail}" for item in problems if "no events" in item.title]
    return Document(
        NAME, VERSION, title, sections=tuple(sections(cells, baseline, detail)), notes=tuple(notes)
    )


def entries(cells: Sequence[EventCell], baseline: str) -> list[dict[str, Any]]:
    """Return the events of every benchmark for programs."""
    return [VECTOR.entry(row) for cell in cells for row in _rows(cells, baseline, cell)]


def _rows(cells: Sequence[EventCell], baseline: str, cell: EventCell) -> Iterator[_Row]:
    place = cell.cell.place
    wanted = replace(place, setup=baseline)
    base = next((item for item in cells if item.cell.place == wanted), None)
    for name, counts in cell.benchmarks.items():
        known = None if base is None or base is cell else base.benchmarks.get(name)
        events = {
            event: _Event(found, None if known is None else known[event].typical)
            for event, found in counts.items()
            if known is None or event in known
        }
        yield _Row(place, cell.kinds[name], events)


def _long(found: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Raw]]:
    """Give a row for each event of each benchmark."""
    for item in found:
        for event, entry in item["events"].items():
            yield {**VECTOR.flat(item), "event": event, **EVENT.flat(entry)}


def _table(found: Sequence[_Row], more: tuple[str, ...]) -> Table:
    known = [name for name in EVENTS if all(name in row.events for row in found)]
    events = [(name, [row.events[name] for row in found]) for name in known]
    shown = [name for name, of in events if any(i.found.typical or i.difference for i in of)]
    fields = (BENCHMARK, *(Field(name, EVENTS[name], partial(_cell, name)) for name in shown))
    return tabled("events", "", fields, found, more=more)


def _cell(name: str, row: _Row) -> Value:
    found, difference = row.events[name].found, row.events[name].difference
    text = count(found.typical) + numbers.UNREPEATED_MARK * (2 * found.share < 1)
    hover = f"{found.least:,} to {found.most:,}, {found.share:.0%} of readings"
    if name in BY_ADDRESS:
        hover += "; depends on addresses"
    if difference:
        text += f" {change(difference)}"
    return Shown(found.typical, text, hover=hover)
