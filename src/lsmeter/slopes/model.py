# SPDX-License-Identifier: GPL-2.0-or-later
"""The nouns of a sweep of policy latencies as frozen types: no I/O here.

The policy latency is the time that one call of a hook waits that consults the security module's
policy. The slope of an operation's latency over it is the number of such calls in the operation.
What a module looks up in one call is up to the module: none, one or several rules or entries of
its cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from lsmeter.model import Benchmark, Problem
from lsmeter.report.heading import Heading
from lsmeter.statistics.regression import Regression, Whole


@dataclass(frozen=True)
class Point:
    """One operation at one delay.

    delay_ns was asked of the module; policy_ns is what one call then waited, which is longer by
    less than the time between two readings of the clock. latency_ns is the most frequent reading
    of the operation.
    """

    delay_ns: int
    policy_ns: float
    latency_ns: float


@dataclass(frozen=True)
class Sweep:
    """One operation at the delays at which it was measured, in ascending order."""

    benchmark: Benchmark
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Slope:
    """The line through a sweep of one benchmark on one kernel under one setup.

    The regression is of latency_ns on policy_ns, so that its intercept is the latency (ns) of
    the operation if calls waited for nothing. hook_calls is its slope as a whole number: calls of
    hooks that consult the policy.
    """

    kernel: str
    setup: str
    sweep: Sweep
    regression: Regression
    hook_calls: Whole

    @property
    def benchmark(self) -> Benchmark:
        """What was measured."""
        return self.sweep.benchmark


@dataclass(frozen=True)
class DepthFit:
    """What one more component of the path costs an operation, and what it costs without any.

    hook_calls is the regression of slopes on the depth of the path, latency that of the intercepts
    (ns): each has the share of one component as its slope, and the fixed part as its intercept.
    """

    kernel: str
    setup: str
    operation: str
    depths: tuple[int, ...]
    hook_calls: Regression
    latency: Regression
    per_component: Whole  # calls for one component
    fixed: Whole  # calls beside those for the path


@dataclass(frozen=True)
class LookUp:
    """How far one of a module's own counters went in one operation.

    counter is the file's name and the number's: avc.lookups. value is that of most readings;
    steady says that it was that of every one.
    """

    kernel: str
    setup: str
    benchmark: Benchmark
    counter: str
    value: int
    steady: bool


@dataclass(frozen=True)
class Published:
    """A slope that a study printed."""

    benchmark: str  # id
    slope: float
    place: str  # in the study
    note: str = ""


@dataclass(frozen=True)
class SlopesReport:
    """All that any format shows; formats add no numbers of their own."""

    heading: Heading
    delays_ns: tuple[int, ...]
    conditions: tuple[tuple[str, str], ...]
    slopes: tuple[Slope, ...]
    depths: tuple[DepthFit, ...]
    published: tuple[Published, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    lookups: tuple[LookUp, ...] = ()

    def published_for(self, slope: Slope) -> Published | None:
        """Return what the study has for the same operation and path, if it has it."""
        wanted = slope.benchmark.id
        return next((row for row in self.published if row.benchmark == wanted), None)
