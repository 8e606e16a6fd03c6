# SPDX-License-Identifier: GPL-2.0-or-later
"""Says in sentences what the numbers of a report mean; every format takes its words from here."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lsmeter.conclusion import Comparison, Verdict
from lsmeter.report import findings, numbers, three
from lsmeter.report.content import Column, Grid, Place, Row, setup_facts
from lsmeter.report.findings import many
from lsmeter.report.model import Report

SIGN_RULE = "A positive overhead is always worse than the baseline."

VERDICT_MEANINGS = {
    Verdict.SLOWER: "worse for certain, by what may be more than the margin, in the typical "
    "count, the in-line mean or the whole cost",
    Verdict.FASTER: "better for certain, by what may be more than the margin, in one of them",
    Verdict.EQUIVALENT: "typical count and whole cost inside the margin, and no peak moved",
    Verdict.INCONCLUSIVE: "the numbers allow no verdict; the warnings name the cause",
}


@dataclass(frozen=True)
class Summary:
    """One setup against its baseline, in words.

    All figures leave out the controls, which no security module may change. largest is that of
    the typical counts, None when no overhead is finite.
    """

    place: Place
    column: Column
    title: str
    counts: tuple[tuple[Verdict, int], ...]
    medians: three.Medians
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
        findings.controls(grids),
        (
            *filter(None, (three.unmeasured(report),)),
            *without_numbers(report),
            *_joined([(s, s.warnings) for s in found], several=several),
        ),
        (
            *report.notes,
            *findings.between_boots(report),
            *_joined([(s, s.notes) for s in found], several=several),
        ),
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


def typical(report: Report) -> str:
    """Say what the number is that heads a table: typical instructions per operation."""
    return f"typical {measured(report)}"


def margin(report: Report) -> str:
    """Write the margin: ±1.0 %."""
    return f"\N{PLUS-MINUS SIGN}{numbers.percent(report.margin, sign=False)}"


def legend(report: Report) -> str:
    """Explain every sign that a table may hold."""
    marks = numbers.VERDICT_MARKS
    return (
        f"{SIGN_RULE} {marks[Verdict.SLOWER]} slower, {marks[Verdict.FASTER]} faster, "
        f"{marks[Verdict.EQUIVALENT]} equivalent within {margin(report)}, "
        f"{marks[Verdict.INCONCLUSIVE]} inconclusive; {numbers.APART_MARK} whole cost or in-line "
        "mean differ otherwise than the typical count, by more than the margin; "
        f"{numbers.UNREPEATED_MARK} the count did not repeat between boots, or there was one "
        f"boot; {numbers.MISSING} no number (see problems)."
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
        f"{many(kinds, 'benchmark')}, {samples} samples each from {boots} "
        f"{'boot' if boots == '1' else 'boots'} of every setup"
    )


def _span(values: list[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


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
    largest = max(usable, key=lambda c: c.overhead, default=None)
    medians = three.medians(usable)
    if findings.untouched(grid, index):
        sentences = [
            f"{title}: untouched: {many(len(usable), 'benchmark')} identical in every number."
        ]
    elif largest is not None:
        counts = counts_text(verdict_counts(tuple(usable)))
        sentences = [
            _largest_sentence(report, title, largest, three.largest_whole(usable)),
            f"Median over {many(len(usable), 'benchmark')}: {medians.text}; {counts}.",
            *_faster_sentences(report, usable),
            *findings.disagreements(usable, report.margin),
            *findings.differences(report, grid, index),
        ]
    elif found:
        sentences = [f"{title}: none of {many(len(found), 'comparison')} has an overhead."]
    else:
        sentences = [f"{title}: there is no number to compare; see the problems."]
    return Summary(
        grid.place,
        column,
        title,
        verdict_counts(tuple(c for c in found if not c.benchmark.control)),
        medians,
        largest,
        tuple(sentences),
        _column_warnings(report, grid, index),
        _column_notes(report, grid, column),
    )


def _largest_sentence(
    report: Report, title: str, largest: Comparison, whole: Comparison | None
) -> str:
    text = (
        f"{title}: largest typical overhead {numbers.percent(largest.overhead)}: "
        f"{largest.benchmark.id} ({findings.values(report, largest)})"
    )
    if whole is not None and whole.whole is not None:
        text += (
            f"; largest whole {numbers.percent(whole.whole.overhead)}: {whole.benchmark.id} "
            f"({three.amount(whole.whole)})"
        )
    return f"{text}."


def _faster_sentences(report: Report, usable: list[Comparison]) -> list[str]:
    faster = [c for c in usable if c.verdict is Verdict.FASTER]
    if not faster:
        return []
    best = min(faster, key=lambda c: c.overhead)
    sentence = (
        f"{many(len(faster), 'benchmark')} cheaper, most of all {numbers.percent(best.overhead)}: "
        f"{best.benchmark.id} ({findings.values(report, best)})."
    )
    return [sentence]


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
    """Say what a reader must distrust: moved controls, open verdicts, missing numbers."""
    found = grid.comparisons(index)
    warnings = [*findings.moved_controls(report, found), *findings.causes(grid, index)]
    missing = sum(row.slots[index].comparison is None for row in grid.rows)
    if missing:
        warnings.append(f"{many(missing, 'benchmark')} without a number; see problems.")
    return tuple(warnings)


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
