# SPDX-License-Identifier: GPL-2.0-or-later
"""From a run's data to the Report that every format shows.

Only benchmarks that were ok in a boot whose setup was verified give numbers; everything else
becomes a Problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lsmeter.core.errors import UsageError
from lsmeter.core.groups import grouped
from lsmeter.core.model import Kernel
from lsmeter.core.model.cell import AS_IT_RUNS
from lsmeter.guest.conclude import active_lsms
from lsmeter.measure.instruments import find_instrument
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import Manifest, links_of
from lsmeter.questions.attribution.account import Account, layer_accounts, run_accounts
from lsmeter.questions.attribution.load import AttributedCell, run_cells
from lsmeter.questions.cells.builds import caveats
from lsmeter.questions.cells.cells import (
    CellResult,
    baseline_of,
    cell_results,
    compare_cells,
    judged,
    pair_places,
    versions,
    within_run,
    without_baseline,
)
from lsmeter.questions.cells.evidence import gather
from lsmeter.questions.cells.frame import conditions_of, missing_note, settings_of
from lsmeter.questions.cells.layers import layered_costs
from lsmeter.questions.cost.blocks import moved
from lsmeter.questions.cost.hosts import differences, warnings
from lsmeter.questions.cost.model import Report, SetupFacts
from lsmeter.questions.events.figures import event_cells
from lsmeter.questions.time.calibration import Calibration
from lsmeter.questions.time.figures import predict
from lsmeter.questions.workload.figures import compare_workloads, has_workloads

# In the suite `file` no count of capability:image=policy is 0.2 % beside capability's (6.1).
_WITHOUT_ROOT = "file"
_IN_IMAGES = {"capability", "dac"}
_OF_THE_MANIFEST = (
    *("created", "lsmeter_version", "command", "instrument", "baseline_setup", "margin"),
    *("host", "tools", "kernels"),
)


def run_report(run: RunData, calibration: Calibration | None = None) -> Report:
    """Report a run with where its cost comes from; damaged attribution is a problem of it.

    Where events were counted, a calibration predicts times from them.
    """
    cells, problems = run_cells(run)
    events, more = event_cells(run)
    told = predict(run, calibration) if calibration is not None else None
    found = replace(make_report(run, cells), events=events, told=told)
    return replace(found, problems=(*found.problems, *problems, *more))


def events_report(run: RunData) -> Report:
    """Report a run with its events, and without what only call trees tell."""
    events, problems = event_cells(run)
    found = make_report(run)
    return replace(found, events=events, problems=(*found.problems, *problems))


def make_report(run: RunData, attributed: Sequence[AttributedCell] = ()) -> Report:
    """Report one run: every setup against the baseline setup of the same kernel."""
    manifest = run.manifest
    results = cell_results(run)
    estimates = tuple(item for result in results for item in result.estimates)
    pairs = ((baseline_of(manifest, item, results), item) for item in results)
    siblings = [(found, item) for found, item in pairs if found is not None]
    setups = tuple(_setup_facts(manifest, result) for result in _one_per_setup(results))
    layers = layered_costs(links_of(manifest), estimates, versions(manifest))
    explained = run_accounts(attributed, manifest.baseline_setup)
    accounts = tuple(item for item in explained if item.typical.benchmarks)
    comparisons = within_run(run)
    every_call = tuple(setup.name for setup in manifest.setups if setup.every_call)
    found = Report(
        **{name: getattr(manifest, name) for name in _OF_THE_MANIFEST},
        **vars(gather(manifest, [(result.cell, result.boots) for result in results])),
        title=manifest.title or "Cost of security modules",
        unit=find_instrument(manifest.instrument).unit,
        conditions=_conditions(manifest),
        setups=setups,
        estimates=estimates,
        comparisons=comparisons,
        problems=(
            *manifest.problems,
            *(item for result in results for item in result.problems),
            *without_baseline(manifest, results),
        ),
        warnings=(*warnings(run), *_other_roots(manifest, siblings)),
        notes=(
            *_alike(manifest.kernels, setups, manifest.baseline_setup),
            *missing_note(run),
            *run.notes,
            *_unexplained(manifest, attributed, accounts),
        ),
        accounts=accounts,
        layers=layers,
        layer_origins=layer_accounts(layers, attributed),
        caveats=caveats(_kernels(manifest, manifest, siblings), security=False),
        looks=manifest.looks,
        every_call=every_call,
    )
    distrusted = moved(comparisons, found.again, every_call)
    return replace(found, caveats=(*found.caveats, *distrusted))


def compare_runs(before: RunData, after: RunData) -> Report:
    """Report run `after` against run `before`, setup by setup; refuse different instruments.

    A setup is compared with the setup of the same name; where each run has one kernel they may
    differ, else a kernel is compared with the one of the same name.
    """
    check_comparable(before, after)
    first, second = before.manifest, after.manifest
    report = make_report(after)
    baselines, tested = cell_results(before), cell_results(after)
    alike = pair_places(first, second)
    pairs = [
        (old, new)
        for new in tested
        for old in baselines
        if alike(old.cell.place) == alike(new.cell.place)
    ]
    served = [has_workloads(run) for run in (before, after)]
    for run, cells, of in zip((before, after), (baselines, tested), served, strict=True):
        if run.manifest.cells and not cells and not of:
            raise UsageError(
                f"{run.title}: it has no benchmarks that can be compared",
                hint=f"lsmeter report {run.title} shows what it has",
            )
    marked = (
        replace(problem, title=f"{before.name}: {problem.title}")
        for problem in (
            *first.problems,
            *(item for result in baselines for item in result.problems),
        )
    )
    kernels = (*first.kernels, *second.kernels)
    found = judged(
        second, (item for old, new in pairs for item in compare_cells(old, new, second.margin))
    )
    services = compare_workloads(before, after) if all(served) else None
    told = () if services is None else services.problems
    more = () if services is None else services.comparisons
    per = {} if services is None else {x.place.suite: x.unit for x in services.measured}
    return replace(
        report,
        title=f"{before.name} (baseline) against {after.name}",
        comparisons=(*found, *more),
        per=per,
        problems=tuple(dict.fromkeys((*marked, *report.problems, *told))),
        warnings=(
            *report.warnings,
            *(f"{before.name}: {text}" for text in warnings(before)),
        ),
        notes=(
            *report.notes,
            *(f"{before.name}: {note}" for note in (*missing_note(before), *before.notes)),
            *differing(first, second),
        ),
        kernels=tuple({(k.name, k.image_sha256): k for k in kernels}.values()),
        caveats=(*caveats(_kernels(first, second, pairs)), *moved(found, (), report.every_call)),
        looks=None,
    )


def check_comparable(before: RunData, after: RunData) -> None:
    """Refuse runs of different instruments, and times of machines that differ."""
    first, second = before.manifest, after.manifest
    if first.instrument != second.instrument:
        raise UsageError(
            f"cannot compare {before.title} ({first.instrument}) with {after.title} "
            f"({second.instrument}): numbers of different instruments are not comparable"
        )
    if unlike := differences(before, after):
        raise UsageError(
            f"cannot compare {before.title} with {after.title}: times of machines that differ "
            f"({'; '.join(unlike)})",
            hint="compare runs of one machine in one state",
        )


def differing(first: Manifest, second: Manifest) -> Iterator[str]:
    """Say which conditions differ between runs, and which setups are not defined alike."""
    ours, theirs = dict(_conditions(first)), dict(_conditions(second))
    for key in sorted({*ours, *theirs}):
        if ours.get(key) != theirs.get(key):
            values = f"{ours.get(key, AS_IT_RUNS)} and {theirs.get(key, AS_IT_RUNS)}"
            yield f"the runs differ in conditions ({key}: {values})"
    known = {setup.name: setup for setup in first.setups}
    for item in second.setups:
        if item.name in known and (keys := known[item.name].differs(item)):
            yield f"{item.name} is defined differently in the two runs ({', '.join(keys)})"


def _kernels(
    first: Manifest, second: Manifest, pairs: Iterable[tuple[CellResult, CellResult]]
) -> list[tuple[Kernel, Kernel]]:
    """Return the kernels of the cells that are compared, baseline first."""
    before = {kernel.name: kernel for kernel in first.kernels}
    after = {kernel.name: kernel for kernel in second.kernels}
    return [(before[old.cell.place.kernel], after[new.cell.place.kernel]) for old, new in pairs]


def check_counterparts(before: RunData, after: RunData) -> None:
    """Raise UsageError for two runs of which nothing can be compared."""
    first, second = before.manifest, after.manifest
    alike = pair_places(first, second)
    names = [{alike(cell.place) for cell in run.cells} for run in (first, second)]
    if not set.intersection(*names):
        raise UsageError(
            f"{before.title} and {after.title} have no setup in common",
            hint="compare runs of the same setups, file systems and users",
        )


def _one_per_setup(results: Sequence[CellResult]) -> list[CellResult]:
    """Keep one cell of each kernel and setup, one that booted if there is any."""
    chosen: dict[tuple[str, str], CellResult] = {}
    for result in results:
        key = (result.cell.place.kernel, result.cell.place.setup)
        if key not in chosen or (not chosen[key].boots and result.boots):
            chosen[key] = result
    return list(chosen.values())


def _setup_facts(manifest: Manifest, result: CellResult) -> SetupFacts:
    place = result.cell.place
    setup = next(item for item in manifest.setups if item.name == place.setup)
    facts = next((boot.facts for boot in result.boots if boot.facts), ())
    kernel = next(item for item in manifest.kernels if item.name == place.kernel)
    lacking = ", ".join(setup.lacking_lsms(kernel.config))
    return SetupFacts(
        kernel=place.kernel,
        setup=setup.name,
        title=setup.title,
        note="; ".join(filter(None, (setup.note, lacking and f"{kernel.name} lacks {lacking}"))),
        asked_lsms=setup.lsms,
        active_lsms=active_lsms(dict(facts)),
        facts=facts,
        boots=len(result.boots),
        verified=find_instrument(manifest.instrument).witnessed
        and any(boot.status.usable for boot in result.boots),
    )


def _conditions(manifest: Manifest) -> tuple[tuple[str, str], ...]:
    if not find_instrument(manifest.instrument).witnessed:
        return ()
    return tuple(settings_of({**conditions_of(manifest), **vars(manifest.sampling)}).items())


def _alike(kernels: Iterable[Kernel], setups: Iterable[SetupFacts], baseline: str) -> Iterator[str]:
    """Name the setups whose active LSMs are those of the baseline."""
    known = {(item.kernel, item.setup): item for item in setups}
    for kernel in kernels:
        base = known.get((kernel.name, baseline))
        active = base.active_lsms if base is not None else ()
        for item in known.values():
            same = item.kernel == kernel.name and item.active_lsms == active
            if same and active and item is not base:
                yield (
                    f"{item.setup} on {kernel.name}: the active LSMs are those of the baseline "
                    f"({', '.join(active)}); only their state differs"
                )


def _other_roots(
    manifest: Manifest, pairs: Iterable[tuple[CellResult, CellResult]]
) -> Iterator[str]:
    """Name the setups whose guests have another root file system than their baseline's."""
    images = {setup.name: setup.image for setup in manifest.setups}
    cells = ((old.cell, new.cell) for old, new in pairs)
    unlike = grouped(
        ((old.place.setup, images[new.place.setup]), new.place.setup)
        for old, new in cells
        if images[old.place.setup] != images[new.place.setup]
        and new.place.suite != _WITHOUT_ROOT
        and not (new.task.workload or new.task.command)
    )
    for (base, image), names in unlike.items():
        ours = f"in the image {image}" if image else "in no image"
        theirs = f"in the image {images[base]}" if images[base] else "in none"
        there = f"{base}:image={image}" if image and base in _IN_IMAGES else ""
        again = f"; the same baseline there: {there}" if there and there not in names else ""
        yield (
            f"{', '.join(dict.fromkeys(names))}: {ours}, and {base} {theirs}: calls that see the "
            f"root and its mounts (mount, quotactl, clone) differ by that too{again}"
        )


def _unexplained(
    manifest: Manifest, cells: Iterable[AttributedCell], accounts: Iterable[Account]
) -> Iterator[str]:
    """Name the setups that were measured, and whose cost could not be taken apart."""
    explained = {item.place for item in accounts}
    baseline = manifest.baseline_setup
    for item in cells:
        place = item.cell.place
        if place.setup != baseline and item.values and place not in explained:
            yield (
                f"{place.setup} on {place.kernel}: where its cost comes from is not shown; that "
                f"needs the attribution of it and of {baseline} on the same kernel"
            )
