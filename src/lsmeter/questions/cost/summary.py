# SPDX-License-Identifier: GPL-2.0-or-later
"""Says in sentences what the numbers of a report mean; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from lsmeter.core.groups import grouped
from lsmeter.core.model.conclusion import Comparison, Number, Verdict
from lsmeter.core.model.setup import is_again
from lsmeter.questions.cells.covers import left_out
from lsmeter.questions.cost import blocks, evidence, findings, layers, repeats
from lsmeter.questions.cost.grids import Column, Grid, place_label, setup_facts, told_apart
from lsmeter.questions.cost.model import Report
from lsmeter.tables import numbers
from lsmeter.tables.model import Card, Detail, Item, Section, Shown, Tone, Value
from lsmeter.tables.values import MISSING, many, percent

SIGN_RULE = "A positive overhead is always worse than the baseline."
UNREPEATED = "the count does not repeat: the notes say why"
_MORE = "all benchmarks, whole costs, checks, layers: --all or -f html."
_EVENTS = "events of each benchmark: lsmeter report --events."
_FREQUENT = ("read", "write")  # what servers call most


@dataclass(frozen=True)
class Summary:
    """One setup against its baseline, in words, without the controls, which no setup may change.

    more is said where there is room. Neither warnings nor notes have the title.
    """

    grid: Grid
    title: str
    card: Card
    first: str
    more: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def section(report: Report, grids: tuple[Grid, ...], detail: Detail) -> Section:
    """Put a whole report into words."""
    short = detail is Detail.SHORT
    places = [
        (grid, index)
        for grid in grids
        for index, column in enumerate(grid.columns)
        if not is_again(column.setup, report.baseline_setup)
    ]
    found = [summarise(report, grid, index, short=short) for grid, index in places]
    items = []
    for grid in grids:
        if len(grids) > 1 and grid.columns:
            items.append(Item(place_label(report, grid), tone=Tone.HEADING))
        own = [item for item in found if item.grid is grid]
        if short and len(own) > 1:
            items.append(Item(f"Median overhead in {_calls(report, grid)}; largest:"))
        items += [Item(" ".join((item.first, *(() if short else item.more)))) for item in own]
    items.append(Item(findings.controls(grids, report.every_call)))
    items += map(Item, filter(None, [blocks.alarms(report)]))
    if short:
        items += map(Item, (*evidence.held(report), *layers.brief(report)))
    words = told_apart([item.grid.place for item in found])
    titles = [f"{s.title} ({w})" if w else s.title for s, w in zip(found, words, strict=True)]
    columns = [(title, *place) for title, place in zip(titles, places, strict=True)]
    warnings = [
        *report.warnings,
        *findings.unmeasured(report),
        *_without_numbers(report),
        *_joined(zip(titles, (item.warnings for item in found), strict=True)),
        *(findings.causes_in_short(columns) if short else ()),
    ]
    notes = [
        *report.notes,
        *repeats.between_boots(report, short=short),
        *findings.without_typical(report.comparisons),
        *_joined(zip(titles, (item.notes for item in found), strict=True)),
        *([_EVENTS] if short and report.events else []),
        *([_MORE] if short and report.estimates else []),
    ]
    items += [Item(f"Warning: {text}", (), Tone.WARNING) for text in warnings]
    items += [Item(f"Note: {text}", (), Tone.QUIET) for text in notes]
    cards = tuple(replace(s.card, title=title) for s, title in zip(found, titles, strict=True))
    return Section("Summary", items=tuple(items), key="summary", cards=cards)


def _joined(said: Iterable[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    """Say the same words of several setups once."""
    titles = grouped((text, title) for title, texts in said for text in texts)
    for text, names in titles.items():
        yield f"{', '.join(dict.fromkeys(names))}: {text}"


def measured(report: Report) -> str:
    """Name unit and instrument: instructions per operation, exact instrument."""
    return numbers.measure(report.unit, report.instrument)


def margin(report: Report) -> str:
    """Write the margin: ±1.0 %."""
    return f"{numbers.PLUS_MINUS}{percent(report.margin, sign=False)}"


def measured_fact(report: Report) -> str:
    """Say the same for the head of a document: that it is no time, and the mitigations."""
    settings = dict(report.conditions)
    mitigations = f"; mitigations {settings['mitigations']}" if "mitigations" in settings else ""
    return f"{numbers.measure(report.unit, report.instrument, apart=True)}{mitigations}"


def own_units(report: Report) -> dict[str, tuple[str, ...]]:
    """Return the operations whose numbers have a unit of their own, by unit and direction."""
    found: dict[str, dict[str, None]] = {}
    for kind in (item.benchmark for item in report.estimates):
        if kind.metric.unit not in {"", report.unit}:
            unit = f"{kind.metric.unit} ({kind.metric.better} is better)"
            found.setdefault(unit, {})[kind.operation] = None
    return {unit: tuple(operations) for unit, operations in found.items()}


def legend(report: Report, rows: Iterable[Iterable[Value]]) -> str:
    """Explain each sign that the cells of a table hold."""
    # A label may hold any sign; its own mark is its last letter.
    cells = "".join(
        cell.text if at else cell.text[-1:]
        for row in rows
        for at, cell in enumerate(row)
        if isinstance(cell, Shown)
    )
    marks = numbers.VERDICT_MARKS
    meanings = {
        marks[Verdict.SLOWER]: "slower",
        marks[Verdict.FASTER]: "faster",
        marks[Verdict.EQUIVALENT]: f"equivalent within {margin(report)}",
        marks[Verdict.INCONCLUSIVE]: "inconclusive",
        numbers.APART_MARK: f"mean {'or whole differ' if report.words.repeats else 'differs'} "
        f"by over {percent(report.margin, sign=False)}",
        **decided_marks(report),
        numbers.SOME_MARK: "not all variants",
        numbers.UNREPEATED_MARK: UNREPEATED,
        MISSING: "no number (see problems)",
    }
    said = [f"{mark} {words}" for mark, words in meanings.items() if mark in cells]
    hidden = left_out(report.comparisons, report.words)
    more = f" Equivalent leaves out {hidden}." if marks[Verdict.EQUIVALENT] in cells else ""
    return f"{', '.join(said)}.{more if hidden else ''}" if said else ""


def decided_marks(report: Report) -> dict[str, str]:
    """Explain the marks of numbers that decided instead of the typical one."""
    means = numbers.DECIDED_MARKS[Number.MEAN]
    found = {means: f"of the {report.words.mean}"}
    if report.words.repeats:
        found[numbers.DECIDED_MARKS[Number.WHOLE]] = "of the whole cost, in % of its cycle"
    return found


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
        f"from {boots} {report.words.replicate}{'' if boots == '1' else 's'} of every setup"
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


def tested(grid: Grid, index: int) -> list[Comparison]:
    """Return the comparisons of a column that have an overhead; controls are left out."""
    found = grid.comparisons(index)
    return [c for c in found if not c.benchmark.control and math.isfinite(c.overhead)]


def summarise(report: Report, grid: Grid, index: int, *, short: bool = False) -> Summary:
    """Put one column of a grid into words."""
    column = grid.columns[index]
    title, usable = column_title(grid, column), tested(grid, index)
    facts = setup_facts(report, grid.place.kernel, column.setup)
    words, note = (facts.title, facts.note) if facts is not None else ("", "")
    named = f"{title} ({words})" if words else title
    if words.lower().startswith(title.lower()):
        named = words
    counts = verdicts([c for c in grid.comparisons(index) if not c.benchmark.control])
    first, more = f"{named}: {_nothing(grid, index)}", tuple[str, ...]()
    if usable and not findings.untouched(grid, index):
        # Several setups share the words that say what is measured.
        calls = "" if short and len(grid.columns) > 1 else f" {_calls(report, grid)}"
        first = f"{named}: {_sentence(report, usable, calls)}"
        more = (f"{counts.capitalize()}.", *_more(report, grid, index, usable))
    return Summary(
        grid,
        title,
        _card(report, title, usable, tuple(filter(None, (counts, words)))),
        first,
        more,
        tuple(_warnings(report, grid, index, short=short)),
        tuple(f"{part.rstrip('.')}." for part in note.split("; ") if part),
    )


def _card(report: Report, title: str, usable: list[Comparison], words: tuple[str, ...]) -> Card:
    medians, leading = findings.medians(usable), findings.leading(usable)
    far = findings.most(usable, report.margin)
    where, overhead = (f": {far.item.benchmark.id}", far.overhead) if far else ("", None)
    typical, mean = report.words.typical, report.words.mean
    number = f"{_named(report, far.number)}, " if far else ""
    labels = (f"median: {typical}", mean, "whole cost", f"{number}furthest out{where}")
    values = zip(labels, (*medians, overhead), strict=True)
    shown = (
        (label, percent(value))
        for label, value in values
        if report.words.repeats or label != "whole cost"
    )
    return Card(title, tuple(shown), words, numbers.TONES[leading] if leading else Tone.PLAIN)


def _named(report: Report, number: Number) -> str:
    names = (report.words.typical, report.words.mean, "whole cost")
    return dict(zip(Number, names, strict=True))[number]


def _nothing(grid: Grid, index: int) -> str:
    """Say that a setup costs nothing, or that nothing is known of it."""
    found = grid.comparisons(index)
    if findings.untouched(grid, index):
        return f"{many(len(tested(grid, index)), 'benchmark')} identical in every number."
    if found:
        return f"none of {many(len(found), 'comparison')} has an overhead."
    return "there is no number to compare; see the problems."


def _calls(report: Report, grid: Grid) -> str:
    return f"{numbers.unit_word(report.unit)} on {grid.place.suite} system calls"


def _sentence(report: Report, usable: list[Comparison], calls: str) -> str:
    """Say what a setup costs, for those who run servers: +31 % instructions on system calls.

    Means and whole costs are named where they differ from what is typical by over the margin.
    """
    typical, *others = medians = findings.medians(usable)
    names = zip(others, (report.words.mean, "whole cost"), strict=True)
    apart = [
        f"{name} {percent(share)}"
        for share, name in names
        if share is not None and abs(share - (typical or 0.0)) > report.margin
    ]
    said = ", ".join(("median",) * bool(calls) + (*apart,))
    parts = {f"{percent(medians.typical)}{calls}{f' ({said})' * bool(said)}": [""]}
    for name in _FREQUENT:
        part = findings.medians([c for c in usable if c.benchmark.operation == name]).typical
        if part is not None:
            parts.setdefault(f"{percent(part)} on ", []).append(name)
    said = ", ".join(text + " and ".join(names) for text, names in parts.items())
    faster = [item for item in usable if item.verdict is Verdict.FASTER]
    ends = (
        ("largest", findings.most(usable, report.margin, key=lambda share: share)),
        ("best", findings.most(faster, report.margin, key=lambda share: -share)),
    )
    named = (
        f"; {word} {percent(part.overhead)}: {part.item.benchmark.id}"
        f"{findings.named_number(part.number)}"
        for word, part in ends
        if part is not None and (part.overhead > 0 or word == "best")
    )
    return f"{said}{''.join(named)}."


def _more(report: Report, grid: Grid, index: int, usable: list[Comparison]) -> Iterator[str]:
    medians = findings.medians(usable).text(report.words)
    yield f"Median over {many(len(usable), 'benchmark')}: {medians}."
    if (far := findings.most(usable, report.margin)) is not None:
        number = f"{_named(report, far.number)} {percent(far.overhead)}"
        yield f"Furthest out: {number}: {far.item.benchmark.id} ({findings.values(report, far)})."
    yield from findings.disagreements(report, usable)
    yield from findings.differences(report, grid, index)


def _warnings(report: Report, grid: Grid, index: int, *, short: bool) -> Iterator[str]:
    """Say what a reader must distrust: changed controls, open verdicts, missing numbers."""
    yield from findings.changed_controls(report, grid.comparisons(index))
    yield from () if short else findings.causes(grid, index)  # all setups' together then
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
