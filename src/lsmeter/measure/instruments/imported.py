# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers of other programs, in the unit of each; their files are the replicates.

Values are stored as whole numbers, with how many of their digits stand after the point in a fact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from lsmeter.core.model import Boot
from lsmeter.core.model.conclusion import Verdict
from lsmeter.measure.instruments import Instrument, timed
from lsmeter.statistics.blocks import Block
from lsmeter.statistics.estimate import BootReadings

T = TypeVar("T")
NAME = "imported"
DECIMALS = "imported.decimals."  # a fact, with a benchmark's id: digits after the point
_MOST_DECIMALS = 15


def blocks(boot: Boot, found: Mapping[str, BootReadings]) -> dict[str, Block]:
    """Return the values of a file as they were printed."""
    facts = dict(boot.facts)
    result = {}
    for name, item in found.items():
        said = facts.get(DECIMALS + name, "0")
        decimals = int(said) if said.isdecimal() and len(said) < 3 else 0
        values = item.values / 10.0 ** min(decimals, _MOST_DECIMALS)
        result[name] = Block(boot.index, values)
    return result


def _unpair(work: Callable[..., T]) -> Callable[..., T]:
    """Have files dealt with as times are; nothing says that they were made side by side."""

    def unpaired(*sides: object, **words: object) -> T:
        return work(*sides, **{**words, "together": False})

    return unpaired


_WORDS = timed.INSTRUMENT.words

INSTRUMENT: Instrument = replace(
    timed.INSTRUMENT,
    name=NAME,
    title="numbers that other programs printed, read from their files",
    unit="own",
    unit_word="each number in its own unit",
    covers="neither setup nor machine was seen by lsmeter; what each program leaves out: "
    "lsmeter help import",
    machines=(),
    comparable=(),
    tasks=("readings",),
    words=replace(
        _WORDS,
        replicate="file",
        numbers="Median and mean: of the values of a file, then over files, which nobody "
        "interleaved: what changed with time is in a difference, too.",
        verdicts={
            **_WORDS.verdicts,
            Verdict.INCONCLUSIVE: "the files allow no verdict; the warnings say how many more it "
            "would take",
        },
    ),
    compare=_unpair(timed.compare),
    read=blocks,
    index=_unpair(timed.index),
    again=False,
    witnessed=False,
    ticks=False,
)
