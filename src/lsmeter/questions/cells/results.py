# SPDX-License-Identifier: GPL-2.0-or-later
"""What was measured as results for CI: each number, and each thing that has none; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from lsmeter.core.model import Benchmark, Kernel, Place, Problem
from lsmeter.core.model.conclusion import Comparison, Estimate, Number
from lsmeter.tables.results import Quantity, Result, Results, Status
from lsmeter.tables.values import change

Bounds = tuple[float, float | None, float | None]  # a value, and between what it lies


def measured_results(
    estimates: Iterable[Estimate],
    comparisons: Iterable[Comparison],
    problems: Iterable[Problem],
    made: tuple[Sequence[Kernel], str, str],
    means: Iterable[tuple[Place, Benchmark, Bounds]] = (),
) -> Results:
    """Return a result for each estimate, for each comparison without one, and for each problem.

    made: the kernels, the date, and the instrument's unit. means, with their bounds, are of what
    has no estimates.
    """
    kernels, created, unit = made
    said = {(item.place, item.benchmark.id): item for item in comparisons}
    items = []
    for item in estimates:
        compared = said.pop((item.place, item.benchmark.id), None)
        items.append(_result(item.place, item.benchmark, _numbers(item), unit, compared))
    for place, benchmark, bounds in means:
        compared = said.pop((place, benchmark.id), None)
        items.append(_result(place, benchmark, [(Number.MEAN, bounds)], unit, compared))
    for (place, _), compared in said.items():
        number = Number.TYPICAL if compared.has_typical else compared.decided_by
        only = {number: (compared.decided.value, None, None)}
        items.append(_result(place, compared.benchmark, only.items(), unit, compared))
    for each in problems:
        where = Place(each.kernel, each.setup, each.suite, "", "")
        why = f"{each.title}: {each.detail}" if each.detail else each.title
        items.append(Result(Status.MISSING, where, each.benchmark, why, log=each.log_tail))
    return Results(tuple(items), tuple(kernels), created)


def _numbers(item: Estimate) -> Iterator[tuple[Number, Bounds]]:
    yield Number.TYPICAL, (item.centre, item.low, item.high)
    for number, found in ((Number.MEAN, item.mean), (Number.WHOLE, item.whole)):
        if found is not None:
            yield number, (found.value, found.low, found.high)


def _result(
    place: Place,
    benchmark: Benchmark,
    numbers: Iterable[tuple[Number, Bounds]],
    unit: str,
    compared: Comparison | None,
) -> Result:
    unit = benchmark.metric.unit or unit
    quantities = tuple(
        Quantity(number.value, value, unit, *(_finite(bound) for bound in bounds))
        for number, (value, *bounds) in numbers
        if math.isfinite(value)
    )
    said = _said(compared, unit) if compared else "not compared"
    status = Status.MEASURED if quantities else Status.MISSING
    return Result(
        status, place, benchmark.id, said if quantities else f"no number; {said}", quantities
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _said(item: Comparison, unit: str) -> str:
    decided = item.decided
    amount = change(round(decided.difference, 2)) if math.isfinite(decided.difference) else "?"
    share = f" ({decided.overhead:+.2%})" if math.isfinite(decided.overhead) else ""
    return f"{item.verdict}: {item.decided_by} {amount} {unit}{share} against {item.baseline.label}"
