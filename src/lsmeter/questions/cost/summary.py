# SPDX-License-Identifier: GPL-2.0-or-later
"""Says in sentences what the numbers of a report mean; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lsmeter.core.groups import grouped
from lsmeter.core.model.conclusion import Comparison, Number, Verdict
from lsmeter.core.model.setup import is_again
from lsmeter.questions.cells.covers import left_out
from lsmeter.questions.cost import blocks, evidence, findings, layers, repeats
from lsmeter.questions.cost.grids import Column, Grid, place_label, setup_facts, told_apart
from lsmeter.questions.cost.model import Report
from lsmeter.tables import numbers
from lsmeter.tables.model import Detail, Item, Section, Shown, Tone, Value
from lsmeter.tables.values import MISSING, many, percent

SIGN_RULE = "A positive overhead is always worse than the baseline."
UNREPEATED = "the count does not repeat: the notes say why"
_MORE = "all benchmarks, whole costs, checks, layers: --all or -f html."
_EVENTS = "events of each benchmark: lsmeter report --events."
_LINES = 16  # of a terminal that the answer takes; beyond that each setup has one
_LINE = 80


@dataclass(frozen=True)
class Summary:
    """One setup against its baseline, in words, without the controls, which no setup may change.

    first is the answer, brief the same in a few words; more is said where there is room. Neither
    of these nor warnings and notes have the title.
    """

    grid: Grid
    index: int
    setup: str
    title: str
    first: str
    brief: str
    more: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def summarise_all(report: Report, grids: tuple[Grid, ...], detail: Detail) -> list[Summary]:
    """Put all columns into words but those of the baseline a second time; no two have one title.

    Of two runs, places that one of them has alone are named elsewhere.
    """
    two_runs = any(grid.before_and_after and grid.compared for grid in grids)
    places = [
        (grid, index)
        for grid in grids
        if grid.compared or not two_runs
        for index, column in enumerate(grid.columns)
        if not is_again(column.setup, report.baseline_setup)
    ]
    found = [summarise(report, *place, short=detail is Detail.SHORT) for place in places]
    words = told_apart([item.grid.place for item in found])
    titles = [f"{s.title} ({w})" if w else s.title for s, w in zip(found, words, strict=True)]
    return [replace(item, title=title) for item, title in zip(found, titles, strict=True)]


def answer(report: Report, said: Sequence[Summary], detail: Detail) -> tuple[str, ...]:
    """Say what was compared, and what came out for each setup; in few words where it is much."""
    grids = [*{id(item.grid): item.grid for item in said}.values()]
    if not any(grid.compared for grid in grids):
        setups = dict.fromkeys(item.place.setup for item in report.estimates)
        alone = f" {sizes(report)}: {', '.join(setups)}" if setups else " no number was measured"
        return (f"Nothing was compared:{alone}.",)
    found = [
        text
        for grid in grids
        for text in (_compared(report, grid), *(item.first for item in said if item.grid is grid))
    ]
    if detail is not Detail.SHORT or sum(-(-len(text) // _LINE) for text in found) <= _LINES:
        return tuple(found)
    rest = len(said) - (_LINES - 2)
    named = [f"{item.title}: {item.brief}." for item in said[: _LINES - 2 if rest > 0 else None]]
    left = [f"{many(rest, 'more setup')}: in the tables."] if rest > 0 else []
    return (_compared(report, *grids), *named, *left)


def _compared(report: Report, *grids: Grid) -> str:
    kinds = {row.benchmark.id for grid in grids for row in grid.rows if not row.benchmark.control}
    of = place_label(report, grids[0]) if len(grids) == 1 else many(len(grids), "place")
    instrument = f"{report.instrument} instrument"
    runs = grids[0].before_and_after and grids[0].place.kernel == grids[0].baseline_kernel
    sides = "the second run with the first, " * runs
    what = f"{sides}{many(len(kinds), 'benchmark')}, {of}"
    return f"Compared: {what}; margin {margin(report)}; {instrument}."


def section(
    report: Report, grids: tuple[Grid, ...], said: Sequence[Summary], detail: Detail
) -> Section:
    """Say what the numbers rest on, and where there is room more of each setup."""
    short = detail is Detail.SHORT
    items = [Item(f"{s.title}: {' '.join(s.more)}") for s in said if s.more and not short]
    items.append(Item(findings.controls(grids, report.every_call)))
    items += map(Item, filter(None, [blocks.alarms(report)]))
    if short:
        items += map(Item, (*evidence.held(report), *layers.brief(report)))
    alone = len({item.setup for item in said}) == len(said)
    titles = [item.setup if short and alone else item.title for item in said]
    columns = [(title, s.grid, s.index) for title, s in zip(titles, said, strict=True)]
    warnings = [
        *report.warnings,
        *findings.unmeasured(report),
        *_without_numbers(report),
        *_merge_texts(zip(titles, (item.warnings for item in said), strict=True)),
        *(findings.causes_in_short(columns) if short else ()),
    ]
    notes = [
        *report.notes,
        *repeats.between_boots(report, short=short),
        *findings.without_typical(report.comparisons),
        *_merge_texts(zip(titles, (item.notes for item in said), strict=True)),
        *([_EVENTS] if short and report.events else []),
        *([_MORE] if short and report.estimates else []),
    ]
    items += [Item(f"Warning: {text}", (), Tone.WARNING) for text in warnings]
    items += [Item(f"Note: {text}", (), Tone.QUIET) for text in notes]
    return Section("Conditions" if short else "Summary", items=tuple(items), key="summary")


def _merge_texts(said: Iterable[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    """Yield each text once, after the setups that have it."""
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
    found = grouped(
        (f"{kind.metric.unit} ({kind.metric.better} is better)", kind.operation)
        for kind in (item.benchmark for item in report.estimates)
        if kind.metric.unit not in {"", report.unit}
    )
    return {unit: tuple(dict.fromkeys(operations)) for unit, operations in found.items()}


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
        **signs(report),
        MISSING: "no number (see problems)",
    }
    said = [f"{mark} {words}" for mark, words in meanings.items() if mark in cells]
    hidden = left_out(report.comparisons, report.words, report.per)
    more = f" Equivalent leaves out {hidden}." if marks[Verdict.EQUIVALENT] in cells else ""
    return f"{', '.join(said)}.{more if hidden else ''}" if said else ""


def signs(report: Report) -> dict[str, str]:
    """Explain the marks beside a verdict's."""
    repeats, mean = report.words.repeats, numbers.DECIDED_MARKS[Number.MEAN]
    differ = f"mean {'or whole differ' if repeats else 'differs'}"
    whole = {numbers.DECIDED_MARKS[Number.WHOLE]: "of the whole cost, in % of its cycle"}
    return {
        numbers.APART_MARK: f"{differ} by over {percent(report.margin, sign=False)}",
        **({mean: f"of the {report.words.mean}"} | (whole if repeats else {})),
        numbers.SOME_MARK: "not all variants",
        **({numbers.UNREPEATED_MARK: UNREPEATED} if repeats else {}),
    }


