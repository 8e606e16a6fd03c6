# SPDX-License-Identifier: GPL-2.0-or-later
"""Says in sentences what the numbers of a report mean; every format takes its words from here."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from lsmeter.model import Comparison, Verdict
from lsmeter.report import numbers
from lsmeter.report.content import Column, Grid, Place, Row, setup_facts
from lsmeter.report.model import Report

SIGN_RULE = "A positive overhead is always worse than the baseline."

VERDICT_MEANINGS = {
    Verdict.SLOWER: "worse than the baseline by more than the margin",
    Verdict.FASTER: "better than the baseline by more than the margin",
    Verdict.EQUIVALENT: "inside the margin on both sides of the baseline",
    Verdict.INCONCLUSIVE: "more boots are needed to tell",
}


@dataclass(frozen=True)
class Summary:
    """One setup against its baseline, in words.

    All figures leave out the controls, which no security module may change. largest and median
    are None when no overhead is finite.
    """

    place: Place
    column: Column
    title: str
    counts: tuple[tuple[Verdict, int], ...]
    median: float | None
    largest: Comparison | None
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]  # without the title
    notes: tuple[str, ...]  # without the title


@dataclass(frozen=True)
class Overview:
    """All that is said of a report before its numbers; equal words are said once."""

    summaries: tuple[Summary, ...]
    controls: str  # whether the controls stayed still; empty when nothing was compared
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def overview(report: Report, grids: tuple[Grid, ...]) -> Overview:
    """Put a whole report into words."""
    found = tuple(
        summarise(report, grid, index) for grid in grids for index in range(len(grid.columns))
    )
    several = len({grid.place for grid in grids}) > 1
    return Overview(
        found,
        controls_sentence(grids),
        (*without_numbers(report), *_joined([(s, s.warnings) for s in found], several=several)),
        (*report.notes, *_joined([(s, s.notes) for s in found], several=several)),
    )


def _joined(said: list[tuple[Summary, tuple[str, ...]]], *, several: bool) -> list[str]:
    """Say the same words of several setups once."""
    titles: dict[str, dict[str, list[str]]] = {}
    for summary, texts in said:
        where = f" ({summary.place.kernel})" if several else ""
        for text in texts:
            titles.setdefault(text, {}).setdefault(where, []).append(summary.title)
    return [
        "; ".join(f"{', '.join(dict.fromkeys(names))}{where}" for where, names in places.items())
        + f": {text}"
        for text, places in titles.items()
    ]


def measured(report: Report) -> str:
    """Name unit and instrument: instructions per operation, exact instrument."""
    return numbers.measure(report.unit, report.instrument)


def margin(report: Report) -> str:
    """Write the margin: ±1.0 %."""
    return f"\N{PLUS-MINUS SIGN}{numbers.percent(report.margin, sign=False)}"


def legend(report: Report) -> str:
    """Explain every sign that a table may hold."""
    marks = numbers.VERDICT_MARKS
    return (
        f"{SIGN_RULE} {marks[Verdict.SLOWER]} slower, {marks[Verdict.FASTER]} faster, "
        f"{marks[Verdict.EQUIVALENT]} equivalent within {margin(report)}, "
        f"{marks[Verdict.INCONCLUSIVE]} inconclusive; {numbers.UNREPEATED_MARK} the count did "
        f"not repeat between boots, or there was one boot; {numbers.MISSING} no number "
        "(see problems)."
    )


def baseline(report: Report, grids: tuple[Grid, ...]) -> str:
    """Name what is compared with: a setup, or each setup as it was before."""
    if any(grid.before_and_after for grid in grids):
        return "each setup as it was before"
    return report.baseline_setup


def sizes(report: Report) -> str:
    """Say how much was measured: 61 benchmarks, 100 samples in each of 2 boots."""
    if not report.estimates:
        return "no estimates"
    kinds = len({(e.benchmark.suite, e.benchmark.id) for e in report.estimates})
    boots = _span([e.boots for e in report.estimates])
    samples = _span([e.samples for e in report.estimates])
    return (
        f"{_many(kinds, 'benchmark')}, {samples} samples each from {boots} "
        f"{'boot' if boots == '1' else 'boots'} of every setup"
    )


def _span(values: list[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def column_title(grid: Grid, column: Column) -> str:
    """Name a column for a sentence, with kernels and baseline where they are not shared."""
    place = grid.place
    title = column.setup
    if place.kernel != place.baseline_kernel:
        baseline = f"{column.baseline_setup} on {place.baseline_kernel}"
        return f"{title} on {place.kernel} against {baseline}"
    if column.setup == column.baseline_setup:
        return f"{title} (second run against the first)"
    if grid.baseline_setup is None:
        return f"{title} against {column.baseline_setup}"
    return title


def verdict_counts(comparisons: tuple[Comparison, ...]) -> tuple[tuple[Verdict, int], ...]:
    """Count the comparisons of each verdict, all four verdicts in a fixed order."""
    return tuple((kind, sum(c.verdict is kind for c in comparisons)) for kind in Verdict)


def counts_text(counts: tuple[tuple[Verdict, int], ...]) -> str:
    """Write verdict counts: 52 slower, 9 equivalent."""
    return ", ".join(f"{n} {kind.value}" for kind, n in counts if n) or "no comparisons"


def summarise(report: Report, grid: Grid, index: int) -> Summary:
    """Put one column of a grid into words."""
    column = grid.columns[index]
    found = grid.comparisons(index)
    title = column_title(grid, column)
    usable = [c for c in found if not c.benchmark.control and math.isfinite(c.overhead)]
    median = statistics.median([c.overhead for c in usable]) if usable else None
    largest = max(usable, key=lambda c: c.overhead, default=None)
    sentences = []
    if largest is not None:
        sentences.append(_largest_sentence(report, title, largest))
        sentences.append(
            f"Median over {_many(len(usable), 'benchmark')}: {numbers.percent(median)}; "
            f"{counts_text(verdict_counts(tuple(usable)))}."
        )
        sentences += _faster_sentences(report, usable)
        sentences += _untouched_sentences(report, grid, index)
    elif found:
        sentences.append(f"{title}: none of {_many(len(found), 'comparison')} has an overhead.")
    else:
        sentences.append(f"{title}: there is no number to compare; see the problems.")
    return Summary(
        grid.place,
        column,
        title,
        verdict_counts(tuple(c for c in found if not c.benchmark.control)),
        median,
        largest,
        tuple(sentences),
        _column_warnings(report, grid, index),
        _column_notes(report, grid, column),
    )


def _values(report: Report, item: Comparison) -> str:
    return (
        f"{numbers.count(item.baseline_value)} \N{RIGHTWARDS ARROW} "
        f"{numbers.count(item.value)} {numbers.unit_word(report.unit)}"
    )


def _largest_sentence(report: Report, title: str, largest: Comparison) -> str:
    if largest.verdict is not Verdict.SLOWER:
        return (
            f"{title} makes nothing measurably dearer; the largest overhead is "
            f"{numbers.percent(largest.overhead)} on {numbers.phrase(largest.benchmark)} "
            f"({_values(report, largest)})."
        )
    return (
        f"{title} makes {numbers.phrase(largest.benchmark)} dearer by "
        f"{numbers.percent(largest.overhead, sign=False)} ({_values(report, largest)}), "
        "the largest overhead."
    )


def _faster_sentences(report: Report, usable: list[Comparison]) -> list[str]:
    faster = [c for c in usable if c.verdict is Verdict.FASTER]
    if not faster:
        return []
    best = min(faster, key=lambda c: c.overhead)
    sentence = (
        f"Cheaper than the baseline: {_many(len(faster), 'benchmark')}, most of all "
        f"{numbers.phrase(best.benchmark)} at {numbers.percent(best.overhead)} "
        f"({_values(report, best)})."
    )
    return [sentence]


def _untouched_sentences(report: Report, grid: Grid, index: int) -> list[str]:
    """Name the operations of which every variant is equivalent."""
    names = []
    for group in grid.groups:
        found = [row.slots[index].comparison for row in group.rows if not row.benchmark.control]
        if found and all(c is not None and c.verdict is Verdict.EQUIVALENT for c in found):
            names.append(group.operation)
    if not names:
        return []
    if len(names) == sum(not group.control for group in grid.groups):
        return [f"Every operation is untouched within {margin(report)}."]
    return [f"Untouched within {margin(report)}: {', '.join(names)}."]


def _column_notes(report: Report, grid: Grid, column: Column) -> tuple[str, ...]:
    kernel = grid.place.kernel
    facts = setup_facts(report, kernel, column.setup)
    base = setup_facts(report, grid.place.baseline_kernel, column.baseline_setup)
    sentences = []
    if facts is not None and facts.note:
        sentences.append(f"{facts.note.rstrip('.')}.")
    if (
        facts is not None
        and base is not None
        and facts is not base
        and column.setup != column.baseline_setup
        and facts.active_lsms
        and facts.active_lsms == base.active_lsms
    ):
        sentences.append(
            f"the guest reported the same active LSMs as under {column.baseline_setup}: "
            f"{', '.join(facts.active_lsms)}."
        )
    return tuple(sentences)


def _column_warnings(report: Report, grid: Grid, index: int) -> tuple[str, ...]:
    """Say what a reader must distrust: moved controls, open verdicts, unrepeated counts."""
    found = grid.comparisons(index)
    warnings = [
        f"the control {numbers.phrase(item.benchmark)} moved by "
        f"{numbers.percent(item.overhead)} ({_values(report, item)}), although no security "
        "module can change it: something else differs between the two."
        for item in found
        if item.benchmark.control and item.verdict in {Verdict.SLOWER, Verdict.FASTER}
    ]
    unsure = sum(c.verdict is Verdict.INCONCLUSIVE for c in found)
    if unsure:
        warnings.append(f"{_many(unsure, 'comparison')} inconclusive; add boots.")
    odd = sum(not c.repeats for c in found)
    if odd:
        warnings.append(
            f"the counts of {_many(odd, 'benchmark')} are not confirmed by a second boot."
        )
    missing = sum(row.slots[index].comparison is None for row in grid.rows)
    if missing:
        warnings.append(f"{_many(missing, 'benchmark')} without a number; see problems.")
    return tuple(warnings)


def controls_sentence(grids: tuple[Grid, ...]) -> str:
    """Say whether the controls stayed still; empty when nothing was compared."""
    found = [c for grid in grids for i in range(len(grid.columns)) for c in grid.comparisons(i)]
    if not found:
        return ""
    controls = [c for c in found if c.benchmark.control]
    if not controls:
        return "No control was measured: nothing shows that only the security setup differed."
    names = ", ".join(dict.fromkeys(c.benchmark.id for c in controls))
    moved = sum(c.verdict in {Verdict.SLOWER, Verdict.FASTER} for c in controls)
    if moved:
        return f"Controls ({names}) moved in {moved} of {len(controls)} comparisons: see warnings."
    still = sum(c.verdict is Verdict.EQUIVALENT for c in controls)
    if still < len(controls):
        return f"Controls ({names}) were still in {still} of {len(controls)} comparisons."
    return f"Controls ({names}) did not move in any of {_many(len(controls), 'comparison')}."


def without_numbers(report: Report) -> tuple[str, ...]:
    """Name the setups that gave no number at all."""
    seen = {(e.kernel, e.setup) for e in report.estimates}
    seen |= {(c.kernel, c.setup) for c in report.comparisons}
    seen |= {(c.baseline_kernel, c.baseline_setup) for c in report.comparisons}
    return tuple(
        f"{facts.setup} on {facts.kernel} gave no number; see problems."
        for facts in report.setups
        if (facts.kernel, facts.setup) not in seen
    )


def row_mark(row: Row) -> str:
    """Return the mark of a row whose baseline did not repeat."""
    unrepeated = row.baseline is not None and not row.baseline.repeats
    return numbers.UNREPEATED_MARK if unrepeated else ""
