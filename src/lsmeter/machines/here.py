# SPDX-License-Identifier: GPL-2.0-or-later
"""Where lsmeter runs, as it runs: the probe is a child process, one process a block of readings.

Nothing of the machine is changed: mounts are the probe's own, files go with their directory. The
processes of one block measure in turns of a few readings each. What they share is a page that has
no name in any directory, and goes when nobody has it open; the probe's side is
probe/sampler/scheduling.c.
"""

from __future__ import annotations

import copy
import hashlib
import os
import re
import secrets
import struct
from asyncio.subprocess import Process
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from lsmeter.core import process
from lsmeter.core.errors import InfrastructureError
from lsmeter.core.host import processor, text_of
from lsmeter.core.limits import Limits
from lsmeter.core.model import Cell, Kernel, Setup
from lsmeter.core.storage import prove, write_atomic
from lsmeter.guest.capture import Capture
from lsmeter.guest.probe import find_probe
from lsmeter.machines import HasHosts, Machine, OnResults, TakesTurns, Tunable, refuse_plugins
from lsmeter.machines.apparmor import compiled, control, loaded
from lsmeter.machines.description import setup_parameters
from lsmeter.machines.journal import CGROUP, ROOT, Change, cgroup, changed, root, tuned, value_of
from lsmeter.machines.qemu import run_child, start_child
from lsmeter.machines.replay import record
from lsmeter.machines.workplace import files_for, find_base, workplace
from lsmeter.measure.experiment.plan import PlannedBoot
from lsmeter.sources.kernels.running import running_kernel

_HEAD = struct.Struct("=I28s16x")  # how many they are, and the ring's name; the rest is theirs
_SEAT_BYTES = 32
# After a panic the machine boots as before.
_PANIC = "panic=30"
# A parameter may hold blanks between double quotes, as the kernel reads it.
_PARAMETER = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
# Parameters that a setup replaces, and those that a boot loader adds anew.
_REPLACED = re.compile(r"(?:lsm|security|selinux|apparmor|panic|BOOT_IMAGE|initrd)=.*")


# Among those that take turns, as the probe is told: the page that they share, the number in it.
Seat = tuple[str, str]


@contextmanager
def seats(count: int) -> Iterator[tuple[Seat, ...]]:
    """Give places to so many processes of this machine and user."""
    page = os.memfd_create("lsmeter-turns")
    try:
        os.write(page, blank(count))
        path = f"/proc/{os.getpid()}/fd/{page}"
        yield tuple((path, str(place)) for place in range(count))
    finally:
        os.close(page)


def blank(count: int) -> bytes:
    """Return the page as it is before anybody has come."""
    return _HEAD.pack(count, secrets.token_hex(8).encode()) + bytes(count * _SEAT_BYTES)


