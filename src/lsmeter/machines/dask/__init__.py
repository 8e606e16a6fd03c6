# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests of the emulator on the workers of a Dask scheduler, with files sent by digest.

What a worker sends is bytes that are checked as a guest's are. Dask itself is built on pickle:
whoever may talk to the scheduler can run programs on all that do, which is why it takes TLS.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from lsmeter.core.errors import InfrastructureError, LsmeterError, UsageError
from lsmeter.core.limits import Limits
from lsmeter.core.model import Cell
from lsmeter.core.model.arch import ARCHES, X86_64, Arch
from lsmeter.core.storage import cache_dir, known_sha256, write_atomic
from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.filesystem import disk_image, size_mib
from lsmeter.guest.given import DISK, PROBE, TREE
from lsmeter.guest.probe import find_probe, find_program
from lsmeter.machines import Addressed, Machine, OnResults, Spreads
from lsmeter.machines.dask import messages
from lsmeter.machines.dask.messages import Facts, Order
from lsmeter.machines.dask.pool import DroppedError, LostError, Member, Pool, label, look, why_unfit
from lsmeter.machines.dask.scheduler import FORM, check_address, connected
from lsmeter.machines.emulation import MACHINE as EMULATION
from lsmeter.machines.emulation import Emulation
from lsmeter.measure.experiment.plan import PlannedBoot, programs_of
from lsmeter.measure.tasks import kinds
from lsmeter.sources.commands import tree_path

_MOST_WORKERS = 3  # that fail a boot, before it is a problem
_MOST_TRIES = 20  # of a boot, also where only its scheduler was lost
_FIRST_WORKER_S = 60.0


