# SPDX-License-Identifier: GPL-2.0-or-later
"""From the boots of each cell to estimates, and from two cells to comparisons; pure.

Only benchmarks that were ok in a boot whose setup was verified give numbers; everything else
becomes a Problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lsmeter.instruments import find_instrument
from lsmeter.model import Benchmark, BenchmarkStatus, Boot, BootStatus, Idle, Problem, Samples
from lsmeter.model.conclusion import Comparison, Estimate
from lsmeter.results.directory import RunData
from lsmeter.results.manifest import Manifest, ManifestCell
from lsmeter.statistics.estimate import BootReadings

READING_TASKS = frozenset({"readings", "attribute"})  # whose samples are costs


@dataclass(frozen=True)
class CellResult:
    """All boots and estimates of one cell of one run."""

    instrument: str
    cell: ManifestCell
    boots: tuple[Boot, ...]
    estimates: tuple[Estimate, ...]
    problems: tuple[Problem, ...]
    readings: Mapping[str, Sequence[BootReadings]]


def cell_results(run: RunData) -> tuple[CellResult, ...]:
    """Estimate every benchmark of every cell that took readings, in the order of the manifest."""
    by_hash: dict[str, list[Boot]] = {}
    for boot in run.boots:
        by_hash.setdefault(boot.cell_hash, []).append(boot)
    return tuple(
        _cell_result(run.manifest, cell, by_hash.get(cell.hash, []))
        for cell in run.manifest.cells
        if cell.task.name in READING_TASKS
    )


def _cell_result(manifest: Manifest, cell: ManifestCell, boots: list[Boot]) -> CellResult:
    readings = cell_readings(boots)
    estimate = find_instrument(manifest.instrument).estimate
    estimates = tuple(
        estimate(cell.place, benchmark, readings[benchmark.id])
        for benchmark in manifest.benchmarks
        if benchmark.suite == cell.place.suite and readings.get(benchmark.id)
    )
    problems = tuple(_problems(cell, boots))
    return CellResult(manifest.instrument, cell, tuple(boots), estimates, problems, readings)


def cell_readings(boots: Iterable[Boot]) -> dict[str, list[BootReadings]]:
    """Return what each usable boot gave for each benchmark that ended well, by id."""
    found: dict[str, list[BootReadings]] = {}
    for boot in boots:
        if not boot.status.usable:
            continue
        share = idle_share(boot.idle)
        for samples in boot.samples:
            if samples.status is BenchmarkStatus.OK and samples.values:
                found.setdefault(samples.benchmark, []).append(
                    BootReadings(
                        boot=boot.seed,
                        values=np.asarray(samples.values, dtype=np.int64),
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


def compare_cells(baseline: CellResult, tested: CellResult, margin: float) -> Iterable[Comparison]:
    """Compare each benchmark of which both cells have numbers; margin is a fraction."""
    compare = find_instrument(tested.instrument).compare
    before = {item.benchmark.id: item for item in baseline.estimates}
    for item in tested.estimates:
        base = before.get(item.benchmark.id)
        if base is None:
            continue
        name = item.benchmark.id
        found = compare(
            baseline.readings[name],
            tested.readings[name],
            margin,
            item.benchmark.metric.better,
            calls=bool(item.benchmark.cycle),
        )
        yield Comparison(
            place=item.place,
            baseline=base.place,
            benchmark=item.benchmark,
            repeats=item.repeats and base.repeats,
            **vars(found),
        )


def baseline_of(
    manifest: Manifest, tested: CellResult, results: Sequence[CellResult]
) -> CellResult | None:
    """Return the baseline's cell on the same kernel, else on one of the same version.

    A kernel without security modules is another image: it stands in for its siblings, which
    are known by the version that their release begins with (6.1.192).
    """
    place = tested.cell.place
    cells = [
        item
        for item in results
        if item.cell.place.setup == manifest.baseline_setup
        and item.cell.place.beside[1:] == place.beside[1:]
    ]
    for item in cells:
        if item.cell.place.kernel == place.kernel:
            return item
    version = versions(manifest)
    siblings = [item for item in cells if version[item.cell.place.kernel] == version[place.kernel]]
    return siblings[0] if siblings else None


def within_run(manifest: Manifest, results: Sequence[CellResult]) -> tuple[Comparison, ...]:
    """Compare every cell with that of the baseline setup."""
    return tuple(
        item
        for result in results
        if result.cell.place.setup != manifest.baseline_setup
        and (baseline := baseline_of(manifest, result, results)) is not None
        for item in compare_cells(baseline, result, manifest.margin)
    )


def without_baseline(manifest: Manifest, results: Sequence[CellResult]) -> Iterable[Problem]:
    """Name the kernels on which there is nothing to compare with."""
    for kernel in dict.fromkeys(item.cell.place.kernel for item in results):
        of_kernel = [item for item in results if item.cell.place.kernel == kernel]
        if any(baseline_of(manifest, item, results) for item in of_kernel):
            continue
        yield Problem(
            title=f"{kernel}: nothing to compare with: the baseline {manifest.baseline_setup} "
            "was measured neither on it nor on a kernel of the same version",
            kernel=kernel,
        )


def versions(manifest: Manifest) -> dict[str, str]:
    """Return the version that each kernel's release begins with."""
    return {kernel.name: kernel.release.partition("-")[0] for kernel in manifest.kernels}


def boot_problem(cell: ManifestCell, boot: Boot) -> Problem:
    """Say how a boot went wrong."""
    place = cell.place
    return Problem(
        title=f"{place.setup} on {place.kernel}: boot {boot.index}: {boot.status.value}",
        kernel=place.kernel,
        setup=place.setup,
        detail=boot.detail,
        log_tail=boot.console_tail,
    )


def _problems(cell: ManifestCell, boots: Iterable[Boot]) -> Iterable[Problem]:
    seen: set[tuple[str, str, str]] = set()
    place = cell.place
    for boot in boots:
        if boot.status is not BootStatus.OK:
            yield boot_problem(cell, boot)
        for samples in boot.samples:
            for what, status, detail in _failures(samples):
                if (what, samples.benchmark, detail) in seen:
                    continue
                seen.add((what, samples.benchmark, detail))
                yield Problem(
                    title=f"{samples.benchmark}: no {what} for {place.setup} on {place.kernel}: "
                    f"{status.value}",
                    kernel=place.kernel,
                    setup=place.setup,
                    benchmark=samples.benchmark,
                    detail=detail,
                )


def _failures(samples: Samples) -> Iterable[tuple[str, BenchmarkStatus, str]]:
    """Name what one benchmark did not give, how it ended and why."""
    if samples.status is not BenchmarkStatus.OK:
        yield "number", samples.status, samples.detail
    elif samples.whole is not None and samples.whole.status is not BenchmarkStatus.OK:
        yield "whole cost", samples.whole.status, samples.whole.detail


def benchmarks_of(manifest: Manifest, cell: ManifestCell) -> tuple[Benchmark, ...]:
    """Return the benchmarks that the boots of a cell were asked for."""
    return tuple(item for item in manifest.benchmarks if item.suite == cell.place.suite)
