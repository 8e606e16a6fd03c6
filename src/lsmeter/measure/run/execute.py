# SPDX-License-Identifier: GPL-2.0-or-later
"""Carries out the boots of a plan, several at a time; stores each as soon as it is made."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Protocol

from lsmeter.core.errors import InfrastructureError, LsmeterError
from lsmeter.core.limits import Limits
from lsmeter.core.model import Boot, BootStatus
from lsmeter.core.storage import data_dir, write_atomic
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.conclude import conclude
from lsmeter.guest.session import SessionReader
from lsmeter.machines import BootsByHand, ComesBack, HasHosts, Machine, Spreads, TakesTurns
from lsmeter.measure.experiment.plan import Plan, PlannedBoot
from lsmeter.measure.results.boots import (
    BOOT_FILE,
    StoredBoot,
    damaged_outputs,
    files_of,
    read_boot,
    share_files,
    write_files,
)
from lsmeter.measure.results.directory import boot_folder, copy_boot
from lsmeter.measure.results.documents import DamagedResultError
from lsmeter.measure.tasks import find_task

_WAITING = 8  # boots in memory that wait for the disk; beyond, no guest is started
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

    def noted(self, text: str) -> None:
        """Say what happened to a machine that boots are made on."""

    def ended(self, boot: PlannedBoot, result: Boot, *, reused: bool) -> None:
        """Say that the boot is stored."""


@dataclass
class _Desk:
    """Stores boots one after another, since those of a cell share a lock of the store."""

    run: Path
    settings: Settings
    observer: Observer
    thread: ThreadPoolExecutor  # of one: what it was given is stored, though the run is stopped
    group: asyncio.TaskGroup
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_WAITING))

    async def keep(self, planned: PlannedBoot, machine: Machine, capture: Capture) -> None:
        """Have a boot stored while others are made, unless those are timed."""
        words = planned, self.run, machine, self.settings, capture
        stored = asyncio.get_running_loop().run_in_executor(self.thread, _store, *words)
        # A run that a full disk has ended does not ask for what became of the rest.
        stored.add_done_callback(asyncio.Future.exception)
        telling = self.group.create_task(self._tell(planned, stored))
        if not self.settings.store:
            await telling

    async def _tell(self, planned: PlannedBoot, stored: asyncio.Future[Boot]) -> None:
        async with self.room:
            boot = await asyncio.shield(stored)
        self.observer.ended(planned, boot, reused=False)


async def execute(
    plan: Plan, run: Path, machine: Machine, settings: Settings, observer: Observer
) -> None:
    """Carry out every boot of `plan` into the run directory `run`.

    When the caller is cancelled, guests that run are killed and what was finished stays. Errors
    of the host (a full disk) end the run; what a guest does wrong never does.
    """
    session = machine.session(observer.noted) if isinstance(machine, Spreads) else nullcontext()
    try:
        with ThreadPoolExecutor(1) as thread:
            async with session, asyncio.TaskGroup() as group:
                desk = _Desk(run, settings, observer, thread, group)
                for queue in _lanes(plan, machine):
                    for _ in range(max(1, min(settings.jobs, len(queue)))):
                        group.create_task(_work(queue, machine, desk))
    except* LsmeterError as errors:
        # One full disk fails every worker at once; one line of it is enough.
        first: BaseException = errors
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None


def _lanes(plan: Plan, machine: Machine) -> Iterable[list[PlannedBoot]]:
    """Return what is to be made, the next one last; boots of two hosts never disturb each other."""
    lanes: dict[str, list[PlannedBoot]] = {}
    for planned in reversed(plan.boots):
        lane = planned.cell.kernel.name if isinstance(machine, HasHosts) else ""
        lanes.setdefault(lane, []).append(planned)
    return lanes.values()


async def _work(queue: list[PlannedBoot], machine: Machine, desk: _Desk) -> None:
    """Make what is missing of a queue, one block at a time."""
    while queue:
        async with desk.room:
            pass
        block = _take_block(queue, machine)
        if missing := _missing(block, desk):
            await _make_block(block, missing, machine, desk)


async def _make_block(
    block: Sequence[PlannedBoot], missing: Sequence[PlannedBoot], machine: Machine, desk: _Desk
) -> None:
    """Make what is missing of a block: side by side on machines that take turns."""
    if isinstance(machine, Spreads):
        async with machine.place() as place:
            await _make(missing[0], place, desk)
        return
    turns: AbstractContextManager[Sequence[Machine]] = nullcontext([machine] * len(missing))
    # Side by side; one that is left alone has its turns for itself.
    if isinstance(machine, TakesTurns) and len(block) > 1:
        turns = machine.in_turns(len(missing))
    with turns as places:
        async with asyncio.TaskGroup() as tasks:
            for planned, place in zip(missing, places, strict=True):
                tasks.create_task(_make(planned, place, desk))


def _take_block(queue: list[PlannedBoot], machine: Machine) -> list[PlannedBoot]:
    """Take the next boot from the queue's end, with those of its block that take turns with it."""
    first = queue.pop()
    if not isinstance(machine, TakesTurns) or (group := machine.turn_group(first)) is None:
        return [first]
    block = takewhile(lambda item: item.index == first.index, reversed(queue))
    others = [item for item in block if machine.turn_group(item) == group]
    for item in others:
        queue.remove(item)
    return [first, *others]


