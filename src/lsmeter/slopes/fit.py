# SPDX-License-Identifier: GPL-2.0-or-later
"""From the readings of a sweep to slopes, calls of hooks and the cost of a path; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lsmeter.model import Benchmark, BenchmarkStatus, Problem, Samples
from lsmeter.slopes.delays import LEAST
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

    A sweep has the delays at which its benchmark gave samples, and there is none of a benchmark
    that did so at fewer than LEAST. Delays that are missing give a Problem, which says how many
    there are.
    """
    by_id: dict[str, list[Reading]] = {benchmark.id: [] for benchmark in benchmarks}
    for reading in readings:
        by_id[reading.samples.benchmark].append(reading)
    found: list[Sweep] = []
    problems: list[Problem] = []
    unreached: dict[int, list[Benchmark]] = {}
    for benchmark in benchmarks:
        told = sorted(by_id[benchmark.id], key=lambda reading: reading.delay_ns)
        good = [item for item in told if item.samples.status is BenchmarkStatus.OK]
        if len(good) < len(told):
            problems.append(_failed(benchmark, told, len(good), len(delays_ns)))
        elif len(good) < len(delays_ns):
            unreached.setdefault(len(good), []).append(benchmark)
        if len(good) >= LEAST:
            points = tuple(
                Point(item.delay_ns, item.policy_ns, _mode(item.samples.values) * ns_per_insn)
                for item in good
            )
            found.append(Sweep(benchmark, points))
    problems += [_unreached(reached, unreached[reached], len(delays_ns)) for reached in unreached]
    return tuple(found), tuple(problems)


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
    hook_calls = regress([line.slope.value for line in lines], {"depth": depths})
    return DepthFit(
        *key,
        depths=depths,
        hook_calls=hook_calls,
        latency=regress([line.intercept.value for line in lines], {"depth": depths}),
        per_component=whole(hook_calls.slope),
        fixed=whole(hook_calls.intercept),
    )


def _failed(benchmark: Benchmark, told: Sequence[Reading], good: int, delays: int) -> Problem:
    """Name the first delay at which a benchmark gave no samples, and how many did."""
    first = next(item for item in told if item.samples.status is not BenchmarkStatus.OK)
    return Problem(
        title=f"{benchmark.id}: {_extent(good, delays)}: {first.samples.status} at a delay of "
        f"{first.delay_ns} ns",
        benchmark=benchmark.id,
        detail=first.samples.detail,
    )


def _unreached(reached: int, benchmarks: Sequence[Benchmark], delays: int) -> Problem:
    """Name the benchmarks to whose further delays a guest did not come, in one line for all."""
    single = len(benchmarks) == 1
    which = benchmarks[0].id if single else f"{len(benchmarks)} benchmarks"
    return Problem(
        title=f"{which}: {_extent(reached, delays)}: the guest did not come to the others",
        benchmark=benchmarks[0].id if single else "",
        detail="" if single else ", ".join(benchmark.id for benchmark in benchmarks),
    )


def _extent(reached: int, delays: int) -> str:
    """Say over how many delays a slope is, or that it is none."""
    if reached < LEAST:
        return f"no slope: measured at {reached} of {delays} delays"
    return f"slope over {reached} of {delays} delays"


def _mode(values: Sequence[int]) -> int:
    """Return the most frequent value; of several, the smallest."""
    counts: dict[int, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return min(counts, key=lambda value: (-counts[value], value))
