# SPDX-License-Identifier: GPL-2.0-or-later
"""Series over time, the load beside them, and the processes that used most; pure.

Times are seconds of the guest's clock since it was started. A rate stands at the end of the span
that it is the rate of.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from lsmeter.core.groups import grouped

TABLES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("series.toml").read_text())
GROUPS: Mapping[str, Mapping[str, Any]] = TABLES["groups"]  # of series


@dataclass(frozen=True)
class Series:
    """One figure at every time; None where it is not known. The unit is part of the name."""

    group: str  # of GROUPS
    name: str  # cpu_user_percent
    title: str  # in user space
    unit: str  # %
    values: tuple[float | None, ...]

    @property
    def known(self) -> list[float]:
        """The values that are known."""
        return [value for value in self.values if value is not None]


@dataclass(frozen=True)
class Batch:
    """The load of a span: a batch of a benchmark, from 0, and whether it was for warming up."""

    benchmark: str
    number: int
    warmup: bool
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class Process:
    """What one process used in the span that ends at a time."""

    time_s: float
    span_s: float
    pid: int
    name: str
    user_percent: float  # of one processor
    system_percent: float
    size_kib: float
    resident_kib: float
    minor_faults_per_s: float
    major_faults_per_s: float


@dataclass(frozen=True)
class Monitoring:
    """All that is known of one system over a time."""

    host: str
    facts: tuple[tuple[str, str], ...]
    every_ms: int
    times_s: tuple[float, ...]
    series: tuple[Series, ...]
    batches: tuple[Batch, ...] = ()
    processes: tuple[Process, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def counting(self) -> tuple[Batch, ...]:
        """The batches that count; where there is no load, all of the time as one."""
        whole = Batch("", 0, warmup=False, begin_s=self.times_s[0], end_s=self.times_s[-1])
        return tuple(b for b in self.batches if not b.warmup) if self.batches else (whole,)

    @property
    def by_benchmark(self) -> dict[str, list[Batch]]:
        """The batches that count of each benchmark of the load."""
        batches = grouped((batch.benchmark, batch) for batch in self.batches)
        return {name: [b for b in mine if not b.warmup] for name, mine in batches.items()}

    def of(self, group: str) -> tuple[Series, ...]:
        """Return the series of a group of which anything is known."""
        return tuple(item for item in self.series if item.group == group and item.known)

    def find(self, name: str) -> Series | None:
        """Return the series of a name."""
        return next((item for item in self.series if item.name == name), None)

    def mean_in(self, series: Series, batches: Sequence[Batch]) -> float | None:
        """Return the mean of a series in batches."""
        steps = enumerate(pairwise(self.times_s), 1)
        inside = (
            at
            for at, (before_s, time_s) in steps
            if any(batch.begin_s <= before_s and time_s <= batch.end_s for batch in batches)
        )
        return self.mean_at(series, inside)

    def mean_at(self, series: Series, places: Iterable[int]) -> float | None:
        """Return the mean of some values, each weighted with the span that ends at its place."""
        total = weight = 0.0
        for at in places:
            value = series.values[at]
            if value is not None:
                span_s = self.times_s[at] - self.times_s[at - 1]
                total += value * span_s
                weight += span_s
        return total / weight if weight else None


@dataclass(frozen=True)
class Use:
    """What all processes of one name used, all of the time together."""

    name: str
    processes: int
    user_percent: float
    system_percent: float
    resident_kib: float  # the most of all of them at one time


def top(processes: Sequence[Process]) -> tuple[Use, ...]:
    """Add up what processes of one name used, those that used most first."""
    spans = {item.time_s: item.span_s for item in processes}
    whole_s = math.fsum(spans.values()) or math.inf
    found = []
    for name, mine in grouped((item.name, item) for item in processes).items():
        user_s = math.fsum(item.user_percent * item.span_s for item in mine)
        system_s = math.fsum(item.system_percent * item.span_s for item in mine)
        resident = grouped((item.time_s, item.resident_kib) for item in mine)
        pids = len({item.pid for item in mine})
        most = max(map(sum, resident.values()))
        found.append(Use(name, pids, user_s / whole_s, system_s / whole_s, most))
    return tuple(sorted(found, key=lambda use: -(use.user_percent + use.system_percent)))
