# SPDX-License-Identifier: GPL-2.0-or-later
"""How often the timed instrument is right about data whose truth is known; pure.

All of it goes through the instrument's own `compare` and `judge`. What is held against a limit may
miss it by what chance does to so many replicates: three standard errors and a half.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from lsmeter.core.model import Benchmark, Metric, Place
from lsmeter.core.model.conclusion import Comparison, Verdict
from lsmeter.measure.instruments.timed import compare, judge
from lsmeter.statistics.blocks import LEVEL, Block, level_of
from lsmeter.statistics.family import ALPHA, Looks
from tests.statistics.noise import MODELS, Draw, Noise, sides

MARGIN = 0.01
FAMILY = 20  # comparisons of a simulated report
STEPS = (0.01, 0.02, 0.05)  # true overheads, of which the power is given
_ERRORS = 3.5
_BOUNDS = (0.93, 0.97)  # of the coverage that is asked for
_PLACE = Place("simulated", "tested", "simulated", "", "")
_KIND = Benchmark("simulated", "operation", (), Metric("latency", "ns"), "", "lsmeter")


@dataclass(frozen=True)
class Size:
    """How much is simulated: replicates of each rate, blocks of a side, readings of a block."""

    replicates: int
    blocks: int
    readings: int
    seed: int


@dataclass(frozen=True)
class Rate:
    """A share of replicates, and the bounds that it has to lie in; nan where none are set."""

    name: str
    value: float
    count: int
    low: float = math.nan
    high: float = math.nan

    @property
    def passed(self) -> bool:
        """Whether it lies in its bounds, as far as so many replicates can tell."""
        allowed = (bound + side * self._slack(bound) for bound, side in self._bounds())
        least, most = allowed
        return least <= self.value <= most

    def _bounds(self) -> tuple[tuple[float, int], tuple[float, int]]:
        low = 0.0 if math.isnan(self.low) else self.low
        return (low, -1), (1.0 if math.isnan(self.high) else self.high, 1)

    def _slack(self, share: float) -> float:
        return _ERRORS * math.sqrt(share * (1 - share) / self.count)


@dataclass(frozen=True)
class Row:
    """All rates of one noise model."""

    noise: Noise
    rates: tuple[Rate, ...]

    @property
    def passed(self) -> bool:
        """Whether all of them lie in their bounds."""
        return all(rate.passed for rate in self.rates)


def rows(size: Size, tell: Callable[[str], object] = lambda _: None) -> Iterator[Row]:
    """Simulate every noise model."""
    for number, noise in enumerate(MODELS.values()):
        tell(f"{noise.name}: {noise.title}")
        yield Row(noise, tuple(_rates(noise, size, np.random.default_rng([size.seed, number]))))


def _rates(noise: Noise, size: Size, draw: Draw) -> Iterator[Rate]:
    still = [_pair(noise, draw, size) for _ in range(size.replicates)]
    count = len(still)
    for name in ("typical", "mean"):
        changes = [getattr(item, name) for item, _ in still]
        held = sum(item.overhead_low <= 0 <= item.overhead_high for item in changes)
        yield Rate(f"{name} ratio held", held / count, count, *_BOUNDS)
    # Of a level that drifts the interval has the drift in it, and holds more often.
    most = math.nan if noise.wanders else _BOUNDS[1]
    yield Rate("level held", sum(level for _, level in still) / count, count, _BOUNDS[0], most)
    compared = [item for item, _ in still]
    alarms = sum(item.tests.p <= ALPHA for item in compared if item.tests) / count
    yield Rate("alarms", alarms, count, high=ALPHA)
    yield Rate("after Holm", *_reports(compared, _wrong), high=ALPHA)
    # As far apart as the margin is wide: equivalent would be wrong.
    edge = [_pair(noise, draw, size, 1 + MARGIN)[0] for _ in range(count)]
    wrong = sum(item.tests.p_equivalent <= ALPHA for item in edge if item.tests) / count
    yield Rate("false equivalent", wrong, count, high=ALPHA)
    for step in STEPS:
        some = max(50, count // 5)
        found = [_pair(noise, draw, size, 1 + step)[0] for _ in range(some)]
        seen = sum(item.tests.p <= ALPHA for item in found if item.tests and item.overhead > 0)
        yield Rate(f"power {step:.0%}", seen / some, some)


def _pair(noise: Noise, draw: Draw, size: Size, factor: float = 1.0) -> tuple[Comparison, bool]:
    """Return one comparison, and whether the baseline's interval holds its true level."""
    before, after, level = sides(noise, draw, size.blocks, size.readings, factor)
    bounds = level_of(np.array([block.median for block in before]))
    return _compared(before, after), bounds.low <= level <= bounds.high


def _compared(before: Sequence[Block], after: Sequence[Block], level: float = LEVEL) -> Comparison:
    found = compare(before, after, MARGIN, level=level)
    place = replace(_PLACE, setup="baseline")
    return Comparison(**vars(found), place=_PLACE, baseline=place, benchmark=_KIND, repeats=False)


def _wrong(found: Iterable[Comparison]) -> bool:
    return any(item.verdict in (Verdict.SLOWER, Verdict.FASTER) for item in found)


def _reports(
    found: Sequence[Comparison], wrong: Callable[[Iterable[Comparison]], bool]
) -> tuple[float, int]:
    """Return the share of reports of FAMILY comparisons with a wrong verdict, and their number."""
    source = iter(found)
    reports = list(iter(lambda: list(islice(source, FAMILY)), []))
    whole = [report for report in reports if len(report) == FAMILY] or reports
    return sum(wrong(judge(report, MARGIN)) for report in whole) / len(whole), len(whole)


@dataclass(frozen=True)
class Growth:
    """What a run that grows until it is conclusive does: wrong verdicts, and blocks it takes."""

    noise: Noise
    overhead: float
    wrong: Rate
    conclusive: float
    blocks: float  # mean

    @property
    def passed(self) -> bool:
        """Whether wrong verdicts are as rare as they have to be."""
        return self.wrong.passed


def growths(
    size: Size, looks: Looks, tell: Callable[[str], object] = lambda _: None
) -> Iterator[Growth]:
    """Simulate runs that grow, without a difference and with one of twice the margin."""
    for number, noise in enumerate(MODELS.values()):
        tell(f"{noise.name}: until conclusive")
        draw = np.random.default_rng([size.seed, number, 1])
        for overhead in (0.0, 2 * MARGIN):
            ends = [_grown(noise, draw, size, looks, overhead) for _ in range(size.replicates)]
            right = {Verdict.SLOWER} if overhead else {Verdict.EQUIVALENT}
            wrong = sum(bool(said - right - {Verdict.INCONCLUSIVE}) for said, _ in ends)
            share = sum(bool(said & right) for said, _ in ends) / len(ends)
            rate = Rate("wrong", wrong / len(ends), len(ends), high=ALPHA)
            blocks = sum(at for _, at in ends) / len(ends)
            yield Growth(noise, overhead, rate, share, blocks)


def _grown(
    noise: Noise, draw: Draw, size: Size, looks: Looks, overhead: float
) -> tuple[set[Verdict], int]:
    """Return the verdict that one run of one comparison ends with, and its blocks."""
    before, after, _ = sides(noise, draw, looks.most, size.readings, 1 + overhead)
    for at in looks.planned:
        compared = _compared(before[:at], after[:at])
        (item,) = judge([compared], MARGIN, looks.share(at))
        if item.verdict is not Verdict.INCONCLUSIVE:
            return {item.verdict}, at
    return {Verdict.INCONCLUSIVE}, looks.most
