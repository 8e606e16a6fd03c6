# SPDX-License-Identifier: GPL-2.0-or-later
"""The timed instrument: nanoseconds, read from a clock around each operation or batch.

Raw readings are ticks of the clock, as the probe took them. What a boot says of its clock makes
them nanoseconds, and the empty region of the same block is subtracted, when they are read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from lsmeter.core.model import Benchmark, Better, Boot, Place, Sampling
from lsmeter.core.model.conclusion import (
    Change,
    Compared,
    Comparison,
    Difference,
    Estimate,
    Mean,
    Number,
    Sampled,
    Tests,
    Verdict,
)
from lsmeter.measure.instruments import Instrument, described
from lsmeter.statistics.blocks import (
    LEVEL,
    Block,
    BlockDifference,
    Interval,
    compare_blocks,
    level_of,
    paired,
    student,
)
from lsmeter.statistics.estimate import BootReadings
from lsmeter.statistics.family import ALPHA, holm, more_blocks
from lsmeter.statistics.ranks import Times
from lsmeter.statistics.verdict import may_be_beyond

CLOCK, HZ = "timing.clock", "timing.hz"  # facts: the clock's name, and its ticks in a second
OPERATIONS = "timing.operations."  # and a benchmark's id: how many operations its readings have
RING, LOST = "turns.ring", "turns.lost"  # facts: who shared the turns, or why one did not
HUNG = "boot.hung"  # fact: a guest was started twice, and why
LEAST_BLOCKS = 6  # fewer cannot make the permutation test's p 0.05, and intervals hold less well
NOT_ENOUGH = "not enough blocks"
EMPTY = "empty"  # the benchmark whose readings have no operation
_MEAN = "the median is equivalent, the mean is not"


def blocks(boot: Boot, found: Mapping[str, BootReadings]) -> dict[str, Block]:
    """Return the readings of a boot in nanoseconds of one operation, without the empty region.

    Without the clock's rate there is no number.
    """
    facts = dict(boot.facts)
    hz = _number(facts.get(HZ, ""))
    if not hz:
        return {}
    empty = float(np.median(found[EMPTY].values * (1e9 / hz))) if EMPTY in found else 0.0
    ring = facts.get(RING, "")
    result = {}
    for name, item in found.items():
        operations = _number(facts.get(OPERATIONS + name, "")) or 1.0
        less = 0.0 if name == EMPTY else empty
        values = ((item.values * (1e9 / hz) - less) / operations).astype(np.float64)
        result[name] = Block(boot.index, values, ring, LOST in facts)
    return result


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
    mean = student(np.array([block.mean for block in boots]))
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
    together: bool = True,
    level: float = LEVEL,
    **_of_calls: object,
) -> Compared:
    """Compare two sides; margin is a fraction, together says that they share their blocks.

    The verdict stands once all comparisons of the report are known: see `judge`.
    """
    if together:
        baseline, tested = paired(baseline, tested)
    before, after = _logs(baseline), _logs(tested)
    logs = compare_blocks(before, after, together=together)
    typical, mean = (
        _change(baseline, tested, name, better, together=together, level=level)
        for name in ("median", "mean")
    )
    tests = Tests(
        min(len(baseline), len(tested)),
        together,
        logs.value,
        logs.standard_error,
        logs.by_student(),
        logs.shift.differs().p,
        logs.differs(),
        logs.outside(*_bounds(margin)),
    )
    return Compared(
        *(typical, mean, None, None, 0.0, Difference.UNSEEN, Verdict.INCONCLUSIVE, ""),
        *(Number.TYPICAL, typical),
        cycles=min(sum(block.values_ns.size for block in side) for side in (baseline, tested)),
        tests=tests,
    )


def _bounds(margin: float) -> tuple[float, float]:
    """Return the margin as logarithms of ratios."""
    return math.log1p(-min(margin, 0.999)), math.log1p(margin)


def _logs(blocks: Sequence[Block]) -> Times:
    """Return the logarithms of block medians; none where one is too short to be told from 0."""
    medians = np.array([block.median for block in blocks])
    return np.log(medians) if medians.size and (medians > 0).all() else np.empty(0)


def _change(
    baseline: Sequence[Block],
    tested: Sequence[Block],
    name: str,
    better: Better,
    *,
    together: bool,
    level: float,
) -> Change:
    """Return how the medians or the means of blocks differ, in nanoseconds and as a ratio."""
    base, test = (np.array([getattr(item, name) for item in side]) for side in (baseline, tested))
    if not base.size or not test.size:
        return Change(*(math.nan,) * 8)
    # The mean is there for what comes rarely, which ranks leave out.
    interval = BlockDifference.interval if name == "median" else BlockDifference.of_means
    ns = interval(compare_blocks(base, test, together=together), level)
    sides = (level_of(base).value, level_of(test).value)
    value = low = high = math.nan
    if (base > 0).all() and (test > 0).all():
        ratio = interval(compare_blocks(np.log(base), np.log(test), together=together), level)
        value, low, high = (math.expm1(min(x, 700.0)) for x in (ratio.value, ratio.low, ratio.high))
    if better is Better.HIGHER:
        value, low, high = -value, -high, -low
    return Change(*sides, ns.value, ns.low, ns.high, value, low, high)


def index(
    sides: Sequence[tuple[Sequence[Block], Sequence[Block]]],
    better: Sequence[Better],
    *,
    together: bool,
) -> tuple[Interval, Interval]:
    """Return the mean over benchmarks of how many times slower each is, as logarithms.

    Of medians, and of means. sides has the baseline of each benchmark, then what is tested, better
    the direction that is good. A block gives one such mean, so that what its benchmarks share is
    counted once; one that lacks a benchmark gives none.
    """
    signs = np.array([-1.0 if of is Better.HIGHER else 1.0 for of in better])
    if together:
        sides = [paired(*side) for side in sides]
    before, after = ([side[at] for side in sides] for at in (0, 1))
    shared = _shared([*before, *after] if together else before)
    others = shared if together else _shared(after)
    typical, mean = (
        compare_blocks(
            _log_means(before, shared, name, signs),
            _log_means(after, others, name, signs),
            together=together,
        )
        for name in ("median", "mean")
    )
    return typical.interval(), mean.of_means()


def _shared(sides: Sequence[Sequence[Block]]) -> list[int]:
    """Return the blocks that all benchmarks have."""
    found = [{block.index for block in side} for side in sides]
    return sorted(set.intersection(*found)) if found else []


def _log_means(
    sides: Sequence[Sequence[Block]], shared: Sequence[int], name: str, signs: Times
) -> Times:
    """Return for each block the mean over benchmarks of the logarithm of a time."""
    times = [{block.index: float(getattr(block, name)) for block in side} for side in sides]
    table = np.array([[of[block] for of in times] for block in shared])
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = (np.log(table) * signs).mean(axis=1) if shared else np.empty(0)
    found: Times = rows if np.isfinite(rows).all() else np.empty(0)
    return found


def judge(found: Sequence[Comparison], margin: float, share: float = 1.0) -> list[Comparison]:
    """Give every comparison its verdict, corrected for all of them; share is the look's."""
    known = [item.tests for item in found if item.tests is not None]
    differ, same = (
        [min(1.0, p / share) for p in holm(values)]
        for values in ([item.p for item in known], [item.p_equivalent for item in known])
    )
    corrected = (
        replace(test, comparisons=len(known), p_corrected=p, p_equivalent_corrected=e)
        for test, p, e in zip(known, differ, same, strict=True)
    )
    return [item if item.tests is None else _ruled(item, next(corrected), margin) for item in found]


