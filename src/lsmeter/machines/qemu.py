# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds QEMU and runs guests under limits, reading their channels; kills what it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import IO

from lsmeter.core import process
from lsmeter.core.errors import InfrastructureError
from lsmeter.core.limits import Limits
from lsmeter.core.model.arch import X86_64, Arch
from lsmeter.core.scratch import scratch
from lsmeter.guest.capture import Capture, Ending
from lsmeter.machines import OnResults
from lsmeter.machines.description import (
    Description,
    qemu_command,
    tree_command,
    tree_with_disk,
)

_CHUNK_BYTES = 1 << 16
_PIPE_BYTES = 1 << 20  # what a pipe holds at most, as root may set it
_STDERR_BYTES = 16 << 10  # that are kept
_MAX_OUTPUT_BYTES = 513 << 20  # of a plugin; who reads it refuses more than 512 MiB
# A look is taken so often. What passes between two looks counts as no more than twice that: the
# rest is time in which lsmeter was stopped, or had no processor, and so could not have listened.
LOOK_S = 1.0
_MOST_S = 2 * LOOK_S
# Of the time in which a guest waited for a processor, this share counts all the same: so that every
# guest has an end. On two processors it is what a guest has of them at a load of 200.
_LEAST = 0.01
_KILL_S = 20.0
_SEABIOS = 8  # the first version of QEMU whose small board needs it
# What is left of a guest's work may take so many times as long as what it has done suggests:
# benchmarks are of unequal length, and the machine may have got busier.
SLACK = 4.0


@contextlib.contextmanager
def hold_processor() -> Iterator[int | None]:
    """Hold a processor, by an abstract socket, that no other guest holds; None: none is left."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as held:
        for number in sorted(os.sched_getaffinity(0)):
            with contextlib.suppress(OSError):
                held.bind(f"\0lsmeter-processor-{number}")
                break
        else:
            number = None
        yield number


class Waits:
    """Adds up the waiting of processes that work together, as the kernel tells it.

    Processes wait in turn, threads of one process at the same time; what a thread waits while
    another of its process runs is no wait for the host. Where the kernel does not tell
    (CONFIG_SCHED_INFO), nothing is known to wait.
    """

    def __init__(self) -> None:
        self._pids: list[int] = []
        self._known_ns: dict[Path, tuple[int, int]] = {}
        self._total_ns = 0

    def add(self, pid: int) -> None:
        """Also count a process."""
        self._pids.append(pid)

    def total_s(self) -> float:
        """Return how long they have waited by now; a wait that has not ended is not in it."""
        for pid in self._pids:
            threads = [*self._since(pid)]
            ran_ns = sum(ran for ran, _ in threads)
            self._total_ns += max((waited - (ran_ns - ran) for ran, waited in threads), default=0)
        return self._total_ns / 1e9

    def _since(self, pid: int) -> Iterator[tuple[int, int]]:
        """Yield how long each thread ran, and how long it waited, since the last time."""
        for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError, ValueError):
                ran, waited, _ = map(int, path.read_text("ascii").split())
                before = self._known_ns.get(path, (0, 0))
                self._known_ns[path] = ran, waited
                yield ran - before[0], waited - before[1]


@cache
def qemu_version(arch: Arch = X86_64) -> str:
    """Return QEMU's version as it prints it; InfrastructureError when there is no QEMU."""
    path = process.find(arch.program)
    if path is None:
        raise InfrastructureError(
            f"{arch.program} is not installed", hint=f"install it: apt-get install {arch.package}"
        )
    done = process.run([path, "--version"], deadline_s=20)
    found = re.search(r"version (\S+(?: \([^)]{1,80}\))?)", done.stdout)
    if done.returncode or found is None:
        raise InfrastructureError(f"{path} says no version; it printed {done.stdout[:80]!r}")
    return found[1]


def command_here(guest: Description) -> tuple[str, ...]:
    """Return the command that starts `guest` with the QEMU of this machine.

    The small board's own firmware, qboot, never starts a kernel in Ubuntu 24.04 (QEMU 8.2.2) and in
    Debian 13 (10.0.13), which build their own qboot.rom; that of Debian 12 (7.2.22) does. So from
    8.0 on it is SeaBIOS. Readings begin long after either.
    """
    if guest.arch.boards[guest.boot_protocol].seabios:
        version = int(qemu_version(guest.arch).partition(".")[0])
        guest = replace(guest, seabios=version >= _SEABIOS)
    return qemu_command(guest)


