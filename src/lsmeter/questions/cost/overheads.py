# SPDX-License-Identifier: GPL-2.0-or-later
"""The overheads of a grid as tables: a row for each operation, and one for each benchmark; pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from lsmeter.core.model.conclusion import Comparison, Estimate, Number, Verdict
from lsmeter.questions.cost import blocks, findings, repeats, summary
from lsmeter.questions.cost.grids import Grid, Row, Slot, place_label
from lsmeter.questions.cost.model import Report
from lsmeter.tables import numbers
from lsmeter.tables.model import Column, Detail, Kind, Section, Shown, Table, Tone, Value, columns
from lsmeter.tables.values import MISSING, count, percent

_WHOLE_NUMBERS = 1000  # costs from which on medians are shown without decimals
_LARGEST = Column("largest_deviation", "largest deviation", Kind.PROSE)
_WHOSE = " (with its setup, unless its median is largest)"


def section(report: Report, grid: Grid, detail: Detail, place: int) -> Section:
    """Show one grid: operations first, then all benchmarks where there is room."""
    alone = grid.compared and detail is Detail.SHORT
    title = "" if alone else "Operations"
    tables: list[Table] = []
    if grid.compared and grid.before_and_after:
        tables += _sides(report, grid)
    elif grid.compared:
        tables.append(_operations(report, grid, title))
    if not alone:
        tables.append(_benchmarks(report, grid, full=detail is Detail.FULL))
    caveats = tuple(f"Applies to every verdict: {text}" for text in report.caveats)
    return Section(place_label(report, grid), caveats, tuple(tables), key=f"grid-{place}")


def _operations(report: Report, grid: Grid, title: str) -> Table:
    """Tabulate the median of each operation's variants, and their largest deviation."""
    indices = range(len(grid.columns))
    rows: list[tuple[Value, ...]] = []
    for group in grid.groups:
        if all(row.benchmark.control for row in group.rows):
            continue  # the summary says how they went
        found = [group.comparisons(index) for index in indices]
        odd = any(findings.mark(item, report.margin) for part in found for item in part)
        name = Shown(group.operation, group.operation + numbers.APART_MARK * odd)
        rows.append((name, *map(_median, found), _largest(report, found)))
    medians = [findings.medians(findings.tested(grid.comparisons(index))) for index in indices]
    rows.append(("median, without controls",))
    kinds = (report.words.typical, report.words.mean.removeprefix("in-line "), "whole")
    for kind, shares in zip(kinds, zip(*medians, strict=True), strict=True):
        if any(share is not None for share in shares):
            rows.append((kind, *(_share(share, "  ") for share in shares), Shown(None, "")))
    heads = (*columns(Kind.NAME, "operation"), *columns(Kind.PERCENT, *grid.heads), _LARGEST)
    against = grid.baseline_head or "its own baseline"
    lead = (
        f"In % over {against}: median of an operation's variants that have the sign, by the number "
        f"that decided, and their largest deviation{_WHOSE * (len(grid.columns) > 1)}. "
        f"{summary.legend(report, rows)}"
    )
    return Table("operations", title, heads, tuple(rows), lead=(lead,))


def _sides(report: Report, grid: Grid) -> Iterator[Table]:
    """Tabulate each setup as it was and as it is: the median of each operation's variants."""
    tables: list[Table] = []
    heads = (
        *columns(Kind.NAME, "operation"),
        *columns(Kind.COUNT, "old", "new"),
        *columns(Kind.CHANGE, "difference"),
        Column("overhead", "%", Kind.PERCENT),
        *(*columns(Kind.NAME, "verdict"), _LARGEST),
    )
    for index, head in enumerate(grid.heads):
        rows: list[tuple[Value, ...]] = []
        for group in grid.groups:
            found = group.comparisons(index)
            if not found or all(item.benchmark.control for item in found):
                continue
            odd = any(findings.mark(item, report.margin) for item in found)
            name = Shown(group.operation, group.operation + numbers.APART_MARK * odd)
            said = findings.operation(found)
            old, new = map(_rounded, (said.old, said.new))
            costs = (old, new, round(new - old, 1) + 0.0)
            most = _largest(report, [found], counts=False)
            rows.append((name, *costs, _median(found), said.verdict.value, most))
        tables.append(Table("operations", head, heads, (*rows, *_totals(report, grid, index))))
    said_of = summary.legend(report, [row for table in tables for row in table.rows])
    lead = (
        f"Old, new and difference in {numbers.unit_word(report.unit)}: medians of an operation's "
        f"variants that have the sign, by the number that decided, and their largest deviation. "
        f"{said_of}"
    )
    yield replace(tables[0], lead=(lead,))
    yield from tables[1:]