def baseline(report: Report, grids: tuple[Grid, ...]) -> str:
    """Name what is compared with: a setup, or each setup as it was before."""
    if any(grid.before_and_after for grid in grids):
        return "each setup as it was before"
    return report.baseline_setup


def sizes(report: Report) -> str:
    """Say how much was measured: 61 benchmarks, 100 samples each from 2 boots of every setup."""
    if not report.estimates:
        served = [
            item
            for item in report.comparisons
            if item.place.suite in report.per and not item.benchmark.control
        ]
        kinds = len({(item.place.suite, item.benchmark.id) for item in served})
        units = " or ".join(sorted({f"{report.per[item.place.suite]}s" for item in served}))
        cycles = _span([item.cycles for item in served]) if served else ""
        return f"{many(kinds, 'benchmark')}, {cycles} {units} each" if served else "no estimates"
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
    if grid.baseline_setup is None and column.setup != column.baseline_setup:
        return f"{column.setup} against {column.baseline_setup}"
    return column.setup


def summarise(report: Report, grid: Grid, index: int, *, short: bool = False) -> Summary:
    """Put one column of a grid into words."""
    column = grid.columns[index]
    title, usable = column_title(grid, column), findings.tested(grid.comparisons(index))
    facts = setup_facts(report, grid.place.kernel, column.setup)
    words, note = (facts.title, facts.note) if facts is not None else ("", "")
    named = f"{title} ({words})" if words else title
    if words.lower().startswith(title.lower()):
        named = words
    if column.setup == column.baseline_setup:
        named = title
    first = brief = _nothing(grid, index)
    more: tuple[str, ...] = ()
    if usable and not findings.untouched(grid, index):
        compared = (c for c in grid.comparisons(index) if not c.benchmark.control)
        counts = findings.verdicts(c.verdict for c in compared)
        brief = _sentence(report, grid, index, usable, counts)
        per = report.per.get(grid.place.suite, "call")
        first = f"{brief} ({numbers.unit_word(report.unit)} a {per})."
        more = (f"{counts.capitalize()}.", *_more(report, grid, index, usable))
    return Summary(
        grid,
        index,
        column.setup,
        title,
        f"{named}: {first}",
        brief.rstrip("."),
        more,
        tuple(_warnings(report, grid, index, short=short)),
        tuple(f"{part.rstrip('.')}." for part in note.split("; ") if part),
    )


