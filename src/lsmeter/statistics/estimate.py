# SPDX-License-Identifier: GPL-2.0-or-later
"""From samples to estimates for the exact instrument: the mode, and whether it repeats; pure.

The count of an undisturbed operation is one number; interrupts and the kernel's own periodic
work lie on top of it in a minority of samples. The mode is therefore the estimate, and the
share of samples at the mode, the minimum and the maximum say how far to trust it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

# Where an operation has two costs that alternate (a read that ends a page and one that does
# not), chance decides which is more frequent: values nearly as frequent count as tied.
NEAR_TIE = 0.75

# Below this share no value stands out (a copy of 1 KiB has four costs, by its place in the page),
# and chance decides which peak is highest: all peaks then bound the estimate.
LEAST_SHARE = 0.3
PEAK = 0.5  # a peak is at least so frequent, compared with the highest


def mode(counts: Mapping[int, int]) -> int:
    """Return the smallest value at least NEAR_TIE times as frequent as any other.

    ValueError for no counts at all.
    """
    enough = NEAR_TIE * max(counts.values())
    return min(value for value, count in counts.items() if count >= enough)


def peaks(counts: Mapping[int, int]) -> list[int]:
    """Return the values that are at least PEAK times as frequent as the most frequent one."""
    enough = PEAK * max(counts.values())
    return [value for value, count in counts.items() if count >= enough]


@dataclass(frozen=True)
class Distribution:
    """How often each value occurred in the samples of one benchmark in one boot."""

    boot: int  # the seed, which tells boots of one cell apart
    values: tuple[int, ...]  # ascending
    counts: tuple[int, ...]

    @property
    def mode(self) -> int:
        """The mode of this boot."""
        return mode(dict(zip(self.values, self.counts, strict=True)))


@dataclass(frozen=True)
class ModeEstimate:
    """The exact estimate of one benchmark over boots; units are those of the samples."""

    value: int
    minimum: int
    maximum: int
    share_at_mode: float
    low: int  # smallest mode of a single boot, or smallest peak where none stands out
    high: int  # largest mode of a single boot, or largest peak where none stands out
    samples: int
    boots: int

    @property
    def repeats(self) -> bool:
        """Whether at least two boots gave the same mode."""
        return self.boots >= 2 and self.low == self.high


def distributions(tables: Iterable[tuple[int, pl.DataFrame]]) -> dict[str, list[Distribution]]:
    """Count values by benchmark; tables are (seed of the boot, its samples)."""
    found: dict[str, list[Distribution]] = {}
    for boot, table in tables:
        counted = (
            table.group_by("benchmark", "value")
            .agg(pl.len().alias("count"))
            .sort("benchmark", "value")
            .group_by("benchmark", maintain_order=True)
            .agg("value", "count")
        )
        for benchmark, values, counts in counted.iter_rows():
            item = Distribution(boot, tuple(values), tuple(counts))
            found.setdefault(benchmark, []).append(item)
    return found


def estimate_mode(boots: list[Distribution]) -> ModeEstimate:
    """Pool the samples of all boots and take the mode; ValueError without any sample."""
    pooled: dict[int, int] = {}
    for boot in boots:
        for value, count in zip(boot.values, boot.counts, strict=True):
            pooled[value] = pooled.get(value, 0) + count
    if not pooled:
        raise ValueError("no samples")
    value = mode(pooled)
    total = sum(pooled.values())
    bounds = [boot.mode for boot in boots]
    if pooled[value] / total < LEAST_SHARE:
        bounds += peaks(pooled)
    return ModeEstimate(
        value=value,
        minimum=min(pooled),
        maximum=max(pooled),
        share_at_mode=pooled[value] / total,
        low=min(bounds),
        high=max(bounds),
        samples=total,
        boots=len(boots),
    )
