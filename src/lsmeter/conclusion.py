# SPDX-License-Identifier: GPL-2.0-or-later
"""What is concluded from measurements, as frozen types: estimates, comparisons, verdicts; no I/O.

The words are those of docs/glossary.md; docs/method.md says what each number covers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lsmeter.model import Benchmark


class Verdict(StrEnum):
    """What a comparison says, given the margin."""

    SLOWER = "slower"
    FASTER = "faster"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Peak:
    """A value of a distribution, and the share of readings that have it (0..1)."""

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
    """What a benchmark's cycle costs with all that it leaves to be done later, per cycle.

    low and high are the confidence interval over all rounds, or the furthest boots; boot_low and
    boot_high the means of single boots. operations counts the cycles of all boots.
    """

    value: float
    low: float
    high: float
    boot_low: float
    boot_high: float
    operations: int
    rounds: int
    boots: int


@dataclass(frozen=True)
class Estimate:
    """What one benchmark costs in one cell, over its boots.

    value is the typical cost: the most frequent reading of all boots. low and high are the
    smallest and largest one of a single boot; repeats says that they are equal, over at least two
    boots. mean is None where a tick fell into every reading; whole is None where it was not
    measured, and whole_missing then says why, if it was tried.
    """

    kernel: str
    setup: str
    filesystem: str
    user: str
    benchmark: Benchmark
    value: float
    minimum: float
    maximum: float
    share_at_mode: float  # 0..1
    low: float
    high: float
    samples: int
    boots: int
    repeats: bool
    peaks: tuple[Peak, ...] = ()
    mean: Mean | None = None
    whole: WholeCost | None = None
    whole_missing: str = ""


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
class Comparison:
    """One benchmark of one setup against the baseline; a positive overhead is always worse.

    The changes of the in-line mean and the whole cost are None where a side has no such number.
    in_step is the share of paired readings that differ by the typical difference, None where the
    sides do not run in step. moved is what peaks that came, went or moved are worth, as a fraction
    of the baseline. cause says why a verdict is inconclusive.
    """

    kernel: str
    setup: str
    baseline_kernel: str
    baseline_setup: str
    filesystem: str
    user: str
    benchmark: Benchmark
    typical: Change
    mean: Change | None
    whole: Change | None
    in_step: float | None
    moved: float
    found: Difference
    verdict: Verdict
    cause: str
    repeats: bool

    @property
    def value(self) -> float:
        """The typical cost under the tested setup."""
        return self.typical.value

    @property
    def baseline_value(self) -> float:
        """The typical cost under the baseline."""
        return self.typical.baseline_value

    @property
    def difference(self) -> float:
        """The typical difference."""
        return self.typical.difference

    @property
    def overhead(self) -> float:
        """The typical overhead, as a fraction."""
        return self.typical.overhead

    @property
    def overhead_low(self) -> float:
        """The least that the typical overhead may be."""
        return self.typical.overhead_low

    @property
    def overhead_high(self) -> float:
        """The most that the typical overhead may be."""
        return self.typical.overhead_high
