# SPDX-License-Identifier: GPL-2.0-or-later
"""Predicted times of an exact run, apart from all that was measured; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lsmeter.analysis.predictions import Predicted, PredictedChange, Told
from lsmeter.model import Place
from lsmeter.prediction.calibration import LEVEL
from lsmeter.report.calibrated import error_words
from lsmeter.report.model import Report
from lsmeter.tables.model import Column, Detail, Item, Kind, Raw, Section, Shown, Table, Value
from lsmeter.tables.values import change, count
from lsmeter.tasks.events import EVENTS

HEADING = "Predicted times"
NO_EVENTS = "not predicted: events were not counted; lsmeter run --events counts them"
NO_CALIBRATION = "not predicted: this machine is not calibrated; lsmeter calibrate does it"
OUTSIDE = "!"
_NAMED = 4  # benchmarks in a sentence
HEADS = (
    *("predicted_ns", "predicted_low_ns", "predicted_high_ns", "predicted_difference_ns"),
    *("predicted_overhead", "predicted_outside", "calibration"),
)
_INTERVAL = f"low and high hold {LEVEL:.0%} of the benchmarks that were left out of the calibration"
_TITLES = {**EVENTS, "plain_insns": EVENTS["insns"]}


def fact(report: Report) -> str:
    """Say by what times are predicted, or why they are not; "" where they were measured."""
    if report.instrument != "exact":
        return ""
    if report.told is None:
        return NO_CALIBRATION if report.events else NO_EVENTS
    return f"predicted by calibration {report.told.calibration.name}"


def sections(report: Report, detail: Detail) -> Iterator[Section]:
    """Yield the predicted times of each setup; where there is little room, one row an operation."""
    told = report.told
    if told is None:
        return
    changes = {(item.place, item.benchmark.id): item for item in told.changes}
    places = dict.fromkeys(item.place for item in told.costs)
    tested = [place for place in places if place.setup != report.baseline_setup]
    shown = list(places) if detail is not Detail.SHORT or not tested else tested
    for number, place in enumerate(shown, 1):
        found = [item for item in told.costs if item.place == place]
        rows = _picked(found, detail)
        left = len(found) - len(rows)
        more = (f"{left:,} more benchmarks: --all, or --format csv.",) if left else ()
        table = _table(report, place, rows, changes)
        yield Section(
            f"{HEADING}: {place.label}",
            tuple(_lead(told)) if number == 1 else (),
            (Table("predicted", "", *table, more=more),),
            key="predicted" if number == 1 else f"predicted-{number}",
            items=tuple(Item(text) for text in _outside(found)),
        )


def _picked(found: list[Predicted], detail: Detail) -> list[Predicted]:
    if detail is not Detail.SHORT:
        return found
    first: dict[str, Predicted] = {}
    for item in found:
        first.setdefault(item.benchmark.operation, item)
    return list(first.values())


def _lead(told: Told) -> Iterator[str]:
    item = told.calibration
    host = f"{item.host.cpu}, Linux {item.host.kernel}"
    yield (
        f"Not measured: predicted from the events of each call by calibration {item.name} ({host}; "
        f"events of {item.counted.kernel}). Error, each operation left out: {error_words(item)}; "
        f"{_INTERVAL}."
    )
    if not told.same_plugin:
        yield (
            "The calibration's events were counted by another version of the plugin, perhaps in "
            "another way: calibrate again, or measure again."
        )
    if item.difference_error is not None:
        median, most = (f"{100 * part:.0f} %" for part in item.difference_error)
        yield f"A difference is off by {median} of itself (median), {most} (90th percentile)."


def _table(
    report: Report,
    place: Place,
    found: Iterable[Predicted],
    changes: Mapping[tuple[Place, str], PredictedChange],
) -> tuple[tuple[Column, ...], tuple[tuple[Value, ...], ...]]:
    tested = place.setup != report.baseline_setup
    heads = [
        Column("benchmark", "benchmark", Kind.NAME),
        Column("predicted_ns", "predicted ns"),
        Column("predicted_low_ns", "low"),
        Column("predicted_high_ns", "high"),
    ]
    if tested:
        heads += [
            Column("predicted_difference_ns", "more", Kind.CHANGE),
            Column("predicted_overhead", "overhead", Kind.PERCENT),
            Column("overhead", "in instructions", Kind.PERCENT),
        ]
    insns = {item.benchmark.id: item.overhead for item in report.comparisons if item.place == place}
    rows = []
    for item in found:
        told, name = item.prediction, item.benchmark.id
        mark = OUTSIDE if told.outside else ""
        row: list[Value] = [Shown(name, f"{name}{mark}")]
        row += [_ns(value) for value in (told.ns, told.low_ns, told.high_ns)]
        if tested:
            changed = changes.get((place, name))
            row += [
                None if changed is None else _ns(changed.difference_ns, signed=True),
                None if changed is None else changed.overhead,
                insns.get(name),
            ]
        rows.append(tuple(row))
    return tuple(heads), tuple(rows)


def _ns(value: float, *, signed: bool = False) -> Shown:
    whole = round(value)
    return Shown(round(value, 2), change(whole) if signed else count(whole))


def _outside(found: Iterable[Predicted]) -> Iterator[str]:
    """Say of which benchmarks the prediction goes further than the calibration has seen."""
    by_event: dict[tuple[str, ...], list[str]] = {}
    for item in found:
        if item.prediction.outside:
            by_event.setdefault(item.prediction.outside, []).append(item.benchmark.id)
    for events, names in by_event.items():
        words = ", ".join(_TITLES.get(name, name) for name in events)
        yield f"{OUTSIDE} outside of what calibration covered ({words}): {_few(names)}"


def by_row(report: Report) -> dict[tuple[Place, str], dict[str, Raw]]:
    """Return what tables for programs have of each cost, by place and benchmark."""
    told = report.told
    if told is None:
        return {}
    found: dict[tuple[Place, str], dict[str, Raw]] = {
        (item.place, item.benchmark.id): {
            "predicted_ns": item.prediction.ns,
            "predicted_low_ns": item.prediction.low_ns,
            "predicted_high_ns": item.prediction.high_ns,
            "predicted_outside": " ".join(item.prediction.outside),
            "calibration": told.calibration.name,
        }
        for item in told.costs
    }
    for part in told.changes:
        found[part.place, part.benchmark.id] |= {
            "predicted_difference_ns": part.difference_ns,
            "predicted_overhead": part.overhead,
        }
    return found


def entries(report: Report) -> dict[str, Any]:
    """Return the predictions for programs; nothing where there are none."""
    told = report.told
    if told is None:
        return {}
    item = told.calibration
    median, most = item.error
    return {
        "calibration": {
            "name": item.name,
            "created": item.created,
            "cpu": item.host.cpu,
            "microcode": item.host.microcode,
            "host_kernel": item.host.kernel,
            "counted_kernel": item.counted.kernel,
            "median_error": median,
            "error_90": most,
            "level": LEVEL,
        },
        "costs": [
            {
                **vars(cost.place),
                "id": cost.benchmark.id,
                "predicted_ns": cost.prediction.ns,
                "low_ns": cost.prediction.low_ns,
                "high_ns": cost.prediction.high_ns,
                "outside": list(cost.prediction.outside),
            }
            for cost in told.costs
        ],
        "changes": [
            {
                **vars(part.place),
                "baseline_kernel": part.baseline.kernel,
                "baseline_setup": part.baseline.setup,
                "id": part.benchmark.id,
                "predicted_difference_ns": part.difference_ns,
                "predicted_overhead": part.overhead,
            }
            for part in told.changes
        ],
    }


def _few(names: list[str]) -> str:
    rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{rest}"
