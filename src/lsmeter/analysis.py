# SPDX-License-Identifier: GPL-2.0-or-later
"""From a run's data to the Report that every format shows; no I/O.

Only benchmarks that were ok in a boot whose setup was verified give numbers; everything else
becomes a Problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lsmeter.builds import caveats
from lsmeter.conclusion import Comparison, Estimate
from lsmeter.errors import UsageError
from lsmeter.estimates import cell_estimates, cell_readings
from lsmeter.evidence import USABLE, gather
from lsmeter.layers import layered_costs
from lsmeter.model import BenchmarkStatus, BootStatus, Kernel, Problem, Samples
from lsmeter.report.model import KernelFacts, Report, SetupFacts
from lsmeter.results.boots import StoredBoot
from lsmeter.results.directory import RunData
from lsmeter.results.manifest import Manifest, ManifestCell, links_of
from lsmeter.statistics.compare import compare
from lsmeter.statistics.estimate import BootReadings
from lsmeter.verify import active_lsms

if TYPE_CHECKING:
    from lsmeter.hooks.attribution.account import Account


@dataclass(frozen=True)
class CellResult:
    """All boots and estimates of one cell of one run."""

    cell: ManifestCell
    boots: tuple[StoredBoot, ...]
    estimates: tuple[Estimate, ...]
    problems: tuple[Problem, ...]
    readings: Mapping[str, Sequence[BootReadings]]


def make_report(
    run: RunData, accounts: tuple[Account, ...] = (), problems: tuple[Problem, ...] = ()
) -> Report:
    """Report one run: every setup against the baseline setup of the same kernel.

    accounts say where the cost comes from, problems what went wrong in finding that out.
    """
    manifest = run.manifest
    results = cell_results(run)
    estimates = tuple(item for result in results for item in result.estimates)
    evidence = gather(manifest, [(result.cell, result.boots) for result in results])
    siblings = [
        (found, item)
        for item in results
        if (found := _baseline_of(manifest, item, results)) is not None
    ]
    report = Report(
        title=manifest.title or "Cost of security modules",
        created=manifest.created,
        lsmeter_version=manifest.lsmeter_version,
        command=manifest.command,
        instrument=manifest.instrument,
        unit=_unit(manifest),
        baseline_setup=manifest.baseline_setup,
        margin=manifest.margin,
        conditions=_conditions(manifest),
        host=manifest.host,
        tools=manifest.tools,
        kernels=tuple(kernel_facts(kernel) for kernel in manifest.kernels),
        setups=tuple(_setup_facts(manifest, result) for result in _one_per_setup(results)),
        estimates=estimates,
        comparisons=_within_run(manifest, results),
        problems=(
            *manifest.problems,
            *(item for result in results for item in result.problems),
            *_without_baseline(manifest, results),
            *problems,
        ),
        notes=(),
        accounts=accounts,
        proofs=evidence.proofs,
        layers=layered_costs(links_of(manifest), estimates, _versions(manifest)),
        states=evidence.states,
        one_off=evidence.one_off,
        caveats=caveats(_kernels(manifest, manifest, siblings), security=False),
    )
    return replace(report, notes=(*_notes(report), *_missing_note(run)))


def compare_runs(before: RunData, after: RunData) -> Report:
    """Report run `after` against run `before`, setup by setup; refuse different instruments.

    A setup is compared with the setup of the same name; where each run has one kernel they may
    differ, else a kernel is compared with the one of the same name.
    """
    first, second = before.manifest, after.manifest
    if first.instrument is not second.instrument:
        raise UsageError(
            f"cannot compare {before.path} ({first.instrument.value}) with {after.path} "
            f"({second.instrument.value}): numbers of different instruments are not comparable"
        )
    report = make_report(after)
    baselines, tested = cell_results(before), cell_results(after)
    pairs = [
        (old, new) for new in tested for old in baselines if _counterparts(first, second, old, new)
    ]
    if not pairs:
        raise UsageError(
            f"{before.path} and {after.path} have no setup in common",
            hint="compare runs of the same setups, file systems and users",
        )
    differing = sorted(
        f"{key}: {old} and {new}"
        for (key, old), (_, new) in zip(_conditions(first), _conditions(second), strict=True)
        if old != new
    )
    return replace(
        report,
        title=f"{before.path.name} (baseline) against {after.path.name}",
        comparisons=tuple(
            item for old, new in pairs for item in compare_cells(old, new, second.margin)
        ),
        problems=(*_marked(before), *report.problems),
        notes=(
            *report.notes,
            *(f"the runs differ in conditions ({item})" for item in differing),
        ),
        kernels=tuple(dict.fromkeys((*map(kernel_facts, first.kernels), *report.kernels))),
        caveats=caveats(_kernels(first, second, pairs)),
    )


def _kernels(
    first: Manifest, second: Manifest, pairs: Iterable[tuple[CellResult, CellResult]]
) -> list[tuple[Kernel, Kernel]]:
    """Return the kernels of the cells that are compared, baseline first."""
    before = {kernel.name: kernel for kernel in first.kernels}
    after = {kernel.name: kernel for kernel in second.kernels}
    return [(before[old.cell.kernel], after[new.cell.kernel]) for old, new in pairs]


def cell_results(run: RunData) -> tuple[CellResult, ...]:
    """Estimate every benchmark of every cell, in the order of the manifest."""
    by_hash: dict[str, list[StoredBoot]] = {}
    for stored in run.boots:
        by_hash.setdefault(stored.boot.cell_hash, []).append(stored)
    return tuple(
        _cell_result(run.manifest, cell, by_hash.get(cell.hash, [])) for cell in run.manifest.cells
    )


def compare_cells(baseline: CellResult, tested: CellResult, margin: float) -> Iterable[Comparison]:
    """Compare each benchmark of which both cells have numbers; margin is a fraction."""
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
            kernel=item.kernel,
            setup=item.setup,
            baseline_kernel=base.kernel,
            baseline_setup=base.setup,
            filesystem=item.filesystem,
            user=item.user,
            benchmark=item.benchmark,
            typical=found.typical,
            mean=found.mean,
            whole=found.whole,
            in_step=found.in_step,
            moved=found.moved,
            found=found.difference,
            verdict=found.verdict,
            cause=found.cause,
            repeats=item.repeats and base.repeats,
        )


def kernel_facts(kernel: Kernel) -> KernelFacts:
    """Return what a report says of a kernel."""
    return KernelFacts(
        name=kernel.name,
        release=kernel.release,
        version=kernel.version,
        origin=kernel.origin,
        image_sha256=kernel.image_sha256,
        boot_protocol=kernel.boot_protocol.value,
    )


def _cell_result(manifest: Manifest, cell: ManifestCell, boots: list[StoredBoot]) -> CellResult:
    readings = cell_readings(boots)
    estimates = cell_estimates(cell, manifest.benchmarks, readings)
    return CellResult(cell, tuple(boots), estimates, tuple(_problems(cell, boots)), readings)


def _problems(cell: ManifestCell, boots: Iterable[StoredBoot]) -> Iterable[Problem]:
    seen: set[tuple[str, str, str]] = set()
    for stored in boots:
        boot = stored.boot
        if boot.status is not BootStatus.OK:
            yield Problem(
                title=f"{cell.setup} on {cell.kernel}: boot {boot.index}: {boot.status.value}",
                kernel=cell.kernel,
                setup=cell.setup,
                detail=boot.detail,
                log_tail=boot.console_tail,
            )
        for samples in boot.samples:
            for what, status, detail in _failures(samples):
                if (what, samples.benchmark, detail) in seen:
                    continue
                seen.add((what, samples.benchmark, detail))
                yield Problem(
                    title=f"{samples.benchmark}: no {what} for {cell.setup} on {cell.kernel}: "
                    f"{status.value}",
                    kernel=cell.kernel,
                    setup=cell.setup,
                    benchmark=samples.benchmark,
                    detail=detail,
                )


def _failures(samples: Samples) -> Iterable[tuple[str, BenchmarkStatus, str]]:
    """Name what one benchmark did not give, how it ended and why."""
    if samples.status is not BenchmarkStatus.OK:
        yield "number", samples.status, samples.detail
    elif samples.whole is not None and samples.whole.status is not BenchmarkStatus.OK:
        yield "whole cost", samples.whole.status, samples.whole.detail


def _within_run(manifest: Manifest, results: Sequence[CellResult]) -> tuple[Comparison, ...]:
    comparisons: list[Comparison] = []
    for result in results:
        if result.cell.setup == manifest.baseline_setup:
            continue
        baseline = _baseline_of(manifest, result, results)
        if baseline is not None:
            comparisons.extend(compare_cells(baseline, result, manifest.margin))
    return tuple(comparisons)


def _baseline_of(
    manifest: Manifest, tested: CellResult, results: Sequence[CellResult]
) -> CellResult | None:
    """Return the baseline's cell on the same kernel, else on one of the same version.

    A kernel without security modules is another image: it stands in for its siblings, which
    are known by the version that their release begins with (6.1.192).
    """
    place = _place(tested.cell)[1:]
    cells = [
        item
        for item in results
        if item.cell.setup == manifest.baseline_setup and _place(item.cell)[1:] == place
    ]
    for item in cells:
        if item.cell.kernel == tested.cell.kernel:
            return item
    version = _versions(manifest)
    siblings = [item for item in cells if version[item.cell.kernel] == version[tested.cell.kernel]]
    return siblings[0] if siblings else None


def _versions(manifest: Manifest) -> dict[str, str]:
    """Return the version that each kernel's release begins with."""
    return {kernel.name: kernel.release.partition("-")[0] for kernel in manifest.kernels}


