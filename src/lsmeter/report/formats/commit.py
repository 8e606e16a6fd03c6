# SPDX-License-Identifier: GPL-2.0-or-later
"""Plain ASCII-framed text of at most 72 columns, to be pasted into a commit message."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size

from lsmeter.conclusion import Comparison, Verdict
from lsmeter.report import content, numbers, plain, three, words
from lsmeter.report.chapters import chapters
from lsmeter.report.content import Grid, Group
from lsmeter.report.format import RenderOptions, ReportFormat
from lsmeter.report.listing import Chapter
from lsmeter.report.model import Report

WIDTH = 72
_DETAILED_COLUMNS = 2  # more setups than this share one table
_NAME = 12
_CELL = 9
_INSIDE = "All variants inside the margin"
_CHANGED = frozenset({Verdict.SLOWER, Verdict.FASTER})


def render(report: Report, options: RenderOptions) -> str:  # noqa: ARG001 - 72 columns, always
    """Return the report as plain text that fits a commit message."""
    lines = list(_wrapped(f"{report.title}"))
    lines += _wrapped(f"Measured with lsmeter {report.lsmeter_version}: {words.measured(report)}.")
    lines += _wrapped(f"n: {words.sizes(report)}; margin {words.margin(report)}.")
    lines += _wrapped(words.SIGN_RULE)
    grids = content.grids(report)
    for grid in grids:
        lines += ["", *_grid(report, grid)]
    for item in chapters(report, short=True, narrow=True):
        lines += _chapter(item)
    overview = words.overview(report, grids)
    lines += ["", *_wrapped(overview.controls or "Nothing was compared.")]
    for text in overview.warnings:
        lines += _wrapped(f"Warning: {text}")
    for note in overview.notes:
        lines += _wrapped(f"Note: {note}")
    if report.problems:
        lines += ["", f"Problems: {len(report.problems)}"]
        for group in content.problem_groups(report):
            where = f" ({group.where})" if group.where else ""
            detail = f": {group.problem.detail}" if group.problem.detail else ""
            lines += _wrapped(f"- {group.problem.title}{where}{detail}", indent="  ")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return plain.wrapped(text, WIDTH, indent)


def _chapter(item: Chapter) -> Iterator[str]:
    yield from ("", f"{item.heading}.", *_wrapped(item.rule))
    for listing in item.listings:
        yield from ("", *_wrapped(f"{listing.title}:", indent="  "))
        yield from plain.lines(listing, WIDTH)


def _grid(report: Report, grid: Grid) -> Iterator[str]:
    yield from _wrapped(f"Kernel: {content.place_label(report, grid)}", indent="  ")
    names = ", ".join(dict.fromkeys(column.setup for column in grid.columns))
    if grid.before_and_after:
        yield from _wrapped(f"Setups: {names}, each against itself before", indent="  ")
    elif grid.baseline_setup is not None:
        yield from _wrapped(f"Setups: {names} against {grid.baseline_setup}", indent="  ")
    else:
        yield from _wrapped(f"Setups: {names}, each against its own baseline", indent="  ")
    for caveat in report.caveats:
        yield from _wrapped(f"Beside every verdict: {caveat}", indent="  ")
    if not grid.columns:
        return
    if len(grid.columns) <= _DETAILED_COLUMNS:
        for index in range(len(grid.columns)):
            yield ""
            yield from _detailed(report, grid, index)
    else:
        yield ""
        yield from _matrix(report, grid)
    yield ""
    for index in range(len(grid.columns)):
        column = grid.columns[index]
        summary = words.summarise(report, grid, index)
        yield from _wrapped(f"{column.setup}: {words.counts_text(summary.counts)}", indent="  ")
        yield from _wrapped(_others(grid, index, summary), indent="  ")


def _others(grid: Grid, index: int, summary: words.Summary) -> str:
    """Say in a line what the whole cost and the mean are, which the table does not have."""
    name = grid.columns[index].setup
    found = [item for item in grid.comparisons(index) if not item.benchmark.control]
    most = three.largest_whole(found)
    if most is None or most.whole is None:
        return f"{name}: median {summary.medians.text}"
    cycle = most.benchmark.cycle
    return (
        f"{name}: median {summary.medians.text}; largest whole "
        f"{numbers.percent(most.whole.overhead)}: {most.benchmark.id} ({three.amount(most.whole)}"
        f"{f', {cycle}' if cycle != most.benchmark.operation else ''})"
    )


def _fit(text: str, width: int) -> str:
    """Shorten a name to a column, with an ellipsis; a table cell never wraps."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1).rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def _of_group(group: Group, index: int) -> list[Comparison]:
    found = (row.slots[index].comparison for row in group.rows)
    return [item for item in found if item is not None and math.isfinite(item.overhead)]


