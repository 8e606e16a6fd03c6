# SPDX-License-Identifier: GPL-2.0-or-later
"""A known time spun at the end of readings here, and what the instrument says of it; pure."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lsmeter.core.model import Boot
from lsmeter.core.model.conclusion import Change
from lsmeter.measure.experiment.options import Experiment, build_experiment
from lsmeter.measure.instruments.timed import HZ, OPERATIONS, compare
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.cells import CellResult, cell_results
from lsmeter.statistics.blocks import LEVEL
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Document, Kind, Section, Shown, Table, Tone
from lsmeter.tables.numbers import PLUS_MINUS
from lsmeter.tables.values import change, count

_ASKED = tomllib.loads(Path(__file__).with_name("timed.toml").read_text(encoding="utf-8"))
NAME, VERSION = "lsmeter-selftest-timed", 2
_LEGEND = (
    "Nanoseconds of an operation, spun on this machine at the end of readings; truth: as the probe "
    f"counted it, mean. {PLUS_MINUS}: half the interval; all of them together hold in 95 %."
)
_SPUN = "spin.ticks."  # and a benchmark: ticks spun in all its readings, the least and the most
_SURE = 0.5  # of the readings at least are spun, where the median has to show it


@dataclass(frozen=True)
class Truth:
    """What was spun, in nanoseconds of an operation; least and most: where it was spun."""

    mean: float
    least: float
    most: float
    share: float  # of the readings


@dataclass(frozen=True)
class Recovery:
    """What was spun under one setup in one benchmark, and what both numbers say of it."""

    setup: str
    benchmark: str
    truth: Truth
    median: Change
    mean: Change

    @property
    def passed(self) -> bool:
        """Whether the mean's interval holds what was spun, and the median's, where all were."""
        mean = self.mean.low <= self.truth.mean <= self.mean.high
        if self.truth.share < _SURE:
            return mean
        median = self.median.low <= self.truth.most and self.median.high >= self.truth.least
        return mean and median


def experiment(blocks: int, seed: int, machine: str) -> Experiment:
    """Return the experiment that spins."""
    words = {**_ASKED, "machine": machine, "boots": blocks, "seed": seed}
    return build_experiment(words, where="lsmeter selftest timed")


def recoveries(run: RunData) -> tuple[Recovery, ...]:
    """Hold what was found against what was spun; all intervals hold together in 95 %."""
    results = cell_results(run)
    base = next(item for item in results if item.cell.place.setup == run.manifest.baseline_setup)
    known = [
        (result, name, truth)
        for result in results
        if result is not base
        for name, truth in _truths(result).items()
        if name in base.readings
    ]
    level = 1 - (1 - LEVEL) / max(1, 2 * len(known))
    recovered = []
    for result, name, truth in known:
        found = compare(base.readings[name], result.readings[name], 0.0, level=level)
        numbers = (found.typical, found.mean or found.typical)
        recovered.append(Recovery(result.cell.place.setup, name, truth, *numbers))
    return tuple(recovered)


def _truths(result: CellResult) -> Mapping[str, Truth]:
    """Return what the boots of a cell say that they spun, by benchmark."""
    usable = [boot for boot in result.boots if boot.status.usable]
    return {
        name: _combine_truths(parts)
        for name in result.readings
        if (parts := list(_spun(usable, name))) and len(parts) == len(usable)
    }


def _spun(boots: Sequence[Boot], name: str) -> Iterator[Truth]:
    for boot in boots:
        facts = dict(boot.facts)
        count = next((len(item.values) for item in boot.samples if item.benchmark == name), 0)
        try:
            total, least, most = (float(int(word)) for word in facts[_SPUN + name].split())
            tick = 1e9 / float(facts[HZ]) / float(facts.get(OPERATIONS + name, 1))
        except (KeyError, ValueError, ArithmeticError):
            continue
        if count and least:
            share = min(1.0, total / count / least)
            yield Truth(total / count * tick, least * tick, most * tick, share)


def _combine_truths(parts: Sequence[Truth]) -> Truth:
    mean = float(np.mean([item.mean for item in parts]))
    least, share = (min(getattr(item, name) for item in parts) for name in ("least", "share"))
    # A single one that an interrupt fell into says nothing of the median.
    most = float(np.median([item.most for item in parts]))
    return Truth(mean, least, most if math.isfinite(most) else mean, share)


@dataclass(frozen=True)
class TimedReport:
    """All that a selftest of the timed instrument found."""

    recoveries: tuple[Recovery, ...]

    @property
    def passed(self) -> bool:
        """Whether everything passed, and there was anything to pass."""
        return bool(self.recoveries) and all(item.passed for item in self.recoveries)

    @property
    def summary(self) -> str:
        """How it ended, in one line."""
        good = sum(item.passed for item in self.recoveries)
        text = f"{good} of {len(self.recoveries)} times spun on this machine are found"
        return text if self.passed else f"FAIL: {text}"


def document(report: TimedReport) -> Document:
    """Return what every format shows."""
    spun = [{**vars(item), "passed": item.passed} for item in report.recoveries]
    tables = (_table(report.recoveries),) if report.recoveries else ()
    sections = (Section("", tables=tables), Section("Result", lead=(report.summary,)))
    data = {"passed": report.passed, "spun": spun}
    return Document(NAME, VERSION, _ASKED["title"], sections=sections, data=data)


def _table(found: tuple[Recovery, ...]) -> Table:
    def truth(item: Recovery) -> Shown:
        return Shown(item.truth.mean, count(round(item.truth.mean, 1)))

    results = {True: ("pass", Tone.PLAIN), False: ("FAIL", Tone.WARNING)}
    fields = (
        *(named("setup"), named("benchmark"), Field("truth_ns", "truth", truth)),
        Field("median_ns", "median", lambda item: _amount(item.median), Kind.CHANGE),
        Field("mean_ns", "mean", lambda item: _amount(item.mean), Kind.CHANGE),
        named("result", lambda item: Shown(item.passed, *results[item.passed])),
    )
    return tabled("spun", "Spun on this machine", fields, found, more=(_LEGEND,))


def _amount(item: Change) -> Shown:
    half = (item.high - item.low) / 2
    known = f"{half:,.1f}" if math.isfinite(half) else "?"
    return Shown(item.difference, f"{change(round(item.difference, 1))} {PLUS_MINUS}{known}")
