# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs as one document: what the sides are and what is left out, then the report; pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lsmeter.core.groups import grouped
from lsmeter.core.model.conclusion import Number
from lsmeter.core.model.setup import is_again
from lsmeter.measure.instruments import Words, find_instrument
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.frame import placed
from lsmeter.questions.compare.sides import Only, OverheadChange, only_in_one, overhead_changes
from lsmeter.questions.cost.build import check_counterparts, compare_runs
from lsmeter.questions.cost.document import report_document
from lsmeter.tables import numbers
from lsmeter.tables.model import Column, Detail, Document, Kind, Section, Shown, Table, Value
from lsmeter.tables.values import percent

HEADING = "Change of each setup's overhead"
_WORDS = {"filesystem": "file systems", "copies": "copies"}
_NAMED = 12  # benchmarks by name; more are counted by operation


def document(before: RunData, after: RunData, detail: Detail) -> Document:
    """Return what `compare` shows of two runs, for a format with this much room."""
    check_counterparts(before, after)
    made = report_document(compare_runs(before, after), detail)
    only = only_in_one(before, after)
    changes = overhead_changes(before, after)
    if detail is Detail.DATA:
        said = made.data if isinstance(made.data, Mapping) else {}
        return replace(made, data={**said, "sides": _data(before, after, only, changes)})
    sides = zip(("Before", "After"), (before, after), ("first", "second"), strict=True)
    facts = [(head, f"{run.title} (the {word} run): {_made_of(run)}") for head, run, word in sides]
    for head, left in zip(("Only before", "Only after"), only, strict=True):
        text = "; ".join(_names(left))
        facts += [(head, f"{text}: not compared")] if text else []
    if not any(left.factors or left.benchmarks for left in only):
        facts.append(("Left out", "nothing: both have the same setups and benchmarks"))
    moved = _section(before, after, changes, detail)
    parts = list(made.sections)
    # On a page the summary comes first, elsewhere last, where it is in sight.
    at = next((n for n, part in enumerate(parts) if part.key == "summary"), len(parts))
    parts.insert(at + (detail is Detail.FULL), moved)
    return replace(made, facts=(*facts, *made.facts), sections=tuple(parts))


def _made_of(run: RunData) -> str:
    kernels = ", ".join(f"{kernel.name} ({kernel.release})" for kernel in run.manifest.kernels)
    return f"{kernels}; made {run.manifest.created}"


def _names(left: Only) -> Iterator[str]:
    """Name what only one side has."""
    for factor, names in left.factors.items():
        yield f"{_WORDS.get(factor, f'{factor}s')} {', '.join(names)}"
    lost = [item.id for item in left.benchmarks]
    if len(lost) > _NAMED:
        operations = [item.operation for item in left.benchmarks]
        lost = [f"{name} ({operations.count(name)})" for name in dict.fromkeys(operations)]
    if lost:
        yield f"benchmarks {', '.join(lost)}"


def _section(
    before: RunData, after: RunData, changes: Sequence[OverheadChange], detail: Detail
) -> Section:
    base = after.manifest.baseline_setup
    instrument = find_instrument(after.manifest.instrument)
    unit, words = numbers.unit_word(instrument.unit), instrument.words
    # The baseline a second time costs nothing over itself.
    changes = [item for item in changes if not is_again(item.place.setup, base)]
    if not changes:
        found = {run.manifest.baseline_setup for run in (before, after)}
        lead = f"Not known: that needs {base} and one more setup in both runs"
        lead += f" (their baselines are {' and '.join(sorted(found))})." if len(found) > 1 else "."
        return Section(HEADING, (lead,), key="overhead-change")
    unrepeated = f" {numbers.UNREPEATED_MARK}: a count is not known to repeat."
    within = f" {numbers.PLUS_MINUS}: half the {words.level} interval of the change."
    lead = (
        f"What each setup costs over {base}, {words.typical}, in either run; the change in "
        f"percentage points, and in {unit} of what the setup adds. The {words.mean} and whole "
        "costs where they moved otherwise."
        f"{unrepeated if words.repeats else ''}{within if words.interval else ''}"
    )
    known = (i for i in changes if not i.benchmark.control and math.isfinite(i.points))
    places = grouped((item.place.label, item) for item in known)
    margin = after.manifest.margin
    tables = (_table(label, unit, found, detail, words, margin) for label, found in places.items())
    return Section(HEADING, (lead,), tuple(tables), key="overhead-change")