class Patience:
    """Says when to stop waiting for one guest; now is a monotonic time in seconds."""

    def __init__(self, limits: Limits, units: int, now: float) -> None:
        self._limits = limits
        self._units = units  # benchmarks that it is to finish, 0 where that is not known
        self._now = now
        self._waited_s = 0.0
        self._passed_s = 0.0  # of the time that lsmeter was awake
        self._lost_s = 0.0  # of that: in which the guest waited for a processor
        self._had_s = 0.0  # the rest, which is the guest's
        self._words = False
        self._heard_s = 0.0
        self._told = 0  # benchmarks that heard() was told of
        self._finished = 0  # of them, those of which the time is known
        self._finished_s = 0.0  # when the last of them was

    def heard(self, finished: int | None = None) -> None:
        """Note that the guest said something; finished: how many benchmarks it is done with."""
        self._words = True
        if finished is not None:
            self._told = max(self._told, min(finished, self._units))

    def look(self, now: float, waited_s: float) -> Ending | None:
        """Return why to kill the guest, every LOOK_S; waited_s: for a processor since its start."""
        gap_s = now - self._now
        share = min(1.0, _MOST_S / gap_s) if gap_s > 0 else 1.0
        self._passed_s += share * gap_s
        lost_s = self._lost_s + share * (waited_s - self._waited_s)
        self._lost_s = min(lost_s, (1 - _LEAST) * self._passed_s)
        self._now, self._waited_s = now, waited_s
        # Never less than before: a wait is known when it is over.
        self._had_s = max(self._had_s, self._passed_s - self._lost_s)
        if self._words:
            self._words, self._heard_s = False, self._had_s
        if self._told > self._finished:
            self._finished, self._finished_s = self._told, self._had_s
        if self._had_s >= self._end_s():
            return Ending.DEADLINE
        if self._had_s >= self._heard_s + self._limits.quiet_s:
            return Ending.SILENT
        return None

    def _end_s(self) -> float:
        """Return when the guest has had enough time, by what it has finished so far."""
        limits = self._limits
        if not self._finished:
            return limits.boot_s
        left = self._units - self._finished
        rest_s = SLACK * left * self._finished_s / self._finished
        # At least until silence would end it: else the last, long benchmark could not end.
        end_s = self._finished_s + max(rest_s, limits.quiet_s)
        return min(max(limits.boot_s, end_s), limits.most_s)


class _Channel:
    """A pipe out of a guest, kept up to a limit; ending: why the guest is to be killed."""

    def __init__(
        self, limit_bytes: int, on_data: OnResults | None = None, flood_bytes: int = 0
    ) -> None:
        self.data = bytearray()
        self.ending: Ending | None = None
        self._limit_bytes = limit_bytes
        self._left_bytes = flood_bytes or limit_bytes
        self._on_data = on_data
        self._fd, self.guest_end = os.pipe()
        os.set_blocking(self._fd, False)
        asyncio.get_running_loop().add_reader(self._fd, self.read)

    def read(self) -> None:
        """Take what has come, or a chunk of it."""
        try:
            chunk = os.read(self._fd, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if not chunk:
            asyncio.get_running_loop().remove_reader(self._fd)
            return
        room = self._limit_bytes - len(self.data)
        self.data += chunk[:room]
        said = self._on_data(chunk[:room]) if self._on_data is not None else None
        self._left_bytes -= len(chunk)
        if self._left_bytes < 0:
            said = Ending.FLOODED
        if isinstance(said, Ending) and self.ending is None:
            self.ending = said

    def drain(self) -> None:
        """Take what stands in the pipe, and no more however fast the guest goes on."""
        for _ in range(_PIPE_BYTES // _CHUNK_BYTES):
            self.read()

    def close(self) -> None:
        """Take the rest, and no more."""
        self.drain()
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)


async def run_guest(
    guest: Description,
    initrd: bytes,
    limits: Limits,
    on_results: OnResults = lambda _data: None,
    units: int = 0,
    waits: Waits | None = None,
) -> Capture:
    """Run one guest to its end or to a limit, and return all that came out of it.

    units are the benchmarks that it is to finish; waits are shared by guests that work together.
    initrd and channels are handed over in memory, so that nothing is left on disk whatever happens.
    QEMU is killed when the caller is cancelled, and by the kernel when this process dies.
    """
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch("outputs")) if guest.plugin else None
        if guest.plugin:
            guest = replace(guest, plugin=replace(guest.plugin, folder=str(folder)))
        # At each of the guest's timers one thread of QEMU waits for the other, which a processor
        # that both are on does a tenth faster than two.
        counted = guest.icount_shift is not None
        number = stack.enter_context(hold_processor()) if counted else None
        start = partial(_start, guest, initrd, number)
        capture = await run_child(start, limits, on_results, units, waits)
        written = {}
        for path in folder.iterdir() if folder else ():
            with path.open("rb") as file:
                written[path.name] = file.read(_MAX_OUTPUT_BYTES)
        return replace(capture, outputs=written)


