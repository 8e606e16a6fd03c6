# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs as one document: what the sides are and what is left out, then the report; pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from lsmeter.core.groups import grouped
from lsmeter.core.model import Place
from lsmeter.core.model.conclusion import Number, Verdict
from lsmeter.core.model.setup import is_again
from lsmeter.measure.instruments import Words, find_instrument
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.frame import placed
from lsmeter.questions.compare.sides import (
    Only,
    OverheadChange,
    only_before,
    only_in_one,
    overhead_changes,
)
from lsmeter.questions.cost import findings
from lsmeter.questions.cost.build import check_counterparts, compare_runs
from lsmeter.questions.cost.document import report_document
from lsmeter.questions.cost.model import Report
from lsmeter.questions.time.calibration import Calibration
from lsmeter.questions.time.differences import TOLD_DIFFERENCE, difference_section
from lsmeter.questions.time.figures import predict_differences
from lsmeter.tables import numbers
from lsmeter.tables.fields import Field, headed, named, tabled
from lsmeter.tables.model import Detail, Document, Kind, Section, Shown, Table
from lsmeter.tables.results import Result, Results, Status
from lsmeter.tables.values import left_out, many, percent

HEADING = "Change of each setup's overhead"
_MEDIANS = "Medians over the variants of each operation; markdown and HTML have all."
_WORDS = {"filesystem": "file systems", "copies": "copies"}
_NAMED = 12  # benchmarks by name; more are counted by operation
_ROWS = 10  # of a table in a terminal, where all setups share it


def document(
    before: RunData, after: RunData, detail: Detail, calibration: Calibration | None = None
) -> Document:
    """Return what `compare` shows of two runs, for a format with this much room.

    Where both counted events, a calibration predicts what calls take more.
    """
    check_counterparts(before, after)
    report = compare_runs(before, after)
    made = report_document(report, detail)
    told = None if calibration is None else predict_differences(before, after, calibration)
    only = only_in_one(before, after)
    changes = overhead_changes(before, after)
    if detail is Detail.DATA:
        said = made.data if isinstance(made.data, Mapping) else {}
        predicted = {} if told is None else {"predicted": TOLD_DIFFERENCE.entry(told)}
        sides = {**_data(before, after, only, changes), **predicted}
        results = _results(before, after, made.results)
        return replace(made, data={**said, "sides": sides}, results=results)
    named = zip(("Before", "After"), (before, after), ("first", "second"), strict=True)
    facts = [(head, f"{run.title} (the {word} run): {_made_of(run)}") for head, run, word in named]
    for head, left in zip(("Only before", "Only after"), only, strict=True):
        text = "; ".join(_names(left))
        facts += [(head, f"{text}: not compared")] if text else []
    if not any(only):
        facts.append(("Left out", "nothing: both have the same setups and benchmarks"))
    moved = _section(before, after, changes, detail)
    parts = list(made.sections)
    if detail is Detail.SHORT:
        parts = [part for part in parts if not part.key.startswith("grid")]
        parts.insert(0, changed_section(report))
    # On a page the summary comes first, elsewhere last, where it is in sight.
    at = next((n for n, part in enumerate(parts) if part.key == "summary"), len(parts))
    at += detail is Detail.FULL
    parts[at:at] = [moved, *difference_section(told, detail)]
    return replace(made, facts=(*facts, *made.facts), sections=tuple(parts))


def _results(before: RunData, after: RunData, made: Results | None) -> Results | None:
    """Add what only the first run has, which is compared with nothing."""
    lost = (
        Result(Status.SKIPPED, place, item.id, "not compared: only the first run has it")
        for place, item in only_before(before, after)
    )
    return made and replace(made, items=(*made.items, *lost), kernels=after.manifest.kernels)


class _Changed(NamedTuple):
    """What is said of an operation under one setup."""

    place: Place
    operation: str
    said: findings.Operation


