# SPDX-License-Identifier: GPL-2.0-or-later
"""Says in sentences what the numbers of a report mean; pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from lsmeter.model.conclusion import Change, Comparison, Verdict
from lsmeter.report import findings, numbers
from lsmeter.report.grids import Column, Grid, Row, place_label, setup_facts
from lsmeter.report.model import Report
from lsmeter.tables.model import Card, Detail, Item, Section, Tone
from lsmeter.tables.values import MISSING, many, percent

SIGN_RULE = "A positive overhead is always worse than the baseline."
APART = "whole cost or in-line mean differ from the typical count by more than the margin"
UNREPEATED = "the count did not repeat between boots, or one boot only"


@dataclass(frozen=True)
class Summary:
    """One setup against its baseline, in words.

    All figures leave out the controls, which no security module may change. largest is that of
    the typical counts, None when no overhead is finite.
    """

    grid: Grid
    column: Column
    title: str
    counts: str
    medians: findings.Medians
    largest: Comparison | None
    sentences: tuple[str, ...]
    brief: str
    warnings: tuple[str, ...]  # without the title
    notes: tuple[str, ...]  # without the title


def section(report: Report, grids: tuple[Grid, ...], detail: Detail) -> Section:
    """Put a whole report into words."""
    found = [summarise(report, grid, index) for grid in grids for index in range(len(grid.columns))]
    several = len(grids) > 1
    items = [Item(findings.controls(grids))]
    for grid in grids:
        if several and grid.columns:
            items.append(Item(place_label(report, grid), tone=Tone.HEADING))
        own = [item for item in found if item.grid is grid]
        if detail is Detail.SHORT:
            items += [Item(item.brief) for item in own]
        else:
            items += [Item(" ".join(item.sentences)) for item in own]
    warnings = [
        *findings.unmeasured(report),
        *_without_numbers(report),
        *_joined([(item, item.warnings) for item in found], several=several),
    ]
    notes = [
        *report.notes,
        *findings.between_boots(report),
        *_joined([(item, item.notes) for item in found], several=several),
    ]
    items += [Item(f"Warning: {text}", (), Tone.WARNING) for text in warnings]
    items += [Item(f"Note: {text}", (), Tone.QUIET) for text in notes]
    cards = tuple(_card(report, item) for item in found)
    return Section("Summary", items=tuple(items), key="summary", cards=cards)


def _card(report: Report, item: Summary) -> Card:
    facts = setup_facts(report, item.grid.place.kernel, item.column.setup)
    largest = item.largest
    where = f": {largest.benchmark.id}" if largest is not None else ""
    return Card(
        item.title,
        (
            ("median: typical", percent(item.medians.typical)),
            ("in-line mean", percent(item.medians.mean)),
            ("whole cost", percent(item.medians.whole)),
            (f"largest typical{where}", percent(largest.overhead if largest else None)),
        ),
        (item.counts, *filter(None, (facts.title if facts is not None else "",))),
        numbers.TONES[largest.verdict] if largest is not None else Tone.PLAIN,
    )


def _joined(said: list[tuple[Summary, tuple[str, ...]]], *, several: bool) -> Iterator[str]:
    """Say the same words of several setups once."""
    titles: dict[str, dict[str, list[str]]] = {}
    for summary, texts in said:
        where = f" ({summary.grid.place.kernel})" if several else ""
        for text in texts:
            titles.setdefault(text, {}).setdefault(where, []).append(summary.title)
    for text, places in titles.items():
        shown = (f"{', '.join(dict.fromkeys(names))}{where}" for where, names in places.items())
        yield f"{'; '.join(shown)}: {text}"


def measured(report: Report) -> str:
    """Name unit and instrument: instructions per operation, exact instrument."""
    return numbers.measure(report.unit, report.instrument)


def margin(report: Report) -> str:
    """Write the margin: ±1.0 %."""
    return f"{numbers.PLUS_MINUS}{percent(report.margin, sign=False)}"


def legend(report: Report) -> str:
    """Explain every sign that a table may hold."""
    marks = numbers.VERDICT_MARKS
    return (
        f"{SIGN_RULE} {marks[Verdict.SLOWER]} slower, {marks[Verdict.FASTER]} faster, "
        f"{marks[Verdict.EQUIVALENT]} equivalent within {margin(report)}, "
        f"{marks[Verdict.INCONCLUSIVE]} inconclusive; {numbers.APART_MARK} {APART}; "
        f"{numbers.UNREPEATED_MARK} {UNREPEATED}; {MISSING} no number (see problems)."
    )


def baseline(report: Report, grids: tuple[Grid, ...]) -> str:
    """Name what is compared with: a setup, or each setup as it was before."""
    if any(grid.before_and_after for grid in grids):
        return "each setup as it was before"
    return report.baseline_setup


def sizes(report: Report) -> str:
    """Say how much was measured: 61 benchmarks, 100 samples each from 2 boots of every setup."""
    if not report.estimates:
        return "no estimates"
    kinds = len({(e.benchmark.suite, e.benchmark.id) for e in report.estimates})
    boots = _span([e.evidence.boots for e in report.estimates])
    samples = _span([e.evidence.samples for e in report.estimates])
    return (
        f"{many(kinds, 'benchmark')}, {samples} samples each "
        f"from {boots} {'boot' if boots == '1' else 'boots'} of every setup"
    )


def _span(values: list[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def column_title(grid: Grid, column: Column) -> str:
    """Name a column for a sentence, with kernels and baseline where they are not shared."""
    if grid.place.kernel != grid.baseline_kernel:
        base = f"{column.baseline_setup} on {grid.baseline_kernel}"
        return f"{column.setup} on {grid.place.kernel} against {base}"
    if column.setup == column.baseline_setup:
        return f"{column.setup} (second run against the first)"
    if grid.baseline_setup is None:
        return f"{column.setup} against {column.baseline_setup}"
    return column.setup


def verdicts(found: list[Comparison]) -> str:
    """Count the verdicts: 52 slower, 9 equivalent."""
    counts = ((kind, sum(item.verdict is kind for item in found)) for kind in Verdict)
    return ", ".join(f"{n} {kind.value}" for kind, n in counts if n) or "no comparisons"


def summarise(report: Report, grid: Grid, index: int) -> Summary:
    """Put one column of a grid into words."""
    column = grid.columns[index]
    title = column_title(grid, column)
    tested = [c for c in grid.comparisons(index) if not c.benchmark.control]
    usable = [c for c in tested if math.isfinite(c.overhead)]
    medians = findings.medians(usable)
    most = findings.largest_whole(usable)
    whole = "" if most is None else f"; largest whole {_largest_whole(*most)}"
    return Summary(
        grid,
        column,
        title,
        verdicts(tested),
        medians,
        max(usable, key=lambda c: c.overhead, default=None),
        tuple(_sentences(report, grid, index, title, usable, whole)),
        f"{title}: {verdicts(tested)}; median {medians.text}{whole}",
        tuple(_warnings(report, grid, index)),
        tuple(_notes(report, grid, column)),
    )


def _sentences(
    report: Report, grid: Grid, index: int, title: str, usable: list[Comparison], whole: str
) -> Iterator[str]:
    if findings.untouched(grid, index):
        yield f"{title}: {many(len(usable), 'benchmark')} identical in every number."
        return
    if not usable:
        found = grid.comparisons(index)
        none = f"none of {many(len(found), 'comparison')} has an overhead."
        yield f"{title}: {none if found else 'there is no number to compare; see the problems.'}"
        return
    largest = max(usable, key=lambda c: c.overhead)
    yield f"{title}: largest typical overhead {_largest(report, largest)}{whole}."
    median = findings.medians(usable).text
    yield f"Median over {many(len(usable), 'benchmark')}: {median}; {verdicts(usable)}."
    faster = [c for c in usable if c.verdict is Verdict.FASTER]
    if faster:
        best = min(faster, key=lambda c: c.overhead)
        yield f"{many(len(faster), 'benchmark')} faster, most {_largest(report, best)}."
    yield from findings.disagreements(usable, report.margin)
    yield from findings.differences(report, grid, index)


def _largest(report: Report, item: Comparison) -> str:
    return f"{percent(item.overhead)}: {item.benchmark.id} ({findings.values(report, item)})"


def _largest_whole(item: Comparison, whole: Change) -> str:
    kind = item.benchmark
    cycle = f", {kind.cycle}" if kind.cycle != kind.operation else ""
    return f"{percent(whole.overhead)}: {kind.id} ({numbers.amount(whole)}{cycle})"


def _notes(report: Report, grid: Grid, column: Column) -> Iterator[str]:
    facts = setup_facts(report, grid.place.kernel, column.setup)
    base = setup_facts(report, grid.baseline_kernel, column.baseline_setup)
    if facts is None:
        return
    if facts.note:
        yield f"{facts.note.rstrip('.')}."
    alike = base is not None and facts.active_lsms == base.active_lsms
    if alike and facts.active_lsms and column.setup != column.baseline_setup:
        names = ", ".join(facts.active_lsms)
        yield f"same active LSMs in the guest as under {column.baseline_setup}: {names}."


def _warnings(report: Report, grid: Grid, index: int) -> Iterator[str]:
    """Say what a reader must distrust: changed controls, open verdicts, missing numbers."""
    yield from findings.changed_controls(report, grid.comparisons(index))
    yield from findings.causes(grid, index)
    missing = sum(row.slots[index].comparison is None for row in grid.rows)
    if missing:
        yield f"{many(missing, 'benchmark')} without a number; see problems."


def _without_numbers(report: Report) -> Iterator[str]:
    """Name the setups that gave no number at all."""
    places = {*(e.place for e in report.estimates), *(c.place for c in report.comparisons)}
    seen = {(at.kernel, at.setup) for at in places | {c.baseline for c in report.comparisons}}
    for facts in report.setups:
        if (facts.kernel, facts.setup) not in seen:
            yield f"{facts.setup} on {facts.kernel} gave no number; see problems."


def row_mark(row: Row) -> str:
    """Return the mark of a row whose baseline did not repeat."""
    unrepeated = row.baseline is not None and not row.baseline.repeats
    return numbers.UNREPEATED_MARK if unrepeated else ""
