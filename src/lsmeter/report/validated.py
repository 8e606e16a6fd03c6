# SPDX-License-Identifier: GPL-2.0-or-later
"""Predicted and measured costs of setups, side by side; pure."""

from __future__ import annotations

from collections.abc import Sequence

from lsmeter.analysis.validation import CHANGED, Summary, Validated, summaries
from lsmeter.prediction.calibration import Calibration
from lsmeter.report.calibrated import error_words
from lsmeter.tables.model import Column, Detail, Document, Kind, Section, Shown, Table, columns
from lsmeter.tables.values import MISSING, change, percent

NAME = "lsmeter-validation"
VERSION = 1
_POINTS = "points"


def document(found: Sequence[Validated], calibration: Calibration, detail: Detail) -> Document:
    """Show what each setup adds to each benchmark; little room has those that it changes most."""
    host, counted = calibration.host, calibration.counted
    facts = (
        ("Measured", f"{host.cpu}, Linux {host.kernel}, {calibration.blocks} blocks"),
        ("Predicted", f"from events on {counted.kernel} (Linux {counted.release})"),
        ("Weights", f"{_WEIGHTS}: {error_words(calibration)}, each operation left out"),
    )
    lead = (_ERROR,)
    sums = summaries(found)
    sections = [Section("Errors", (_CHANGED,), (_sums(sums),), key="errors")]
    for number, setup in enumerate(dict.fromkeys(item.setup for item in found)):
        mine = [item for item in found if item.setup == setup]
        shown = mine if detail is not Detail.SHORT else _largest(mine)
        left = len(mine) - len(shown)
        more = (f"{left} more benchmarks: --all, or --format csv.",) if left else ()
        table = _table(f"costs-{number}" if number else "costs", shown, more)
        sections.append(Section(setup, lead if not number else (), (table,), key=f"setup-{number}"))
    data = {"errors": [*sums], "costs": [_entry(item) for item in found]}
    return Document(NAME, VERSION, "Predicted and measured", facts, (), tuple(sections), data=data)


_WEIGHTS = "fitted to the same operations without any setup; their error"
_ERROR = (
    "Error: predicted overhead \N{MINUS SIGN} measured overhead, in percentage points; beside both "
    "stands the overhead in instructions."
)
_CHANGED = (
    f"Of benchmarks that a setup changes by more than {CHANGED:.0%}, measured or predicted; drift "
    "is what was measured of the others."
)
_SHORT = 12


def _largest(found: Sequence[Validated]) -> list[Validated]:
    order = sorted(found, key=lambda item: -abs(item.measured.overhead))
    kept = {id(item) for item in order[:_SHORT]}
    return [item for item in found if id(item) in kept]


def _sums(found: Sequence[Summary]) -> Table:
    heads = (
        *columns(Kind.NAME, "setup"),
        Column("changed", "changed"),
        Column("error_median", "median error"),
        Column("error_90", "90th percentile"),
        Column("insns_error_median", "by instructions"),
        Column("unchanged", "unchanged"),
        Column("drift_median", "drift"),
    )
    rows = tuple(
        (
            item.setup or "all",
            item.changed,
            *_pair(item.error),
            _pair(item.insns_error)[0],
            item.unchanged,
            _pair(item.drift)[0],
        )
        for item in found
    )
    return Table("errors", "", heads, rows)


def _pair(found: tuple[float, float] | None) -> tuple[Shown, Shown]:
    if found is None:
        return Shown(None, MISSING), Shown(None, MISSING)
    first, second = (Shown(part, f"{100 * part:.1f} {_POINTS}") for part in found)
    return first, second


def _table(key: str, found: Sequence[Validated], more: tuple[str, ...]) -> Table:
    heads = (
        *columns(Kind.NAME, "benchmark"),
        Column("insns_overhead", "instructions", Kind.PERCENT),
        Column("predicted_ns", "predicted ns", Kind.CHANGE),
        Column("predicted_overhead", "%", Kind.PERCENT, joined=True),
        Column("measured_ns", "measured ns", Kind.CHANGE),
        Column("measured_overhead", "%", Kind.PERCENT, joined=True),
        Column("interval", "interval", Kind.NAME, joined=True),
        Column("error", "error"),
    )
    rows = tuple(
        (
            item.benchmark.id + ("!" if item.outside else ""),
            item.insns_overhead,
            _ns(item.predicted_ns),
            item.predicted_overhead,
            _ns(item.measured.difference),
            item.measured.overhead,
            f"{percent(item.measured.overhead_low)} to {percent(item.measured.overhead_high)}",
            Shown(item.error, f"{100 * item.error:+.1f}"),
        )
        for item in found
    )
    note = ("! outside of what was covered without a setup",)
    return Table(key, "", heads, rows, more=(*more, *(note if _any_outside(found) else ())))


def _any_outside(found: Sequence[Validated]) -> bool:
    return any(item.outside for item in found)


def _ns(value: float) -> Shown:
    return Shown(round(value, 2), change(round(value)))


def _entry(item: Validated) -> dict[str, object]:
    return {
        "setup": item.setup,
        "id": item.benchmark.id,
        "insns_overhead": item.insns_overhead,
        "predicted_difference_ns": item.predicted_ns,
        "predicted_overhead": item.predicted_overhead,
        "measured_difference_ns": item.measured.difference,
        "measured_overhead": item.measured.overhead,
        "measured_overhead_low": item.measured.overhead_low,
        "measured_overhead_high": item.measured.overhead_high,
        "error": item.error,
        "outside": list(item.outside),
    }