def _rounded(cost: float) -> float:
    return round(cost, 0 if cost >= _WHOLE_NUMBERS else 1)


def _totals(report: Report, grid: Grid, index: int) -> Iterator[tuple[Value, ...]]:
    """Give the median overhead of each number, over all benchmarks but the controls."""
    shares = findings.medians(findings.tested(grid.comparisons(index)))
    names = (report.words.typical, report.words.mean, "whole cost")
    for name, share in zip(names, shares, strict=True):
        if share is not None:
            none = Shown(None, "")
            yield f"all, {name}", none, none, none, _share(share, "  "), none, none


def _share(share: float | None, mark: str, verdict: Verdict | None = None) -> Shown:
    """Write a fraction without its per cent sign, and a mark after it."""
    return Shown(share, numbers.overhead(share, verdict) + mark)


def _median(found: Sequence[Comparison]) -> Shown:
    if not found:
        return _share(None, "  ")
    said = findings.operation(found)
    mark = numbers.VERDICT_MARKS[said.verdict] + (numbers.DECIDED_MARKS[said.number] or " ")
    cell = _share(said.overhead, mark, said.verdict)
    text = numbers.SOME_MARK * said.some + cell.text
    return replace(cell, text=text, tone=numbers.TONES[said.verdict])


def _largest(
    report: Report, found: Sequence[Sequence[Comparison]], *, counts: bool = True
) -> Value:
    """Name the variant that deviates most, with its counts where there is one setup.

    Its setup is the one whose median is largest, else it is named as well.
    """
    known = [item for item in chain.from_iterable(found) if math.isfinite(item.overhead)]
    if not known or not (most := findings.most(known, report.margin)).overhead:
        return None
    usual = max(found, key=lambda part: abs(findings.medians(part).typical or 0.0))
    setup = "" if any(item is most.item for item in usual) else most.item.place.setup
    number = most.number.value * (most.number is not Number.TYPICAL)
    words = (setup, numbers.variant(most.item.benchmark), number, percent(most.overhead))
    costs = f": {findings.values(report, most)}" if counts and len(found) == 1 else ""
    return f"{' '.join(filter(None, words))}{costs}"


def _benchmarks(report: Report, grid: Grid, *, full: bool) -> Table:
    rows = grouped(
        grid.rows,
        lambda row: row.benchmark.operation,
        lambda row: _cells(report, grid, row, full=full),
    )
    lead = " ".join(filter(None, (_column_words(report, grid), summary.legend(report, rows))))
    shared = grid.baseline_setup is not None and not grid.before_and_after
    heads = [*columns(Kind.NAME, "benchmark")]
    heads += [Column("baseline", grid.baseline_head)] if shared else []
    for column, head in zip(grid.columns, grid.heads, strict=True):
        if not shared:
            heads += (
                Column(f"{column.setup}_before", f"{head} old"),
                Column(f"{column.setup}_after", "new", joined=True),
                Column(f"{column.setup}_difference", "difference", Kind.CHANGE, joined=True),
            )
        heads.append(Column(column.setup, head if shared else "%", Kind.PERCENT, joined=not shared))
    title = "Every benchmark" if grid.compared else ""
    return Table("overheads", title, tuple(heads), rows, lead=(lead,), fixed=1 + shared)


