# SPDX-License-Identifier: GPL-2.0-or-later
"""The timed instrument: nanoseconds, read from a clock around each operation or batch.

Raw readings are ticks of the clock, as the probe took them. What a boot says of its clock makes
them nanoseconds, and the empty region of the same block is subtracted, when they are read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from lsmeter.instruments import Instrument
from lsmeter.model import Benchmark, Better, Boot, Place, Sampling
from lsmeter.model.conclusion import (
    Change,
    Compared,
    Difference,
    Estimate,
    Mean,
    Sampled,
    Verdict,
)
from lsmeter.statistics.blocks import Block, Interval, level_of, paired, student
from lsmeter.statistics.estimate import BootReadings

CLOCK, HZ = "timing.clock", "timing.hz"  # facts: the clock's name, and its ticks in a second
OPERATIONS = "timing.operations."  # and a benchmark's id: how many operations its readings have
EMPTY = "empty"  # the benchmark whose readings have no operation
_NORMAL = 1.2533  # standard error of a median over that of a mean, of a normal distribution


def blocks(boot: Boot, found: Mapping[str, BootReadings]) -> dict[str, Block]:
    """Return the readings of a boot in nanoseconds of one operation, without the empty region.

    Without the clock's rate there is no number.
    """
    facts = dict(boot.facts)
    hz = _number(facts.get(HZ, ""))
    if not hz:
        return {}
    region, error = _empty(found, 1e9 / hz)
    result = {}
    for name, item in found.items():
        operations = _number(facts.get(OPERATIONS + name, "")) or 1.0
        less, unsure = (0.0, 0.0) if name == EMPTY else (region, error)
        values = ((item.values * (1e9 / hz) - less) / operations).astype(np.float64)
        result[name] = Block(boot.index, values, less / operations, unsure / operations)
    return result


def _empty(found: Mapping[str, BootReadings], tick_ns: float) -> tuple[float, float]:
    """Return what a reading of nothing takes, and the standard error of that."""
    if EMPTY not in found:
        return 0.0, 0.0
    values = found[EMPTY].values * tick_ns
    error = _NORMAL * float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else 0.0
    return float(np.median(values)), error


def _number(text: str) -> float:
    """Return a number above 0 as a guest wrote it, 0 for anything else."""
    try:
        found = float(text)
    except ValueError:
        return 0.0
    return found if 0 < found < math.inf else 0.0


def estimate(place: Place, benchmark: Benchmark, boots: Sequence[Block]) -> Estimate:
    """Take the median over blocks for the cost, with the mean; both with their intervals."""
    typical = level_of(np.array([block.median for block in boots]))
    mean = level_of(np.array([block.mean for block in boots]))
    pooled = np.concatenate([block.values_ns for block in boots])
    evidence = Sampled(pooled.size, len(boots), float(pooled.min()), float(pooled.max()), 0.0)
    means = Mean(mean.value, mean.low, mean.high, int(pooled.size), 0)
    bounds = (typical.value, typical.low, typical.high)
    return Estimate(place, benchmark, *bounds, repeats=False, evidence=evidence, mean=means)


def compare(
    baseline: Sequence[Block],
    tested: Sequence[Block],
    margin: float,
    better: Better = Better.LOWER,
    *,
    calls: bool = True,  # noqa: ARG001  (of the exact instrument)
) -> Compared:
    """Compare two sides block by block; margin is a fraction."""
    before, after = paired(baseline, tested)
    typical, mean = (
        _change([getattr(b, name) for b in before], [getattr(b, name) for b in after], better)
        for name in ("median", "mean")
    )
    ruling = _verdict(typical, margin)
    seen = typical.overhead_low > 0 or typical.overhead_high < 0
    found = Difference.SEEN if seen else Difference.UNSEEN
    return Compared(typical, mean, None, None, 0.0, found, ruling, "")


def _change(before: Sequence[float], after: Sequence[float], better: Better) -> Change:
    base, test = np.array(before), np.array(after)
    if not base.size:
        return Change(*(math.nan,) * 8)
    low, high = level_of(base).value, level_of(test).value
    apart = student(test - base)
    ratio = Interval(math.nan, math.nan, math.nan)
    if (base > 0).all() and (test > 0).all():
        sign = -1.0 if better is Better.HIGHER else 1.0
        logs = student(sign * np.log(test / base))
        ratio = Interval(*(math.expm1(min(x, 700.0)) for x in (logs.value, logs.low, logs.high)))
    return Change(low, high, apart.value, apart.low, apart.high, ratio.value, ratio.low, ratio.high)


def _verdict(item: Change, margin: float) -> Verdict:
    if item.overhead_low > 0 and item.overhead_high > margin:
        return Verdict.SLOWER
    if item.overhead_high < 0 and item.overhead_low < -margin:
        return Verdict.FASTER
    inside = -margin <= item.overhead_low <= item.overhead_high <= margin
    return Verdict.EQUIVALENT if inside else Verdict.INCONCLUSIVE


INSTRUMENT: Instrument = Instrument(
    name="timed",
    title="time on real hardware, by the cycle counter or the kernel's clock",
    unit="ns",
    unit_word="nanoseconds",
    covers="valid for this host in this state; caches, branch prediction and noise are in it",
    machines=("here", "kvm", "ssh", "replay"),
    side_by_side=False,
    reusable=False,
    portable=False,
    comparable=(
        *("cpu", "microcode", "governor", "turbo", "smt", "mitigations", "clocksource"),
        *("virtualisation", "kernel"),
    ),
    tasks=("readings", "workload"),
    boots=30,
    sampling=Sampling(samples=300, warmup=20, whole_ppm=0),
    estimate=estimate,
    compare=compare,
    read=blocks,
)