def _nothing(grid: Grid, index: int) -> str:
    """Say that a setup costs nothing, or that nothing is known of it."""
    found = grid.comparisons(index)
    if findings.untouched(grid, index):
        return f"{many(len(findings.tested(found)), 'benchmark')} identical in every number."
    if found:
        return f"none of {many(len(found), 'comparison')} has an overhead."
    return "there is no number to compare; see the problems."


def _sentence(report: Report, grid: Grid, index: int, usable: list[Comparison], counts: str) -> str:
    """Say what a setup costs: its median, and from which operation to which.

    Of a setup compared with itself: what came of that, and what moved most. Means and whole
    costs are named where they differ from what is typical by over the margin.
    """
    typical, mean, whole = findings.medians(usable)
    middle = mean if typical is None else typical
    names = zip((mean, whole), (report.words.mean, "whole cost"), strict=True)
    apart = [
        f"{name} {percent(share)}"
        for share, name in names
        if share is not None and abs(share - (middle or 0.0)) > report.margin
    ]
    beside = f" ({', '.join(apart)})" * bool(apart)
    column = grid.columns[index]
    if column.setup == column.baseline_setup:
        moved = _farthest(findings.most(usable, report.margin))
        return f"{counts}; median {percent(middle)}{beside}, {moved}"
    over = "" if column.baseline_setup in column_title(grid, column) else column.baseline_setup
    base = f" over {over}" * bool(over)
    return f"median {percent(middle)}{base}{beside}{_range(usable, report.margin)}"


def _farthest(part: findings.Part) -> str:
    """Say what deviates most, and in which number where that is not the typical one."""
    names = {Number.MEAN: " in the mean", Number.WHOLE: " in the whole cost"}
    where = f"{part.item.benchmark.id}{names.get(part.number, '')}"
    return f"largest deviation {percent(part.overhead)}: {where}"


def _range(usable: list[Comparison], margin: float) -> str:
    """Say from what to what a setup costs: its operations, or the variants of a single one.

    What is inconclusive is no end of a range where anything is not, and is named. A number that did
    not decide is named where it goes further by more than the margin.
    """
    said = {name: findings.operation(own) for name, own in numbers.by_operation(usable).items()}
    parts = {name: (one.overhead, one.verdict) for name, one in said.items()}
    if len(parts) < 2:
        parts = {item.benchmark.id: (item.overhead, item.verdict) for item in usable}
    known = {name: part for name, part in parts.items() if part[1] is not Verdict.INCONCLUSIVE}
    ends = sorted(known or parts, key=lambda name: parts[name][0])
    texts = [f"{name} {numbers.overhead(*parts[name])} %" for name in (ends[0], ends[-1])]
    text = f", {' to '.join(texts if len(ends) > 1 else texts[:1])}{_open(parts, known)}"
    far = findings.most(usable, margin)
    most = max(abs(share) for share, _ in parts.values()) + margin
    if far.number is far.item.decided_by or abs(far.overhead) <= most:
        return text
    return f"{text}; {_farthest(far)}"


def _open(parts: Collection[str], known: Collection[str]) -> str:
    """Say which one is inconclusive, or how many are."""
    names = [name for name in parts if name not in known]
    which = names[0] if len(names) == 1 else str(len(names))
    return f"; {which} inconclusive" if names else ""


def _more(report: Report, grid: Grid, index: int, usable: list[Comparison]) -> Iterator[str]:
    names = (report.words.typical, report.words.mean)
    medians = findings.medians(usable).text(report.words)
    yield f"Median over {many(len(usable), 'benchmark')}: {medians}."
    far = findings.most(usable, report.margin)
    name = dict(zip(Number, (*names, "whole cost"), strict=True))[far.number]
    said = f"{name} {percent(far.overhead)}: {far.item.benchmark.id}"
    yield f"Largest deviation: {said} ({findings.values(report, far)})."
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
