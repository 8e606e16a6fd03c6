# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether all that is stored of a run is what was written, and may stand beside another."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from lsmeter.core.errors import ExitCode, UsageError
from lsmeter.measure.results.directory import RunData, boot_folder
from lsmeter.tables.model import Document, Item, Section, Tone


def refuse_arches(*runs: RunData) -> None:
    """Raise UsageError for two runs whose kernels have no architecture in common."""
    arches = [{kernel.arch for kernel in run.manifest.kernels} for run in runs]
    if all(arches) and not set.intersection(*arches):
        first, second = (", ".join(sorted(names)) for names in arches)
        raise UsageError(
            f"one run is of {first}, the other of {second}: their instructions are not the same",
            hint="name both architectures in one run (--arch): each has a table of its own",
        )


def damage_code(run: RunData, tasks: Collection[str] = ()) -> ExitCode:
    """Return what showing a run again ends with: some of it is damaged, or all of these tasks."""
    asked = {cell.hash for cell in run.manifest.cells if not tasks or cell.task.name in tasks}
    if not run.damaged:
        return ExitCode.OK
    left = any(boot.cell_hash in asked for boot in run.boots)
    return ExitCode.INCOMPLETE if left else ExitCode.INFRASTRUCTURE


def verification(run: RunData) -> tuple[Document, ExitCode]:
    """Say which boots are missing, and which files are damaged; and the code that says so."""
    planned = dict.fromkeys(run.manifest.boots)
    home, cells = Path(run.title), {cell.hash: cell.place for cell in run.manifest.cells}
    missing = [
        f"{place.setup} on {place.kernel}: boot {boot.index}: missing ({boot_folder(home, boot)})"
        for boot in run.missing
        for place in [cells[boot.cell_hash]]
    ]
    damaged = [f"{problem.title}: {problem.detail}" for problem in run.damaged]
    numbers = {"boots": len(planned), "missing": len(missing), "damaged": len(damaged)}
    items = tuple(Item(text, tone=Tone.WARNING) for text in (*damaged, *missing))
    document = Document(
        "lsmeter-verification",
        1,
        "Every file is what was written" if not items else "Not all is there as it was written",
        facts=(("run", run.title), *((name, str(count)) for name, count in numbers.items())),
        sections=(Section("", items=items),) if items else (),
        notes=run.notes,
        data={"run": run.title, **numbers, "problems": [*damaged, *missing]},
    )
    if damaged:
        return document, ExitCode.INFRASTRUCTURE
    return document, ExitCode.INCOMPLETE if missing else ExitCode.OK
