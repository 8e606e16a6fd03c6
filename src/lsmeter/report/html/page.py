# SPDX-License-Identifier: GPL-2.0-or-later
"""Gathers what the HTML page shows from a report; the template only places it."""

from __future__ import annotations

from dataclasses import dataclass

from altair.utils.schemapi import debug_mode

from lsmeter.conclusion import Comparison, Estimate, Verdict
from lsmeter.report import content, numbers, three, words
from lsmeter.report.content import Grid, Row
from lsmeter.report.html import plots, svg
from lsmeter.report.model import Report

_HEADINGS = ("Overhead of each operation", "Every benchmark", "Cost against path depth")


@dataclass(frozen=True)
class Cell:
    """One cell of a table: its text, its verdict as a class, and what it means in full."""

    text: str
    detail: str = ""
    kind: str = "none"
    title: str = ""


@dataclass(frozen=True)
class Line:
    """One row of a table."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Block:
    """The rows of one operation."""

    operation: str
    lines: tuple[Line, ...]
    alone: bool  # the operation has one variant, and it has no parameters


@dataclass(frozen=True)
class Figure:
    """A plot with what it shows in words; svg is markup made by lsmeter."""

    heading: str
    caption: str
    svg: str
    heat: bool = False


@dataclass(frozen=True)
class Section:
    """All that is shown of one grid."""

    identity: str
    heading: str
    cards: tuple[Card, ...]
    figures: tuple[Figure, ...]
    heads: tuple[str, ...]
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Card:
    """The figures of one setup at a glance."""

    setup: str
    subtitle: str
    median: str
    mean: str
    whole: str
    largest: str
    where: str
    counts: str
    kind: str
    sentences: tuple[str, ...]


def sections(
    report: Report, grids: tuple[content.Grid, ...], overview: words.Overview
) -> tuple[Section, ...]:
    """Return what the page shows of every grid, plots included."""
    # The plots are the same for every report but for their data, and the tests draw them all:
    # checking each against Vega-Lite's schema again would take a third of the time.
    with debug_mode(arg=False):
        return tuple(_section(report, grid, overview, place) for place, grid in enumerate(grids, 1))


def _section(report: Report, grid: Grid, overview: words.Overview, place: int) -> Section:
    heads = [grid.baseline_head] if grid.baseline_setup is not None else []
    heads += grid.heads
    return Section(
        f"grid-{place}",
        content.place_label(report, grid),
        tuple(
            _card(report, item, head)
            for item, head in zip(
                (item for item in overview.summaries if item.place == grid.place),
                grid.heads,
                strict=True,
            )
        ),
        _figures(report, grid, place),
        tuple(heads),
        tuple(
            Block(
                group.operation,
                tuple(_line(report, grid, row) for row in group.rows),
                alone=group.alone,
            )
            for group in grid.groups
        ),
    )


def _card(report: Report, item: words.Summary, head: str) -> Card:
    largest = item.largest
    facts = content.setup_facts(report, item.place.kernel, item.column.setup)
    return Card(
        head,
        facts.title if facts is not None else "",
        numbers.percent(item.medians.typical),
        numbers.percent(item.medians.mean),
        numbers.percent(item.medians.whole),
        numbers.percent(largest.overhead if largest is not None else None),
        numbers.phrase(largest.benchmark) if largest is not None else "",
        words.counts_text(item.counts),
        largest.verdict.value if largest is not None else "none",
        item.sentences,
    )


def _line(report: Report, grid: Grid, row: Row) -> Line:
    cells = []
    if grid.baseline_setup is not None:
        mark = words.row_mark(row)
        title = f"{row.benchmark.id}, {grid.baseline_head}: {_unit(report, row)}"
        title += _boots(row.baseline)
        cells.append(Cell(numbers.count(row.baseline_value()) + mark, title=title))
    for index, slot in enumerate(row.slots):
        item = slot.comparison
        if item is None:
            cells.append(Cell(numbers.count(slot.value), title="not compared; see problems"))
            continue
        value = numbers.count(item.value) + ("" if item.repeats else numbers.UNREPEATED_MARK)
        if grid.baseline_setup is None:
            arrow = "\N{RIGHTWARDS ARROW}"
            value = f"{numbers.count(row.baseline_value(index))} {arrow} {value}"
        mark = numbers.VERDICT_MARKS[item.verdict] + three.mark(item, report.margin)
        cells.append(
            Cell(
                f"{numbers.percent(item.overhead)} {mark}",
                value,
                item.verdict.value,
                _detail(item) + _boots(slot.estimate),
            )
        )
    return Line(row.label, tuple(cells))


def _detail(item: Comparison) -> str:
    """Say all three numbers of a comparison, with the cause of an open verdict."""
    verdict = item.verdict.value + (f" ({item.cause})" if item.cause else "")
    told = [
        f"typical {numbers.percent(item.overhead_low)} to {numbers.percent(item.overhead_high)}"
    ]
    if item.mean is not None:
        told.append(f"in-line mean {three.amount(item.mean)}")
    if item.whole is not None:
        share = numbers.percent(item.whole.overhead)
        cycle = f" of {item.benchmark.cycle}" if item.benchmark.cycle else ""
        told.append(f"whole {three.amount(item.whole)} ({share}{cycle})")
    return f"{item.benchmark.id}, {item.setup}: {verdict}; {'; '.join(told)}"


def _boots(item: Estimate | None) -> str:
    """Give the range of the boots where they differ."""
    if item is None or item.low == item.high:
        return ""
    return f"; boots {numbers.count(item.low)} to {numbers.count(item.high)}"


def _unit(report: Report, row: Row) -> str:
    unit = row.benchmark.metric.unit or report.unit
    return f"typical {numbers.measure(unit, report.instrument)}"


def _figures(report: Report, grid: Grid, place: int) -> tuple[Figure, ...]:
    measured = f"Unit: {words.typical(report)}"
    against = grid.baseline_head or "its own baseline"
    where = content.place_label(report, grid)
    depth_names = ", ".join(group.operation for group in plots.depth_groups(grid))
    captions = (
        (
            f"Bar: median over the variants of an operation. Tick: the variant with the largest "
            f"typical overhead. Per cent over {against}; to the right of zero is worse. {measured}."
        ),
        (
            f"Typical overhead in per cent over {against}; positive is worse. {measured}. "
            f"{numbers.MISSING} means no number."
        ),
        f"What {depth_names} cost as the path grows. Lower is better. {measured}.",
    )
    specifications = (plots.bars(grid), plots.heat_map(grid), plots.depth_lines(grid, report.unit))
    wanted = zip(_HEADINGS, captions, specifications, strict=True)
    found = []
    for number, (heading, caption, specification) in enumerate(wanted):
        if specification is not None:
            drawing = svg.drawn(
                specification,
                identity=f"plot-{place}-{number}",
                title=f"{heading}, {where}",
                description=caption,
            )
            found.append(Figure(heading, caption, drawing, heat=number == 1))
    return tuple(found)


def glossary() -> tuple[tuple[str, str, str], ...]:
    """Return mark, name and meaning of each verdict."""
    return tuple(
        (numbers.VERDICT_MARKS[kind], kind.value, words.VERDICT_MEANINGS[kind]) for kind in Verdict
    )
