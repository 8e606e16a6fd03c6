# SPDX-License-Identifier: GPL-2.0-or-later
"""The exact instrument: guest instructions, counted under emulation."""

from __future__ import annotations

from collections.abc import Sequence

from lsmeter.core.model import Benchmark, Better, Place
from lsmeter.core.model.conclusion import Compared, Estimate, Verdict
from lsmeter.measure.instruments import Instrument, Words
from lsmeter.statistics.compare import compare
from lsmeter.statistics.estimate import BootReadings, in_line_mean, typical, whole_cost


def estimate(place: Place, benchmark: Benchmark, boots: Sequence[BootReadings]) -> Estimate:
    """Take the most frequent count for the cost, with the in-line mean and the whole cost."""
    most, whole = typical(boots), whole_cost(boots)
    bounds = (most.value, most.low, most.high, most.repeats)
    return Estimate(place, benchmark, *bounds, most.evidence, in_line_mean(boots), *whole)


def _compare(
    baseline: Sequence[BootReadings],
    tested: Sequence[BootReadings],
    margin: float,
    better: Better,
    *,
    calls: bool,
    **_of_times: object,
) -> Compared:
    """Compare two sides, whenever each was measured."""
    return compare(baseline, tested, margin, better, calls=calls)


INSTRUMENT = Instrument(
    name="exact",
    title="guest instructions, counted under emulation (QEMU TCG, -icount): free of noise",
    unit="insns",
    unit_word="instructions",
    covers="caches, branch prediction and time are not seen",
    machines=("emulation", "replay"),
    side_by_side=True,
    reusable=True,
    comparable=(),
    words=Words(
        typical="typical",
        mean="in-line mean",
        replicate="boot",
        level="99 %",
        numbers="Typical: the most frequent reading of one call. In-line mean: over the readings "
        "into which no timer tick fell. Whole cost: what a call costs with those that prepare and "
        "undo it (its cycle) and all deferred work.",
        verdicts={
            Verdict.SLOWER: "certainly worse, possibly by more than the margin, in the typical "
            "count, the in-line mean or the whole cost",
            Verdict.FASTER: "certainly better, possibly by more than the margin, in one of them",
            Verdict.EQUIVALENT: "typical count and whole cost inside the margin, and no peak moved",
            Verdict.INCONCLUSIVE: "the numbers allow no verdict; the warnings name the cause",
        },
    ),
    estimate=estimate,
    compare=_compare,
)
