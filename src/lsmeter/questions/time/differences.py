# SPDX-License-Identifier: GPL-2.0-or-later
"""Predicted times of two runs beside each other, and what they cannot see; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from lsmeter.questions.time.calibration import LEVEL
from lsmeter.questions.time.document import (
    AT,
    CALIBRATION,
    OUTSIDE,
    as_ns,
    other_counts,
    outside_of,
)
from lsmeter.questions.time.figures import PredictedDifference, ToldDifference
from lsmeter.tables.fields import Each, Field, Row, headed, named, tabled
from lsmeter.tables.model import Detail, Document, Item, Kind, Section, Shown, Tone
from lsmeter.tables.values import change, percent

WAITS = "?"
_ROWS = 10  # of a table of two runs, where there is little room
BLIND = (
    "A weight is what an event takes in code as it was calibrated. It cannot see contention, "
    "caches that other work has emptied, "
)
NOT_FOLLOWED = "or instructions that wait for each other."
FOLLOWED = (
    "or values that pass through memory; instructions that wait for each other by registers are "
    "looked for."
)


def _marked(item: PredictedDifference) -> Shown:
    mark = WAITS if item.waits else OUTSIDE * bool(item.difference.outside)
    return Shown(item.benchmark.id, item.benchmark.id + mark)


_DIFFERENCE = (
    named("benchmark", _marked),
    Field("predicted_old_ns", "old ns", lambda item: as_ns(item.old_ns)),
    Field("predicted_new_ns", "new ns", lambda item: as_ns(item.new_ns)),
    Field("predicted_difference_ns", "difference", lambda item: _more(item.difference.ns)),
    Field("predicted_low_ns", "low", lambda item: _more(item.difference.low_ns)),
    Field("predicted_high_ns", "high", lambda item: _more(item.difference.high_ns)),
)


def _more(ns: float) -> Shown:
    found = ns if math.isfinite(ns) else None
    return Shown(found and round(found, 2), change(found and round(found)))


DIFFERENCE = Row(
    (
        *AT,
        *(Field("predicted_old_ns", value="old_ns"), Field("predicted_new_ns", value="new_ns")),
        Field("predicted_difference_ns", value="difference.ns"),
        *(Field("low_ns", value="difference.low_ns"), Field("high_ns", value="difference.high_ns")),
        Field("outside", value="difference.outside", of=Each(str), text=" ".join),
        *(Field("waiting_cycles"), Field("waiting_ns"), Field("waits", kind=Kind.YES)),
    )
)
TOLD_DIFFERENCE = Row(
    (
        Field("calibration", value="second.calibration", of=CALIBRATION),
        Field("differences", of=Each(DIFFERENCE)),
    )
)


def difference_section(told: ToldDifference | None, detail: Detail) -> tuple[Section, ...]:
    """Show the predicted times of two runs, and what they differ by."""
    if told is None:
        return ()
    found = sorted(told.differences, key=lambda item: -abs(item.difference.ns))
    moved = [item for item in found if round(item.difference.ns)]
    rows = (moved[:_ROWS] if detail is Detail.SHORT else moved) or found[:1]
    left = {"smaller": len(moved) - len(rows), "below 1 ns": len(found) - len(moved)}
    said = ", ".join(f"{number} {word}" for word, number in left.items() if number > 0)
    outside = ((item.difference.outside, item.benchmark.id) for item in rows)
    lead = (*difference_words(told), *other_counts(told.second))
    table = tabled("predicted_differences", "", _DIFFERENCE, rows)
    return (
        Section(
            "Predicted change of times",
            (*lead, *([f"Not shown: {said}."] if said else [])),
            (headed(table, (item.place.label for item in rows)),),
            key="predicted-differences",
            items=(
                *(Item(text, tone=Tone.WARNING) for text in waiting_words(found)),
                *(Item(text) for text in outside_of(outside)),
            ),
        ),
    )


def add_differences(document: Document, told: ToldDifference | None, detail: Detail) -> Document:
    """Return a document of two runs with their predicted times, where there are any."""
    data = document.data
    if told is not None and isinstance(data, dict):
        data = {**data, "predicted": TOLD_DIFFERENCE.entry(told)}
    sections = (*document.sections, *difference_section(told, detail))
    return replace(document, sections=sections, data=data)


def difference_words(told: ToldDifference) -> Iterator[str]:
    """Say what predicts, how far it is off, and what it cannot see."""
    item = told.second.calibration
    host = f"{item.host.cpu}, Linux {item.host.kernel}"
    error = item.difference_error
    known = error is not None and item.difference_ratios is not None
    off = "How far it is off is not known: the calibration has too few variants of operations."
    if known and error is not None:
        median, most = (percent(part, sign=False) for part in error)
        off = (
            f"Differences between variants that were left out of the fit: off by {median} in the "
            f"median, {most} in the 90th percentile; low and high hold {LEVEL:.0%} of them."
        )
    yield f"Not measured: predicted from events by calibration {item.name} ({host}). {off}"
    followed = all(item.waiting_cycles is not None for item in told.differences)
    yield BLIND + (FOLLOWED if followed else NOT_FOLLOWED)


def waiting_words(found: Iterable[PredictedDifference]) -> Iterator[str]:
    """Name the predictions that do not hold, since instructions wait for each other."""
    for item in found:
        if item.waits and item.waiting_cycles is not None and item.waiting_ns is not None:
            cycles, ns = (change(round(part)) for part in (item.waiting_cycles, item.waiting_ns))
            yield (
                f"{item.benchmark.id}, {item.place.setup}: the prediction does not hold: "
                f"instructions that wait for each other take {cycles} cycles, about {ns} ns "
                "(flow_cycles by function: hooks diff)."
            )
