# SPDX-License-Identifier: GPL-2.0-or-later
"""From the boots of one cell to the readings and the estimate of each benchmark; pure.

Only benchmarks that were ok in a boot whose setup was verified give numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from lsmeter.conclusion import Estimate
from lsmeter.evidence import USABLE
from lsmeter.model import Benchmark, BenchmarkStatus, Idle
from lsmeter.results.boots import StoredBoot
from lsmeter.results.manifest import ManifestCell
from lsmeter.statistics.estimate import BootReadings, in_line_mean, typical, whole_cost


def cell_readings(boots: Iterable[StoredBoot]) -> dict[str, list[BootReadings]]:
    """Return what each usable boot gave for each benchmark that ended well, by id."""
    found: dict[str, list[BootReadings]] = {}
    for stored in boots:
        if stored.boot.status not in USABLE:
            continue
        share = idle_share(stored.boot.idle)
        table = stored.table.group_by("benchmark", maintain_order=True).agg("value")
        values = {name: np.asarray(item, dtype=np.int64) for name, item in table.iter_rows()}
        for samples in stored.boot.samples:
            if samples.status is BenchmarkStatus.OK and samples.benchmark in values:
                found.setdefault(samples.benchmark, []).append(
                    BootReadings(
                        boot=stored.boot.seed,
                        values=values[samples.benchmark],
                        ticked=samples.ticked,
                        whole=samples.whole,
                        idle_share=share,
                    )
                )
    return found


def idle_share(spans: Sequence[Idle]) -> float:
    """Return the part of its time that a guest takes for itself; 0 where it was not watched."""
    elapsed = sum(span.elapsed for span in spans)
    return sum(span.taken for span in spans) / elapsed if elapsed else 0.0


def cell_estimates(
    cell: ManifestCell,
    benchmarks: Iterable[Benchmark],
    readings: Mapping[str, Sequence[BootReadings]],
) -> tuple[Estimate, ...]:
    """Estimate each benchmark of the cell's suite that has readings."""
    return tuple(
        _estimate(cell, benchmark, readings[benchmark.id])
        for benchmark in benchmarks
        if benchmark.suite == cell.suite and readings.get(benchmark.id)
    )


def _estimate(cell: ManifestCell, benchmark: Benchmark, boots: Sequence[BootReadings]) -> Estimate:
    most = typical(boots)
    whole, missing = whole_cost(boots)
    return Estimate(
        kernel=cell.kernel,
        setup=cell.setup,
        filesystem=cell.filesystem,
        user=cell.user,
        benchmark=benchmark,
        value=most.value,
        minimum=most.minimum,
        maximum=most.maximum,
        share_at_mode=most.share_at_mode,
        low=most.low,
        high=most.high,
        samples=most.samples,
        boots=most.boots,
        repeats=most.repeats,
        peaks=most.peaks,
        mean=in_line_mean(boots),
        whole=whole,
        whole_missing=missing,
    )
