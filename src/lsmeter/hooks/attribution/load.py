# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the attribution of a run's boots, and joins it with what the run measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import zstandard

from lsmeter.analysis import CellResult, cell_results
from lsmeter.errors import InfrastructureError, UsageError
from lsmeter.hooks.attribution.explain import Explanation, explain_difference
from lsmeter.hooks.attribution.pairs import Kept, Pair, choose_pair
from lsmeter.hooks.attribution.parse import MAX_BYTES, parse_profile
from lsmeter.hooks.attribution.profile import Profile, Region, Tree
from lsmeter.hooks.attribution.whole import WholeCost
from lsmeter.hooks.attribution.whole_explain import WholeExplanation, explain_whole
from lsmeter.hooks.attribution.wholes import AttributedBoot, cell_wholes
from lsmeter.results.boots import ATTRIBUTION_FILE
from lsmeter.results.directory import RunData, read_run
from lsmeter.results.manifest import ManifestBoot, ManifestCell
from lsmeter.statistics.compare import Compared, compare
from lsmeter.statistics.estimate import BootReadings

# Instructions between the markers that the clock does not see (probe/clock.h): the first marker
# and lfence, the rdtsc that the difference leaves out, and shl and or after the second rdtsc.
MARKER_INSNS = 5


@dataclass(frozen=True)
class AttributedCell:
    """One cell with the value and the call tree of each benchmark that has both.

    kept has all trees of a benchmark, the one in trees first. repeats names the benchmarks whose
    value was the same in every boot. wholes are the whole costs of those whose bulk windows the
    plugin saw; no_whole says why others have none.
    """

    cell: ManifestCell
    values: Mapping[str, int]
    readings: Mapping[str, Sequence[BootReadings]]
    trees: Mapping[str, Tree]
    kept: Mapping[str, tuple[Kept, ...]]
    repeats: frozenset[str]
    missing: tuple[str, ...]  # benchmarks with a value but without a tree
    wholes: Mapping[str, WholeCost]
    no_whole: Mapping[str, str]


@dataclass(frozen=True)
class ExplainedSetup:
    """A setup against its baseline: every operation that both have, explained.

    before and after are the trees that were held against each other; wholes explains the whole
    costs.
    """

    baseline: AttributedCell
    tested: AttributedCell
    operations: Mapping[str, Explanation]
    before: Mapping[str, Tree]
    after: Mapping[str, Tree]
    wholes: Mapping[str, WholeExplanation]


def load_run(path: Path) -> tuple[RunData, tuple[AttributedCell, ...]]:
    """Read a run and its attribution; UsageError when it was made without --attribute."""
    run = read_run(path)
    cells = run_cells(run)
    if not cells:
        raise UsageError(
            f"{path}: this run has no attribution", hint="make one: lsmeter run --attribute ..."
        )
    return run, cells


def run_cells(run: RunData) -> tuple[AttributedCell, ...]:
    """Read the attribution of a run that was read; empty when it was made without."""
    profiles = {boot: _read_profile(run.path, boot) for boot in run.manifest.boots}
    if not any(profiles.values()):
        return ()
    cells = []
    for result in cell_results(run):
        samples = {stored.boot.index: stored.boot.samples for stored in result.boots}
        found = [
            AttributedBoot(samples[boot.index], profile)
            for boot, profile in profiles.items()
            if profile is not None and boot.cell_hash == result.cell.hash and boot.index in samples
        ]
        cells.append(attributed_cell(result, found))
    return tuple(cells)


def attributed_cell(result: CellResult, boots: Iterable[AttributedBoot]) -> AttributedCell:
    """Join what a cell measured with what the plugin saw in its boots; pure.

    The tree of a benchmark is the one whose total is the value that the run reports. A region's
    number is the place of its benchmark in the order of the boot.
    """
    known = list(boots)
    values = {item.benchmark.id: int(item.value) for item in result.estimates}
    kept = {name: trees for name in values if (trees := _kept(known, name, values[name]))}
    wholes, no_whole = cell_wholes(known)
    return AttributedCell(
        cell=result.cell,
        values=values,
        readings=result.readings,
        trees={name: trees[0].tree for name, trees in kept.items()},
        kept=kept,
        repeats=frozenset(item.benchmark.id for item in result.estimates if item.repeats),
        missing=tuple(name for name in values if name not in kept),
        wholes=wholes,
        no_whole=no_whole,
    )


