# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of whole costs and in-line means, which the tables of typical counts do not show; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from lsmeter.conclusion import Change, Comparison, Estimate
from lsmeter.report import content, numbers, three
from lsmeter.report.content import Grid, Row, Slot
from lsmeter.report.listing import Chapter, Column, Listing, Saying, names
from lsmeter.report.model import Report


@dataclass(frozen=True)
class _Number:
    """One of the numbers beside the typical count, and where to find it."""

    name: str
    of_change: Callable[[Comparison], Change | None]
    of_estimate: Callable[[Estimate], tuple[float, float, float] | None]
    apart: Callable[[Comparison, float], bool]
    cycles: bool  # it is of a cycle, not of one call


def _whole(item: Estimate) -> tuple[float, float, float] | None:
    return None if item.whole is None else (item.whole.value, item.whole.low, item.whole.high)


def _mean(item: Estimate) -> tuple[float, float, float] | None:
    return None if item.mean is None else (item.mean.value, item.mean.low, item.mean.high)


_NUMBERS = (
    _Number("Whole cost", lambda item: item.whole, _whole, three.whole_apart, cycles=True),
    _Number("In-line mean", lambda item: item.mean, _mean, three.mean_apart, cycles=False),
)


def chapter(report: Report, *, short: bool = False, narrow: bool = False) -> Chapter:
    """Show whole costs and means: all of them, or where narrow those that disagree.

    Short texts say it in their sentences.
    """
    grids = () if short else content.grids(report)
    listings = [
        found
        for number in _NUMBERS
        for grid in grids
        if (found := _listing(report, grid, number, narrow=narrow)) is not None
    ]
    rule = (
        f"{three.RULE} Shown are differences from the baseline in "
        f"{numbers.unit_word(report.unit)}, {report.instrument.value} instrument, with the "
        "half-width of the 99 % interval, and the overhead over the baseline's own such cost."
    )
    return Chapter("whole", "Whole cost and in-line mean", rule, tuple(listings))


def _listing(report: Report, grid: Grid, number: _Number, *, narrow: bool) -> Listing | None:
    compared = any(grid.comparisons(index) for index in range(len(grid.columns)))
    rows = [row for row in grid.rows if _has(row, number)]
    if not rows:
        return None
    title = f"{number.name} \N{MIDDLE DOT} {content.place_label(report, grid)}"
    chosen = rows
    if narrow and compared:
        chosen = [row for row in rows if _is_apart(report, row, number)]
    more = _more(report, grid, number)
    if not chosen:
        # A mean that agrees everywhere needs no words where room is scarce.
        saying = (
            f"No {number.name.lower()} differs otherwise than the typical count by more than the "
            "margin."
        )
        return Listing(title, (), (), more=more, sayings=(Saying(saying),)) if more else None
    lead = [_lead(report, grid, number)]
    if len(chosen) < len(rows):
        lead.append(
            f"{len(chosen):,} of {len(rows):,} benchmarks: those marked "
            f"{numbers.APART_MARK} above for it; markdown, HTML and CSV have all."
        )
    make = _narrow_rows if narrow else _wide_rows
    first = names("benchmark") if narrow or not number.cycles else names("benchmark", "cycle")
    heads = ((grid.baseline_head,) if grid.baseline_setup is not None else ()) + grid.heads
    return Listing(
        title,
        (*first, *map(Column, heads)),
        tuple(make(report, grid, chosen, number)),
        lead=tuple(lead),
        more=more,
    )


def _lead(report: Report, grid: Grid, number: _Number) -> str:
    what = f"{numbers.unit_word(report.unit)} per {'cycle' if number.cycles else 'call'}"
    if not any(grid.comparisons(index) for index in range(len(grid.columns))):
        return f"{number.name} in {what}."
    base = f"{grid.baseline_head} in {what}; " if grid.baseline_setup is not None else ""
    return f"{base}{number.name.lower()} of the others: difference in {what}, overhead."


def _more(report: Report, grid: Grid, number: _Number) -> tuple[str, ...]:
    if not number.cycles:
        return ()
    place = grid.place
    found = [
        item
        for item in report.estimates
        if item.kernel in (place.kernel, place.baseline_kernel)
        and (item.benchmark.suite, item.filesystem, item.user)
        == (place.suite, place.filesystem, place.user)
    ]
    return tuple(filter(None, (_sizes(found), three.spread(found))))


def _sizes(found: Iterable[Estimate]) -> str:
    cycles = [item.whole.operations for item in found if item.whole is not None]
    if not cycles:
        return ""
    least, most = numbers.count(min(cycles)), numbers.count(max(cycles))
    return f"Each from {least if least == most else f'{least} to {most}'} cycles."


def _has(row: Row, number: _Number) -> bool:
    estimates = (row.baseline, *(slot.estimate for slot in row.slots))
    changes = (slot.comparison for slot in row.slots)
    return any(item is not None and number.of_estimate(item) is not None for item in estimates) or (
        any(item is not None and number.of_change(item) is not None for item in changes)
    )


def _is_apart(report: Report, row: Row, number: _Number) -> bool:
    found = (slot.comparison for slot in row.slots)
    return any(item is not None and number.apart(item, report.margin) for item in found)


def _wide_rows(
    report: Report, grid: Grid, rows: list[Row], number: _Number
) -> Iterator[tuple[str, ...]]:
    for row in rows:
        cycle = (row.benchmark.cycle or numbers.MISSING,) if number.cycles else ()
        cells = (_cell(report, slot, number, narrow=False) for slot in row.slots)
        yield (row.benchmark.id, *cycle, *_base(grid, row, number), *cells)


def _narrow_rows(
    report: Report, grid: Grid, rows: list[Row], number: _Number
) -> Iterator[tuple[str, ...]]:
    """Give the cycle a line of its own above the variants that have it."""
    last = ""
    for row in rows:
        kind = row.benchmark
        head = kind.operation
        if number.cycles and kind.cycle != kind.operation:
            head += f": {kind.cycle or 'no system call'}"
        cells = tuple(_cell(report, slot, number, narrow=True) for slot in row.slots)
        label = f"  {row.label}"
        if head == kind.operation and not kind.params:
            label = head
        elif head != last:
            yield (head,)
        last = head
        yield (label, *_base(grid, row, number), *cells)


def _base(grid: Grid, row: Row, number: _Number) -> tuple[str, ...]:
    """Return the baseline's own cost where all columns share it."""
    if grid.baseline_setup is None:
        return ()
    known = number.of_estimate(row.baseline) if row.baseline is not None else None
    if known is not None:
        return (three.level(*known),)
    changes = (slot.comparison and number.of_change(slot.comparison) for slot in row.slots)
    value = next((change.baseline_value for change in changes if change is not None), None)
    return (numbers.count(value if value is None else round(value) + 0.0),)


def _cell(report: Report, slot: Slot, number: _Number, *, narrow: bool) -> str:
    item = slot.comparison
    change = number.of_change(item) if item is not None else None
    if item is None or change is None:
        known = number.of_estimate(slot.estimate) if slot.estimate is not None else None
        return numbers.MISSING if known is None else three.level(*known)
    mark = numbers.APART_MARK if number.apart(item, report.margin) else ""
    if narrow:
        return f"{three.amount(change)} {numbers.percent(change.overhead, space='')}{mark or ' '}"
    share = f"({numbers.percent(change.overhead)})"
    return " ".join(filter(None, (three.amount(change), share, mark)))
