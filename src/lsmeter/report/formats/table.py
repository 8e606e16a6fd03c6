# SPDX-License-Identifier: GPL-2.0-or-later
"""The terminal's table: operations in groups, a column per setup, split rather than wrapped."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lsmeter.conclusion import Verdict
from lsmeter.report import content, numbers, origin, plain, three, words
from lsmeter.report.chapters import chapters
from lsmeter.report.content import Grid, Row, Slot
from lsmeter.report.format import RenderOptions, ReportFormat
from lsmeter.report.listing import Chapter
from lsmeter.report.model import Report

_COLOURS = {
    Verdict.SLOWER: "red",
    Verdict.FASTER: "green",
    Verdict.EQUIVALENT: "dim",
    Verdict.INCONCLUSIVE: "yellow",
}
# Columns; a longer name is replaced by a key that is explained above the table. A smaller
# limit is taken where it saves a table.
_LONGEST_HEADS = (12, 10, 8)
_LONGEST_LABEL = 20  # columns; the same for a variant
_LEAST_WIDTH = 40
_GAP = 1  # columns between two cells; rich's box draws them
_LOG_LINES = 10
_ORIGIN_LINES = 5  # hooks, and functions of the residue, for each setup


@dataclass(frozen=True)
class _Block:
    """Columns that belong together: they are never split over two tables."""

    heads: tuple[str, ...]
    cells: tuple[tuple[Text, ...], ...]  # one tuple per row

    def widths(self) -> tuple[int, ...]:
        """Return the width of each column, heads included."""
        return tuple(
            max([cell_len(head), *(row[place].cell_len for row in self.cells)])
            for place, head in enumerate(self.heads)
        )

    def width(self) -> int:
        """Return the width of the whole block, gaps included."""
        return sum(self.widths()) + _GAP * len(self.heads)


class _Keys:
    """Gives short keys, [1] and so on, to names that are too long for a column."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def short(self, name: str, limit: int) -> str:
        if cell_len(name) <= limit:
            return name
        return self.names.setdefault(name, f"[{len(self.names) + 1}]")


def render(report: Report, options: RenderOptions) -> str:
    """Return the report for a terminal of `options.width` columns."""
    width = max(options.width, _LEAST_WIDTH)
    text = io.StringIO()
    console = Console(
        file=text,
        width=width,
        color_system="standard" if options.colour else None,
        force_terminal=options.colour,
        no_color=not options.colour,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},  # the text must depend on nothing but the report and the options
    )
    grids = content.grids(report)
    _head(console, report, grids)
    for grid in grids:
        _grid(console, report, grid, width)
    for item in chapters(report, narrow=True):
        _chapter(console, item, width)
    _summary(console, report, grids)
    _origin(console, report)
    _problems(console, report)
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    return "\n".join(lines) + "\n"


def _head(console: Console, report: Report, grids: tuple[Grid, ...]) -> None:
    console.print(Text(report.title, style="bold"))
    console.print(
        Text(f"{words.measured(report)}; {words.sizes(report)}; baseline ", end="")
        + Text(f"{words.baseline(report, grids)}.")
    )
    if report.comparisons:
        console.print(Text(words.legend(report)))


def _grid(console: Console, report: Report, grid: Grid, width: int) -> None:
    layouts = [_layout(grid, width, limit, report.margin) for limit in _LONGEST_HEADS]
    layout = min(layouts, key=lambda item: len(item.parts))
    console.print()
    console.print(Text(content.place_label(report, grid), style="bold"))
    console.print(Text(_column_words(report, grid)))
    for caveat in report.caveats:
        console.print(Text(f"Beside every verdict: {caveat}", style="yellow"))
    for name, key in layout.keys.items():
        console.print(Text(f"{key} = {name}"))
    for part in layout.parts:
        console.print()
        console.print(_table(layout.labels, part), crop=False, no_wrap=True)


@dataclass(frozen=True)
class _Layout:
    """A grid shared out over tables that fit."""

    labels: list[Text]
    parts: list[list[_Block]]
    keys: dict[str, str]