def _column_words(report: Report, grid: Grid) -> str:
    """Say what stands in the columns."""
    typical = report.words.typical
    what = f"{typical} {summary.measured(report)}"
    if not grid.columns:
        return f"{what.capitalize()}."
    if grid.baseline_setup is None or grid.before_and_after:
        return (
            f"Old, new and difference: by the number that decided, {summary.measured(report)}; "
            "then the overhead."
        )
    interval = f", {numbers.PLUS_MINUS} half its {report.level} interval"
    overhead = f"overhead in % by the number that decided{interval * report.words.interval}"
    others = overhead if grid.compared else "the same, not compared"
    return f"{grid.baseline_head}: {what}; other columns: {others}."


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
    repeats = report.words.repeats
    shared = grid.baseline_setup is not None and not grid.before_and_after
    if shared:
        unrepeated = repeats and row.baseline is not None and not row.baseline.repeats
        yield _level(row, row.baseline_value(), numbers.UNREPEATED_MARK if unrepeated else " ")
    for index, slot in enumerate(row.slots):
        if not shared:
            yield from _two_sides(row, slot, index)
        yield _overhead(report, grid, slot, full=full)


def _two_sides(row: Row, slot: Slot, index: int) -> Iterator[Value]:
    """Give what a cell's overhead is made of."""
    if slot.comparison is None:
        yield from (_level(row, row.baseline_value(index), " "), _level(row, slot.value, " "), None)
    else:
        of = slot.comparison.decided
        yield from (_level(row, round(of.baseline_value, 1), " "), round(of.value, 1))
        yield round(of.difference, 1) + 0.0 if math.isfinite(of.difference) else None


def _level(row: Row, value: float | None, mark: str) -> Shown:
    """Write a cost; it ends in a mark or a space, so that digits stand below digits."""
    return Shown(value, count(value) + mark, hover=row.benchmark.id + _boots(row.baseline))


def _overhead(report: Report, grid: Grid, slot: Slot, *, full: bool) -> Shown:
    """Write an overhead with its marks, each at its place."""
    item = slot.comparison
    if item is None:
        text = MISSING if grid.compared and not full else count(slot.value)
        return Shown(None, text + "   ", hover="not compared; see problems")
    decided = numbers.DECIDED_MARKS[item.decided_by] or findings.mark(item, report.margin)
    mark = numbers.VERDICT_MARKS[item.verdict] + (decided or " ")
    mark += " " if item.repeats or not report.words.repeats else numbers.UNREPEATED_MARK
    tone = numbers.TONES[item.verdict]
    within = _within(item) if report.words.interval else ""
    if not full:
        return replace(_share(item.overhead, f"{within}{mark}", item.verdict), tone=tone)
    share = numbers.overhead(item.overhead, item.verdict)
    text = f"{share} %{within} {mark.replace(' ', '')}"
    hover = _all_numbers(report, item) + _boots(slot.estimate)
    return Shown(item.overhead, text, tone, _of_what(item), hover)


def _of_what(item: Comparison) -> str:
    """Write the cost whose overhead is shown; of another than the typical call with its base."""
    if item.decided_by is Number.TYPICAL and item.has_typical:
        return count(item.typical.value)
    old, new = item.decided.baseline_value, item.decided.value
    return f"{count(round(old))} {numbers.ARROW} {count(round(new))}"


def _within(item: Comparison) -> str:
    """Say how well an overhead is known, in per cent: half of its interval."""
    half = (item.decided.overhead_high - item.decided.overhead_low) / 2
    return f" {numbers.PLUS_MINUS}{half * 100:,.1f}" if math.isfinite(half) else ""


def _all_numbers(report: Report, item: Comparison) -> str:
    """Say all numbers of a comparison, with the cause of a verdict."""
    cause = "; ".join(filter(None, (item.cause, blocks.needed([item]))))
    verdict = item.verdict.value + (f" ({cause})" if cause else "")
    words = report.words
    typical = item.typical
    span = f"{percent(typical.overhead_low)} to {percent(typical.overhead_high)}"
    texts = [f"{words.typical} {span if item.has_typical else 'none'}"]
    if item.mean is not None:
        texts.append(f"{words.mean} {numbers.amount(item.mean)}")
    if item.whole is not None:
        cycle = f" of {item.benchmark.cycle}" if item.benchmark.cycle else ""
        share = percent(item.whole.overhead)
        texts.append(f"whole {numbers.amount(item.whole)} ({share}{cycle})")
    return f"{item.benchmark.id}, {item.place.setup}: {verdict}; {'; '.join(texts)}"


def _boots(item: Estimate | None) -> str:
    """Say which boots differ, if they do."""
    if item is None or item.low == item.high or not item.evidence.by_boot:
        return ""
    return f"; {repeats.by_boot(item)}"
