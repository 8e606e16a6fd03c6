# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole costs and in-line means, which the tables of typical counts do not show; pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lsmeter.core.model import Benchmark
from lsmeter.core.model.conclusion import Estimate
from lsmeter.questions.cost import findings, overheads, parts
from lsmeter.questions.cost.grids import Grid, Row, Slot, place_label
from lsmeter.questions.cost.model import Report
from lsmeter.tables import numbers
from lsmeter.tables.model import Detail, Kind, Section, Shown, Table, Value, columns
from lsmeter.tables.values import count, percent


class _Number(NamedTuple):
    """One of the numbers beside the typical count."""

    name: str
    field: str  # of estimates and comparisons
    per: str  # what it is of


def _numbers(report: Report) -> tuple[_Number, ...]:
    mean = _Number(report.words.mean.capitalize(), "mean", "call")
    return (_Number("Whole cost", "whole", "cycle"), mean)


def section(report: Report, grids: tuple[Grid, ...], detail: Detail) -> Section:
    """Show whole costs and means of all benchmarks, unless the document is to be short."""
    tables = tuple(
        table
        for number in _numbers(report)
        for grid in (() if detail is Detail.SHORT else grids)
        for table in _tables(report, grid, number, full=detail is Detail.FULL)
    )
    unit = f"{numbers.unit_word(report.unit)}, {report.instrument} instrument"
    rule = (
        f"{report.words.numbers} Shown: differences from the baseline in {unit}, "
        f"{numbers.PLUS_MINUS} half the {report.level} interval, and the overhead over "
        "the baseline's own such cost."
    )
    if detail is not Detail.SHORT:
        tables += tuple(filter(None, (parts.table(report, grid) for grid in grids)))
    title = f"Whole cost and {report.words.mean}" if report.words.repeats else "Mean"
    return Section(title, (rule,), tables, key="whole")


def _tables(report: Report, grid: Grid, number: _Number, *, full: bool) -> Iterator[Table]:
    rows = [row for row in grid.rows if _has(row, number)]
    cycles = number.per == "cycle"
    heads = ((grid.baseline_head,) if grid.baseline_setup is not None else ()) + grid.heads
    if rows:
        yield Table(
            number.name.lower().replace(" ", "_"),
            f"{number.name}{numbers.DOT}{place_label(report, grid)}",
            (*columns(Kind.NAME, "benchmark"), *columns(Kind.COUNT, *heads)),
            overheads.grouped(
                rows,
                lambda row: _cycle(row.benchmark) if cycles else row.benchmark.operation,
                lambda row: _cells(report, grid, row, number, full=full),
            ),
            lead=(_lead(report, grid, number),),
            more=tuple(findings.spread(filter(grid.has, report.estimates))) if cycles else (),
        )


def _cycle(kind: Benchmark) -> str:
    """Name an operation with its cycle, where that is more than the operation."""
    if kind.cycle == kind.operation:
        return kind.operation
    return f"{kind.operation}: {kind.cycle or 'no system call'}"


def _lead(report: Report, grid: Grid, number: _Number) -> str:
    what = f"{numbers.unit_word(report.unit)} per {number.per}"
    if not grid.compared:
        return f"{number.name} in {what}."
    base = f"{grid.baseline_head} in {what}; " if grid.baseline_setup is not None else ""
    return f"{base}{number.name.lower()} of the others: difference in {what}, overhead."


def _has(row: Row, number: _Number) -> bool:
    known = (
        row.baseline,
        *(part for slot in row.slots for part in (slot.estimate, slot.comparison)),
    )
    return any(getattr(item, number.field, None) is not None for item in known)


def _cells(report: Report, grid: Grid, row: Row, number: _Number, *, full: bool) -> Iterator[Value]:
    if grid.baseline_setup is not None:
        yield _base(row, number)
    for slot in row.slots:
        yield _cell(report, slot, number, full=full)


def _level(item: Estimate | None, number: _Number) -> Shown | None:
    known = getattr(item, number.field, None)
    return known and Shown(known.value, numbers.level(known.value, known.low, known.high))


def _base(row: Row, number: _Number) -> Value:
    """Return the baseline's own cost."""
    known = _level(row.baseline, number)
    changes = (getattr(slot.comparison, number.field, None) for slot in row.slots)
    value = next((change.baseline_value for change in changes if change is not None), None)
    return known or Shown(value, count(value if value is None else round(value) + 0.0))


def _cell(report: Report, slot: Slot, number: _Number, *, full: bool) -> Value:
    item = slot.comparison
    change = getattr(item, number.field, None)
    if item is None or change is None:
        return _level(slot.estimate, number)
    mark = numbers.APART_MARK if findings.apart(item, change, report.margin) else ""
    text = numbers.amount(change)
    if not full:
        share = percent(change.overhead, space="")
        return Shown(change.difference, f"{text} {share}{mark or ' '}")
    detail = f"{percent(change.overhead)} {mark}".strip()
    return Shown(change.difference, text, detail=detail)
