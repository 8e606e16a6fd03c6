# SPDX-License-Identifier: GPL-2.0-or-later
"""GitHub Markdown for pull requests and issues."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsmeter.report import content, numbers, origin, three, words
from lsmeter.report.chapters import chapters
from lsmeter.report.content import Grid, Group, Row
from lsmeter.report.format import RenderOptions, ReportFormat
from lsmeter.report.listing import Chapter, Kind, Listing
from lsmeter.report.model import Report

# An underscore inside a word is no emphasis in GitHub's dialect.
_SPECIAL = re.compile(r"[\\`*\[\]|~#!]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")


def escape(text: str) -> str:
    """Return `text` so that Markdown shows it as it is, and no HTML comes of it."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(lambda match: "\\" + match.group(), text)


def render(report: Report, options: RenderOptions) -> str:  # noqa: ARG001 - width has no meaning
    """Return the report as headings, sentences and tables."""
    found = content.grids(report)
    lines = [f"# {escape(report.title)}", "", *_facts(report, found), ""]
    lines += _summary(report, found)
    for grid in found:
        lines += _grid(report, grid)
    for item in chapters(report):
        lines += _chapter(item)
    lines += _origin(report)
    lines += _setups(report)
    lines += _problems(report)
    return "\n".join(lines).rstrip("\n") + "\n"


def _facts(report: Report, found: tuple[Grid, ...]) -> Iterator[str]:
    yield f"- Measured: {words.measured(report)}"
    yield f"- Sizes: {words.sizes(report)}"
    yield f"- Baseline: {escape(words.baseline(report, found))}; margin {words.margin(report)}"
    conditions = ", ".join(f"{key}={value}" for key, value in report.conditions)
    yield f"- Conditions: {escape(conditions) or numbers.MISSING}"
    yield f"- Made by: lsmeter {escape(report.lsmeter_version)}, {escape(report.created)}"


def _summary(report: Report, found: tuple[Grid, ...]) -> list[str]:
    lines = ["## Summary", ""]
    overview = words.overview(report, found)
    for grid in found:
        if len(found) > 1:
            lines += [f"**{escape(content.place_label(report, grid))}**", ""]
        summaries = (item for item in overview.summaries if item.place == grid.place)
        lines += ["- " + escape(" ".join(item.sentences)) for item in summaries]
        lines.append("")
    lines += [escape(overview.controls), ""] if overview.controls else []
    lines += [f"- Warning: {escape(text)}" for text in overview.warnings]
    lines += [f"- Note: {escape(text)}" for text in overview.notes]
    if not report.comparisons:
        lines.append("Nothing was compared.")
    return [*lines, ""]


def _grid(report: Report, grid: Grid) -> list[str]:
    lines = [
        f"## {escape(content.place_label(report, grid))}",
        "",
        f"{words.typical(report).capitalize()}. {escape(words.legend(report))}",
        "",
    ]
    for caveat in report.caveats:
        lines += [f"**Beside every verdict:** {escape(caveat)}", ""]
    for group in grid.groups:
        lines += [f"### {escape(group.operation)}", "", *_group(report, grid, group), ""]
    return lines


def _group(report: Report, grid: Grid, group: Group) -> Iterator[str]:
    head = ["variant"]
    if grid.baseline_setup is not None:
        head.append(grid.baseline_head)
    head += grid.heads
    yield _line([escape(cell) for cell in head])
    yield _line(["---", *["---:"] * (len(head) - 1)])
    for row in group.rows:
        yield _line([escape(cell) for cell in _cells(report, grid, row)])


def _cells(report: Report, grid: Grid, row: Row) -> Iterator[str]:
    yield row.label
    if grid.baseline_setup is not None:
        yield numbers.count(row.baseline_value()) + words.row_mark(row)
    for index, slot in enumerate(row.slots):
        item = slot.comparison
        if item is None:
            yield numbers.MISSING if slot.value is None else numbers.count(slot.value)
            continue
        mark = numbers.VERDICT_MARKS[item.verdict] + three.mark(item, report.margin)
        mark += "" if item.repeats else numbers.UNREPEATED_MARK
        change = f"{numbers.count(item.value)} ({numbers.percent(item.overhead)} {mark})"
        if grid.baseline_setup is None:
            arrow = "\N{RIGHTWARDS ARROW}"
            change = f"{numbers.count(row.baseline_value(index))} {arrow} {change}"
        yield change


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _origin(report: Report) -> list[str]:
    if not report.accounts:
        return []
    lines = [f"## {origin.HEADING}", "", origin.RULE, ""]
    for item in report.accounts:
        lines += [f"### {escape(origin.label(item))}", "", escape(origin.sentence(item)), ""]
        for listing in origin.listings(item):
            lines += [f"**{escape(listing.title)}**", ""] if listing.lead else []
            lines += _listing(listing) if listing.rows else []
    return lines


def _chapter(item: Chapter) -> Iterator[str]:
    yield from (f"## {escape(item.heading)}", "", escape(item.rule), "")
    for listing in item.listings:
        yield from (f"### {escape(listing.title)}", "", *_listing(listing))


def _listing(listing: Listing) -> Iterator[str]:
    for text in listing.lead:
        yield from (escape(text), "")
    if listing.sayings:
        for saying in listing.sayings:
            yield f"- {escape(saying.sentence)}"
            if saying.quoted:
                yield from ("", *("      " + line for line in saying.quoted), "")
    else:
        yield _line([escape(column.head) for column in listing.columns])
        marks = {Kind.NUMBER: "---:"}
        yield _line([marks.get(column.kind, "---") for column in listing.columns])
        for row in listing.rows:
            yield _line([escape(cell) for cell in row])
    yield ""
    for text in listing.more:
        yield from (escape(text), "")


def _setups(report: Report) -> list[str]:
    if not report.setups:
        return []
    lines = ["## Setups", "", _line(["kernel", "setup", "active LSMs", "verified", "note"])]
    lines.append(_line(["---"] * 5))
    for facts in report.setups:
        cells = (
            facts.kernel,
            facts.setup,
            ",".join(facts.active_lsms) or numbers.MISSING,
            "yes" if facts.verified else "no",
            facts.note or numbers.MISSING,
        )
        lines.append(_line([escape(cell) for cell in cells]))
    return [*lines, ""]


def _problems(report: Report) -> list[str]:
    lines = ["## Problems", ""]
    for group in content.problem_groups(report):
        where = f" ({group.where})" if group.where else ""
        lines.append(f"- {escape(group.problem.title + where)}")
        if group.problem.detail:
            lines.append(f"  {escape(group.problem.detail)}")
        if group.problem.log_tail:
            lines += ["", *("      " + line for line in group.problem.log_tail), ""]
    if not report.problems:
        lines.append("None.")
    return [*lines, ""]


FORMAT = ReportFormat("markdown", "GitHub Markdown with tables", ".md", render)
