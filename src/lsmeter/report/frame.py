# SPDX-License-Identifier: GPL-2.0-or-later
"""What the documents of all runs have in common: facts, problems, notes; pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lsmeter.instruments import find_instrument
from lsmeter.model import Benchmark, Place, Problem
from lsmeter.results.directory import RunData
from lsmeter.tables.model import Item, Section, Tone


def run_facts(run: RunData) -> tuple[tuple[str, str], ...]:
    """Return what every format says of a run: instrument, unit, conditions, kernels, versions."""
    manifest = run.manifest
    instrument = find_instrument(manifest.instrument)
    conditions = ", ".join(f"{key}={value}" for key, value in vars(manifest.conditions).items())
    kernels = ", ".join(f"{kernel.name} ({kernel.release})" for kernel in manifest.kernels)
    return (
        ("instrument", f"{instrument.name}: {instrument.title}"),
        ("kernels", kernels),
        ("conditions", conditions),
        ("made by", f"lsmeter {manifest.lsmeter_version}, {manifest.created}"),
    )


def run_data(run: RunData) -> dict[str, Any]:
    """Return the same for programs."""
    manifest = run.manifest
    return {
        "title": manifest.title,
        "created": manifest.created,
        "lsmeter_version": manifest.lsmeter_version,
        "command": manifest.command,
        "instrument": manifest.instrument,
        "conditions": vars(manifest.conditions),
    }


def placed(place: Place, benchmark: Benchmark) -> dict[str, Any]:
    """Return what a number is of, for programs."""
    named = {"benchmark": benchmark.operation, "params": dict(benchmark.params)}
    return {**vars(place), **named}


def notes_of(run: RunData) -> tuple[str, ...]:
    """Say how long each guest took, what was not measured, and which version reads the run."""
    cells = {cell.hash: cell for cell in run.manifest.cells}
    notes = [
        f"{cell.place.setup} on {cell.place.kernel}, {cell.task.name}: one guest, "
        f"{boot.wall_s:.1f} s"
        for boot in run.boots
        for cell in [cells[boot.cell_hash]]
    ]
    return (*notes, *missing_note(run), *run.notes)


def missing_note(run: RunData) -> tuple[str, ...]:
    """Say how many boots a stopped run lacks."""
    if not run.missing:
        return ()
    lacking = f"{len(run.missing)} of {len(run.manifest.boots)} boots are missing"
    return (f"the run was stopped: {lacking}; the same command resumes it",)


def problem_section(problems: Iterable[Problem]) -> tuple[Section, ...]:
    """Return a section of problems, if there are any."""
    items = []
    for item in problems:
        where = " on ".join(part for part in (item.setup, item.kernel) if part)
        named = f"{where}: " if where and where not in item.title else ""
        detail = f": {item.detail}" if item.detail else ""
        items.append(Item(f"{named}{item.title}{detail}", item.log_tail[-10:], Tone.WARNING))
    return (Section(f"Problems ({len(items)})", items=tuple(items)),) if items else ()