def _table(
    label: str,
    unit: str,
    found: Sequence[OverheadChange],
    detail: Detail,
    words: Words,
    margin: float,
) -> Table:
    """Show every variant where there is room, else the median of each operation."""
    rows: list[tuple[Value, ...]] = []
    still: list[str] = []
    for operation, items in numbers.by_operation(found).items():
        parts = moved_otherwise(items, margin)
        if not parts:
            still.append(operation)
        for name, moved in parts.items():
            named = f", {words.mean if name is Number.MEAN else 'whole cost'}"
            named *= name is not next(iter(parts))
            if detail is Detail.FULL:
                rows += [_row(f"{item.benchmark.id}{named}", [item], words) for item in moved]
            else:
                rows.append(_row(f"{operation}{named}", moved, words))
    columns = (
        Column("operation", "operation", Kind.NAME),
        Column("before_overhead", "old", Kind.PERCENT),
        Column("after_overhead", "new", Kind.PERCENT),
        Column("change_points", "points", Kind.CHANGE),
        Column("change", unit, Kind.CHANGE),
    )
    more = [f"Unchanged: {', '.join(still)}."] if still else []
    if rows and detail is not Detail.FULL:
        more.append("Medians over the variants of each operation; markdown and HTML have all.")
    return Table("overhead_change", label, columns, tuple(rows), more=tuple(more))


def moved_otherwise(
    items: Sequence[OverheadChange], margin: float
) -> Mapping[Number, Sequence[OverheadChange]]:
    """Return the changes of an operation by number: the first, and others that moved otherwise.

    They did where they are certain, and the amounts differ by over the margin of the call. Nothing
    is returned where no number moved.
    """
    first, *others = grouped((item.number, item) for item in items).items()
    middle = statistics.median(item.difference for item in first[1])
    allowed = margin * statistics.median(item.before.in_line.baseline_value for item in items)
    apart = {
        number: [item for item in found if item.is_certain]
        for number, found in others
        if abs(statistics.median(item.difference for item in found) - middle) > allowed
    }
    apart = {number: found for number, found in apart.items() if found}
    moved = any(item.difference or item.points for item in first[1])
    return {first[0]: first[1], **apart} if moved or apart else {}


def _row(name: str, items: Sequence[OverheadChange], words: Words) -> tuple[Value, ...]:
    same = not words.repeats or all(item.repeats for item in items)
    mark = "" if same else numbers.UNREPEATED_MARK
    before, after = map(statistics.median, zip(*(item.overheads for item in items), strict=True))
    points, difference = (
        statistics.median(getattr(item, field) for item in items)
        for field in ("points", "difference")
    )
    text = percent(points)[: -len(" %")]
    if words.interval:
        halves = [(high - low) / 2 for low, high in (item.points_bounds for item in items)]
        half = statistics.median(halves)
        text += f" {numbers.PLUS_MINUS}{half * 100:,.1f}" if math.isfinite(half) else ""
    return (name, before, after, Shown(points, f"{text}{mark}"), difference)


def _data(
    before: RunData, after: RunData, only: Sequence[Only], changes: Sequence[OverheadChange]
) -> dict[str, object]:
    """Return the same for programs; overheads are fractions."""
    sides = {
        name: {
            "run": run.title,
            "kernels": [kernel.name for kernel in run.manifest.kernels],
            "baseline_setup": run.manifest.baseline_setup,
            "only": {
                **{f"{factor}s": list(names) for factor, names in left.factors.items()},
                "benchmarks": [item.id for item in left.benchmarks],
            },
        }
        for name, run, left in zip(("before", "after"), (before, after), only, strict=True)
    }
    moved = [
        {
            **placed(item.place, item.benchmark),
            "id": item.benchmark.id,
            "number": item.number.value,
            "overhead_before": item.overheads[0],
            "overhead_after": item.overheads[1],
            "overhead_change": item.points,
            "overhead_change_low": item.points_bounds[0],
            "overhead_change_high": item.points_bounds[1],
            "difference_change": item.difference,
            "difference_change_low": item.difference_bounds[0],
            "difference_change_high": item.difference_bounds[1],
            "repeats": item.repeats,
        }
        for item in changes
    ]
    return {**sides, "overhead_changes": moved}
