# SPDX-License-Identifier: GPL-2.0-or-later
"""The exact instrument: guest instructions, counted under emulation."""

from __future__ import annotations

from lsmeter.core.model import Benchmark, Place
from lsmeter.core.model.conclusion import Estimate
from lsmeter.measure.instruments import Instrument, described
from lsmeter.statistics.compare import compare
from lsmeter.statistics.estimate import Side


def estimate(place: Place, benchmark: Benchmark, boots: Side) -> Estimate:
    """Take the most frequent count for the cost, with the in-line mean and the whole cost."""
    most, whole = boots.typical, boots.whole_cost()
    bounds = (most.value, most.low, most.high, most.repeats)
    return Estimate(place, benchmark, *bounds, most.evidence, boots.in_line_mean(), *whole)


INSTRUMENT = Instrument(
    **described("exact"),
    machines=("emulation", "dask", "replay"),
    side_by_side=True,
    reusable=True,
    comparable=(),
    gather=Side,
    estimate=estimate,
    compare=compare,
)
