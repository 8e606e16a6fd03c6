# SPDX-License-Identifier: GPL-2.0-or-later
"""A run as a document: what each level of detail shows, and in which order; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from lsmeter.analysis.cells import READING_TASKS
from lsmeter.attribution.tables import HEADING, RULE, Extent, section, sentence
from lsmeter.instruments import instruments
from lsmeter.model.conclusion import Verdict
from lsmeter.report import (
    data,
    evidence,
    findings,
    frame,
    layers,
    numbers,
    overheads,
    plots,
    summary,
    whole,
)
from lsmeter.report.build import run_report
from lsmeter.report.grids import Grid, grids
from lsmeter.report.model import Report
from lsmeter.results.directory import RunData
from lsmeter.tables.model import Column, Detail, Document, Item, Kind, Section, Table, Value

_NONE = (Section("Problems (0)", items=(Item("None."),), key="problems"),)  # on a page
_ORIGIN_ROWS = 5  # of each table, where there is little room
_OVERHEAD = (
    "tested \N{DIVISION SIGN} baseline \N{MINUS SIGN} 1 for costs, 1 \N{MINUS SIGN} tested "
    "\N{DIVISION SIGN} baseline for throughput"
)
_SIGNS = (
    ("overhead", f"{_OVERHEAD}. {summary.SIGN_RULE}"),
    (numbers.APART_MARK, summary.APART),
    (numbers.UNREPEATED_MARK, summary.UNREPEATED),
)
_VERDICTS = {
    Verdict.SLOWER: "certainly worse, possibly by more than the margin, in the typical count, the "
    "in-line mean or the whole cost",
    Verdict.FASTER: "certainly better, possibly by more than the margin, in one of them",
    Verdict.EQUIVALENT: "typical count and whole cost inside the margin, and no peak moved",
    Verdict.INCONCLUSIVE: "the numbers allow no verdict; the warnings name the cause",
}


def document_of(run: RunData) -> Callable[[Detail], Document]:
    """Return what makes the document of any run, for a format with this much room.

    A run with several views of the hooks shows their agreement; a page, all of its views.
    """
    tasks = {cell.task.name for cell in run.manifest.cells}
    if tasks <= READING_TASKS:
        return partial(report_document, run_report(run))
    # Regressions are heavy: only runs with sweeps wait for them.
    from lsmeter.report import agreement, counts, slopes  # noqa: PLC0415

    found: list[Callable[[Detail], Document]] = []
    if len(tasks & {"attribute", "count", "sweep"}) > 1:
        found.append(lambda _: agreement.document([run]))
    if tasks & READING_TASKS:
        found.append(partial(report_document, run_report(run)))
    if "count" in tasks:
        found.append(lambda _: counts.document(run))
    if tasks & {"sweep", "lookups"}:
        found.append(lambda _: slopes.document(run))
    return partial(_joined, found)


def _joined(makers: Sequence[Callable[[Detail], Document]], detail: Detail) -> Document:
    """Return the first document; a page has the sections of the others below it."""
    first = makers[0](detail)
    if len(makers) == 1 or detail is Detail.DATA:
        return first
    if detail is not Detail.FULL:
        return replace(first, notes=(*first.notes, "the run has more: --format markdown or html"))
    rest = [make(detail) for make in makers[1:]]
    below = (
        replace(part, title=part.title or other.title) for other in rest for part in other.sections
    )
    notes = dict.fromkeys((*first.notes, *(note for other in rest for note in other.notes)))
    return replace(first, sections=(*first.sections, *below), notes=tuple(notes))


def report_document(report: Report, detail: Detail) -> Document:
    """Return a report as a document for a format with this much room."""
    if detail is Detail.DATA:
        numbers_only = (Section("", tables=(data.table(report),)),)
        content = data.document(report)
        return Document(data.NAME, data.VERSION, report.title, sections=numbers_only, data=content)
    found = grids(report)
    legend = detail is Detail.TERMINAL and report.comparisons
    sections = (
        item
        for item in _sections(report, found, detail)
        if item.tables or item.items or item.figures or item.key.startswith("grid")
    )
    return Document(
        data.NAME,
        data.VERSION,
        report.title,
        tuple(_facts(report, found, detail)),
        (summary.legend(report) if legend else summary.SIGN_RULE,),
        tuple(sections),
    )


def _facts(report: Report, found: tuple[Grid, ...], detail: Detail) -> Iterator[tuple[str, str]]:
    made_by = f"lsmeter {report.lsmeter_version}"
    short = f", {made_by}" if detail is Detail.SHORT else ""
    yield "Measured", f"{summary.measured(report)}{short}"
    yield "Sizes", summary.sizes(report)
    yield "Baseline", f"{summary.baseline(report, found)}; margin {summary.margin(report)}"
    if detail is Detail.FULL:
        yield "Conditions", ", ".join(f"{key}={value}" for key, value in report.conditions)
        yield "Command", report.command
        yield "Made", f"{report.created} by {made_by}"


def _sections(report: Report, found: tuple[Grid, ...], detail: Detail) -> Iterator[Section]:
    """Return all sections; on a terminal the summary comes last, where it stays in sight."""
    full = detail is Detail.FULL
    words = summary.section(report, found, detail)
    if full:
        yield words
    for place, grid in enumerate(found, 1):
        shown = overheads.section(report, grid, detail, place)
        yield replace(shown, figures=plots.of_grid(report, grid)) if full else shown
    if detail is Detail.SHORT:
        yield words
    yield whole.section(report, found, detail)
    yield evidence.checks(report)
    stacked = layers.section(report, detail)
    yield replace(stacked, figures=plots.of_layers(report)) if full else stacked
    yield evidence.states(report, detail)
    yield evidence.one_off(report)
    origins = _origins(report, detail)
    if full:
        for shown, item in zip(origins, report.accounts, strict=True):
            yield replace(shown, figures=plots.of_account(item))
        yield _method(report)
    else:
        yield from origins
    if detail is Detail.TERMINAL:
        yield words
    yield from frame.problem_section(report.problems, full=full) or (_NONE if full else ())


def _origins(report: Report, detail: Detail) -> tuple[Section, ...]:
    """Return a section for each setup that was explained; a mail has its sentences."""
    if detail is Detail.SHORT:
        items = tuple(Item(f"{item.label}: {sentence(item)}") for item in report.accounts)
        return (Section(HEADING, (RULE,), items=items),) if items else ()
    sections = []
    for number, item in enumerate(report.accounts, 1):
        found = section(item, Extent.REPORT)
        sections.append(
            replace(
                found,
                title=f"{HEADING}: {item.label}",
                lead=(RULE,) if number == 1 else (),
                tables=tuple(_cut(table, detail) for table in found.tables if table.rows),
                key="origin" if number == 1 else f"origin-{number}",
            )
        )
    return tuple(sections)


def _cut(table: Table, detail: Detail) -> Table:
    left = len(table.rows) - _ORIGIN_ROWS
    if detail is Detail.FULL or left <= 0:
        return table
    more = f"{left:,} more rows in markdown and HTML."
    return replace(table, rows=table.rows[:_ORIGIN_ROWS], more=(more, *table.more))


def _table(key: str, title: str, heads: str, rows: Iterable[tuple[Value, ...]]) -> Table:
    """Make a table of text; a head may end in a colon and its kind, else it is a name."""
    found = (head.strip().partition(":") for head in heads.split(","))
    columns = tuple(Column(h.replace(" ", "_"), h, Kind(kind or "name")) for h, _, kind in found)
    return Table(key, title, columns, tuple(rows))


def _method(report: Report) -> Section:
    kernels = (
        (k.name, k.release, k.version, k.origin, k.boot_protocol.value, k.image_sha256)
        for k in report.kernels
    )
    setups = (
        (
            facts.setup,
            facts.title,
            facts.kernel,
            ", ".join(facts.active_lsms) or None,
            "kernel's default" if facts.asked_lsms is None else ", ".join(facts.asked_lsms),
            facts.boots,
            facts.verified,
            facts.note or None,
            " ".join(f"{key}={value}" for key, value in facts.facts),
        )
        for facts in report.setups
    )
    marks = ((f"{numbers.VERDICT_MARKS[kind]} {kind}", words) for kind, words in _VERDICTS.items())
    tables = (
        _table(
            "kernels",
            "Kernels",
            "kernel, release, package version, origin:prose, boot, SHA-256 of the image:code",
            kernels,
        ),
        _table(
            "setups",
            "Setups, as the guest reported them",
            "setup, title:prose, kernel, active LSMs:prose, asked for:prose, boots:count, "
            "verified:yes, note:prose, facts:code",
            setups,
        ),
        _table("tools", "Tools", "tool, version:prose", report.tools),
        _table("host", "Host", "fact, value:prose", report.host),
        _table("signs", "Signs", "sign, meaning:prose", (*_SIGNS, *marks)),
    )
    instrument = instruments().get(report.instrument)
    lead: tuple[str, ...] = (findings.THREE_NUMBERS,)
    if instrument is not None:
        lead = (f"Instrument {instrument.name}: {instrument.title}. {instrument.covers}.", *lead)
    shown = tuple(table for table in tables if table.rows)
    return Section("How it was measured", lead, shown, key="method")
