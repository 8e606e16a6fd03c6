# SPDX-License-Identifier: GPL-2.0-or-later
"""Carries out the boots of a plan, several at a time; stores each as soon as it is made."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from lsmeter.base.errors import InfrastructureError, LsmeterError
from lsmeter.base.limits import Limits
from lsmeter.base.storage import data_dir
from lsmeter.experiment.plan import Plan, PlannedBoot
from lsmeter.guest.conclude import conclude
from lsmeter.guest.session import SessionReader
from lsmeter.machines import Machine
from lsmeter.model import Boot, BootStatus
from lsmeter.results.boots import BOOT_FILE, read_boot, write_boot
from lsmeter.results.directory import copy_boot
from lsmeter.tasks import find_task


@dataclass(frozen=True)
class Settings:
    """How to carry out a plan: guests at a time, and whether stored boots may serve."""

    jobs: int
    fresh: bool = False
    limits: Limits = field(default_factory=Limits)


class Observer(Protocol):
    """Is told how a run goes on; the command line draws it."""

    def started(self, boot: PlannedBoot) -> None:
        """Say that a guest has been started."""

    def advanced(self, boot: PlannedBoot, benchmarks: int) -> None:
        """Say how many benchmarks the guest has finished."""

    def ended(self, boot: PlannedBoot, result: Boot, *, reused: bool) -> None:
        """Say that the boot is stored."""


async def execute(
    plan: Plan, run: Path, machine: Machine, settings: Settings, observer: Observer
) -> None:
    """Carry out every boot of `plan` into the run directory `run`.

    When the caller is cancelled, guests that run are killed and what was finished stays. Errors
    of the host (a full disk) end the run; what a guest does wrong never does.
    """
    queue = list(reversed(plan.boots))

    async def worker() -> None:
        while queue:
            await _one(queue.pop(), run, machine, settings, observer)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, min(settings.jobs, len(plan.boots)))):
                group.create_task(worker())
    except* LsmeterError as errors:
        # One full disk fails every worker at once; one line of it is enough.
        raise errors.exceptions[0] from None


async def _one(
    planned: PlannedBoot, run: Path, machine: Machine, settings: Settings, observer: Observer
) -> None:
    """Make one boot, or take it from the store."""
    if not settings.fresh and (stored := find_stored(planned)) is not None:
        path, known = stored
        copy_boot(path, run, planned.id)
        observer.ended(planned, known, reused=True)
        return
    observer.started(planned)
    cell = planned.cell
    reader = SessionReader(cell.benchmarks)

    def on_results(data: bytes) -> int:
        known = reader.finished
        reader.feed(data)
        if reader.finished > known:
            observer.advanced(planned, reader.finished)
        return reader.finished

    silence_s = max(settings.limits.silence_s, find_task(cell.task.name).silence_s)
    limits = replace(settings.limits, silence_s=silence_s)
    capture = await machine.run(planned, limits, on_results)
    boot = conclude(planned.id, cell.setup, cell.kernel, cell.benchmarks, capture)
    if boot.status is BootStatus.OK:
        write_boot(stored_path(planned), boot, capture)
    write_boot(run / "boots" / boot.folder, boot, capture)
    observer.ended(planned, boot, reused=False)


def stored_path(planned: PlannedBoot) -> Path:
    """Return where all runs share the boot, whether or not it is there yet.

    Only boots that ended well are kept there, so that what failed is tried again by the next run.
    """
    return data_dir() / "boots" / planned.cell.hash / f"seed-{planned.seed}"


def find_stored(planned: PlannedBoot) -> tuple[Path, Boot] | None:
    """Return the boot if it was measured before; a damaged entry counts as not measured."""
    path = stored_path(planned)
    if not (path / BOOT_FILE).is_file():
        return None
    try:
        found = read_boot(path)
    except InfrastructureError:
        return None
    return (path, found.boot) if found.boot.cell_hash == planned.cell.hash else None