def _missing(block: Sequence[PlannedBoot], desk: _Desk) -> list[PlannedBoot]:
    """Return what has to be made of those that take turns, or of a single boot.

    Where one of several never came to its end, all of them are made again: turns were broken off.
    """
    ended = [is_kept(desk.run, item) for item in block] if desk.settings.kept else []
    if any(ended) and not all(ended):
        return list(block)
    return [item for item in block if not _reused(item, desk)]


def _reused(planned: PlannedBoot, desk: _Desk) -> bool:
    """Take a boot from the store, or from what the run directory has; False where it cannot be."""
    store = stored_path(planned)
    found = None if desk.settings.fresh else _read_whole(store, planned, desk.observer)
    if found:
        copy_boot(store, found.files, desk.run, planned.id)
    elif desk.settings.kept:
        found = _read_whole(boot_folder(desk.run, planned.id), planned, desk.observer)
    if found:
        desk.observer.ended(planned, found.boot, reused=True)
    return found is not None


async def _make(planned: PlannedBoot, machine: Machine, desk: _Desk) -> None:
    """Make one boot, and have it stored."""
    desk.observer.started(planned)
    capture = await _attempt(planned, machine, desk)
    for _ in range(_AGAIN):
        if capture.ending is not Ending.LOST or not isinstance(machine, ComesBack):
            break
        if not await machine.wait_for_host(planned):
            break
        capture = await _attempt(planned, machine, desk)
    await desk.keep(planned, machine, capture)


def _store(
    planned: PlannedBoot, run: Path, machine: Machine, settings: Settings, capture: Capture
) -> Boot:
    """Read what came out of a guest, and write it into the run and into the store."""
    cell = planned.cell
    request = make_request(cell, planned.seed)
    boot = conclude(planned.id, cell, machine.command(cell), capture, request)
    home = boot_folder(run, boot)
    shutil.rmtree(home, ignore_errors=True)  # what an earlier, failed try has left
    if boot.status is not BootStatus.OK:
        write_atomic(home / "qemu.log", capture.stderr.encode())
        detail = f"{boot.detail}; see console.log and qemu.log in {home}"
        if isinstance(machine, BootsByHand):
            detail += f"; boot it by hand: {machine.write_boot_files(planned, home)}"
        boot = replace(boot, detail=detail)
    files = files_of(boot, capture, request)
    stored = boot.status is BootStatus.OK and settings.store
    # A loss of power may cost the counts of the last half minute. To wait for the disk at each file
    # is half of what a boot elsewhere takes of us.
    if stored:
        share_files(stored_path(planned), files)
    write_files(home, files, lasting=not stored)
    return boot


async def _attempt(planned: PlannedBoot, machine: Machine, desk: _Desk) -> Capture:
    """Make one boot, once."""
    limits = desk.settings.limits
    silence_s = max(limits.silence_s, find_task(planned.cell.task.name).silence_s)
    reader: SessionReader | None = None

    def on_results(data: bytes) -> int | Ending:
        nonlocal reader
        if reader is None:  # what comes whole from elsewhere has none
            reader = SessionReader(make_request(planned.cell, planned.seed))
        known = reader.finished
        reader.feed(data)
        if reader.finished > known:
            desk.observer.advanced(planned, reader.finished)
        return Ending.REFUSED if reader.over else reader.finished

    return await machine.run(planned, replace(limits, silence_s=silence_s), on_results)


def stored_path(planned: PlannedBoot) -> Path:
    """Return where all runs share the boot, whether or not it is there yet.

    Only boots that ended well are kept there, so that what failed is tried again by the next run.
    """
    return data_dir() / "boots" / planned.cell.hash / f"seed-{planned.seed}"


def is_stored(planned: PlannedBoot) -> bool:
    """Say whether the boot seems to be known; whether it is whole shows when it is read."""
    return (stored_path(planned) / BOOT_FILE).exists()


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
    except InfrastructureError:  # of another version
        return None
    if why:
        observer.damaged(planned, why)
    return found if not why and found.boot.status is BootStatus.OK else None