class Dask(Emulation, Addressed, Spreads):
    """Runs guests as the emulator does, on workers; made for one scheduler by `connect`."""

    name = "dask"
    title = "workers of a Dask scheduler, each with the emulator"

    def __init__(self, place: str = "") -> None:
        self._place = place
        self._plugins: set[str] = set()
        self._arches: set[str] = set()
        self._asked: dict[tuple[frozenset[str], str], dict[str, Facts]] = {}
        self._files: dict[str, Path] = {}
        self._disks: dict[tuple[str, int], str] = {}
        self._known: dict[str, tuple[Cell, dict[str, str]]] = {}  # by the cell's hash
        self._pool: Pool | None = None

    def connect(self, addresses: str, *, insecure: bool = False) -> Dask:
        """Return the machine of a scheduler."""
        return Dask(check_address(addresses, insecure=insecure))

    @property
    def places(self) -> int:
        """How many guests the workers have at once, as far as they have been asked."""
        newest = [*self._asked.values()][-1:]
        return sum(facts.guests for found in newest for facts in found.values()) or 1

    def said(self) -> str:
        """Say how many workers there are, and what they do."""
        return self._pool.said() if self._pool else ""

    def check(self) -> Iterable[tuple[str, str, str]]:
        """Ask each worker, for boots of every task; give its name, what it has, why it is unfit."""
        plugins = {kind.plugin for kind in kinds().values() if kind.plugin}
        found = self.workers(plugins)
        able = any(not facts.why for facts in found.values())
        versions = self._versions(plugins, [X86_64.name]) if able else {}
        for address, facts in found.items():
            qemu = dict(facts.versions).get("qemu", "none")
            said = f"{facts.guests} guest(s) at a time, QEMU {qemu}, {facts.free_mib} MiB free"
            yield label(facts, address), said, why_unfit(facts, versions)

    def workers(self, plugins: Iterable[str] = (), arch: Arch = X86_64) -> dict[str, Facts]:
        """Ask every worker what it is, by address; wait for a first one."""
        wanted = frozenset(plugins), arch.name
        if wanted not in self._asked:
            self._asked[wanted] = asyncio.run(_ask(self._named(), *wanted))
        return self._asked[wanted]

    def identity_of(self, arch: Arch, plugins: Iterable[str] = ()) -> Mapping[str, str]:
        """Name what decides counts: this machine's versions if a worker has them, else theirs."""
        plugins = set(plugins)
        self._plugins |= plugins
        self._arches.add(arch.name)
        found = self.workers(plugins, arch)
        fit = Counter(facts.versions for facts in found.values() if not facts.why)
        if not fit:
            why = "; ".join(f"{facts.name}: {facts.why}" for facts in found.values())
            raise InfrastructureError(
                f"no worker of dask:{self._place} can be used: {why[:300]}",
                hint=f"lsmeter doctor --machine dask:{self._place}",
            )
        versions = dict(fit.most_common(1)[0][0])
        with suppress(LsmeterError):
            own = messages.name_versions([arch], partial(EMULATION.identity_of, plugins=plugins))
            versions = next((item for item in map(dict, fit) if item == own), versions)
        versions.pop("lsmeter")
        bare = {name.removeprefix(f"{arch.name} "): text for name, text in versions.items()}
        return {**bare, "probe": find_probe(arch).sha256}

    def prepare(self, cells: Iterable[Cell]) -> None:
        """Find the files that boots of these cells need."""
        for cell in cells:
            self._bare(cell)

    @asynccontextmanager
    async def session(self, tell: Callable[[str], None]) -> AsyncIterator[None]:
        """Hold the way to the workers; at its end none of them has a boot of ours."""
        versions = self._versions(self._plugins, self._arches)
        wanted = self._plugins, self._arches
        async with Pool(self._named(), versions, wanted, self._files, tell) as pool:
            self._pool = pool
            try:
                yield
            finally:
                self._pool = None

    @asynccontextmanager
    async def place(self) -> AsyncIterator[Machine]:
        """Wait for a place on a worker, and give a machine that boots there."""
        pool = self._pool
        if pool is None:
            raise RuntimeError("a place is given in a session only")
        member = await pool.take()
        placed = _Placed(self, pool, member)
        try:
            yield placed
        finally:
            if placed.member is not None:
                pool.give_back(placed.member)

    async def run(self, planned: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Run one boot by itself, in a session of its own."""
        async with self.session(lambda _: None), self.place() as place:
            return await place.run(planned, limits, on_results)

    def order(self, run: str, planned: PlannedBoot, limits: Limits) -> Order:
        """Return the order of a boot, and note where its files are."""
        cell, given = self._bare(planned.cell)
        bare = replace(planned, cell=cell)
        return messages.make_order(run, bare, planned.cell.hash, limits, given)

    def _versions(self, plugins: Iterable[str], arches: Iterable[str]) -> dict[str, str]:
        """Return what a worker must have; the probe is sent to it."""
        known = [ARCHES[name] for name in {*arches}]
        return messages.name_versions(known, partial(self.identity_of, plugins=plugins))

    def _note(self, path: Path, sha256: str) -> Path:
        self._files[sha256 or known_sha256(path)] = path
        return path

    def _bare(self, cell: Cell) -> tuple[Cell, dict[str, str]]:
        """Return a cell as orders have it, and the files that replace a worker's own: read once."""
        key = cell.hash
        if key not in self._known:
            messages.move_files(cell, self._note)
            self._known[key] = messages.bare_cell(cell, known_sha256), self._given(cell)
        return self._known[key]

    def _given(self, cell: Cell) -> dict[str, str]:
        """Return digests of the files that replace a worker's own, by name."""
        arch = ARCHES[cell.kernel.arch]
        found = {PROBE: find_probe(arch)}
        found |= {name: find_program(name, arch) for name in programs_of(cell.setup)}
        self._files |= {item.sha256: item.path for item in found.values()}
        digests = {name: item.sha256 for name, item in found.items()}
        if size_mib(cell):
            digests[DISK] = self._disk(cell)
        if command := cell.task.command:
            self._files[command.tree] = tree_path(command.tree)
            digests[TREE] = command.tree
        return digests

    def _disk(self, cell: Cell) -> str:
        """Keep the file system of a cell as a file, and return its digest."""
        kind = cell.filesystem, size_mib(cell)
        if kind not in self._disks:
            data = disk_image(cell)
            sha256 = self._disks[kind] = hashlib.sha256(data).hexdigest()
            path = self._files[sha256] = cache_dir() / "disks" / sha256
            if not path.exists():
                write_atomic(path, data)
        return self._disks[kind]

    def _named(self) -> str:
        if not self._place:
            raise UsageError("--machine dask: which scheduler?", hint=f"write {FORM}")
        return self._place


class _Placed(Emulation):
    """The machine of one boot, which has a place on a worker, and another if that one is lost."""

    name, title = Dask.name, Dask.title

    def __init__(self, machine: Dask, pool: Pool, member: Member) -> None:
        self.member: Member | None = member
        self._machine, self._pool = machine, pool

    async def run(self, planned: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Have a worker make the boot, or another if it is lost; never more than a few."""
        del on_results  # a capture comes whole: there is nothing to tell of on the way
        order = self._machine.order(self._pool.run, planned, limits)
        known = self._pool.known.pop(order.key, None)
        why: dict[str, str] = {}
        for _ in range(_MOST_TRIES):
            try:
                if self.member is None:
                    self.member = await self._pool.take(why)
                capture = await self._pool.make(known or self.member, order)
            except LostError as error:
                if self.member is None:
                    break
                if known is None:
                    if not isinstance(error, DroppedError):
                        why[self.member.address] = str(error)
                    lost, self.member = self.member, None
                    self._pool.give_back(lost)
                if len(why) == _MOST_WORKERS:
                    break
                known = None
                continue
            # The worker has nothing more to do with it: the next boot need not wait for our disk.
            self._pool.give_back(self.member)
            self.member = None
            return capture
        said = f"{len(why)} worker(s) failed it: {'; '.join(why.values())}"
        return Capture(b"", b"", Ending.LOST, None, 0.0, said)


async def _ask(place: str, plugins: frozenset[str], arch: str) -> dict[str, Facts]:
    """Ask every worker what it is, waiting for a first one."""
    loop = asyncio.get_running_loop()
    async with connected(place) as client:
        end = loop.time() + _FIRST_WORKER_S
        while not (there := await client.nthreads()):
            if loop.time() > end:
                raise InfrastructureError(
                    f"the scheduler at dask:{place} has no worker",
                    hint="start some: lsmeter worker ADDRESS",
                )
            await asyncio.sleep(0.2)
        found = await asyncio.gather(*(look(client, plugins, [arch], one) for one in there))
        return dict(zip(there, found, strict=True))


MACHINE = Dask()
