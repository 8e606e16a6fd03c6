# SPDX-License-Identifier: GPL-2.0-or-later
"""The overheads of a grid as tables: a column per setup, or a row per operation; pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator

from lsmeter.model.conclusion import Comparison, Estimate, Verdict
from lsmeter.report import findings, numbers, summary
from lsmeter.report.grids import Grid, Group, Row, Slot, place_label
from lsmeter.report.model import Report
from lsmeter.tables.model import Column, Detail, Kind, Section, Shown, Table, Tone, Value, columns
from lsmeter.tables.values import MISSING, count, percent

_DETAILED_COLUMNS = 2  # of setups; more of them share one table in a mail
_CHANGED = frozenset({Verdict.SLOWER, Verdict.FASTER})
_INSIDE = "All variants inside the margin"


def section(report: Report, grid: Grid, detail: Detail, place: int) -> Section:
    """Show one grid: for a mail an operation a row, else all benchmarks."""
    caveats = tuple(f"Applies to every verdict: {text}" for text in report.caveats)
    title = place_label(report, grid)
    if detail is Detail.SHORT:
        lead = (_setups(grid), *caveats)
        tables = tuple(_short_tables(report, grid))
        return Section(f"Kernel: {title}", lead, tables, key=f"grid-{place}")
    full = detail is Detail.FULL
    words = (_column_words(report, grid),)
    table = Table(
        "overheads",
        "Every benchmark" if full else "",
        tuple(_columns(grid)),
        grouped(
            grid.rows,
            lambda row: row.benchmark.operation,
            lambda row: _cells(report, grid, row, full=full),
        ),
        lead=(summary.legend(report), *words) if full else (),
        fixed=1 if grid.baseline_setup is None else 2,
    )
    lead = caveats if full else (*words, *caveats)
    return Section(title, lead, (table,), key=f"grid-{place}")


def _column_words(report: Report, grid: Grid) -> str:
    """Say what stands in the columns."""
    what = f"typical {summary.measured(report)}"
    if not grid.columns:
        return f"{what.capitalize()}."
    if grid.baseline_setup is None:
        return f"Before: {what}; then the typical overhead after."
    others = "typical overhead in %" if grid.compared else "the same, not compared"
    return f"{grid.baseline_head}: {what}; other columns: {others}."


def _columns(grid: Grid) -> Iterator[Column]:
    yield Column("benchmark", "benchmark", Kind.NAME)
    if grid.baseline_setup is not None:
        yield Column("baseline", grid.baseline_head)
    for column, head in zip(grid.columns, grid.heads, strict=True):
        if grid.baseline_setup is None:
            yield Column(f"{column.setup}_before", "before")
        yield Column(column.setup, head, Kind.PERCENT, joined=grid.baseline_setup is None)


def grouped(
    rows: Iterable[Row], head: Callable[[Row], str], cells: Callable[[Row], Iterable[Value]]
) -> tuple[tuple[Value, ...], ...]:
    """Give each row its label, below a heading that it shares with those like it."""
    found: list[tuple[Value, ...]] = []
    last = ""
    for row in rows:
        title, kind = head(row), row.benchmark
        alone = title == kind.operation and not kind.params
        if not alone and title != last:
            found.append((title,))
        last = title
        text = Shown(kind.id, title, Tone.HEADING) if alone else Shown(kind.id, f"  {row.label}")
        found.append((text, *cells(row)))
    return tuple(found)


def _cells(report: Report, grid: Grid, row: Row, *, full: bool) -> Iterator[Value]:
    if grid.baseline_setup is not None:
        yield _level(row, row.baseline_value(), summary.row_mark(row))
    for index, slot in enumerate(row.slots):
        if grid.baseline_setup is None:
            yield _level(row, row.baseline_value(index), "")
        yield _overhead(report, grid, slot, full=full)


def _level(row: Row, value: float | None, mark: str) -> Shown:
    """Write a cost; it ends in a mark or a space, so that digits stand below digits."""
    return Shown(value, count(value) + (mark or " "), hover=row.benchmark.id + _boots(row.baseline))


def _overhead(report: Report, grid: Grid, slot: Slot, *, full: bool) -> Shown:
    """Write an overhead with its marks, each at its place."""
    item = slot.comparison
    if item is None:
        text = MISSING if grid.compared and not full else count(slot.value)
        return Shown(None, text + "   ", hover="not compared; see problems")
    mark = numbers.VERDICT_MARKS[item.verdict] + (findings.mark(item, report.margin) or " ")
    mark += " " if item.repeats else numbers.UNREPEATED_MARK
    tone = numbers.TONES[item.verdict]
    if not full:
        return Shown(item.overhead, percent(item.overhead, space="")[:-1] + mark, tone)
    text = f"{percent(item.overhead)} {mark.replace(' ', '')}"
    hover = _all_numbers(item) + _boots(slot.estimate)
    return Shown(item.overhead, text, tone, count(item.value), hover)


def _all_numbers(item: Comparison) -> str:
    """Say all three numbers of a comparison, with the cause of an open verdict."""
    verdict = item.verdict.value + (f" ({item.cause})" if item.cause else "")
    texts = [f"typical {percent(item.overhead_low)} to {percent(item.overhead_high)}"]
    if item.mean is not None:
        texts.append(f"in-line mean {numbers.amount(item.mean)}")
    if item.whole is not None:
        cycle = f" of {item.benchmark.cycle}" if item.benchmark.cycle else ""
        share = percent(item.whole.overhead)
        texts.append(f"whole {numbers.amount(item.whole)} ({share}{cycle})")
    return f"{item.benchmark.id}, {item.place.setup}: {verdict}; {'; '.join(texts)}"


def _boots(item: Estimate | None) -> str:
    """Give the range of the boots where they differ."""
    if item is None or item.low == item.high:
        return ""
    return f"; boots {count(item.low)} to {count(item.high)}"


def _setups(grid: Grid) -> str:
    names = ", ".join(dict.fromkeys(column.setup for column in grid.columns))
    if grid.before_and_after:
        return f"Setups: {names}, each against itself before"
    if grid.baseline_setup is not None:
        return f"Setups: {names or 'none'} against {grid.baseline_setup}"
    return f"Setups: {names}, each against its own baseline"


def _short_tables(report: Report, grid: Grid) -> Iterator[Table]:
    if len(grid.columns) > _DETAILED_COLUMNS:
        yield _matrix(grid)
        return
    for index in range(len(grid.columns)):
        yield _changes(report, grid, index)


def _finite(group: Group, index: int) -> list[Comparison]:
    return [item for item in group.comparisons(index) if math.isfinite(item.overhead)]


def _changes(report: Report, grid: Grid, index: int) -> Table:
    """List the operations that changed: how many variants, the median, the largest with values."""
    others: dict[str, list[str]] = {_INSIDE: [], "Inconclusive": [], "No number": []}
    rows: list[tuple[Value, ...]] = []
    for group in grid.groups:
        found = _finite(group, index)
        changed = [item for item in found if item.verdict in _CHANGED]
        if not changed:
            others[_unchanged(group, found)].append(group.operation)
            continue
        most = max(changed, key=lambda item: abs(item.overhead))
        values = f"{count(most.baseline_value)} -> {count(most.value)}"
        label = numbers.variant(most.benchmark)
        beyond = Shown(len(changed), f"{len(changed)} of {len(group.rows)}")
        median = statistics.median(c.overhead for c in found)
        where = f"{label}: {values}" if label else values
        rows.append((group.operation, beyond, median, most.overhead, where))
    column, unit = grid.columns[index], numbers.unit_word(report.unit)
    title = summary.column_title(grid, column)
    if title == column.setup:
        title += f" against {column.baseline_setup}"
    return Table(
        "changes",
        title,
        (
            *columns(Kind.NAME, "operation"),
            *columns(Kind.COUNT, "beyond"),
            *columns(Kind.PERCENT, "median", "largest"),
            *columns(Kind.PROSE, "where"),
        ),
        tuple(rows),
        more=(
            f"Values: typical {unit}; beyond: variants of which a number is beyond the margin.",
            *(f"{head}: {', '.join(names)}." for head, names in others.items() if names),
        ),
    )


def _unchanged(group: Group, found: list[Comparison]) -> str:
    """Tell why an operation is not in the table of changes."""
    if any(item.verdict is Verdict.INCONCLUSIVE for item in found):
        return "Inconclusive"
    return _INSIDE if len(found) == len(group.rows) else "No number"


def _matrix(grid: Grid) -> Table:
    """Tabulate the largest change of each operation under each setup."""
    indices = range(len(grid.columns))
    rows: list[tuple[Value, ...]] = []
    tested: list[list[Comparison]] = [[] for _ in indices]
    for group in grid.groups:
        found = [_finite(group, index) for index in indices]
        overheads = ([item.overhead for item in part] for part in found)
        rows.append((group.operation, *(max(p, key=abs, default=None) for p in overheads)))
        for known, part in zip(tested, found, strict=True):
            known += [item for item in part if not item.benchmark.control]
    rows.append(("median", *(findings.medians(part).typical for part in tested)))
    return Table(
        "largest",
        "Largest typical overhead of any variant; last, median, no controls",
        columns(Kind.NAME, "operation")
        + columns(Kind.PERCENT, *(column.setup for column in grid.columns)),
        tuple(rows),
    )