class Here(Machine, HasHosts, TakesTurns, Tunable):
    """Runs the probe on this machine."""

    name = "here"
    title = "this machine as it runs: one process of the probe is one block of readings"
    filesystems = ("tmpfs", "ext4", "xfs", "btrfs", "overlay")
    _cgroup = ""  # that the probe is to enter
    _seat: Seat | tuple[()] = ()

    @property
    def users(self) -> tuple[str, ...]:
        """Who can measure: an ordinary user cannot become root."""
        return ("user",) if os.geteuid() else ("root", "user")

    def kernels(self) -> tuple[Kernel, ...]:
        """Return the kernel of this machine."""
        return (running_kernel(),)

    def identity(self, plugins: Iterable[str] = ()) -> Mapping[str, str]:
        """Name the probe and what of the machine a result cannot be without."""
        refuse_plugins(self, plugins)
        return {
            "probe": find_probe().sha256,
            "cpu": processor(),
            "machine": hashlib.sha256(text_of(Path("/etc/machine-id")).encode()).hexdigest()[:16],
        }

    def why_unsupported(self, setup: Setup) -> str:
        """Say what this machine does not run, or may not be changed by who runs lsmeter."""
        active = value_of(root() / "sys/kernel/security/lsm")
        lacking = [name for name in setup.lsms or () if name not in active.split(",")]
        if active and lacking:
            return f"this machine does not run {', '.join(lacking)}: it runs {active}"
        paths = [root() / name.lstrip("/") for name, _ in setup.host]
        paths += [control() / ".load"] if setup.profiles else []
        if gone := [path for path in paths if not path.exists()]:
            return f"this machine does not run {', '.join(setup.lsms or ())}: there is no {gone[0]}"
        if paths and os.geteuid() and ROOT not in os.environ:
            return "only root can change this machine"
        try:
            for _, text in setup.profiles:
                compiled(text)
        except InfrastructureError as error:
            return error.title
        return ""

    def command(self, cell: Cell) -> tuple[str, ...]:
        """Return the command that starts the probe, with placeholders for what changes by block."""
        find_base(cell.filesystem)
        return (*process.DIES_WITH_US, str(find_probe().path), "native", "DIRECTORY", "REQUEST")

    @contextmanager
    def tuned(self, tell: Callable[[str], None]) -> Iterator[None]:
        """Tune this machine."""
        with tuned(tell) as changes:
            self._cgroup = cgroup(changes)
            try:
                yield
            finally:
                self._cgroup = ""

    def turn_group(self, planned: PlannedBoot) -> Hashable:
        """Let those take turns for whom nothing of the machine is changed."""
        cell = planned.cell
        shared = (cell.suite, cell.filesystem, cell.user, cell.copies, cell.benchmarks)
        return None if cell.setup.host else shared

    @contextmanager
    def in_turns(self, count: int) -> Iterator[Sequence[Here]]:
        """Give each of so many processes a place."""
        with seats(count) as given:
            machines = [copy.copy(self) for _ in given]
            for machine, seat in zip(machines, given, strict=True):
                machine._seat = seat  # noqa: SLF001  (of the same class)
            yield machines

    async def run(self, planned: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Run one process of a block in a directory of its own."""
        cell, probe = planned.cell, find_probe()
        prove(probe.path, dict(cell.identity)["probe"], "what was measured before is kept")
        changes = [
            Change(str(path), value_of(path), value, f"{name} of {cell.setup.name}")
            for name, value in cell.setup.host
            for path in [root() / name.lstrip("/")]
            if path.exists()
        ]
        with (
            workplace(cell.filesystem) as top,
            loaded(cell.setup, top),
            # What could not be changed shows in the facts, and gives no number.
            changed(changes, needed=False),
        ):
            for name, data in files_for(planned, top, limits.benchmark_ms).items():
                write_atomic(top / name, data)

            async def start(_console: int, results: int, stderr: int) -> Process:
                arguments = (str(top), str(top / "request"), *self._seat)
                command = (*process.DIES_WITH_US, str(probe.path), "native", *arguments)
                env = {CGROUP: self._cgroup} if self._cgroup else {}
                return await start_child(command, stderr, results, env=env, cwd="/")

            capture = await run_child(start, limits, on_results, cell.units)
        record(planned, capture)
        return capture


def boot_parameters(setup: Setup, cmdline: str) -> tuple[str, ...]:
    """Return the kernel parameters of a boot for `setup`: those of `cmdline`, with its own."""
    own = (*setup_parameters(setup), _PANIC)
    keys = {word.partition("=")[0] for word in own}
    today = _PARAMETER.findall(cmdline)
    # What stands behind "--" is for init.
    end = today.index("--") if "--" in today else len(today)
    kept = (
        word
        for word in today[:end]
        if not _REPLACED.fullmatch(word) and word.partition("=")[0] not in keys
    )
    return (*kept, *own, *today[end:])


def why_no_boot(setup: Setup) -> str:
    """Say why kernel parameters alone do not bring a setup about; "" where they do."""
    if setup.lsms == ():
        return "it needs another kernel, built without CONFIG_SECURITY"
    if setup.image or setup.files or setup.steps or setup.guest:
        return "it has a policy or a program of its own, which lsmeter brings into guests only"
    return ""


MACHINE = Here()