def changed_section(report: Report) -> Section:
    """Show the operations that changed most under each setup, and say how many are left out."""
    variants = grouped(
        ((item.place, item.benchmark.operation), item)
        for item in report.comparisons
        if not item.benchmark.control
    )
    found = [_Changed(*of, findings.operation(items)) for of, items in variants.items()]
    places = grouped((item.place, item) for item in found)
    several = len({place.beside for place in places}) > 1
    moved = {
        place: sorted((x for x in items if x.said.verdict is not Verdict.EQUIVALENT), key=_gravity)
        for place, items in places.items()
    }
    room = max(1, _ROWS // max(1, sum(map(bool, moved.values()))))
    shown = [item for items in moved.values() for item in items[:room]]

    def head(item: _Changed) -> str:
        said = findings.verdicts(x.said.verdict for x in places[item.place])
        name = item.place.label if several else item.place.setup
        return f"{name}: {said}"

    # Times have one number; of counts the typical one, the mean or the whole cost decides.
    counted = not any(item.tests for item in report.comparisons)
    lead = (
        f"Operations in {numbers.unit_word(report.unit)}: medians of the variants that have the "
        f"verdict (*: not all){', by the number that decided' * counted}. "
        "The largest changes under each setup."
    )
    columns = _CHANGED if counted else _CHANGED[:-1]
    changed = sum(map(len, moved.values()))
    rest = [(changed - len(shown), "changed"), (len(found) - changed, "equivalent")]
    left = " and ".join(f"{many(number, f'{word} operation')}" for number, word in rest if number)
    more = (f"Not shown: {left}: --all, or --format html.",) if left else ()
    table = headed(tabled("changes", "", columns, shown, more=more), map(head, shown))
    return Section("What changed", (lead,) if shown else (), (table,), key="changes")


def _gravity(item: _Changed) -> tuple[int, float]:
    """Return a sort key: slower first, then faster, then inconclusive, each by its size."""
    order = (Verdict.SLOWER, Verdict.FASTER, Verdict.INCONCLUSIVE)
    return order.index(item.said.verdict), -abs(item.said.overhead)


def _share(item: _Changed) -> Shown:
    said = item.said
    share = numbers.overhead(said.overhead, said.verdict)
    text = f"{numbers.SOME_MARK * said.some}{share} %"
    return Shown(said.overhead, text, numbers.TONES[said.verdict])


_CHANGED = (
    named("operation"),
    Field("old", "old", lambda item: round(item.said.old, 1)),
    Field("new", "new", lambda item: round(item.said.new, 1)),
    Field("difference", "difference", lambda i: round(i.said.difference, 1) + 0.0, Kind.CHANGE),
    Field("overhead", "overhead", _share, Kind.PERCENT),
    named("verdict", "said.verdict.value"),
    named("decided_by", "said.number.value", "decided by"),
)


def _made_of(run: RunData) -> str:
    kernels = ", ".join(f"{kernel.name} ({kernel.release})" for kernel in run.manifest.kernels)
    return f"{kernels}; made {run.manifest.created}"


def _names(left: Only) -> Iterator[str]:
    """Name what only one side has."""
    for factor, names in left.factors.items():
        yield f"{_WORDS.get(factor, f'{factor}s')} {', '.join(names)}"
    for setup, items in (("", left.benchmarks), *left.by_setup.items()):
        lost = [item.id for item in items]
        if len(lost) > _NAMED:
            operations = [item.operation for item in items]
            lost = [f"{name} ({operations.count(name)})" for name in dict.fromkeys(operations)]
        if lost:
            yield f"benchmarks {f'of {setup} ' * bool(setup)}{', '.join(lost)}"


class _Moved(NamedTuple):
    """How one number of some variants' overheads changed: medians over them."""

    name: str
    place: Place
    items: Sequence[OverheadChange]

    @property
    def points(self) -> float:
        """The median change in percentage points, as a fraction."""
        return statistics.median(item.points.value for item in self.items)

    @property
    def difference(self) -> float:
        """The median change of what the setup adds."""
        return statistics.median(item.difference.value for item in self.items)

    def overhead(self, side: int) -> float:
        """Return the median overhead in the first (0) or the second (1) run."""
        return statistics.median(item.overheads[side] for item in self.items)


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
    known = (i for i in changes if not i.benchmark.control and math.isfinite(i.points.value))
    places = grouped((item.place, item) for item in known)
    margin = after.manifest.margin
    found_in = {
        place: _operations(place, items, words, margin, full=detail is Detail.FULL)
        for place, items in places.items()
    }
    fields = _moved_fields(unit, words)
    if detail is Detail.SHORT:
        tables = [_largest(fields, [*found_in.values()])]
    else:
        more = _MEDIANS * (detail is not Detail.FULL)
        tables = [_table(place.label, fields, *each, more) for place, each in found_in.items()]
    unrepeated = f" {numbers.UNREPEATED_MARK}: a count is not known to repeat."
    within = f" {numbers.PLUS_MINUS}: half the {words.level} interval of the change."
    lead = (
        f"What each setup costs over {base}, {words.typical}, in either run; the change in "
        f"percentage points, and in {unit} of what the setup adds. The {words.mean} and whole "
        f"costs where they moved otherwise."
        f"{unrepeated if words.repeats else ''}{within if words.interval else ''}"
    )
    return Section(HEADING, (lead,), tuple(tables), key="overhead-change")


def _operations(
    place: Place, found: Sequence[OverheadChange], words: Words, margin: float, *, full: bool
) -> tuple[list[_Moved], list[str]]:
    """Return what moved, each variant where that is wanted, and the operations that did not."""
    moved: list[_Moved] = []
    still: list[str] = []
    for operation, items in numbers.by_operation(found).items():
        parts = moved_otherwise(items, margin)
        if not parts:
            still.append(operation)
        for name, mine in parts.items():
            named = f", {words.mean if name is Number.MEAN else 'whole cost'}"
            named *= name is not next(iter(parts))
            if full:
                moved += [_Moved(f"{item.benchmark.id}{named}", place, [item]) for item in mine]
            else:
                moved.append(_Moved(f"{operation}{named}", place, mine))
    return moved, still


def _table(
    label: str, fields: Sequence[Field], moved: Sequence[_Moved], still: Sequence[str], more: str
) -> Table:
    said = [f"Unchanged: {', '.join(still)}."] if still else []
    said += [more] if moved and more else []
    return tabled("overhead_change", label, fields, moved, more=tuple(said))


def _largest(fields: Sequence[Field], found: Sequence[tuple[list[_Moved], list[str]]]) -> Table:
    """Show the largest changes of all setups, and say how many are left out."""
    moved = [item for items, _ in found for item in items]
    moved.sort(key=lambda item: -abs(item.points))
    left = left_out(len(moved) - _ROWS, sum(len(names) for _, names in found))
    more = (f"Not shown: {left}: --all, or --format html.",) if left else ()
    setup = named("setup", "place.setup")
    return tabled("overhead_change", "", (fields[0], setup, *fields[1:]), moved[:_ROWS], more=more)


def _moved_fields(unit: str, words: Words) -> tuple[Field, ...]:
    return (
        named("operation", "name"),
        Field("before_overhead", "old", lambda item: item.overhead(0), Kind.PERCENT),
        Field("after_overhead", "new", lambda item: item.overhead(1), Kind.PERCENT),
        Field("change_points", "points", lambda item: _points(item, words), Kind.CHANGE),
        Field("change", unit, "difference", Kind.CHANGE),
    )


def moved_otherwise(
    items: Sequence[OverheadChange], margin: float
) -> Mapping[Number, Sequence[OverheadChange]]:
    """Return the changes of an operation by number: the first, and others that moved otherwise.

    They did where they are certain, and the amounts differ by over the margin of the call. Nothing
    is returned where no number moved.
    """
    first, *others = grouped((item.number, item) for item in items).items()
    middle = statistics.median(item.difference.value for item in first[1])
    allowed = margin * statistics.median(item.before.in_line.baseline_value for item in items)
    apart = {
        number: [item for item in found if item.points.low > 0 or item.points.high < 0]
        for number, found in others
        if abs(statistics.median(item.difference.value for item in found) - middle) > allowed
    }
    apart = {number: found for number, found in apart.items() if found}
    moved = any(item.difference.value or item.points.value for item in first[1])
    return {first[0]: first[1], **apart} if moved or apart else {}


def _points(item: _Moved, words: Words) -> Shown:
    """Write the change in percentage points, with how well it is known."""
    same = not words.repeats or all(one.repeats for one in item.items)
    mark = "" if same else numbers.UNREPEATED_MARK
    text = percent(item.points)[: -len(" %")]
    if words.interval:
        half = statistics.median((one.points.high - one.points.low) / 2 for one in item.items)
        text += f" {numbers.PLUS_MINUS}{half * 100:,.1f}" if math.isfinite(half) else ""
    return Shown(item.points, f"{text}{mark}")


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
                "benchmarks_of": {
                    setup: [item.id for item in items] for setup, items in left.by_setup.items()
                },
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
            "overhead_change": item.points.value,
            "overhead_change_low": item.points.low,
            "overhead_change_high": item.points.high,
            "difference_change": item.difference.value,
            "difference_change_low": item.difference.low,
            "difference_change_high": item.difference.high,
            "repeats": item.repeats,
        }
        for item in changes
    ]
    return {**sides, "overhead_changes": moved}
