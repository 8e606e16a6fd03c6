# SPDX-License-Identifier: GPL-2.0-or-later
"""Carries out the boots of a plan, several at a time; stores each as soon as it is made."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from lsmeter.base.errors import InfrastructureError, LsmeterError
from lsmeter.base.limits import Limits
from lsmeter.base.storage import data_dir, write_atomic
from lsmeter.experiment.plan import Plan, PlannedBoot
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.conclude import conclude
from lsmeter.guest.session import SessionReader
from lsmeter.machines import Machine
from lsmeter.model import Boot, BootStatus
from lsmeter.results.boots import (
    BOOT_FILE,
    StoredBoot,
    damaged_outputs,
    read_boot,
    turn,
    write_boot,
)
from lsmeter.results.directory import boot_folder, copy_boot
from lsmeter.results.documents import DamagedResultError
from lsmeter.tasks import find_task

_AGAIN = 2  # times that a boot is made again whose host was lost, and came back


@dataclass(frozen=True)
class Settings:
    """How to carry out a plan: guests at a time, in each lane, and what may serve of before.

    fresh: none of the store. kept: those that the run directory itself has, from before it was
    stopped. store: what is measured is put into the store, which is for counts that repeat.
    """

    jobs: int
    fresh: bool = False
    kept: bool = False
    store: bool = True
    limits: Limits = field(default_factory=Limits)


class Observer(Protocol):
    """Is told how a run goes on; the command line draws it."""

    def started(self, boot: PlannedBoot) -> None:
        """Say that a guest has been started."""

    def advanced(self, boot: PlannedBoot, benchmarks: int) -> None:
        """Say how many benchmarks the guest has finished."""

    def damaged(self, boot: PlannedBoot, why: str) -> None:
        """Say that a stored boot is not what was written, and is measured again."""

    def ended(self, boot: PlannedBoot, result: Boot, *, reused: bool) -> None:
        """Say that the boot is stored."""


async def execute(
    plan: Plan, run: Path, machine: Machine, settings: Settings, observer: Observer
) -> None:
    """Carry out every boot of `plan` into the run directory `run`.

    When the caller is cancelled, guests that run are killed and what was finished stays. Errors
    of the host (a full disk) end the run; what a guest does wrong never does.
    """
    lanes: dict[str, list[PlannedBoot]] = {}
    for planned in reversed(plan.boots):
        lanes.setdefault(machine.lane(planned), []).append(planned)

    async def worker(queue: list[PlannedBoot]) -> None:
        while queue:
            await _one(queue.pop(), run, machine, settings, observer)

    try:
        async with asyncio.TaskGroup() as group:
            for queue in lanes.values():
                for _ in range(max(1, min(settings.jobs, len(queue)))):
                    group.create_task(worker(queue))
    except* LsmeterError as errors:
        # One full disk fails every worker at once; one line of it is enough.
        raise errors.exceptions[0] from None


async def _one(
    planned: PlannedBoot, run: Path, machine: Machine, settings: Settings, observer: Observer
) -> None:
    """Make one boot, or take it from the store."""
    stored = None if settings.fresh else find_stored(planned, observer)
    if stored is not None:
        copy_boot(stored_path(planned), stored.files, run, planned.id)
        observer.ended(planned, stored.boot, reused=True)
        return
    if settings.kept and (found := _read_whole(boot_folder(run, planned.id), planned, observer)):
        observer.ended(planned, found.boot, reused=True)
        return
    observer.started(planned)
    cell = planned.cell
    silence_s = max(settings.limits.silence_s, find_task(cell.task.name).silence_s)
    limits = replace(settings.limits, silence_s=silence_s)
    capture = await _attempt(planned, machine, limits, observer)
    for _ in range(_AGAIN):
        if capture.ending is not Ending.LOST or not await machine.back(planned):
            break
        capture = await _attempt(planned, machine, limits, observer)
    boot = conclude(planned.id, cell, machine.command(cell), capture)
    home = boot_folder(run, boot)
    shutil.rmtree(home, ignore_errors=True)  # what an earlier, failed try has left
    if boot.status is not BootStatus.OK:
        write_atomic(home / "qemu.log", capture.stderr.encode())
        command = machine.leave(planned, home)
        left = f"; boot it by hand: {command}" if command else ""
        left = f"{boot.detail}; see console.log and qemu.log in {home}{left}"
        boot = replace(boot, detail=left)
    elif settings.store:
        with turn(stored_path(planned)):
            write_boot(stored_path(planned), boot, capture)
    write_boot(home, boot, capture)
    observer.ended(planned, boot, reused=False)


async def _attempt(
    planned: PlannedBoot, machine: Machine, limits: Limits, observer: Observer
) -> Capture:
    """Make one boot, once."""
    reader = SessionReader(make_request(planned.cell, planned.seed))

    def on_results(data: bytes) -> int | Ending:
        known = reader.finished
        reader.feed(data)
        if reader.finished > known:
            observer.advanced(planned, reader.finished)
        return Ending.REFUSED if reader.over else reader.finished

    return await machine.run(planned, limits, on_results)


def stored_path(planned: PlannedBoot) -> Path:
    """Return where all runs share the boot, whether or not it is there yet.

    Only boots that ended well are kept there, so that what failed is tried again by the next run.
    """
    return data_dir() / "boots" / planned.cell.hash / f"seed-{planned.seed}"


def is_stored(planned: PlannedBoot) -> bool:
    """Say whether the boot seems to be known; whether it is whole shows when it is read."""
    return (stored_path(planned) / BOOT_FILE).exists()


def find_stored(planned: PlannedBoot, observer: Observer) -> StoredBoot | None:
    """Return the boot if it was measured before; a damaged entry counts as not measured.

    So does one that was stored before there were digests.
    """
    return _read_whole(stored_path(planned), planned, observer)


def is_kept(run: Path, planned: PlannedBoot) -> bool:
    """Say whether the run directory seems to have the boot already."""
    return (boot_folder(run, planned.id) / BOOT_FILE).exists()


def _read_whole(path: Path, planned: PlannedBoot, observer: Observer) -> StoredBoot | None:
    """Return the boot that a folder has, if it ended well and is what was written."""
    if not (path / BOOT_FILE).exists():
        return None
    try:
        found = read_boot(path, planned.id)
        why = next((wrong.title for wrong in damaged_outputs(path, found)), "")
    except DamagedResultError as error:
        observer.damaged(planned, error.title)
        return None
    except InfrastructureError:  # of a later version
        return None
    if why:
        observer.damaged(planned, why)
    return found if found.sealed and not why and found.boot.status is BootStatus.OK else None
