# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the attribution of a run's boots, and joins it with what the run measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import zstandard

from lsmeter.analysis import CellResult, cell_results
from lsmeter.errors import InfrastructureError, UsageError
from lsmeter.hooks.attribution.explain import Explanation, explain_difference
from lsmeter.hooks.attribution.parse import MAX_BYTES, parse_profile
from lsmeter.hooks.attribution.profile import Profile, Tree
from lsmeter.results.boots import ATTRIBUTION_FILE
from lsmeter.results.directory import RunData, read_run
from lsmeter.results.manifest import ManifestBoot, ManifestCell

# Instructions between the markers that the clock does not see (probe/clock.h): the first marker
# and lfence, the rdtsc that the difference leaves out, and shl and or after the second rdtsc.
MARKER_INSNS = 5


@dataclass(frozen=True)
class AttributedCell:
    """One cell with the value and the call tree of each benchmark that has both.

    repeats names the benchmarks whose value was the same in every boot.
    """

    cell: ManifestCell
    values: Mapping[str, int]
    trees: Mapping[str, Tree]
    repeats: frozenset[str]
    missing: tuple[str, ...]  # benchmarks with a value but without a tree


@dataclass(frozen=True)
class ExplainedSetup:
    """A setup against its baseline: every operation that both have, explained."""

    baseline: AttributedCell
    tested: AttributedCell
    operations: Mapping[str, Explanation]


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
        found = [
            profile
            for boot, profile in profiles.items()
            if profile is not None and boot.cell_hash == result.cell.hash
        ]
        suite = [item.id for item in run.manifest.benchmarks if item.suite == result.cell.suite]
        cells.append(attributed_cell(result, found, suite))
    return tuple(cells)


def attributed_cell(
    result: CellResult, profiles: Iterable[Profile], benchmarks: list[str]
) -> AttributedCell:
    """Choose, for each benchmark, the tree whose total is the value that the run reports; pure.

    benchmarks are the ids in the order in which the guest ran them: a region's number is its
    benchmark's place.
    """
    found = list(profiles)
    values = {item.benchmark.id: int(item.value) for item in result.estimates}
    trees: dict[str, Tree] = {}
    for index, name in enumerate(benchmarks):
        if name not in values:
            continue
        regions = [region for item in found if (region := item.region(index)) is not None]
        exact = (region.tree(values[name] + MARKER_INSNS) for region in regions)
        tree = next((item for item in exact if item), None)
        # None has this total: the most frequent one, whose difference is then shown as unseen.
        tree = tree or next((item for region in regions if (item := region.tree())), None)
        if tree is not None:
            trees[name] = tree
    return AttributedCell(
        cell=result.cell,
        values=values,
        trees=trees,
        repeats=frozenset(item.benchmark.id for item in result.estimates if item.repeats),
        missing=tuple(name for name in values if name not in trees),
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
    operations = {
        name: explain_difference(
            baseline.trees[name],
            tested.trees[name],
            baseline_value=baseline.values[name],
            tested_value=tested.values[name],
        )
        for name in tested.trees
        if name in baseline.trees
    }
    return ExplainedSetup(baseline, tested, operations)


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
