# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the attribution of a run's boots, and joins it with what the run measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path

from lsmeter.core.errors import GuestError, InfrastructureError, UsageError
from lsmeter.core.groups import grouped
from lsmeter.core.model import BenchmarkStatus, Boot, BootStatus, Place, Problem, Round, Samples
from lsmeter.measure.results.boots import read_output
from lsmeter.measure.results.directory import RunData, read_run
from lsmeter.measure.results.manifest import ManifestCell
from lsmeter.measure.tasks import find_task
from lsmeter.measure.tasks.attribute import ATTRIBUTION, MARKER_INSNS
from lsmeter.questions.attribution.cost import Cost, Kept, combined, whole_cost
from lsmeter.questions.attribution.profile import Profile, Region, Tree, parse_profile, regions_of
from lsmeter.questions.cells.cells import CellResult, cell_results
from lsmeter.statistics.estimate import BootReadings
from lsmeter.statistics.whole import seen_rounds
from lsmeter.tables.values import many

# What one boot measured, in the order in which it did, and what its plugin counted.
AttributedBoot = tuple[Sequence[Samples], Profile]


@dataclass(frozen=True)
class AttributedCell:
    """One cell with the value and the call tree of each benchmark that has both.

    values are typical counts. kept has all trees of a benchmark, the one whose total is the value
    first. repeats names the benchmarks whose value was the same in every boot. wholes are the whole
    costs of those whose bulk windows the plugin counted; no_whole says why others have none. margin
    is the run's: its differences are decided with it.
    """

    cell: ManifestCell
    values: Mapping[str, int]
    readings: Mapping[str, Sequence[BootReadings]]
    kept: Mapping[str, tuple[Kept, ...]]
    repeats: frozenset[str]
    wholes: Mapping[str, Cost]
    no_whole: Mapping[str, str]
    margin: float

    @property
    def trees(self) -> dict[str, Tree]:
        """The tree of the reported value, by benchmark."""
        return {name: kept[0].tree for name, kept in self.kept.items()}


def load_run(path: Path) -> tuple[RunData, tuple[AttributedCell, ...], tuple[Problem, ...]]:
    """Read a run, its attribution, and what of both is damaged.

    UsageError for a run without attribution, InfrastructureError when none of it is left.
    """
    run = read_run(path)
    cells, problems = run_cells(run)
    if not cells:
        made = any(find_task(cell.task.name).plugin for cell in run.manifest.cells)
        for damage in (*problems, *(run.damaged if made else ())):
            what = f"{path}: all of its attribution is damaged: {damage.detail}"
            raise InfrastructureError(what, hint="measure again: the same command with --fresh")
        hint = "make one: lsmeter run --attribute ..."
        raise UsageError(f"{path}: this run has no attribution", hint=hint)
    return run, cells, (*run.damaged, *problems)


def run_cells(
    run: RunData, wanted: Mapping[Place, Container[str]] | None = None
) -> tuple[tuple[AttributedCell, ...], tuple[Problem, ...]]:
    """Read the attribution of a run that was read; empty when it was made without.

    A boot whose attribution is damaged or missing is left out, and so is a benchmark of which the
    plugin missed something: each is named by a Problem. wanted: benchmarks by cell; of others
    nothing is read, and no damage found.
    """
    profiles: dict[tuple[str, int], Profile] = {}
    problems: dict[Problem, None] = {}
    for cell in run.manifest.cells:
        traced = find_task(cell.task.name).plugin == ATTRIBUTION
        if not traced or (wanted is not None and cell.place not in wanted):
            continue
        names = None if wanted is None else wanted[cell.place]
        where = cell.place.kernel, cell.place.setup
        for boot in filter(lambda boot: boot.status.usable, run.boots_of(cell)):
            title = f"{cell.place.setup} on {cell.place.kernel}: boot {boot.index}: "
            places = {
                place: samples
                for place, samples in enumerate(boot.samples)
                if names is None or samples.benchmark in names
            }
            regions = None if names is None else frozenset(chain(*map(regions_of, places)))
            try:
                found = _profile(run.folder(boot), regions)
                profile, faults = _without_faults(found, boot, places)
            except (InfrastructureError, GuestError) as error:
                # What is not what was written is a problem of the run already.
                if not any(item.title.startswith(title) for item in run.damaged):
                    said = f"it is damaged: {error.title}"
                    problems[Problem(f"{title}no attribution", *where, detail=said)] = None
                continue
            profiles[boot.cell_hash, boot.index] = profile
            if faults:
                said = "; ".join(faults)
                problems[Problem(f"{title}not all is attributed", *where, detail=said)] = None
    results = cell_results(run) if profiles else ()
    margin = run.manifest.margin
    return tuple(_cell(result, profiles, margin) for result in results), tuple(problems)


def _profile(folder: Path, regions: frozenset[int] | None) -> Profile:
    data = read_output(folder, ATTRIBUTION)
    if data is None:
        raise InfrastructureError("what the plugin counted is missing")
    return _parsed(data, str(folder / ATTRIBUTION), regions)


@lru_cache(maxsize=64)  # a rule and a report of one run read the same trees, which take long
def _parsed(data: bytes, where: str, regions: frozenset[int] | None) -> Profile:
    text = data.decode("ascii", errors="replace")
    return parse_profile(text, where=where, regions=regions)


