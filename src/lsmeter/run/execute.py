# SPDX-License-Identifier: GPL-2.0-or-later
"""Carries out the boots of a plan, several at a time; stores each as soon as it is made."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lsmeter.backend import Backend, Capture
from lsmeter.errors import LsmeterError
from lsmeter.guest.events import End
from lsmeter.guest.protocol import Parser
from lsmeter.limits import Limits
from lsmeter.model import Boot, BootStatus
from lsmeter.plan import Plan, PlannedBoot
from lsmeter.results.boots import write_boot
from lsmeter.results.directory import copy_boot
from lsmeter.results.manifest import ManifestBoot
from lsmeter.results.store import find_stored, stored_path
from lsmeter.run.conclude import conclude


@dataclass(frozen=True)
class Settings:
    """How to carry out a plan: guests at a time, and whether stored boots may serve."""

    jobs: int
    fresh: bool = False
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Outcome:
    """How many boots were made, were found in the store, failed, and were not reached."""

    made: int
    reused: int
    failed: int
    not_reached: int


class Observer(Protocol):
    """Is told how a run goes on; the command line draws it."""

    def started(self, boot: PlannedBoot) -> None:
        """Say that a guest has been started."""

    def advanced(self, boot: PlannedBoot, benchmarks: int) -> None:
        """Say how many benchmarks the guest has finished."""

    def ended(self, boot: PlannedBoot, result: Boot, *, reused: bool) -> None:
        """Say that the boot is stored."""


async def execute(
    plan: Plan, run: Path, backend: Backend, settings: Settings, observer: Observer
) -> Outcome:
    """Carry out every boot of `plan` into the run directory `run`.

    When the caller is cancelled, guests that run are killed and what was finished stays. Errors
    of the host (a full disk) end the run; what a guest does wrong never does.
    """
    work = _Work(run, backend, settings, observer)
    queue = list(reversed(plan.boots))

    async def worker() -> None:
        while queue:
            await work.one(queue.pop())

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, min(settings.jobs, len(plan.boots)))):
                group.create_task(worker())
    except* LsmeterError as errors:
        # One full disk fails every worker at once; one line of it is enough.
        raise errors.exceptions[0] from None
    return Outcome(work.made, work.reused, work.failed, len(queue))


class _Work:
    """The boots made so far."""

    def __init__(self, run: Path, backend: Backend, settings: Settings, observer: Observer) -> None:
        self.run = run
        self.backend = backend
        self.settings = settings
        self.observer = observer
        self.made = self.reused = self.failed = 0

    async def one(self, planned: PlannedBoot) -> None:
        """Make one boot, or take it from the store."""
        folder = ManifestBoot(planned.cell.hash, planned.index, planned.seed)
        if not self.settings.fresh and (stored := find_stored(planned)) is not None:
            path, known = stored
            copy_boot(path, self.run, folder)
            self.reused += 1
            self.observer.ended(planned, known.boot, reused=True)
            return
        self.observer.started(planned)
        capture = await self._capture(planned)
        boot = conclude(planned, capture)
        if boot.status is BootStatus.OK:
            write_boot(stored_path(planned), boot, capture.console, capture.attribution)
        else:
            self.failed += 1
        write_boot(self.run / "boots" / folder.folder, boot, capture.console, capture.attribution)
        self.made += 1
        self.observer.ended(planned, boot, reused=False)

    async def _capture(self, planned: PlannedBoot) -> Capture:
        parser = Parser()
        finished = 0

        def on_results(data: bytes) -> int:
            nonlocal finished
            ends = sum(isinstance(event, End) for event in parser.feed(data))
            if ends:
                finished += ends
                self.observer.advanced(planned, finished)
            return finished

        return await self.backend.run(planned, self.settings.limits, on_results)