async def run_child(
    start: Callable[..., Awaitable[asyncio.subprocess.Process]],
    limits: Limits,
    on_results: OnResults,
    units: int,
    waits: Waits | None = None,
) -> Capture:
    """Run what `start` starts on pipes for console, results and stderr, to its end or a limit."""
    started = time.monotonic()
    patience, waits = Patience(limits, units, started), waits or Waits()
    console = _Channel(limits.console_bytes, lambda _: patience.heard())

    def heard(data: bytes) -> int | Ending | None:
        said = on_results(data)
        patience.heard(None if isinstance(said, Ending) else said)
        return said

    results = _Channel(limits.results_bytes, heard)
    stderr = _Channel(_STDERR_BYTES, flood_bytes=limits.results_bytes)
    channels = (console, results, stderr)
    try:
        try:
            qemu = await start(*(channel.guest_end for channel in channels))
        finally:
            for channel in channels:
                os.close(channel.guest_end)
        waits.add(qemu.pid)
        try:
            ending = await _wait(qemu, channels, patience, waits)
        finally:
            with contextlib.suppress(ProcessLookupError):  # also what it may have started
                os.killpg(qemu.pid, signal.SIGKILL)
            # A process that waits for a dead disk cannot be killed.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(qemu.wait(), _KILL_S)
    finally:
        for channel in channels:
            channel.close()
    ending = results.ending or console.ending or stderr.ending or ending
    return Capture(
        results=bytes(results.data),
        console=bytes(console.data),
        ending=ending,
        exit_code=qemu.returncode if ending is Ending.EXITED else None,
        wall_s=time.monotonic() - started,
        stderr=stderr.data.decode(errors="replace"),
    )


async def _start(
    guest: Description, initrd: bytes, processor: int | None, *ends: int
) -> asyncio.subprocess.Process:
    """Start QEMU, on one processor or on any."""
    pin = () if processor is None else ("taskset", "--cpu-list", str(processor))
    tree = await asyncio.to_thread(_device_tree, guest)
    with _file_of("initrd", initrd) as image, _file_of("tree", tree) as described:
        *channels, stderr = ends
        passed = (*channels, image.fileno(), described.fileno())
        console, results, start, nodes = (f"/dev/fd/{number}" for number in passed)
        guest = replace(guest, console=console, results=results, initrd=start)
        guest = replace(guest, device_tree=nodes if tree else "")
        command = (*process.DIES_WITH_US, *pin, *command_here(guest))
        return await start_child(command, stderr, pass_fds=passed)


@contextlib.contextmanager
def _file_of(name: str, data: bytes) -> Iterator[IO[bytes]]:
    """Give a file in memory."""
    with os.fdopen(os.memfd_create(name), "wb") as file:
        file.write(data)
        file.flush()
        yield file


def _device_tree(guest: Description) -> bytes:
    """Return the device tree of a guest whose disk in memory stands in it; b"" for no such."""
    if guest.memory_disk is None or not guest.arch.disk_in_memory.base:
        return b""
    with scratch("tree") as folder:
        path = folder / "tree"
        process.output(tree_command(guest, str(path)))
        return tree_with_disk(guest, path.read_bytes())


async def start_child(
    command: Sequence[str],
    stderr: int,
    stdout: int = asyncio.subprocess.DEVNULL,
    stdin: int = asyncio.subprocess.DEVNULL,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    cwd: str | None = None,
) -> asyncio.subprocess.Process:
    """Start what run_child watches, in a session of its own."""
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=env,
            pass_fds=pass_fds,
            cwd=cwd,
            start_new_session=True,
        )
    except OSError as error:
        raise process.not_started(command[0], error) from error


async def _wait(
    qemu: asyncio.subprocess.Process,
    heard: tuple[_Channel, ...],
    patience: Patience,
    waits: Waits,
) -> Ending:
    """Wait until QEMU ends or one of the limits is reached."""
    while not any(channel.ending for channel in heard):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(qemu.wait(), LOOK_S)
            return Ending.EXITED
        for channel in heard:
            channel.drain()
        if ending := patience.look(time.monotonic(), waits.total_s()):
            return ending
    return next(channel.ending for channel in heard if channel.ending)