def _without_faults(
    profile: Profile, boot: Boot, places: Mapping[int, Samples]
) -> tuple[Profile, tuple[str, ...]]:
    """Return a profile with the regions that can be used, and a line for each that cannot.

    GuestError when nothing can be used.
    """
    if profile.stray_ends:
        raise GuestError(f"{many(profile.stray_ends, 'end marker')} without a beginning")
    said = []
    if profile.refused_samples:
        said.append(f"{many(profile.refused_samples, 'sample')} found no room in the plugin")
    if boot.status is BootStatus.OK and not profile.whole:
        said.append("the plugin's output has no end")
    bad = dict(_bad_regions(profile, places))
    # Whole costs have a reason of their own why there is none.
    kept = tuple(item for item in profile.regions if item.sum or item.id not in bad)
    return replace(profile, regions=kept), (*said, *bad.values())


def _bad_regions(profile: Profile, places: Mapping[int, Samples]) -> Iterator[tuple[int, str]]:
    """Yield each region that is not as it must be, by its number."""
    for place, samples in places.items():
        if samples.status is not BenchmarkStatus.OK or not samples.values:
            continue
        if missed := _fault(profile.region(place), len(samples.values)):
            yield place, f"{samples.benchmark}: {missed}"
        if samples.whole is None or samples.whole.status is not BenchmarkStatus.OK:
            continue
        for region in filter(None, profile.cycles(place)):
            if missed := _fault(region, 0):
                yield region.id, f"the whole cost of {samples.benchmark}: {missed}"


def _fault(region: Region | None, least: int) -> str:
    """Say what is missing of a region that has at least so many samples; "" if nothing is."""
    if region is None:
        return "the plugin saw nothing of it"
    counts = {
        "hit a limit of the plugin": region.damaged,
        "did not end": region.aborted,
        "found no room": region.uncounted,
        "missing": max(0, least - region.samples),
    }
    said = (f"{many(count, 'sample')} {text}" for text, count in counts.items() if count)
    return ", ".join(said)


def _cell(
    result: CellResult, profiles: Mapping[tuple[str, int], Profile], margin: float
) -> AttributedCell:
    samples = {(boot.cell_hash, boot.index): boot.samples for boot in result.boots}
    seen = [(samples[boot], found) for boot, found in profiles.items() if boot in samples]
    values = {item.benchmark.id: int(item.centre) for item in result.estimates}
    kept = {name: found for name in values if (found := _kept(seen, name, values[name]))}
    repeats = frozenset(item.benchmark.id for item in result.estimates if item.repeats)
    wholes = cell_wholes(seen)
    return AttributedCell(
        result.cell, values, result.readings, kept, repeats, *wholes, margin=margin
    )


def cell_wholes(boots: Iterable[AttributedBoot]) -> tuple[dict[str, Cost], dict[str, str]]:
    """Return the whole cost of each benchmark, the mean over boots, and why there is none."""
    known = [item for boot in boots for item in _boot_wholes(boot)]
    found = grouped((name, cost) for name, cost in known if isinstance(cost, Cost))
    costs = {
        name: combined((cost, 1 / len(items)) for cost in items) for name, items in found.items()
    }
    return costs, {n: why for n, why in known if isinstance(why, str) and n not in costs}


def _boot_wholes(boot: AttributedBoot) -> Iterator[tuple[str, Cost | str]]:
    """Yield each benchmark's whole cost in one boot, or why it cannot be used."""
    measured, profile = boot
    for place, samples in enumerate(measured):
        whole = samples.whole
        if samples.status is not BenchmarkStatus.OK or whole is None:
            continue
        if whole.status is not BenchmarkStatus.OK:
            yield samples.benchmark, "its whole cost was not measured"
        else:
            yield samples.benchmark, _whole(profile.cycles(place), whole.rounds)


def _whole(regions: Sequence[Region | None], rounds: Sequence[Round]) -> Cost | str:
    """Return the cost of a cycle by windows, and by what is left after whole and short ones."""
    full, brief = seen_rounds(rounds)
    trees = []
    for region, expected in zip(regions, (rounds, full, brief), strict=True):
        if region is None or region.sum is None:
            return "the plugin saw no window of it"
        if region.damaged or region.aborted:
            return "a limit of the plugin was hit in a window of it"
        if not region.summed == region.samples == len(expected):
            return f"the plugin saw {region.summed} of its {len(expected)} windows"
        if not expected:
            return "it has no windows of both lengths"
        trees.append(region.sum)
    windows, left, brief_left = trees
    apart = full[0].operations - brief[0].operations
    parts = (
        (windows, 1 / sum(item.operations for item in rounds)),
        (left, 1 / (len(full) * apart)),
        (brief_left, -1 / (len(brief) * apart)),
    )
    return whole_cost(parts)


def _kept(boots: Iterable[AttributedBoot], name: str, value: int) -> tuple[Kept, ...]:
    """Return the trees of a benchmark in all boots, that of the reported value first.

    If none has its total, the most frequent one comes first.
    """
    # The number of a region is the place of its benchmark in the order of the boot.
    regions = [
        region
        for samples, profile in boots
        for place, item in enumerate(samples)
        if item.benchmark == name and (region := profile.region(place)) is not None
    ]
    trees = {tree.insns: tree for region in reversed(regions) for tree in region.trees}
    counts: Counter[int] = Counter()
    for region in regions:
        counts.update(dict(region.totals))
    found = [Kept(tree, counts[insns]) for insns, tree in trees.items()]
    reported = value + MARKER_INSNS
    found.sort(key=lambda item: (item.tree.insns != reported, -item.samples, item.tree.insns))
    return tuple(found)
