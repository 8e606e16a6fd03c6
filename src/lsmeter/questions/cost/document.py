# SPDX-License-Identifier: GPL-2.0-or-later
"""A run as a document: what each level of detail shows, and in which order; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from lsmeter.catalogue.studies import Published
from lsmeter.core.errors import UsageError
from lsmeter.measure.instruments import instruments
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks import cost_tasks, find_task
from lsmeter.measure.tasks import exec as exec_task
from lsmeter.measure.tasks.attribute import ATTRIBUTION
from lsmeter.questions.attribution.tables import HEADING, RULE, section
from lsmeter.questions.cells import frame
from lsmeter.questions.cells.results import measured_results
from lsmeter.questions.cost import beside, data, evidence, layers, overheads, plots, summary, whole
from lsmeter.questions.cost.blocks import statements
from lsmeter.questions.cost.build import run_report
from lsmeter.questions.cost.grids import Grid, grids
from lsmeter.questions.cost.model import Report
from lsmeter.questions.events import document as events
from lsmeter.questions.time import document as predicted
from lsmeter.questions.time.calibration import Calibration
from lsmeter.questions.workload import clients
from lsmeter.tables import numbers
from lsmeter.tables.model import Column, Detail, Document, Item, Kind, Section, Table, Value

_NONE = (Section("Problems (0)", items=(Item("None."),), key="problems"),)  # on a page
_OVERHEAD = (
    "tested \N{DIVISION SIGN} baseline \N{MINUS SIGN} 1 for costs, 1 \N{MINUS SIGN} tested "
    "\N{DIVISION SIGN} baseline for throughput"
)


def document_of(
    run: RunData, calibration: Calibration | None = None, studies: Sequence[Published] = ()
) -> Callable[[Detail], Document]:
    """Return what makes the document of any run, for a format with this much room.

    A run with several views of the hooks shows their agreement; a page, all of its views. Times
    are predicted by a calibration where the run has events. Printed values of studies stand beside
    those of system calls; UsageError for a run that has none.
    """
    tasks = {cell.task.name for cell in run.manifest.cells}
    if studies and not tasks & (cost_tasks() - {exec_task.NAME}):
        raise UsageError(
            f"--beside: {run.title}: it has no benchmarks of system calls",
            hint="lsmeter run --suite unixbench --suite lmbench",
        )

    if tasks <= cost_tasks():
        shown = _costs(run, calibration, studies)
        return partial(_under_load, run, shown) if tasks & clients.TASKS else shown
    # Regressions are heavy: only runs with sweeps wait for them.
    from lsmeter.questions.hooks import count
    from lsmeter.questions.hooks.agreement import document as agreement
    from lsmeter.questions.monitor import document as monitoring
    from lsmeter.questions.monitor.figures import is_monitored
    from lsmeter.questions.slopes import document as slopes
    from lsmeter.questions.workload import document as workloads

    found: list[Callable[[Detail], Document]] = []
    views = {find_task(name).plugin or name for name in tasks}
    if len(views & {ATTRIBUTION, "count", "sweep"}) > 1:
        found.append(lambda _: agreement.document(run))
    if tasks & cost_tasks():
        found.append(_costs(run, calibration, studies))
    if "workload" in tasks:
        found.append(partial(workloads.document, run))
        if is_monitored(run):
            found.append(partial(monitoring.document, run))
    if "count" in tasks:
        found.append(lambda _: count.document(run))
    if tasks & {"sweep", "lookups"}:
        found.append(lambda _: slopes.document(run))
    return partial(_join_documents, found)


def _costs(
    run: RunData, calibration: Calibration | None, studies: Sequence[Published]
) -> Callable[[Detail], Document]:
    if any(cell.task.name == exec_task.NAME for cell in run.manifest.cells):
        from lsmeter.questions.exec import document as commands

        return partial(commands.document, run)
    report = replace(run_report(run, calibration), beside=tuple(studies))
    return partial(report_document, report)


def _under_load(run: RunData, shown: Callable[[Detail], Document], detail: Detail) -> Document:
    """Return a report with what the clients said, and on a page what the servers did over time."""
    from lsmeter.questions.monitor import document as monitoring
    from lsmeter.questions.monitor.figures import is_monitored

    first = shown(detail)
    if detail is Detail.DATA:
        return first
    over = is_monitored(run) and detail is not Detail.SHORT
    below = monitoring.document(run, detail).sections if over else ()
    grids_end = next((n for n, part in enumerate(first.sections) if part.key == "summary"), 0)
    at = grids_end if detail is not Detail.FULL else len(first.sections)
    said = clients.sections(run)
    sections = (*first.sections[:at], *said, *first.sections[at:], *below)
    return replace(first, sections=sections)


def _join_documents(makers: Sequence[Callable[[Detail], Document]], detail: Detail) -> Document:
    """Return the first document with the answers of all.

    Where all is shown, the sections of the others stand below it.
    """
    first = makers[0](detail)
    if len(makers) == 1 or detail is Detail.DATA:
        return first
    rest = [make(detail) for make in makers[1:]]
    first = replace(first, answer=tuple(chain(first.answer, *(other.answer for other in rest))))
    if detail is Detail.SHORT:
        return replace(first, notes=(*first.notes, "the run has more: --all or --format html"))
    below = (
        replace(part, title=part.title or other.title) for other in rest for part in other.sections
    )
    notes = dict.fromkeys((*first.notes, *(note for other in rest for note in other.notes)))
    return replace(first, sections=(*first.sections, *below), notes=tuple(notes))


def report_document(report: Report, detail: Detail) -> Document:
    """Return a report as a document for a format with this much room."""
    if detail is Detail.DATA:
        content = data.document(report)
        numbers_only = (Section("", tables=(data.table(report, content),)),)
        made = (report.kernels, report.created, report.unit)
        results = measured_results(report.estimates, report.comparisons, report.problems, made)
        head = (data.NAME, data.VERSION, report.title)
        return Document(*head, sections=numbers_only, data=content, results=results)
    found = grids(report)
    said = summary.summarise_all(report, found, detail)
    sections = (
        item
        for item in _sections(report, found, said, detail)
        if item.tables or item.items or item.figures or item.key.startswith("grid")
    )
    return Document(
        data.NAME,
        data.VERSION,
        report.title,
        tuple(_facts(report, found, detail)),
        (summary.SIGN_RULE,),
        tuple(sections),
        answer=summary.answer(report, said, detail),
        picture=plots.picture(report, found) if detail is Detail.FULL else None,
    )


def _facts(report: Report, found: tuple[Grid, ...], detail: Detail) -> Iterator[tuple[str, str]]:
    made_by = f"lsmeter {report.lsmeter_version}"
    short = f"; {made_by}" if detail is Detail.SHORT else ""
    yield "Unit", summary.measured_fact(report)
    for unit, operations in summary.own_units(report).items():
        yield f"In {unit}", ", ".join(operations)
    yield "Sizes", summary.sizes(report)
    yield "Baseline", f"{summary.baseline(report, found)}; margin {summary.margin(report)}{short}"
    for text in statements(report):
        yield "Statistics", text
    if detail is Detail.FULL:
        yield "Conditions", frame.joined_settings(report.conditions)
        if time := predicted.fact(report.instrument, report.told, counted=bool(report.events)):
            yield "Time", time
        yield "Command", report.command
        yield "Made", f"{report.created} by {made_by}"


def _sections(
    report: Report,
    found: tuple[Grid, ...],
    said: Sequence[summary.Summary],
    detail: Detail,
) -> Iterator[Section]:
    """Return all sections; a page begins with the summary, text ends with it, in sight."""
    full = detail is Detail.FULL
    words = summary.section(report, found, said, detail)
    if full:
        yield words
    for place, grid in enumerate(found, 1):
        shown = overheads.section(report, grid, detail, place)
        yield (
            replace(shown, figures=plots.of_grid(report, grid, first=place == 1)) if full else shown
        )
    yield whole.section(report, found, detail)
    yield from predicted.sections(report.told, report.comparisons, report.baseline_setup, detail)
    yield evidence.checks(report, detail)
    stacked = layers.section(report, detail)
    yield replace(stacked, figures=plots.of_layers(report)) if full else stacked
    if detail is not Detail.SHORT:
        yield from events.sections(report.events, report.baseline_setup, detail)
        yield evidence.states(report, detail)
        yield evidence.one_off(report)
    yield from beside.sections(report)
    yield from _origins(report, detail)
    if full:
        yield _method(report)
    yield from frame.problem_section(report.problems, full=full) or (_NONE if full else ())
    if not full:
        yield words


def _origins(report: Report, detail: Detail) -> Iterator[Section]:
    """Yield a section for each setup that was explained."""
    for number, item in enumerate(report.accounts, 1):
        yield replace(
            section(item, detail),
            title=f"{HEADING}: {item.label}",
            lead=(RULE,) if number == 1 else (),
            key="origin" if number == 1 else f"origin-{number}",
        )


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
    verdicts = report.words.verdicts.items()
    marks = {
        "overhead": f"{_OVERHEAD}. {summary.SIGN_RULE}",
        **summary.signs(report),
        **{f"{numbers.VERDICT_MARKS[kind]} {kind}": words for kind, words in verdicts},
    }
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
        _table("signs", "Signs", "sign, meaning:prose", marks.items()),
    )
    instrument = instruments().get(report.instrument)
    lead: tuple[str, ...] = (report.words.numbers, *statements(report))
    if instrument is not None:
        lead = (f"Instrument {instrument.name}: {instrument.title}. {instrument.covers}.", *lead)
    shown = tuple(table for table in tables if table.rows)
    return Section("How it was measured", lead, shown, key="method")
