# SPDX-License-Identifier: GPL-2.0-or-later
"""The nouns of a sweep of policy latencies as frozen types: no I/O here.

The policy latency is the time that one decision of the security module takes. The slope of an
operation's latency over it is the number of decisions (authorisations) that the operation asks
for.
"""

from __future__ import annotations

from dataclasses import dataclass

from lsmeter.model import Benchmark, Problem
from lsmeter.report.heading import Heading
from lsmeter.statistics.regression import Regression, Whole


@dataclass(frozen=True)
class Point:
    """One operation at one delay.

    delay_ns was asked of the module; policy_ns is what one decision then took, which is longer
    by less than the time between two readings of the clock. latency_ns is the most frequent
    reading of the operation.
    """

    delay_ns: int
    policy_ns: float
    latency_ns: float


@dataclass(frozen=True)
class Sweep:
    """One operation at every delay, in ascending order."""

    benchmark: Benchmark
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Slope:
    """The line through a sweep of one benchmark on one kernel under one setup.

    The regression is of latency_ns on policy_ns, so that its intercept is the latency (ns) of
    the operation if decisions took no time.
    """

    kernel: str
    setup: str
    sweep: Sweep
    regression: Regression
    authorisations: Whole

    @property
    def benchmark(self) -> Benchmark:
        """What was measured."""
        return self.sweep.benchmark


@dataclass(frozen=True)
class DepthFit:
    """What one more component of the path costs an operation, and what it costs without any.

    authorisations is the regression of slopes on the depth of the path, latency that of the
    intercepts (ns): each has the share of one component as its slope, and the fixed part as its
    intercept.
    """

    kernel: str
    setup: str
    operation: str
    depths: tuple[int, ...]
    authorisations: Regression
    latency: Regression
    per_component: Whole  # authorisations of one component
    fixed: Whole  # authorisations beside those of the path


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

    def published_for(self, slope: Slope) -> Published | None:
        """Return what the study has for the same operation and path, if it has it."""
        wanted = slope.benchmark.id
        return next((row for row in self.published if row.benchmark == wanted), None)