def _layout(grid: Grid, width: int, head_limit: int, margin: float) -> _Layout:
    keys = _Keys()
    labels = _labels(grid, keys, max(_LONGEST_LABEL, width // 4))
    blocks = list(_blocks(grid, keys, head_limit, margin))
    fixed = max((text.cell_len for text in labels), default=0)
    lead = [blocks.pop(0)] if grid.baseline_setup is not None else []
    room = width - fixed - sum(block.width() for block in lead)
    parts = [[*lead, *part] for part in _parts(blocks, room) or [[]]]
    return _Layout(labels, parts, keys.names)


def _column_words(report: Report, grid: Grid) -> str:
    """Say what stands in the columns."""
    what = words.typical(report)
    if not grid.columns:
        return f"{what.capitalize()}."
    if grid.baseline_setup is None:
        return f"Before in {what}; then the typical overhead after in %."
    baseline = f"{grid.baseline_head} in {what}"
    if any(grid.comparisons(index) for index in range(len(grid.columns))):
        return f"{baseline}; other columns: typical overhead in %."
    return f"{baseline}; other columns the same: nothing was compared."


def _labels(grid: Grid, keys: _Keys, limit: int) -> list[Text]:
    """Return the first column: a line per operation, and its variants below."""
    labels = []
    for group in grid.groups:
        labels.append(Text(keys.short(group.operation, limit), style="bold"))
        if not group.alone:
            labels += [Text("  " + keys.short(row.label, limit - 2)) for row in group.rows]
    return labels


def _lines(grid: Grid) -> Iterator[Row | None]:
    """Pair with `_labels`: the row of each line, None for the head of an operation."""
    for group in grid.groups:
        if not group.alone:
            yield None
        yield from group.rows


def _blocks(grid: Grid, keys: _Keys, head_limit: int, margin: float) -> Iterator[_Block]:
    lines = list(_lines(grid))
    if grid.baseline_setup is not None:
        cells = [
            (Text("" if row is None else numbers.count(row.baseline_value()) + _mark(row)),)
            for row in lines
        ]
        yield _Block((keys.short(grid.baseline_head, head_limit),), tuple(cells))
    compared = any(grid.comparisons(index) for index in range(len(grid.columns)))
    for index, name in enumerate(grid.heads):
        head = keys.short(name, head_limit)
        after = [
            Text() if row is None else _cell(row.slots[index], margin, compared=compared)
            for row in lines
        ]
        if grid.baseline_setup is not None:
            yield _Block((head,), tuple((cell,) for cell in after))
            continue
        before = [
            Text("" if row is None else numbers.count(row.baseline_value(index))) for row in lines
        ]
        yield _Block(("before", head), tuple(zip(before, after, strict=True)))


def _mark(row: Row) -> str:
    """Every value ends in a mark or a space, so that digits stand below digits."""
    return words.row_mark(row) or " "


def _cell(slot: Slot, margin: float, *, compared: bool) -> Text:
    """Write an overhead in per cent with its marks, each at its place."""
    item = slot.comparison
    if item is None:
        return Text((numbers.MISSING if compared else numbers.count(slot.value)) + "   ")
    text = numbers.percent(item.overhead, space="").removesuffix("%")
    text += numbers.VERDICT_MARKS[item.verdict]
    text += three.mark(item, margin) or " "
    text += " " if item.repeats else numbers.UNREPEATED_MARK
    return Text(text, style=_COLOURS[item.verdict])


def _parts(blocks: list[_Block], room: int) -> list[list[_Block]]:
    """Share blocks out over tables that fit; a block alone is kept even where it does not."""
    parts: list[list[_Block]] = []
    left = 0
    for block in blocks:
        if not parts or block.width() > left:
            parts.append([])
            left = room
        parts[-1].append(block)
        left -= block.width()
    return parts


def _table(labels: list[Text], blocks: list[_Block]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    table.add_column("", no_wrap=True, min_width=max((t.cell_len for t in labels), default=0))
    for block in blocks:
        for head, width in zip(block.heads, block.widths(), strict=True):
            table.add_column(Text(head), justify="right", no_wrap=True, min_width=width)
    for place, label in enumerate(labels):
        table.add_row(label, *(cell for block in blocks for cell in block.cells[place]))
    return table


def _summary(console: Console, report: Report, grids: tuple[Grid, ...]) -> None:
    lines: list[str] = []
    overview = words.overview(report, grids)
    for grid in grids:
        if len(grids) > 1 and grid.columns:
            lines.append(f"{content.place_label(report, grid)}:")
        found = (item for item in overview.summaries if item.place == grid.place)
        lines += ["- " + " ".join(item.sentences) for item in found]
    lines.append(overview.controls or "Nothing was compared.")
    console.print()
    console.print(Text("Summary", style="bold"))
    for line in lines:
        console.print(Text(line))
    for warning in overview.warnings:
        console.print(Text(f"Warning: {warning}", style="yellow"))
    for note in overview.notes:
        console.print(Text(f"Note: {note}"))


def _origin(console: Console, report: Report) -> None:
    """Say where the cost comes from, in runs that were made to tell."""
    if not report.accounts:
        return
    console.print()
    console.print(Text(origin.HEADING, style="bold"))
    console.print(Text(origin.RULE))
    for item in report.accounts:
        console.print(Text(f"- {origin.label(item)}: {origin.sentence(item)}"))
        for listing in origin.listings(item):
            for lead in listing.lead:
                console.print(Text(f"  {listing.title}: {lead}"))
            for name, *cells in listing.rows[:_ORIGIN_LINES]:
                console.print(Text(f"  {name}: {', '.join(cells)}"))
            left = len(listing.rows) - _ORIGIN_LINES
            if left > 0 or listing.more:
                console.print(Text(f"  ({listing.title.lower()}: more in the page)"))


def _chapter(console: Console, item: Chapter, width: int) -> None:
    console.print()
    console.print(Text(item.heading, style="bold"))
    console.print(Text(item.rule))
    for listing in item.listings:
        console.print()
        console.print(Text(listing.title, style="bold"))
        for line in plain.lines(listing, width):
            console.print(Text(line), crop=False, no_wrap=True)


def _problems(console: Console, report: Report) -> None:
    if not report.problems:
        return
    console.print()
    console.print(Text(f"Problems ({len(report.problems)})", style="bold red"))
    for group in content.problem_groups(report):
        where = f" ({group.where})" if group.where else ""
        console.print(Text(f"- {group.problem.title}{where}"))
        if group.problem.detail:
            console.print(Text(f"  {group.problem.detail}"))
        tail = group.problem.log_tail
        if len(tail) > _LOG_LINES:
            console.print(Text(f"  | ({len(tail) - _LOG_LINES} earlier lines: --format json)"))
        for line in tail[-_LOG_LINES:]:
            console.print(Text(f"  | {line}"))


FORMAT = ReportFormat("table", "tables for the terminal", ".txt", render)
