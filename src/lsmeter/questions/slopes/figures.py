# SPDX-License-Identifier: GPL-2.0-or-later
"""From a run's sweeps of policy latencies to calls of hooks and the cost of a path; pure.

The policy latency is the time that one call of a hook waits that consults the security module's
policy. The slope of an operation's latency over it is the number of such calls in the operation.
What a module looks up in one call is up to the module: none, one or several rules or entries of
its cache; its own counters tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from lsmeter.catalogue.studies import printed_rows
from lsmeter.core.groups import grouped
from lsmeter.core.model import Benchmark, Boot, Place, Problem
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import ManifestCell
from lsmeter.measure.tasks.count import Count, count_of
from lsmeter.measure.tasks.lookups import lookups
from lsmeter.measure.tasks.sweep import Sweep, sweeps
from lsmeter.questions.cells.cells import read_boots
from lsmeter.statistics.regression import Regression, Whole, regress, regress_halves, whole

# A line through fewer depths would fit whatever they are.
_LEAST_DEPTHS = 3


@dataclass(frozen=True)
class Slope(Sweep):
    """The line through a sweep of one benchmark on one kernel under one setup.

    The regression is of latency_ns on policy_ns, so that its intercept is the latency (ns) of
    the operation if calls waited for nothing. hook_calls is its slope as a whole number: calls of
    hooks that consult the policy.
    """

    place: Place
    regression: Regression
    hook_calls: Whole


@dataclass(frozen=True)
class DepthFit:
    """What one more component of the path costs an operation, and what it costs without any.

    hook_calls is the regression of slopes on the depth of the path, latency that of the intercepts
    (ns): each has the share of one component as its slope, and the fixed part as its intercept.
    """

    place: Place
    operation: str
    depths: tuple[int, ...]
    hook_calls: Regression
    latency: Regression
    per_component: Whole  # calls for one component
    fixed: Whole  # calls beside those for the path


@dataclass(frozen=True)
class Slopes:
    """All slopes and look-ups of a run, and what could not be measured."""

    delays_ns: tuple[int, ...]
    slopes: tuple[Slope, ...]
    depths: tuple[DepthFit, ...]
    lookups: tuple[Count, ...]
    problems: tuple[Problem, ...]


def find_slopes(run: RunData) -> Slopes:
    """Fit the sweeps of a run, and gather the look-ups that stand beside them, over all boots."""
    lines: list[tuple[tuple[Place, Benchmark], Sweep]] = []
    counts: list[Count] = []
    ns_per_insn = 1 << run.manifest.conditions.icount_shift

    def sweep(cell: ManifestCell, boot: Boot, asked: Sequence[Benchmark]) -> tuple[Problem, ...]:
        found, problems = sweeps(boot, asked, cell.task.delays_ns, ns_per_insn)
        lines.extend(((cell.place, line.benchmark), line) for line in found)
        return problems

    def look(cell: ManifestCell, boot: Boot, asked: Sequence[Benchmark]) -> tuple[Problem, ...]:
        found, problems = lookups(boot, asked, cell.place)
        counts.extend(found)
        return problems

    problems = read_boots(run, {"sweep": sweep, "lookups": look})
    delays = [cell.task.delays_ns for cell in run.manifest.cells if cell.task.delays_ns]
    slopes = tuple(fit_slope(_pooled(of), place) for (place, _), of in grouped(lines).items())
    readings = grouped(((i.place, i.benchmark, i.name), n) for i in counts for n in i.readings)
    looked = tuple(count_of(*key, tuple(runs)) for key, runs in readings.items())
    last = delays[-1] if delays else ()
    return Slopes(last, slopes, fit_depths(slopes), looked, problems)


def _pooled(boots: Sequence[Sweep]) -> Sweep:
    """Return the points of a benchmark in all boots as one sweep."""
    points = sorted((point for of in boots for point in of.points), key=lambda it: it.delay_ns)
    return Sweep(boots[0].benchmark, tuple(points))


@cache
def table6() -> Mapping[str, Mapping[str, str]]:
    """Return Table 6 and the slopes of section 5.2.1 of the ASIA CCS'21 study, by benchmark."""
    return {row["benchmark"]: row for row in printed_rows("asiaccs21-table6.csv")}


def published_slope(slope: Slope) -> float | None:
    """Return the slope that the study has for the same operation and path, if it has it."""
    row = table6().get(slope.benchmark.id)
    return None if row is None else float(row["slope"])


def fit_slope(sweep: Sweep, place: Place) -> Slope:
    """Fit the latency of an operation on the policy latency."""
    latencies_ns = [point.latency_ns for point in sweep.points]
    fit = regress_halves(latencies_ns, [point.policy_ns for point in sweep.points])
    return Slope(**vars(sweep), place=place, regression=fit, hook_calls=whole(fit.slope))


def fit_depths(slopes: Iterable[Slope]) -> tuple[DepthFit, ...]:
    """Fit slopes and intercepts on the depth of the path, where at least three depths are known.

    Only benchmarks whose single parameter is `depth` belong to such a row.
    """
    rows: dict[tuple[Place, str], dict[int, Slope]] = {}
    for slope in slopes:
        match slope.benchmark.params:
            case (("depth", int(depth)),):
                rows.setdefault((slope.place, slope.benchmark.operation), {})[depth] = slope
    found = []
    for key, row in rows.items():
        if len(row) < _LEAST_DEPTHS:
            continue
        depths = tuple(sorted(row))
        lines = [row[depth].regression for depth in depths]
        calls = regress([line.slope.value for line in lines], depths)
        latency = regress([line.intercept.value for line in lines], depths)
        fit = DepthFit(*key, depths, calls, latency, whole(calls.slope), whole(calls.intercept))
        found.append(fit)
    return tuple(found)
