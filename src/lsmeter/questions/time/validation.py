# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes calibrations, and shows predicted beside measured costs of setups; pure but for the clock.

Weights know of no setup: they are fitted to the operations without any.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from lsmeter import __version__
from lsmeter.core.errors import UsageError
from lsmeter.core.groups import grouped
from lsmeter.core.model import Benchmark
from lsmeter.core.model.conclusion import Change
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks.attribute import ATTRIBUTION
from lsmeter.questions.cells.cells import within_run
from lsmeter.questions.time.calibration import (
    Calibration,
    Counted,
    Overheads,
    calibrate,
    spread,
    this_host,
)
from lsmeter.questions.time.document import error_words, points_words
from lsmeter.questions.time.figures import blocks_of, host_of, match_observations, predict
from lsmeter.questions.time.fit import GROUND
from lsmeter.questions.time.likeness import ALIKE
from lsmeter.tables.fields import Field, Row, named, tabled
from lsmeter.tables.model import Detail, Document, Kind, Section, Shown, Table
from lsmeter.tables.values import MISSING, change, many, percent

NAME = "lsmeter-validation"
VERSION = 1
CHANGED = 0.01  # by which share a benchmark must differ, measured or predicted, to be changed
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


@dataclass(frozen=True)
class Validated:
    """What a setup adds to one benchmark: in instructions, predicted, and measured."""

    setup: str
    benchmark: Benchmark
    insns_overhead: float
    predicted_ns: float  # the difference
    predicted_overhead: float
    measured: Change
    outside: tuple[str, ...]

    @property
    def error(self) -> float:
        """Predicted overhead minus measured one: a fraction, so 0.01 is a percentage point."""
        return self.predicted_overhead - self.measured.overhead

    @property
    def insns_error(self) -> float:
        """The same where the share of instructions is taken for that of time."""
        return self.insns_overhead - self.measured.overhead

    @property
    def changed(self) -> bool:
        """Whether the setup changes it at all, by what is measured or by what is predicted."""
        return max(abs(self.predicted_overhead), abs(self.measured.overhead)) > CHANGED


@dataclass(frozen=True)
class Summary:
    """Errors of the benchmarks that setups change, and of the others; as fractions."""

    setup: str  # "" for all
    changed: int
    error: tuple[float, float] | None  # median and 90th percentile
    insns_error: tuple[float, float] | None
    unchanged: int
    drift: tuple[float, float] | None  # measured overhead of what is not changed


def fitted(timed: RunData, counted: RunData) -> Calibration:
    """Fit what one run timed to what the other counted; try it on the setups that both have."""
    of = host_of(timed) or this_host()
    if len(counted.manifest.kernels) != 1:
        names = ", ".join(kernel.name for kernel in counted.manifest.kernels)
        raise UsageError(
            f"{counted.title}: events of several kernels ({names}): which are those of the times?",
            hint="count them on one kernel: lsmeter run --setup capability --events --kernel NAME",
        )
    (kernel,), settings = counted.manifest.kernels, counted.manifest.conditions
    conditions = {name: str(getattr(settings, name)).lower() for name in ALIKE}
    plugin = dict(counted.manifest.tools).get(ATTRIBUTION, "")
    now = datetime.now(UTC)
    make = partial(
        Calibration,
        name=f"{now:%Y-%m-%dT%H-%M-%S}-{of.kernel[:40].replace('/', '_')}",
        created=now.isoformat(timespec="seconds"),
        lsmeter_version=__version__,
        host=of,
        counted=Counted(kernel.name, kernel.release, conditions, plugin),
        blocks=blocks_of(timed),
    )
    found = calibrate(match_observations(timed, counted), make)
    return replace(found, overheads=furthest(summaries(validated(timed, counted, found))))


def furthest(sums: Iterable[Summary]) -> Overheads | None:
    """Return the errors of the setup whose median is the largest; None where none is known."""
    found = [
        Overheads((item.setup,), item.changed, *item.error)
        for item in sums
        if item.setup and item.error is not None
    ]
    return max(found, key=lambda item: item.median, default=None)


def validated(timed: RunData, counted: RunData, calibration: Calibration) -> tuple[Validated, ...]:
    """Line up all that both runs have of the same setups and benchmarks, controls left out."""
    told = predict(counted, calibration, always=True)
    if told is None:
        return ()
    outside = {(item.place, item.benchmark.id): item.prediction.outside for item in told.costs}
    insns = {(item.place, item.benchmark.id): item.in_line.overhead for item in within_run(counted)}
    measured = {
        (item.place.setup, *item.place.beside[1:], item.benchmark.id): item.typical
        for item in within_run(timed)
    }
    found = []
    for part in told.changes:
        place, kind = part.place, part.benchmark
        change = measured.get((place.setup, *place.beside[1:], kind.id))
        share = insns.get((place, kind.id))
        if kind.control or kind.suite == GROUND or change is None or share is None:
            continue
        # What is shorter than the clock can tell has no overhead, and no error of one.
        if math.isfinite(change.overhead) and math.isfinite(part.overhead):
            costs = (share, part.difference_ns, part.overhead, change, outside[place, kind.id])
            found.append(Validated(place.setup, kind, *costs))
    return tuple(found)


def summaries(found: Iterable[Validated]) -> tuple[Summary, ...]:
    """Sum up each setup, then all."""
    items = list(found)
    parts = grouped((item.setup, item) for item in items)
    return tuple(_summary(name, part) for name, part in (parts | {"": items}).items() if part)


def _summary(name: str, items: list[Validated]) -> Summary:
    changed = [item for item in items if item.changed]
    rest = [item for item in items if not item.changed]
    return Summary(
        name,
        len(changed),
        spread([item.error for item in changed]) if changed else None,
        spread([item.insns_error for item in changed]) if changed else None,
        len(rest),
        spread([item.measured.overhead for item in rest]) if rest else None,
    )


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
    by_setup = grouped((item.setup, item) for item in found)
    for number, (setup, mine) in enumerate(by_setup.items()):
        shown = mine if detail is not Detail.SHORT else _largest(mine)
        left = len(mine) - len(shown)
        more = (f"{left} more benchmarks: --all, or --format csv.",) if left else ()
        if any(item.outside for item in shown):
            more = (*more, "! outside of what was covered without a setup")
        key = f"costs-{number}" if number else "costs"
        table = tabled(key, "", _COSTS, shown, more=more)
        sections.append(Section(setup, lead if not number else (), (table,), key=f"setup-{number}"))
    data = {"errors": [*sums], "costs": [_ENTRY.entry(item) for item in found]}
    title, answer = "Predicted and measured", tuple(_sentences(sums))
    return Document(NAME, VERSION, title, facts, (), tuple(sections), data=data, answer=answer)


def _sentences(sums: Iterable[Summary]) -> Iterator[str]:
    """Say how far predicted overheads are off, setup by setup."""
    for item in sums:
        text = f"{item.setup or 'all'}: {many(item.changed, 'benchmark')} changed"
        if item.error is not None:
            text += f", predicted overheads off by {points_words(*item.error)}"
        yield f"{text}."


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


_ENTRY = Row(
    (
        *(named("setup"), named("id", "benchmark.id"), Field("insns_overhead")),
        Field("predicted_difference_ns", value="predicted_ns"),
        Field("predicted_overhead"),
        Field("measured_difference_ns", value="measured.difference"),
        *(
            Field(f"measured_{name}", value=f"measured.{name}")
            for name in ("overhead", "overhead_low", "overhead_high")
        ),
        *(Field("error"), Field("outside")),
    )
)
