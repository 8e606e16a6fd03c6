# SPDX-License-Identifier: GPL-2.0-or-later
"""From readings and windows to the three exact numbers of a benchmark; pure.

Typical: the most frequent reading. In-line mean: over the readings into which no timer tick fell.
Whole: the mean over many cycles, what they leave to be done later included. None of them
stands for the others: a cost in every 64th call is in the mean and the whole only, one that is
deferred to RCU in the whole only.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from lsmeter.core.model import Whole
from lsmeter.core.model.conclusion import BootPeak, Mean, Peak, Sampled, WholeCost
from lsmeter.statistics.blocks import quantile, standard_error
from lsmeter.statistics.whole import CycleCost

CONFIDENCE = 0.99  # of intervals of whole costs and means
SHOWN_PEAKS = 6

# Below this share no value stands out, and chance decides which peak is highest: all peaks, which
# are at least PEAK times as frequent as the highest, then bound the typical value, and so does the
# shortest interval that holds half of the readings.
LEAST_SHARE = 0.3
PEAK = 0.5

# Windows of one boot share its state, such as which slabs are partly in use. So a boot's mean is
# not known better than this (a standard error, as a fraction), however well its windows agree.
STATE = 0.0005

Values = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BootReadings:
    """What one boot gave for one benchmark.

    ticked are the places of readings with a timer tick. cycle is what a cycle costs, None where
    whole costs were not measured.
    """

    boot: int  # the seed, which tells boots of one cell apart
    values: Values
    ticked: tuple[int, ...] = ()
    whole: Whole | None = None
    index: int = 0  # of the boot, as people see it
    cycle: CycleCost | None = None

    @property
    def clean(self) -> Values:
        """The readings into which no tick fell."""
        if not self.ticked:
            return self.values
        return np.delete(self.values, np.asarray(self.ticked, dtype=np.int64))


@dataclass(frozen=True)
class Typical:
    """The most frequent reading over boots; low and high are those of single boots."""

    value: int
    low: int
    high: int
    evidence: Sampled

    @property
    def repeats(self) -> bool:
        """Whether at least two boots gave the same value."""
        return self.evidence.boots >= 2 and self.low == self.high


class Side(Sequence[BootReadings]):
    """What all boots of a cell gave for one benchmark; what is often asked of it is kept."""

    def __init__(self, boots: Iterable[BootReadings]) -> None:
        self._boots = tuple(boots)

    def __len__(self) -> int:
        return len(self._boots)

    @overload
    def __getitem__(self, at: int) -> BootReadings: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[BootReadings]: ...
    def __getitem__(self, at: int | slice) -> BootReadings | Sequence[BootReadings]:
        return self._boots[at]

    def __iter__(self) -> Iterator[BootReadings]:
        return iter(self._boots)

    @cached_property
    def typical(self) -> Typical:
        """The most frequent of all readings; ValueError without any."""
        pooled = self.counts
        value, total = mode(pooled), sum(pooled.values())
        each = zip(self, modes([boot.values for boot in self]), strict=True)
        by_boot = tuple(
            BootPeak(boot.index, peak, count / boot.values.size) for boot, (peak, count) in each
        )
        bounds = [peak.value for peak in by_boot]
        if pooled[value] / total < LEAST_SHARE:
            bounds += [item for item, count in pooled.items() if count >= PEAK * pooled[value]]
            bounds += _shortest_half(self.values)
        often = sorted(pooled, key=lambda item: (-pooled[item], item))[:SHOWN_PEAKS]
        return Typical(
            value=value,
            low=min(bounds),
            high=max(bounds),
            evidence=Sampled(
                samples=total,
                boots=len(self),
                minimum=min(pooled),
                maximum=max(pooled),
                share=pooled[value] / total,
                peaks=tuple(Peak(item, pooled[item] / total) for item in often),
                by_boot=by_boot,
            ),
        )

    @cached_property
    def values(self) -> Values:
        """All readings; ValueError without any boot."""
        return np.concatenate([boot.values for boot in self])

    @cached_property
    def counts(self) -> dict[int, int]:
        """How often each value occurs in all boots; ValueError without any."""
        return counts(self.values)

    @cached_property
    def ticked(self) -> int:
        """How many readings have a timer tick."""
        return sum(len(boot.ticked) for boot in self)

    @cached_property
    def clean(self) -> dict[int, Values]:
        """By seed the readings into which no tick fell, of the boots that have any."""
        return {boot.boot: clean for boot in self if (clean := boot.clean).size}

    @cached_property
    def clean_values(self) -> Values:
        """All of them; ValueError where there is none."""
        return np.concatenate([*self.clean.values()]) if self.ticked else self.values

    @cached_property
    def clean_means(self) -> dict[int, float]:
        """Their means by seed."""
        return dict(zip(self.clean, means([*self.clean.values()]), strict=True))

    @property
    def has_mean(self) -> bool:
        """Whether each boot has a reading without a tick: a mean of some boots hides the others."""
        return all(boot.boot in self.clean for boot in self)

    @cached_property
    def cycles(self) -> dict[int, CycleCost]:
        """By seed what a cycle costs, of the boots in which that was measured."""
        return {boot.boot: boot.cycle for boot in self if boot.cycle}

    @cached_property
    def rare_cost(self) -> float:
        """What one rare event more or less is worth in the mean over all cycles.

        A cost that comes once in 64 calls came 15 or 16 times in 1,000, and windows that have all
        met it equally often do not show that. Its size is that of the largest reading over the
        typical one.
        """
        cycles = sum(cost.cycles for cost in self.cycles.values())
        if not cycles or not self.clean:
            return 0.0
        clean = counts(self.clean_values) if self.ticked else self.counts
        return (max(clean) - mode(clean)) / cycles

    def in_line_mean(self) -> Mean | None:
        """Average the readings into which no tick fell; None where a boot has not a single one."""
        if not self.has_mean:
            return None
        pooled = self.clean_values
        value, half = float(pooled.mean()), half_width(pooled)
        own = self.clean_means.values()
        low, high = min(*own, value - half), max(*own, value + half)
        return Mean(value, low, high, int(pooled.size), self.ticked)

    def whole_cost(self) -> tuple[WholeCost | None, str]:
        """Average the costs of a cycle over boots; without any, None and why there is none."""
        measured = [*self.cycles.values()]
        if not measured:
            reasons = (boot.whole.detail for boot in self if boot.whole is not None)
            return None, next(filter(None, reasons), "")
        own = [cycle.value for cycle in measured]
        value = float(np.mean(own))
        errors = [cycle.error / len(measured) for cycle in measured]
        half = max(
            cycles_half_width(errors, measured), self.rare_cost, state_half_width(value, self)
        )
        found = WholeCost(
            value=value,
            low=min(*own, value - half),
            high=max(*own, value + half),
            boot_low=min(own),
            boot_high=max(own),
            operations=sum(cycle.cycles for cycle in measured),
            rounds=sum(len(cycle.windows) for cycle in measured),
            boots=len(own),
            deferred=float(np.mean([cycle.deferred for cycle in measured])),
        )
        return found, ""


def as_side(boots: Iterable[BootReadings]) -> Side:
    """Return boots as a side, which keeps what is asked of it."""
    return boots if isinstance(boots, Side) else Side(boots)


def counts(values: Values) -> dict[int, int]:
    """Return how often each value occurs."""
    found, times = np.unique(values, return_counts=True)
    return dict(zip(found.tolist(), times.tolist(), strict=True))


def mode(counted: Mapping[int, int]) -> int:
    """Return the most frequent value, the smallest of several; ValueError for none at all."""
    return min(counted, key=lambda value: (-counted[value], value))


def _shortest_half(values: Values) -> tuple[int, int]:
    """Return the ends of the shortest interval that holds half of the values."""
    rising = np.sort(values)
    wide = (rising.size - 1) // 2
    begin = int(np.argmin(rising[wide:] - rising[: rising.size - wide]))
    return int(rising[begin]), int(rising[begin + wide])


def modes(each: Sequence[Values]) -> list[tuple[int, int]]:
    """Return the most frequent value of each array, as `mode` has it, and how often it occurs."""
    width = each[0].size if each else 0
    if any(values.size != width for values in each) or not width:
        counted = map(counts, each)
        return [(value, count[value]) for count in counted for value in [mode(count)]]
    rows = np.sort(np.stack(each), axis=1)
    begins = np.ones(rows.shape, dtype=bool)
    begins[:, 1:] = rows[:, 1:] != rows[:, :-1]
    at = np.flatnonzero(begins)
    lengths = np.diff(at, append=rows.size)
    # Of each row the longest run comes first, and of equal ones that of the smallest value.
    order = np.lexsort((at, -lengths, at // width))
    first = order[np.unique(at[order] // width, return_index=True)[1]]
    return list(zip(rows.ravel()[at[first]].tolist(), lengths[first].tolist(), strict=True))


def means(each: Sequence[npt.NDArray[np.number[Any]]]) -> list[float]:
    """Return the mean of each array."""
    if len({values.size for values in each}) == 1:
        found: list[float] = np.stack(each).mean(axis=1).tolist()
        return found
    return [float(values.mean()) for values in each]


def rarest(cycles: int) -> int:
    """Return once in how many cycles a cost comes that so many meet with CONFIDENCE.

    What comes less often may have been in none of them.
    """
    return max(1, math.floor(cycles / -math.log1p(-CONFIDENCE)))


def cycles_half_width(errors: Sequence[float], cycles: Iterable[CycleCost]) -> float:
    """Return the half-width of a sum of values with these standard errors, known from cycles."""
    freedom = sum(item.freedom for item in cycles)
    return quantile(freedom, CONFIDENCE) * math.hypot(*errors) if freedom > 0 else math.inf


def state_half_width(value: float, *sides: Side) -> float:
    """Return how far a mean over boots may be off by their state, or a difference of two sides'.

    Infinite where a side has no whole cost.
    """
    boots = [len(side.cycles) for side in sides]
    if not all(boots):
        return math.inf
    return (
        quantile(math.inf, CONFIDENCE)
        * STATE
        * value
        * math.sqrt(sum(1 / count for count in boots))
    )


def half_width(values: Sequence[float] | Values) -> float:
    """Return the half-width of the confidence interval of the mean; infinite for one value."""
    if len(values) < 2:
        return math.inf
    return quantile(len(values) - 1, CONFIDENCE) * standard_error(np.asarray(values))
