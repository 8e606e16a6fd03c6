# SPDX-License-Identifier: GPL-2.0-or-later
"""A run as if less had been asked: some setups, some benchmarks, another baseline; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.errors import UsageError
from lsmeter.core.registry import unknown
from lsmeter.measure.experiment.select import select_benchmarks
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import Manifest
from lsmeter.measure.tasks import cost_tasks


def chosen_cells(manifest: Manifest, setups: Sequence[str], baseline: str | None) -> set[str]:
    """Return the hashes of the cells of these setups (none: of all), and of the baseline."""
    base, chosen = _chosen(manifest, setups, baseline)
    return {cell.hash for cell in manifest.cells if cell.place.setup in {*chosen, base}}


def _chosen(
    manifest: Manifest, setups: Sequence[str], baseline: str | None
) -> tuple[str, set[str]]:
    """Return the baseline, and the setups that are compared with it."""
    measured = tuple(dict.fromkeys(cell.place.setup for cell in manifest.cells))
    base = _measured(baseline, measured, "--baseline") if baseline else manifest.baseline_setup
    return base, {_measured(name, measured, "--setup") for name in setups} or {*measured}


def narrowed(
    run: RunData, setups: Sequence[str], benchmarks: Sequence[str], baseline: str | None
) -> RunData:
    """Return the run with these setups and benchmarks only, compared with this baseline.

    Empty and None leave all as it was. The baseline and the controls stay; a note says what is
    left out. UsageError for a name that the run does not have.
    """
    manifest = run.manifest
    measured = {cell.place.setup for cell in manifest.cells}
    base, chosen = _chosen(manifest, setups, baseline)
    cells = tuple(cell for cell in manifest.cells if cell.place.setup in {*chosen, base})
    kept = {cell.hash for cell in cells}
    compares = {cell.task.name for cell in cells} <= cost_tasks()
    suites = {item.suite for item in manifest.benchmarks}
    kinds = select_benchmarks(
        manifest.benchmarks, sorted(suites), benchmarks or ["*"], controls=compares
    )
    notes = [*run.notes]
    if base != manifest.baseline_setup:
        notes.append(f"compared with {base}; the run's own baseline is {manifest.baseline_setup}")
    for word, left, of in (
        ("setups", len(measured) - len(chosen | {base}), len(measured)),
        ("benchmarks", len(manifest.benchmarks) - len(kinds), len(manifest.benchmarks)),
    ):
        verb = "is" if left == 1 else "are"
        notes += [f"{left} of the run's {of} {word} {verb} left out"] if left else []
    left_out = measured - chosen - {base}  # what could not be measured at all stays a problem
    problems, damaged = (
        tuple(item for item in found if item.setup not in left_out)
        for found in (manifest.problems, run.damaged)
    )
    return replace(
        run,
        manifest=replace(
            manifest,
            baseline_setup=base,
            cells=cells,
            benchmarks=kinds,
            boots=tuple(boot for boot in manifest.boots if boot.cell_hash in kept),
            problems=problems,
        ),
        boots=tuple(boot for boot in run.boots if boot.cell_hash in kept),
        missing=tuple(boot for boot in run.missing if boot.cell_hash in kept),
        notes=tuple(notes),
        damaged=damaged,
    )


def _measured(name: str, measured: Iterable[str], where: str) -> str:
    """Return the setup of the run that a user's word stands for."""
    if name in measured:
        return name
    try:
        found = parse_setup(name).name
    except UsageError:
        found = ""
    if found not in measured:
        raise unknown("setup of this run", name, measured, where=where)
    return found
