# SPDX-License-Identifier: GPL-2.0-or-later
"""Predicted and measured costs of setups, side by side; pure."""

from __future__ import annotations

from collections.abc import Sequence

from lsmeter.questions.time.calibrated import error_words
from lsmeter.questions.time.calibration import Calibration
from lsmeter.questions.time.validation import CHANGED, Summary, Validated, summaries
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Detail, Document, Kind, Section, Shown, Table
from lsmeter.tables.values import MISSING, change, percent

NAME = "lsmeter-validation"
VERSION = 1


def document(found: Sequence[Validated], calibration: Calibration, detail: Detail) -> Document:
    """Show what each setup adds to each benchmark; little room has those that it changes most."""
    host, counted = calibration.host, calibration.counted
    facts = (
        ("Measured", f"{host.cpu}, Linux {host.kernel}, {calibration.blocks} blocks"),
        ("Predicted", f"from events on {counted.kernel} (Linux {counted.release})"),
        ("Weights", f"{_WEIGHTS}; leave-one-out error {error_words(calibration)}"),
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


_WEIGHTS = "fitted to the same operations without any setup"
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
    def points(found: tuple[float, float] | None, at: int = 0) -> Shown:
        part = None if found is None else found[at]
        return Shown(part, MISSING if part is None else f"{100 * part:.1f} points")

    fields = (
        named("setup", lambda item: item.setup or "all"),
        Field("changed", "changed"),
        Field("error_median", "median error", lambda item: points(item.error)),
        Field("error_90", "90th percentile", lambda item: points(item.error, 1)),
        Field("insns_error_median", "by instructions", lambda item: points(item.insns_error)),
        Field("unchanged", "unchanged"),
        Field("drift_median", "drift", lambda item: points(item.drift)),
    )
    return tabled("errors", "", fields, found)


def _table(key: str, found: Sequence[Validated], more: tuple[str, ...]) -> Table:
    if any(item.outside for item in found):
        more = (*more, "! outside of what was covered without a setup")
    return tabled(key, "", _COSTS, found, more=more)


def _ns(value: float) -> Shown:
    return Shown(round(value, 2), change(round(value)))


def _interval(item: Validated) -> str:
    return f"{percent(item.measured.overhead_low)} to {percent(item.measured.overhead_high)}"


_COSTS = (
    named("benchmark", lambda item: item.benchmark.id + ("!" if item.outside else "")),
    Field("insns_overhead", "instructions", kind=Kind.PERCENT),
    Field("predicted_ns", "predicted ns", lambda item: _ns(item.predicted_ns), Kind.CHANGE),
    Field("predicted_overhead", "%", kind=Kind.PERCENT, joined=True),
    Field("measured_ns", "measured ns", lambda item: _ns(item.measured.difference), Kind.CHANGE),
    Field("measured_overhead", "%", "measured.overhead", Kind.PERCENT, joined=True),
    named("interval", _interval)._replace(joined=True),
    Field("error", "error", lambda item: Shown(item.error, f"{100 * item.error:+.1f}")),
)


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
