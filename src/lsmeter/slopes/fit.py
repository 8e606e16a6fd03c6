# SPDX-License-Identifier: GPL-2.0-or-later
"""From the readings of a sweep to slopes, authorisations and the cost of a path; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lsmeter.model import Benchmark, BenchmarkStatus, Problem, Samples
from lsmeter.slopes.model import DepthFit, Point, Slope, Sweep
from lsmeter.statistics.regression import regress, whole

# A line through fewer depths would fit whatever they are.
_LEAST_DEPTHS = 3


@dataclass(frozen=True)
class Reading:
    """One benchmark at one delay: samples in guest instructions, policy_ns as in Point."""

    delay_ns: int
    policy_ns: float
    samples: Samples


def sweeps(
    readings: Iterable[Reading],
    benchmarks: Sequence[Benchmark],
    delays_ns: Sequence[int],
    ns_per_insn: int,
) -> tuple[tuple[Sweep, ...], tuple[Problem, ...]]:
    """Put the readings of one guest together, by benchmark and in ascending delays.

    A benchmark that has not given samples at every delay gives a Problem and no sweep: a line
    through what is left of it could be another line.
    """
    by_id: dict[str, list[Reading]] = {benchmark.id: [] for benchmark in benchmarks}
    for reading in readings:
        by_id[reading.samples.benchmark].append(reading)
    complete: list[Sweep] = []
    problems: list[Problem] = []
    for benchmark in benchmarks:
        found = sorted(by_id[benchmark.id], key=lambda reading: reading.delay_ns)
        problem = _incomplete(benchmark, found, len(delays_ns))
        if problem is not None:
            problems.append(problem)
        else:
            points = tuple(
                Point(item.delay_ns, item.policy_ns, _mode(item.samples.values) * ns_per_insn)
                for item in found
            )
            complete.append(Sweep(benchmark, points))
    return tuple(complete), tuple(problems)


def fit_slopes(found: Iterable[Sweep], *, kernel: str, setup: str) -> tuple[Slope, ...]:
    """Fit the latency of each operation on the policy latency."""
    slopes = []
    for sweep in found:
        fit = regress(
            [point.latency_ns for point in sweep.points],
            {"policy": [point.policy_ns for point in sweep.points]},
        )
        slopes.append(Slope(kernel, setup, sweep, fit, whole(fit.slope)))
    return tuple(slopes)


def fit_depths(slopes: Iterable[Slope]) -> tuple[DepthFit, ...]:
    """Fit slopes and intercepts on the depth of the path, where at least three depths are known.

    Only benchmarks whose single parameter is `depth` belong to such a row.
    """
    rows: dict[tuple[str, str, str], dict[int, Slope]] = {}
    for slope in slopes:
        params = slope.benchmark.params
        if len(params) == 1 and params[0][0] == "depth" and isinstance(params[0][1], int):
            key = slope.kernel, slope.setup, slope.benchmark.operation
            rows.setdefault(key, {})[params[0][1]] = slope
    return tuple(_depth_fit(key, row) for key, row in rows.items() if len(row) >= _LEAST_DEPTHS)


def _depth_fit(key: tuple[str, str, str], row: Mapping[int, Slope]) -> DepthFit:
    depths = tuple(sorted(row))
    lines = [row[depth].regression for depth in depths]
    authorisations = regress([line.slope.value for line in lines], {"depth": depths})
    return DepthFit(
        *key,
        depths=depths,
        authorisations=authorisations,
        latency=regress([line.intercept.value for line in lines], {"depth": depths}),
        per_component=whole(authorisations.slope),
        fixed=whole(authorisations.intercept),
    )


def _incomplete(benchmark: Benchmark, found: Sequence[Reading], delays: int) -> Problem | None:
    bad = [item for item in found if item.samples.status is not BenchmarkStatus.OK]
    if bad:
        first = bad[0]
        return Problem(
            title=f"{benchmark.id}: no slope: {first.samples.status} at a delay of "
            f"{first.delay_ns} ns",
            benchmark=benchmark.id,
            detail=first.samples.detail,
        )
    if len(found) != delays:
        return Problem(
            title=f"{benchmark.id}: no slope: measured at {len(found)} of {delays} delays",
            benchmark=benchmark.id,
        )
    return None


def _mode(values: Sequence[int]) -> int:
    """Return the most frequent value; of several, the smallest."""
    counts: dict[int, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return min(counts, key=lambda value: (-counts[value], value))