def _without_baseline(manifest: Manifest, results: Sequence[CellResult]) -> Iterable[Problem]:
    for kernel in dict.fromkeys(item.cell.kernel for item in results):
        of_kernel = [item for item in results if item.cell.kernel == kernel]
        if any(_baseline_of(manifest, item, results) for item in of_kernel):
            continue
        yield Problem(
            title=f"{kernel}: nothing to compare with: the baseline {manifest.baseline_setup} "
            "was measured neither on it nor on a kernel of the same version",
            kernel=kernel,
        )


def _place(cell: ManifestCell) -> tuple[str, str, str, str]:
    return (cell.kernel, cell.suite, cell.filesystem, cell.user)


def _counterparts(first: Manifest, second: Manifest, old: CellResult, new: CellResult) -> bool:
    same_kernel = old.cell.kernel == new.cell.kernel
    single = len(first.kernels) == len(second.kernels) == 1
    return (
        (same_kernel or single)
        and old.cell.setup == new.cell.setup
        and _place(old.cell)[1:] == _place(new.cell)[1:]
    )


def _marked(run: RunData) -> list[Problem]:
    return [
        replace(problem, title=f"{run.path.name}: {problem.title}")
        for result in cell_results(run)
        for problem in result.problems
    ]


def _one_per_setup(results: Sequence[CellResult]) -> list[CellResult]:
    """Keep one cell of each kernel and setup, one that booted if there is any."""
    chosen: dict[tuple[str, str], CellResult] = {}
    for result in results:
        key = (result.cell.kernel, result.cell.setup)
        if key not in chosen or (not chosen[key].boots and result.boots):
            chosen[key] = result
    return list(chosen.values())


