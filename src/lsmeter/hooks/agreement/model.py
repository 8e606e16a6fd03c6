# SPDX-License-Identifier: GPL-2.0-or-later
"""What four views say of the runs of hooks, and how far they agree, as frozen types; no I/O.

A *view* is one way to know how often a hook runs in one operation: from the source (at most), by
counting in the running kernel, by attribution, and by the slope of the tunable module, which
sees the two hooks of CHECKS only. Every number is that of one run of one benchmark; None means
that it was not measured, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

# The hooks that the tunable module delays: what its slopes count.
CHECKS = ("security_inode_permission", "security_file_permission")


class View(StrEnum):
    """A way to know how often hooks run."""

    ORDINARY = "source, ordinary"
    MOST = "source, most"
    COUNTING = "counting"
    ATTRIBUTION = "attribution"
    SLOPE = "slope"


class Outcome(StrEnum):
    """What a comparison of views says, the best first."""

    AGREE = "agree"
    EXPLAINED = "explained"
    OPEN = "open"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Bound:
    """What the source says of one hook for one path: its runs at most.

    repeats says that the source has the hook in a loop whose length it does not tell.
    """

    ordinary: int
    most: int
    repeats: bool = False


@dataclass(frozen=True)
class CountedRuns:
    """Runs of one hook as counted; steady says that every sample had the same number."""

    runs: int
    steady: bool = True


@dataclass(frozen=True)
class SlopeReading:
    """Runs of CHECKS in one operation by its slope.

    calls is None when the slope is no whole number, and reason says why not.
    """

    setup: str
    slope: float
    calls: int | None
    reason: str = ""

    @property
    def value(self) -> float:
        """The whole number where there is one, else the slope as it is."""
        return self.slope if self.calls is None else self.calls


@dataclass(frozen=True)
class Place:
    """Where hooks ran: what one table is about."""

    kernel: str
    setup: str
    filesystem: str
    user: str


@dataclass(frozen=True)
class Readings:
    """All that is known of one benchmark at one place.

    A mapping that is None was not measured; a hook that is missing from one that is there did
    not run. benchmark is the id: `open depth=4`.
    """

    benchmark: str
    components: int  # of the path; 0 for calls without one
    least: int | None  # decisions that POSIX needs; None when the study does not say
    source: Mapping[str, Bound] | None = None
    counted: Mapping[str, CountedRuns] | None = None
    attributed: Mapping[str, int] | None = None
    slope: SlopeReading | None = None

    def hooks(self) -> tuple[str, ...]:
        """Return every hook that any view knows, sorted."""
        views: tuple[Mapping[str, object] | None, ...] = (
            self.source,
            self.counted,
            self.attributed,
        )
        return tuple(sorted({hook for view in views if view for hook in view}))

    def runs(self, view: View, hook: str) -> int | None:
        """Return the runs of one hook in one view; None when not measured."""
        if view in (View.ORDINARY, View.MOST):
            if self.source is None:
                return None
            bound = self.source.get(hook, Bound(0, 0))
            return bound.ordinary if view is View.ORDINARY else bound.most
        if view is View.COUNTING:
            return None if self.counted is None else self.counted.get(hook, CountedRuns(0)).runs
        if view is View.ATTRIBUTION:
            return None if self.attributed is None else self.attributed.get(hook, 0)
        return None

    def total(self, view: View) -> int | None:
        """Return the runs of all hooks in one view; None when not measured."""
        return self._sum(view, self.hooks())

    def checks(self, view: View) -> float | None:
        """Return the runs of the two hooks of CHECKS; None when not measured."""
        if view is View.SLOPE:
            return None if self.slope is None else self.slope.value
        return self._sum(view, CHECKS)

    def _sum(self, view: View, hooks: tuple[str, ...]) -> int | None:
        known = [runs for hook in hooks if (runs := self.runs(view, hook)) is not None]
        if known:
            return sum(known)
        present = {
            View.ORDINARY: self.source,
            View.MOST: self.source,
            View.COUNTING: self.counted,
            View.ATTRIBUTION: self.attributed,
        }.get(view)
        return None if present is None else 0


@dataclass(frozen=True)
class Finding:
    """One disagreement: what two views say of a hook, or of the hooks of CHECKS together.

    reasons are those known to lead to it; without any it is open.
    """

    hook: str  # or CHECKS_NAME
    first: View
    first_runs: float
    second: View
    second_runs: float
    reasons: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Whether it is explained."""
        return Outcome.EXPLAINED if self.reasons else Outcome.OPEN


@dataclass(frozen=True)
class BenchmarkAgreement:
    """One benchmark: what is known of it, and where the views differ.

    checks is the outcome for the two hooks of CHECKS (counting, attribution, slope), total that
    for all hooks (source, counting, attribution).
    """

    readings: Readings
    checks: Outcome
    total: Outcome
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class PlaceAgreement:
    """The table of one kernel under one setup."""

    place: Place
    benchmarks: tuple[BenchmarkAgreement, ...]

    def count(self, outcome: Outcome) -> int:
        """Return how many benchmarks have this outcome in either comparison."""
        return sum(outcome in (item.checks, item.total) for item in self.benchmarks)


@dataclass(frozen=True)
class Agreement:
    """All tables, and what a reader must know of what went in."""

    places: tuple[PlaceAgreement, ...]
    notes: tuple[str, ...] = field(default=())