def _kept(boots: Iterable[AttributedBoot], name: str, value: int) -> tuple[Kept, ...]:
    """Return the trees of a benchmark in all boots, that of the reported value first.

    If none has its total, the most frequent one comes first.
    """
    regions: list[Region] = []
    for boot in boots:
        place = boot.place(name)
        region = None if place is None else boot.profile.region(place)
        if region is not None:
            regions.append(region)
    trees = {tree.insns: tree for region in reversed(regions) for tree in region.trees}
    samples: dict[int, int] = {}
    for region in regions:
        for insns, count in region.totals:
            samples[insns] = samples.get(insns, 0) + count
    found = [Kept(tree, samples[insns]) for insns, tree in trees.items()]
    reported = value + MARKER_INSNS
    return tuple(
        sorted(
            found, key=lambda item: (item.tree.insns != reported, -item.samples, item.tree.insns)
        )
    )


def explain_run(run: RunData, cells: Iterable[AttributedCell]) -> tuple[ExplainedSetup, ...]:
    """Explain every setup of a run against its baseline on the same kernel; pure."""
    known = list(cells)
    pairs = [
        (baseline, tested)
        for tested in known
        for baseline in known
        if tested.cell.setup != run.manifest.baseline_setup
        and baseline.cell.setup == run.manifest.baseline_setup
        and _place(baseline.cell) == _place(tested.cell)
    ]
    return tuple(explain_cells(baseline, tested) for baseline, tested in pairs)


def explain_cells(baseline: AttributedCell, tested: AttributedCell) -> ExplainedSetup:
    """Explain every operation that both cells have; pure."""
    compared = _compared(baseline, tested)
    pairs = _pairs(baseline, tested, compared)
    operations = {
        name: explain_difference(
            pair.baseline,
            pair.tested,
            difference=int(compared[name].typical.difference),
            doubt=pair.doubt or _unsteady(baseline, tested, name),
        )
        for name, pair in pairs.items()
    }
    return ExplainedSetup(
        baseline=baseline,
        tested=tested,
        operations=operations,
        before={name: pair.baseline for name, pair in pairs.items()},
        after={name: pair.tested for name, pair in pairs.items()},
        wholes=_wholes(baseline, tested, compared),
    )


def paired_trees(baseline: AttributedCell, tested: AttributedCell) -> dict[str, Pair]:
    """Return, for each benchmark that both have, two trees of the same peak; pure."""
    return _pairs(baseline, tested, _compared(baseline, tested))


def explain_wholes(baseline: AttributedCell, tested: AttributedCell) -> dict[str, WholeExplanation]:
    """Explain the whole cost of each benchmark of which both have one; pure."""
    return _wholes(baseline, tested, _compared(baseline, tested))


def _compared(baseline: AttributedCell, tested: AttributedCell) -> dict[str, Compared]:
    return {
        name: compare(baseline.readings[name], tested.readings[name], 0.0)
        for name in tested.values
        if name in baseline.values
    }


def _pairs(
    baseline: AttributedCell, tested: AttributedCell, compared: Mapping[str, Compared]
) -> dict[str, Pair]:
    found = {}
    for name, item in compared.items():
        if name not in baseline.kept or name not in tested.kept:
            continue
        # Where the sides do not run in step, the difference is that of two peaks, which need not
        # be the same one.
        paired = None if item.in_step is None else int(item.typical.difference)
        found[name] = choose_pair(baseline.kept[name], tested.kept[name], paired)
    return found


def _wholes(
    baseline: AttributedCell, tested: AttributedCell, compared: Mapping[str, Compared]
) -> dict[str, WholeExplanation]:
    found = {}
    for name, item in compared.items():
        if name not in baseline.wholes or name not in tested.wholes:
            continue
        reported = None if item.whole is None else item.whole.difference
        found[name] = explain_whole(baseline.wholes[name], tested.wholes[name], reported=reported)
    return found


def _unsteady(baseline: AttributedCell, tested: AttributedCell, name: str) -> str:
    sides = [item.cell.setup for item in (baseline, tested) if name not in item.repeats]
    return f"not known to repeat: {', '.join(sides)}" if sides else ""


def _place(cell: ManifestCell) -> tuple[str, str, str, str]:
    return (cell.kernel, cell.suite, cell.filesystem, cell.user)


def _read_profile(run: Path, boot: ManifestBoot) -> Profile | None:
    path = run / "boots" / boot.folder / ATTRIBUTION_FILE
    if not path.is_file():
        return None
    try:
        data = path.read_bytes()
        size = zstandard.get_frame_parameters(data).content_size
        if not 0 < size <= MAX_BYTES:
            raise InfrastructureError(f"{path}: damaged: it says that it has {size} bytes")
        text = zstandard.ZstdDecompressor().decompress(data).decode("ascii")
    except (OSError, zstandard.ZstdError, UnicodeDecodeError) as error:
        raise InfrastructureError(
            f"{path}: damaged: {error}", hint="run it again with --attribute --fresh"
        ) from error
    return parse_profile(text, where=str(path))