def _setup_facts(manifest: Manifest, result: CellResult) -> SetupFacts:
    setup = next(item for item in manifest.setups if item.name == result.cell.setup)
    facts = next((stored.boot.facts for stored in result.boots if stored.boot.facts), ())
    return SetupFacts(
        kernel=result.cell.kernel,
        setup=setup.name,
        title=setup.title,
        note=setup.note,
        asked_lsms=setup.lsms,
        active_lsms=active_lsms(dict(facts)),
        facts=facts,
        boots=len(result.boots),
        verified=any(stored.boot.status in USABLE for stored in result.boots),
    )


def _unit(manifest: Manifest) -> str:
    units = {benchmark.metric.unit for benchmark in manifest.benchmarks}
    return units.pop() if len(units) == 1 else "mixed"


def _conditions(manifest: Manifest) -> tuple[tuple[str, str], ...]:
    settings = {**vars(manifest.conditions), **vars(manifest.sampling)}
    return tuple((key, str(value).lower()) for key, value in settings.items())


def _notes(report: Report) -> Iterable[str]:
    for kernel in report.kernels:
        of_kernel = [item for item in report.setups if item.kernel == kernel.name]
        base = next((item for item in of_kernel if item.setup == report.baseline_setup), None)
        if base is None:
            continue
        for item in of_kernel:
            if item is not base and item.active_lsms and item.active_lsms == base.active_lsms:
                yield (
                    f"{item.setup} on {kernel.name}: the active LSMs are those of the baseline "
                    f"({', '.join(base.active_lsms)}); only their state differs"
                )


def _missing_note(run: RunData) -> Iterable[str]:
    if run.missing:
        yield (
            f"the run was stopped: {len(run.missing)} of {len(run.manifest.boots)} boots were "
            "not made; the same command goes on where it stopped"
        )
