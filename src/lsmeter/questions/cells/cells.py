# SPDX-License-Identifier: GPL-2.0-or-later
"""From the boots of each cell to estimates, and from two cells to comparisons; pure.

Only benchmarks that were ok in a boot whose setup was verified give numbers; everything else
becomes a Problem.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lsmeter.core.model import (
    Benchmark,
    BenchmarkStatus,
    Boot,
    BootStatus,
    Place,
    Problem,
    Samples,
    Whole,
)
from lsmeter.core.model.conclusion import Comparison, Estimate, Verdict
from lsmeter.core.model.setup import is_again
from lsmeter.measure.instruments import Instrument, find_instrument
from lsmeter.measure.results.column import as_array
from lsmeter.measure.results.directory import RunData, keep_by_run
from lsmeter.measure.results.manifest import Manifest, ManifestCell
from lsmeter.measure.tasks import cost_tasks
from lsmeter.statistics.blocks import LEVEL
from lsmeter.statistics.estimate import BootReadings
from lsmeter.statistics.whole import cycle_costs


@dataclass(frozen=True)
class CellResult:
    """All boots and estimates of one cell of one run."""

    instrument: str
    cell: ManifestCell
    boots: tuple[Boot, ...]
    estimates: tuple[Estimate, ...]
    problems: tuple[Problem, ...]
    readings: Mapping[str, Sequence[Any]]  # as the instrument reads them


@keep_by_run
def cell_results(run: RunData) -> tuple[CellResult, ...]:
    """Estimate every benchmark of every cell that took readings, in the order of the manifest.

    Several questions ask it of one run: each is estimated once.
    """
    return tuple(
        _cell_result(run.manifest, cell, run.boots_of(cell))
        for cell in run.manifest.cells
        if cell.task.name in cost_tasks()
    )


def _cell_result(manifest: Manifest, cell: ManifestCell, boots: tuple[Boot, ...]) -> CellResult:
    instrument = find_instrument(manifest.instrument)
    readings = cell_readings(boots, instrument)
    estimates = tuple(
        instrument.estimate(cell.place, benchmark, readings[benchmark.id])
        for benchmark in manifest.benchmarks_of(cell)
        if benchmark.id in readings
    )
    asked = frozenset(benchmark.id for benchmark in manifest.benchmarks_of(cell))
    unread = _unread(cell, boots, readings)
    problems = tuple(dict.fromkeys((*_problems(cell, boots, asked), *unread)))
    return CellResult(manifest.instrument, cell, boots, estimates, problems, readings)


def cell_readings(boots: Iterable[Boot], instrument: Instrument) -> dict[str, Sequence[Any]]:
    """Return what each usable boot gave for each benchmark that ended well, by id."""
    found: dict[str, list[Any]] = {}
    for boot in boots:
        if boot.status.usable:
            for name, readings in instrument.read(boot, _stored(boot)).items():
                found.setdefault(name, []).append(readings)
    return {name: instrument.gather(readings) for name, readings in found.items()}


def _unread(
    cell: ManifestCell, boots: Iterable[Boot], readings: Mapping[str, Sequence[Any]]
) -> Iterable[Problem]:
    """Name what boots have stored, and the instrument could not read."""
    kernel, setup = cell.place.kernel, cell.place.setup
    stored: Counter[str] = Counter()
    for boot in boots:
        if boot.status.usable:
            stored.update(item.benchmark for item in boot.samples if item.usable)
    for name, count in stored.items():
        if lost := count - len(readings.get(name, ())):
            title = f"{name}: {lost} of {count} boots of {setup} on {kernel} say no unit of it"
            detail = "the rate of the clock (timing.hz) is missing: ticks cannot be made times"
            yield Problem(title, kernel, setup, name, detail)


def _stored(boot: Boot) -> dict[str, BootReadings]:
    items = [item for item in boot.samples if item.usable]
    costs = cycle_costs([item.whole for item in items])
    return {
        item.benchmark: BootReadings(
            boot.seed, as_array(item.values), item.ticked, item.whole, boot.index, cost
        )
        for item, cost in zip(items, costs, strict=True)
    }


def compare_cells(
    baseline: CellResult,
    tested: CellResult,
    margin: float,
    *,
    together: bool = False,
    level: float = LEVEL,
) -> Iterable[Comparison]:
    """Compare each benchmark of which both cells have numbers; margin is a fraction.

    together says that the cells are of one run; the verdicts are those of `judged`.
    """
    compare = find_instrument(tested.instrument).compare
    before = {item.benchmark.id: item for item in baseline.estimates}
    for item in tested.estimates:
        kind = item.benchmark
        base = before.get(kind.id)
        sides = (baseline.readings.get(kind.id), tested.readings.get(kind.id))
        if base is None or not all(sides):
            continue
        how = {"calls": bool(kind.cycle), "together": together, "level": level}
        found = compare(*sides, margin, kind.metric.better, **how)
        repeats = item.repeats and base.repeats
        yield Comparison(
            **vars(found), place=item.place, baseline=base.place, benchmark=kind, repeats=repeats
        )


def judged(
    manifest: Manifest, found: Iterable[Comparison], share: float = 1.0
) -> tuple[Comparison, ...]:
    """Give all comparisons of a report their verdicts, as the instrument has it."""
    return tuple(find_instrument(manifest.instrument).judge(tuple(found), manifest.margin, share))


def baseline_of(
    manifest: Manifest, tested: CellResult, results: Sequence[CellResult]
) -> CellResult | None:
    """Return the baseline's cell on the same kernel, else on one of the same version.

    A kernel without security modules is another image: it stands in for its siblings, which
    are known by the version that their release begins with (6.1.192).
    """
    place = tested.cell.place
    version = versions(manifest)
    wanted = replace(place, setup=manifest.baseline_setup)
    cells = [item for item in results if replace(item.cell.place, kernel=place.kernel) == wanted]
    siblings = [item for item in cells if version[item.cell.place.kernel] == version[place.kernel]]
    return min(siblings, key=lambda item: item.cell.place.kernel != place.kernel, default=None)


@keep_by_run
def within_run(run: RunData) -> tuple[Comparison, ...]:
    """Compare every cell of a run with that of its baseline setup."""
    return compare_results(run.manifest, cell_results(run))


def compare_results(manifest: Manifest, results: Sequence[CellResult]) -> tuple[Comparison, ...]:
    """Compare every cell with that of the baseline setup.

    A run that grows is judged at each look that it had: what was concluded once, at that look's
    share of the error, stands.
    """
    looks = manifest.looks
    if looks is None:
        return judged(manifest, _pairwise(manifest, results))
    blocks = max((boot.index + 1 for result in results for boot in result.boots), default=0)
    stands: dict[tuple[Place, str], Comparison] = {}
    found: tuple[Comparison, ...] = ()
    for look in looks.until(blocks):
        share = looks.share(look)
        then = [_until(result, look) for result in results]
        level = 1 - (1 - LEVEL) * share
        found = judged(manifest, _pairwise(manifest, then, level=level), share)
        known = {(item.place, item.benchmark.id): item for item in found}
        stands |= {
            key: item
            for key, item in known.items()
            if item.verdict is not Verdict.INCONCLUSIVE or key not in stands
        }
    return tuple(_concluded(item, stands[item.place, item.benchmark.id]) for item in found)


def still_open(run: RunData) -> tuple[int, int]:
    """Return how many comparisons of a run that grows have no verdict yet, and of how many.

    Controls and the baseline against itself are no questions: nobody waits for them.
    """
    base = run.manifest.baseline_setup
    asked = [
        item
        for item in within_run(run)
        if not item.benchmark.control and not is_again(item.place.setup, base)
    ]
    return sum(item.verdict is Verdict.INCONCLUSIVE for item in asked), len(asked)


def _concluded(item: Comparison, then: Comparison) -> Comparison:
    """Return a comparison with the verdict of an earlier look, where it has none of its own."""
    if item.verdict is not Verdict.INCONCLUSIVE or then.verdict is Verdict.INCONCLUSIVE:
        return item
    blocks = then.tests.blocks if then.tests else 0
    return replace(
        item, verdict=then.verdict, cause=f"concluded after {blocks} blocks", tests=then.tests
    )


def _until(result: CellResult, blocks: int) -> CellResult:
    """Return a cell as it was after so many blocks."""
    readings = {
        name: tuple(item for item in items if item.index < blocks)
        for name, items in result.readings.items()
    }
    return replace(result, readings={name: items for name, items in readings.items() if items})


def _pairwise(
    manifest: Manifest, results: Sequence[CellResult], level: float = LEVEL
) -> Iterator[Comparison]:
    """Compare every cell with that of the baseline setup, verdicts apart."""
    for result in results:
        if result.cell.place.setup != manifest.baseline_setup:
            baseline = baseline_of(manifest, result, results)
            if baseline is not None:
                yield from compare_cells(
                    baseline, result, manifest.margin, together=True, level=level
                )


def without_baseline(manifest: Manifest, results: Sequence[CellResult]) -> Iterable[Problem]:
    """Name the kernels on which there is nothing to compare with."""
    for kernel in dict.fromkeys(item.cell.place.kernel for item in results):
        mine = (item for item in results if item.cell.place.kernel == kernel)
        if not any(baseline_of(manifest, item, results) for item in mine):
            yield Problem(
                f"{kernel}: nothing to compare with: the baseline {manifest.baseline_setup} "
                "was measured neither on it nor on a kernel of the same version",
                kernel,
            )


def pair_by_kernels(*kernels: Collection[str]) -> Callable[[Place], Place]:
    """Return what gives a place the name that it has in two runs with these kernels.

    Where each has one kernel they may differ; else a kernel has its namesake.
    """
    single = all(len(set(names)) == 1 for names in kernels)
    return lambda place: replace(place, kernel="") if single else place


def pair_places(*runs: Manifest) -> Callable[[Place], Place]:
    """Return the same for two runs."""
    return pair_by_kernels(*([kernel.name for kernel in run.kernels] for run in runs))


def versions(manifest: Manifest) -> dict[str, str]:
    """Return the version of what each kernel was built of: 6.1.192.

    All of Debian's 6.1 say 6.1.0 of themselves; their packages have the version.
    """
    return {
        kernel.name: (kernel.version or kernel.release).partition("-")[0]
        for kernel in manifest.kernels
    }


def boot_problem(cell: ManifestCell, boot: Boot) -> Problem:
    """Say how a boot went wrong."""
    kernel, setup = cell.place.kernel, cell.place.setup
    title = f"{setup} on {kernel}: boot {boot.index}: {boot.status.value}"
    log, suite = boot.console_tail, cell.place.suite
    return Problem(title, kernel, setup, detail=boot.detail, log_tail=log, suite=suite)


def _problems(
    cell: ManifestCell, boots: Iterable[Boot], asked: frozenset[str]
) -> Iterable[Problem]:
    place = cell.place
    for boot in boots:
        if boot.status is not BootStatus.OK:
            yield boot_problem(cell, boot)
        for samples in boot.samples:
            if samples.benchmark not in asked:
                continue
            what, lost = "number", samples.status is not BenchmarkStatus.OK
            failed: Samples | Whole = samples
            if not lost and samples.whole is not None:
                what, failed = "whole cost", samples.whole
                lost = failed.status is not BenchmarkStatus.OK
            if lost:
                yield Problem(
                    f"{samples.benchmark}: no {what} for {place.setup} on {place.kernel}: "
                    f"{failed.status.value}",
                    place.kernel,
                    place.setup,
                    samples.benchmark,
                    failed.detail,
                    suite=place.suite,
                )


def read_boots(
    run: RunData,
    tasks: Mapping[str, Callable[[ManifestCell, Boot, Sequence[Benchmark]], Iterable[Problem]]],
) -> tuple[Problem, ...]:
    """Have the usable boots of some tasks read; return all problems, with their places.

    tasks has, by name, what reads one boot, given the benchmarks that it was asked for.
    """
    problems = list(run.manifest.problems)
    for cell in run.manifest.cells:
        where = {key: getattr(cell.place, key) for key in ("kernel", "setup", "suite")}
        read = tasks.get(cell.task.name)
        for boot in run.boots_of(cell):
            if boot.status is not BootStatus.OK:
                problems.append(boot_problem(cell, boot))
            if boot.status.usable and read is not None:
                found = read(cell, boot, run.manifest.benchmarks_of(cell))
                problems += (replace(item, **where) for item in found)
    return tuple(problems)
