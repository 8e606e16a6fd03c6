# SPDX-License-Identifier: GPL-2.0-or-later
"""How cost is read: one file each; here is what each says of itself, and how to find it."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsmeter.core import registry
from lsmeter.core.model import Benchmark, Boot, Place, Sampling
from lsmeter.core.model.conclusion import Compared, Comparison, Estimate, Verdict
from lsmeter.statistics.estimate import BootReadings

if TYPE_CHECKING:
    from lsmeter.statistics.blocks import Interval

DEFAULT = "exact"


@dataclass(frozen=True)
class Words:
    """What the numbers of an instrument are called in reports.

    typical is the number that heads tables, mean the other one, replicate what is repeated; level
    is that of the intervals of means. numbers explains them, verdicts what each one rests on.
    repeats says that a number which is right is the same in every replicate; interval, that
    tables show how well it is known beside it.
    """

    typical: str
    mean: str
    replicate: str
    level: str
    numbers: str
    verdicts: Mapping[Verdict, str]
    repeats: bool = True
    interval: bool = False


@dataclass(frozen=True)
class Instrument:
    """One way to read cost; numbers of different instruments are never compared.

    unit is that of its numbers, unit_word the word for it, covers what they leave out.
    side_by_side says that guests may run at a time, reusable that a stored boot may serve another
    day, again that the baseline is measured a second time under another name, as a control (A/A).
    machines are those that it can read. tasks are those whose boots it can read (empty: all), boots
    and sampling what is asked where nothing is said. comparable names the facts of a host that two
    runs must share. read turns the stored readings of a boot, by benchmark, into what the other two
    take. estimate gives what one benchmark costs in a cell, compare how two cells differ: baseline
    first, then the margin as a fraction and which direction is good; calls says that a reading is
    one call of many of a cycle, together that the sides were measured side by side. judge gives its
    verdicts to all comparisons of a report. index, if there is one, gives how many times slower all
    benchmarks together are, as logarithms of the typical cost and of the mean; else an index has
    the bounds of single benchmarks. witnessed says that lsmeter itself saw conditions and setups,
    ticks that the probe reads a clock of real time.
    """

    name: str
    title: str
    unit: str
    unit_word: str
    covers: str
    machines: tuple[str, ...]
    side_by_side: bool
    reusable: bool
    comparable: tuple[str, ...]
    words: Words
    estimate: Callable[[Place, Benchmark, Any], Estimate]  # of what `gather` made
    compare: Callable[..., Compared]
    tasks: tuple[str, ...] = ()
    workload_task: str = "workload"  # that of its boots in which a service is under load
    boots: int = 2
    sampling: Sampling = field(default_factory=Sampling)
    read: Callable[[Boot, Mapping[str, BootReadings]], Mapping[str, Any]] = lambda _, found: found
    gather: Callable[[Iterable[Any]], Sequence[Any]] = tuple  # what all boots of a cell gave
    judge: Callable[..., Sequence[Comparison]] = lambda found, *_: found
    index: Callable[..., tuple[Interval, Interval]] | None = None
    again: bool = False
    witnessed: bool = True
    ticks: bool = False


def described(name: str) -> dict[str, Any]:
    """Return the fields of an instrument that texts.toml has."""
    found = tomllib.loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))[name]
    verdicts = {Verdict(verdict): text for verdict, text in found["words"]["verdicts"].items()}
    return {"name": name, **found, "words": Words(**{**found["words"], "verdicts": verdicts})}


@functools.cache
def instruments() -> Mapping[str, Instrument]:
    """Return all instruments by name."""
    found = registry.members("lsmeter.measure.instruments", "INSTRUMENT", Instrument)
    return {item.name: item for item in found}


def find_instrument(name: str, *, where: str = "--instrument") -> Instrument:
    """Return the instrument called `name`; UsageError names the known ones when there is none."""
    return registry.find("instrument", name, instruments(), where=where)
