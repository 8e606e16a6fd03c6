# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the views of each benchmark, hook by hook, and explains what differs; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsmeter.hooks.agreement.model import (
    CHECKS,
    BenchmarkAgreement,
    Bound,
    Finding,
    Outcome,
    Place,
    PlaceAgreement,
    Readings,
    View,
)
from lsmeter.hooks.agreement.reasons import CHECKS_NAME, Case, reasons_for

_MEASURED = (View.COUNTING, View.ATTRIBUTION)


def compare(place: Place, readings: Iterable[Readings]) -> PlaceAgreement:
    """Compare every benchmark of one place."""
    return PlaceAgreement(place, tuple(_benchmark(place, item) for item in readings))


def _benchmark(place: Place, item: Readings) -> BenchmarkAgreement:
    by_hook = tuple(_by_hook(place, item))
    slope = tuple(_against_slope(place, item))
    measured = [finding for finding in by_hook if finding.first in _MEASURED]
    checks = [finding for finding in measured if finding.hook in CHECKS]
    of_checks = [
        item.checks(view) is not None for view in (View.COUNTING, View.ATTRIBUTION, View.SLOPE)
    ]
    of_total = [
        item.total(view) is not None for view in (View.ORDINARY, View.COUNTING, View.ATTRIBUTION)
    ]
    return BenchmarkAgreement(
        readings=item,
        checks=_outcome(of_checks, (*checks, *slope)),
        total=_outcome(of_total, by_hook),
        findings=(*by_hook, *slope),
    )


def _outcome(known: list[bool], findings: Iterable[Finding]) -> Outcome:
    if sum(known) < 2:
        return Outcome.NOT_MEASURED
    found = {finding.outcome for finding in findings}
    if Outcome.OPEN in found:
        return Outcome.OPEN
    return Outcome.EXPLAINED if found else Outcome.AGREE


def _by_hook(place: Place, item: Readings) -> Iterator[Finding]:
    for hook in item.hooks():
        ordinary = item.runs(View.ORDINARY, hook)
        measured = [
            (view, runs) for view in _MEASURED if (runs := item.runs(view, hook)) is not None
        ]
        if len(measured) == 2 and measured[0][1] != measured[1][1]:
            yield _finding(place, item, hook, (*measured[0], *measured[1]))
        elif len(measured) == 2:
            # They agree: the source is held against both at once.
            measured = measured[1:]
        for view, runs in measured:
            if ordinary is not None and runs != ordinary:
                yield _finding(place, item, hook, (View.ORDINARY, ordinary, view, runs))


def _against_slope(place: Place, item: Readings) -> Iterator[Finding]:
    slope = item.checks(View.SLOPE)
    if slope is None:
        return
    for view in _MEASURED:
        runs = item.checks(view)
        if runs is not None and runs != slope:
            yield _finding(place, item, CHECKS_NAME, (view, runs, View.SLOPE, slope))


def _finding(
    place: Place, item: Readings, hook: str, numbers: tuple[View, float, View, float]
) -> Finding:
    operation, *params = item.benchmark.split()
    counted = (item.counted or {}).items()
    concerned = CHECKS if hook == CHECKS_NAME else (hook,)
    case = Case(
        operation,
        tuple(params),
        place.setup,
        hook,
        *numbers,
        bound=None if item.source is None else item.source.get(hook, Bound(0, 0)),
        steady=all(runs.steady for name, runs in counted if name in concerned),
        whole_slope=item.slope is None or item.slope.calls is not None,
    )
    return Finding(hook, *numbers, reasons=reasons_for(case))
