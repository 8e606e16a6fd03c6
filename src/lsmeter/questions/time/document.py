# SPDX-License-Identifier: GPL-2.0-or-later
"""Predicted times of an exact run, apart from all that was measured; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from lsmeter.core.groups import grouped
from lsmeter.core.model import Place
from lsmeter.core.model.conclusion import Comparison
from lsmeter.measure.tasks.events import EVENTS
from lsmeter.questions.cells.rows import BASELINE, PLACE
from lsmeter.questions.time.calibrated import error_words, overhead_words, why_no_overheads
from lsmeter.questions.time.calibration import LEVEL
from lsmeter.questions.time.figures import Predicted, PredictedChange, Told
from lsmeter.tables.fields import Each, Field, Row, named, tabled
from lsmeter.tables.model import Detail, Item, Kind, Raw, Section, Shown, Value
from lsmeter.tables.values import change, count

HEADING = "Predicted times"
NO_EVENTS = "not predicted: events were not counted; lsmeter run --events counts them"
NO_CALIBRATION = "not predicted: this machine is not calibrated; lsmeter calibrate does it"
OUTSIDE = "!"
_NAMED = 4  # benchmarks in a sentence
_INTERVAL = f"low and high hold {LEVEL:.0%} of the benchmarks that were left out of the calibration"
_TITLES = {**EVENTS, "plain_insns": EVENTS["insns"]}


def fact(instrument: str, told: Told | None, *, counted: bool) -> str:
    """Say by what times are predicted, or why they are not; "" where they were measured."""
    if instrument != "exact":
        return ""
    if told is None:
        return NO_CALIBRATION if counted else NO_EVENTS
    return f"predicted by calibration {told.calibration.name}"


def sections(
    told: Told | None, comparisons: Sequence[Comparison], baseline: str, detail: Detail
) -> Iterator[Section]:
    """Yield the predicted times of each setup; where there is little room, one row an operation."""
    if told is None:
        return
    changes = {(item.place, item.benchmark.id): item for item in told.changes}
    places = dict.fromkeys(item.place for item in told.costs)
    tested = [place for place in places if place.setup != baseline]
    shown = list(places) if detail is not Detail.SHORT or not tested else tested
    for number, place in enumerate(shown, 1):
        found = [item for item in told.costs if item.place == place]
        rows = _picked(found, detail)
        left = len(found) - len(rows)
        more = (f"{left:,} more benchmarks: --all, or --format csv.",) if left else ()
        tested_changes = changes if place.setup != baseline else {}
        fields = _fields(comparisons, place, tested_changes)
        yield Section(
            f"{HEADING}: {place.label}",
            tuple(_lead(told)) if number == 1 else (),
            (tabled("predicted", "", fields, rows, more=more),),
            key="predicted" if number == 1 else f"predicted-{number}",
            items=tuple(Item(text) for text in _outside(found)),
        )


def _picked(found: list[Predicted], detail: Detail) -> list[Predicted]:
    if detail is not Detail.SHORT:
        return found
    return [items[0] for items in grouped((i.benchmark.operation, i) for i in found).values()]


def _lead(told: Told) -> Iterator[str]:
    item = told.calibration
    host = f"{item.host.cpu}, Linux {item.host.kernel}"
    yield (
        f"Not measured: predicted from the events of each call by calibration {item.name} ({host}; "
        f"events of {item.counted.kernel}). Leave-one-out error: {error_words(item)}; "
        f"{_INTERVAL}."
    )
    yield why_no_overheads(item) or f"Overheads: off by {overhead_words(item)}, as measured here."
    if not told.same_plugin:
        yield (
            "The calibration's events were counted by another version of the plugin, perhaps in "
            "another way: calibrate again, or measure again."
        )
    if told.unlike:
        yield (
            "The calibration's events were counted under other conditions: lsmeter run "
            + " ".join(f"--condition {item}" for item in told.unlike)
        )


def _fields(
    comparisons: Sequence[Comparison],
    place: Place,
    changes: Mapping[tuple[Place, str], PredictedChange],
) -> tuple[Field, ...]:
    mine = (item for item in comparisons if item.place == place)
    insns = {item.benchmark.id: item.in_line.overhead for item in mine}

    def ns(item: Predicted) -> Value:
        found = changes.get((place, item.benchmark.id))
        if found is None:
            return None
        return Shown(round(found.difference_ns, 2), change(round(found.difference_ns)))

    def overhead(item: Predicted) -> Value:
        found = changes.get((place, item.benchmark.id))
        return None if found is None else found.overhead

    tested = (
        Field("predicted_difference_ns", "more", ns, Kind.CHANGE),
        Field("predicted_overhead", "overhead", overhead, Kind.PERCENT),
        Field("overhead", "in instructions", lambda i: insns.get(i.benchmark.id), Kind.PERCENT),
    )
    return _PREDICTED + (tested if changes else ())


def _ns(value: float) -> Shown:
    return Shown(round(value, 2), count(round(value)))


def _name(item: Predicted) -> Shown:
    return Shown(item.benchmark.id, item.benchmark.id + OUTSIDE * bool(item.prediction.outside))


_PREDICTED = (
    named("benchmark", _name),
    Field("predicted_ns", "predicted ns", lambda item: _ns(item.prediction.ns)),
    Field("predicted_low_ns", "low", lambda item: _ns(item.prediction.low_ns)),
    Field("predicted_high_ns", "high", lambda item: _ns(item.prediction.high_ns)),
)


def _outside(found: Iterable[Predicted]) -> Iterator[str]:
    """Say of which benchmarks the prediction goes further than the calibration has seen."""
    outside = ((item.prediction.outside, item.benchmark.id) for item in found)
    for events, names in grouped(pair for pair in outside if pair[0]).items():
        words = ", ".join(_TITLES.get(name, name) for name in events)
        yield f"{OUTSIDE} outside of what calibration covered ({words}): {_few(names)}"


_AT = (*PLACE, named("id", "benchmark.id"))
COST = Row(
    (
        *_AT,
        Field("predicted_ns", value="prediction.ns"),
        Field("low_ns", value="prediction.low_ns", flat="predicted_low_ns"),
        Field("high_ns", value="prediction.high_ns", flat="predicted_high_ns"),
        Field(
            "outside",
            value="prediction.outside",
            of=Each(str),
            flat="predicted_outside",
            text=" ".join,
        ),
    )
)
CHANGE = Row(
    (
        *_AT,
        *BASELINE,
        Field("predicted_difference_ns", value="difference_ns"),
        Field("predicted_overhead", value="overhead"),
    )
)
_CALIBRATION = Row(
    (
        *(named(key) for key in ("name", "created")),
        *(named(key, f"host.{key}") for key in ("cpu", "microcode")),
        named("host_kernel", "host.kernel"),
        named("counted_kernel", "counted.kernel"),
        Field("median_error", value=lambda item: item.error[0]),
        Field("error_90", value=lambda item: item.error[1]),
        Field("overhead_error", value=lambda i: i.overheads.median if i.overheads else None),
        Field("overhead_error_90", value=lambda i: i.overheads.most if i.overheads else None),
        Field("level", value=lambda _: LEVEL),
    )
)
TOLD = Row(
    (
        Field("calibration", of=_CALIBRATION),
        Field("costs", of=Each(COST)),
        Field("changes", of=Each(CHANGE)),
    )
)


def by_row(told: Told | None) -> dict[tuple[Place, str], dict[str, Raw]]:
    """Return what tables for programs have of each cost, by place and benchmark."""
    if told is None:
        return {}
    by = {"calibration": told.calibration.name}
    found = {
        (item.place, item.benchmark.id): {**COST.flat(COST.entry(item)), **by}
        for item in told.costs
    }
    for part in told.changes:
        found[part.place, part.benchmark.id] |= CHANGE.flat(CHANGE.entry(part))
    return found


def _few(names: list[str]) -> str:
    rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{rest}"
