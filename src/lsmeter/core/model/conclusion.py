# SPDX-License-Identifier: GPL-2.0-or-later
"""What is concluded from measurements, as frozen types: estimates, comparisons, verdicts; no I/O.

The words are those of `lsmeter help glossary`; `lsmeter help method` says what each number covers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

from lsmeter.core.model import Benchmark, Place


class Verdict(StrEnum):
    """What a comparison says, given the margin."""

    SLOWER = "slower"
    FASTER = "faster"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"


class Number(StrEnum):
    """One of the numbers that a comparison has; `lsmeter help method` says what each covers."""

    TYPICAL = "typical"
    MEAN = "mean"
    WHOLE = "whole"


@dataclass(frozen=True)
class Peak:
    """A value of a distribution, and the share of readings that have it (0..1)."""

    value: int
    share: float


@dataclass(frozen=True)
class BootPeak:
    """The most frequent reading of one boot, which people know by its index, and its share."""

    boot: int
    value: int
    share: float


@dataclass(frozen=True)
class Mean:
    """The mean of the readings into which no timer tick fell; ticked ones are left out.

    low and high bound it: its confidence interval, and the means of single boots.
    """

    value: float
    low: float
    high: float
    readings: int
    ticked: int


@dataclass(frozen=True)
class WholeCost:
    """What a benchmark's cycle costs with all that it leaves to be done later, per cycle."""

    value: float
    low: float  # low and high: the confidence interval over all rounds, or the furthest boots
    high: float
    boot_low: float  # the means of single boots
    boot_high: float
    operations: int  # cycles of all boots
    rounds: int
    boots: int
    deferred: float = 0.0  # the part of value that is done after the cycle


@dataclass(frozen=True)
class Sampled:
    """The readings that an estimate rests on, over all boots."""

    samples: int
    boots: int
    minimum: float
    maximum: float
    share: float  # of the readings that have the centre's value (0..1)
    peaks: tuple[Peak, ...] = ()  # the most frequent values
    by_boot: tuple[BootPeak, ...] = ()


@dataclass(frozen=True)
class Estimate:
    """What one benchmark costs in one cell, over its boots."""

    place: Place
    benchmark: Benchmark
    centre: float  # the typical cost; what is typical, the instrument says
    low: float
    high: float
    repeats: bool  # low and high are equal, over at least two boots
    evidence: Sampled
    mean: Mean | None = None  # None where a tick fell into every reading
    whole: WholeCost | None = None  # None where it was not measured
    whole_missing: str = ""  # why, if it was tried


@dataclass(frozen=True)
class Change:
    """How one number differs between two sides; a positive overhead is always worse.

    difference is value - baseline_value, low and high bound it. The overheads are fractions of
    baseline_value (0.25 = 25 % worse).
    """

    baseline_value: float
    value: float
    difference: float
    low: float
    high: float
    overhead: float
    overhead_low: float
    overhead_high: float


class Difference(StrEnum):
    """Whether two sides differ at all; whether it matters is for the verdict."""

    NONE = "none"  # every reading and every round is the same
    UNSEEN = "unseen"  # not identical, and nothing that chance would not do
    SEEN = "seen"


@dataclass(frozen=True)
class Tests:
    """What tests over blocks say of one comparison, and how many comparisons they are one of.

    p is that of no difference: the permutation test's (of ranks), or Student's where so few blocks
    cannot make that smaller, and Student's is. p_equivalent is that of a difference beyond the
    margin. Corrected ones are Holm's, over all comparisons, at the look that the verdict is of.
    """

    blocks: int
    together: bool  # the sides were measured in the same blocks
    log_ratio: float  # of the medians of blocks
    standard_error: float  # of it
    p_student: float
    p_permutation: float
    p: float
    p_equivalent: float
    comparisons: int = 1
    p_corrected: float = 1.0
    p_equivalent_corrected: float = 1.0
    more_blocks: int | None = None  # that it would take; None where that cannot be said


@dataclass(frozen=True)
class Compared:
    """All that two sides' readings of one benchmark say of each other.

    The differences of typical are not a number where there is no typical one; its values are those
    of the sides. in_step is the share of pairs that differ by the typical difference, None where
    the sides do not run in step (or have no boot with the same seed). moved is what moved between
    calls, as a fraction of one: peaks that came, went or changed their share, or all readings where
    there is no typical difference. decided is the number that the verdict is of, the one to show,
    held against the margin of the call; the overheads of a whole cost are fractions of its cycle.
    """

    typical: Change
    mean: Change | None  # of the in-line mean and the whole cost, where both sides have it
    whole: Change | None
    in_step: float | None
    moved: float
    found: Difference
    verdict: Verdict
    cause: str  # why it is inconclusive, or what it rests on where there is no typical count
    decided_by: Number
    decided: Change
    cycles: int  # of the side with fewer; readings where whole costs were not measured
    tests: Tests | None = field(default=None, kw_only=True)  # of times; counts need none

    @property
    def has_typical(self) -> bool:
        """Whether the sides have a typical difference."""
        return not math.isnan(self.typical.difference)

    def has(self, number: Number) -> bool:
        """Say whether the sides differ by this number at all, be it by 0."""
        change: Change | None = getattr(self, number.value)
        return change is not None and not math.isnan(change.difference)

    @property
    def in_line(self) -> Change:
        """How the call itself differs: typically, or in the mean where nothing is typical."""
        return self.typical if self.has_typical or self.mean is None else self.mean


@dataclass(frozen=True)
class Comparison(Compared):
    """One benchmark of one setup against the baseline; a positive overhead is always worse.

    Differences and overheads are those of the number that decided.
    """

    place: Place
    baseline: Place
    benchmark: Benchmark
    repeats: bool

    @property
    def first(self) -> Change:
        """The number that heads an entry: the typical one, or that which was measured alone."""
        return self.decided if math.isnan(self.typical.value) else self.typical

    @property
    def difference(self) -> float:
        """The difference."""
        return self.decided.difference

    @property
    def overhead(self) -> float:
        """The overhead, as a fraction."""
        return self.decided.overhead