def _ruled(item: Comparison, tests: Tests, margin: float) -> Comparison:
    more = more_blocks(
        tests.log_ratio, tests.standard_error, tests.blocks, _bounds(margin), tests.comparisons
    )
    tests = replace(tests, more_blocks=more)
    ruling, cause = _verdict(item, tests, margin)
    if cause == _MEAN and item.mean is not None:
        item = replace(item, decided_by=Number.MEAN, decided=item.mean)
    found = Difference.SEEN if tests.p_corrected <= ALPHA else Difference.UNSEEN
    if ruling is not Verdict.INCONCLUSIVE:
        tests = replace(tests, more_blocks=0)
    return replace(item, found=found, verdict=ruling, cause=cause, tests=tests)


def _verdict(item: Comparison, tests: Tests, margin: float) -> tuple[Verdict, str]:
    if tests.blocks < LEAST_BLOCKS:
        return Verdict.INCONCLUSIVE, f"{NOT_ENOUGH}: {LEAST_BLOCKS} at least"
    if math.isnan(item.typical.overhead):
        return Verdict.INCONCLUSIVE, "shorter than the clock can tell from an empty reading"
    if tests.p_equivalent_corrected <= ALPHA:
        # What comes rarely leaves the mean a wide interval, which need not lie outside as a whole.
        if item.mean is not None and may_be_beyond(item.mean, margin):
            return Verdict.INCONCLUSIVE, _MEAN
        return Verdict.EQUIVALENT, ""
    if tests.p_corrected <= ALPHA:
        return (Verdict.SLOWER if item.typical.overhead > 0 else Verdict.FASTER), ""
    return Verdict.INCONCLUSIVE, NOT_ENOUGH


INSTRUMENT: Instrument = Instrument(
    **described("timed"),
    machines=("here", "kvm", "ssh", "pair", "tcg", "replay"),
    side_by_side=False,
    reusable=False,
    comparable=(
        # Facts of the host (host.*). Its kernel and mitigations may be what is compared.
        *("machine", "cpu", "microcode", "governor", "turbo", "no_turbo", "smt", "clocksource"),
        "virtualisation",
    ),
    tasks=("readings", "load", "visit"),
    workload_task="load",
    boots=50,
    sampling=Sampling(samples=300, warmup=20, whole_ppm=0),
    estimate=estimate,
    compare=compare,
    read=blocks,
    judge=judge,
    index=index,
    again=True,
    ticks=True,
)
