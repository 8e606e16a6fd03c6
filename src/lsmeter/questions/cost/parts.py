# SPDX-License-Identifier: GPL-2.0-or-later
"""What whole costs consist of: what is left to be done, and the calls as measured alone; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lsmeter.core.model import Benchmark
from lsmeter.core.model.conclusion import Estimate
from lsmeter.questions.cost.grids import Grid, Row, place_label
from lsmeter.questions.cost.model import Report
from lsmeter.tables import numbers
from lsmeter.tables.model import Kind, Shown, Table, Value, columns
from lsmeter.tables.values import count

_LEAD = (
    "Instructions per cycle. Left: the part of the whole cost that is done after the cycle. Calls: "
    "the sum of the typical counts of its calls, each measured alone, or which of them are not. "
    "Rest: whole cost less both; each reading of a call has some 14 instructions of its own."
)


def table(report: Report, grid: Grid) -> Table | None:
    """Take apart the whole costs of cycles of several calls; None where there are none."""
    found = [row for row in grid.rows if "+" in row.benchmark.cycle]
    rows = tuple(line for row in found for line in _lines(grid, row))
    if not rows:
        return None
    heads = (*columns(Kind.NAME, "setup"), *columns(Kind.COUNT, "whole", "left", "calls", "rest"))
    title = f"Parts of whole costs{numbers.DOT}{place_label(report, grid)}"
    return Table("whole_parts", title, heads, rows, lead=(_LEAD,))


def _lines(grid: Grid, row: Row) -> Iterator[tuple[Value, ...]]:
    names = ("" if grid.baseline_setup is None else grid.baseline_head, *grid.heads)
    sides = [[item.baseline, *(slot.estimate for slot in item.slots)] for item in (row, *grid.rows)]
    begun = False
    for name, (own, *others) in zip(names, zip(*sides, strict=True), strict=True):
        if not name or own is None or own.whole is None:
            continue
        if not begun:
            yield (f"{row.benchmark.id}: {row.benchmark.cycle}",)
            begun = True
        known = {other.benchmark.id: other for other in others if other is not None}
        yield (f"  {name}", *_parts(own, known))


def _parts(own: Estimate, known: Mapping[str, Estimate]) -> Iterator[Value]:
    if own.whole is None:
        return
    calls = own.benchmark.cycle.split("+")
    alone = [_alone(own.benchmark, call, known) for call in calls]
    yield _count(own.whole.value)
    yield _count(own.whole.deferred)
    missing = [call for call, item in zip(calls, alone, strict=True) if item is None]
    if missing:
        yield f"not alone: {', '.join(dict.fromkeys(missing))}"
        yield None
        return
    total = sum(item.centre for item in alone if item is not None)
    yield _count(total)
    yield _count(own.whole.value - own.whole.deferred - total)


def _alone(kind: Benchmark, call: str, known: Mapping[str, Estimate]) -> Estimate | None:
    """Return what measures a call of a cycle alone, on an object of the same kind.

    That is the operation itself, a close of what was opened or made as here, or an operation with
    the same parameters that is undone in the same way: of `mkdir+rmdir` the other one.
    """
    first, _, rest = kind.cycle.partition("+")
    for item in known.values():
        other = item.benchmark
        same = other.params == kind.params and other.cycle.partition("+")[2] == rest
        closes = call == "close" and dict(other.params).get("after") == first == kind.operation
        if other.operation == call and (other.id == kind.id or closes or same):
            return item
    return None


def _count(value: float) -> Shown:
    return Shown(value, count(round(value) + 0.0))