def _detailed(report: Report, grid: Grid, index: int) -> Iterator[str]:
    """One line per operation that changed: how many, the median, and the largest with values."""
    column = grid.columns[index]
    if column.setup == column.baseline_setup:
        yield from _wrapped(f"{words.column_title(grid, column)}:", indent="  ")
    else:
        yield from _wrapped(f"{column.setup} against {column.baseline_setup}:", indent="  ")
    yield f"{'operation':<{_NAME}} {'beyond':>8} {'median':>9} {'largest':>9}  where"
    others: dict[str, list[str]] = {_INSIDE: [], "Inconclusive": [], "No number": []}
    for group in grid.groups:
        found = _of_group(group, index)
        changed = [item for item in found if item.verdict in _CHANGED]
        if not changed:
            others[_unchanged(group, found)].append(group.operation)
            continue
        most = max(changed, key=lambda item: abs(item.overhead))
        values = f"{numbers.count(most.baseline_value)} -> {numbers.count(most.value)}"
        label = numbers.variant(most.benchmark)
        yield " ".join(
            (
                _fit(group.operation, _NAME),
                _right(f"{len(changed)} of {len(group.rows)}", 8),
                _right(numbers.percent(statistics.median(c.overhead for c in found)), 9),
                _right(numbers.percent(most.overhead), 9),
                "",
                _fit(f"{label + ': ' if label else ''}{values}", WIDTH - _NAME - 31).rstrip(),
            )
        )
    yield f"Values in typical {numbers.unit_word(report.unit)}; beyond: of how many variants a"
    yield "number is beyond the margin."
    for heading, names in others.items():
        if names:
            yield from _wrapped(f"{heading}: {', '.join(names)}.", indent="  ")


def _unchanged(group: Group, found: list[Comparison]) -> str:
    """Tell why an operation is not in the table of changes."""
    if any(item.verdict is Verdict.INCONCLUSIVE for item in found):
        return "Inconclusive"
    return _INSIDE if len(found) == len(group.rows) else "No number"


def _matrix(report: Report, grid: Grid) -> Iterator[str]:
    """Tabulate the largest change of each operation under each setup."""
    yield "Largest typical overhead of any variant; last, median, no controls:"
    per_table = (WIDTH - _NAME) // (_CELL + 1)
    indices = list(range(len(grid.columns)))
    for start in range(0, len(indices), per_table):
        part = indices[start : start + per_table]
        if start:
            yield ""
        names = {i: grid.columns[i].setup for i in part}
        for i, name in names.items():
            if cell_len(name) > _CELL:
                yield from _wrapped(f"[{i + 1}] = {name}", indent="  ")
                names[i] = f"[{i + 1}]"
        heads = (_right(name, _CELL) for name in names.values())
        yield " ".join((" " * _NAME, *heads))
        for group in grid.groups:
            cells = []
            for i in part:
                found = [item.overhead for item in _of_group(group, i)]
                text = numbers.percent(max(found, key=abs)) if found else numbers.MISSING
                cells.append(_right(text, _CELL))
            yield " ".join((_fit(group.operation, _NAME), *cells))
        medians = (words.summarise(report, grid, i).medians.typical for i in part)
        cells = [_right(numbers.percent(median), _CELL) for median in medians]
        yield " ".join((_fit("median", _NAME), *cells))


FORMAT = ReportFormat("commit", "plain text for a commit message, 72 columns", ".txt", render)
