# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds QEMU and runs guests under limits, reading their channels; kills what it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from lsmeter.base import process
from lsmeter.base.errors import InfrastructureError
from lsmeter.base.limits import Limits
from lsmeter.guest.capture import Capture, Ending
from lsmeter.machines.arch import GUEST, Arch
from lsmeter.machines.description import Description, qemu_words
from lsmeter.machines.machine import OnResults

_CHUNK_BYTES = 1 << 16
_STDERR_BYTES = 16 << 10
_MAX_OUTPUT_BYTES = 513 << 20  # of a plugin; who reads it refuses more than 512 MiB
# A look is taken so often. What passes between two looks counts as no more than twice that: the
# rest is time in which lsmeter was stopped, or had no processor, and so could not have listened.
LOOK_S = 1.0
_MOST_S = 2 * LOOK_S

# What is left of a guest's work may take so many times as long as what it has done suggests:
# benchmarks are of unequal length, and the machine may have got busier.
SLACK = 4.0


@cache
def qemu_version(arch: Arch = GUEST) -> str:
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


class Patience:
    """Says when to stop waiting for one guest; now is a monotonic time in seconds."""

    def __init__(self, limits: Limits, units: int, now: float) -> None:
        self._limits = limits
        self._units = units  # benchmarks that it is to finish, 0 where that is not known
        self._now = now
        self._awake_s = 0.0
        self._paused = False
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

    def look(self, now: float) -> Ending | None:
        """Return why the guest is to be killed now, None as long as it is not.

        To be called every LOOK_S. The first look after a pause of lsmeter's own kills nothing:
        what the guest said in the pause is heard after it.
        """
        passed_s = now - self._now
        self._now = now
        self._awake_s += min(passed_s, _MOST_S)
        if self._words:
            self._words, self._heard_s = False, self._awake_s
        if self._told > self._finished:
            self._finished, self._finished_s = self._told, self._awake_s
        paused, self._paused = self._paused, passed_s > _MOST_S
        if self._paused and not paused:
            return None
        if self._awake_s >= self._end_s():
            return Ending.DEADLINE
        if self._awake_s >= self._heard_s + self._limits.quiet_s:
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


class _Stream:
    """Collects one channel up to a limit."""

    def __init__(self, limit_bytes: int, on_data: Callable[[bytes], None] | None = None) -> None:
        self.data = bytearray()
        self.flooded = False
        self._limit_bytes = limit_bytes
        self._on_data = on_data

    async def read(self, reader: asyncio.StreamReader) -> None:
        while chunk := await reader.read(_CHUNK_BYTES):
            room = self._limit_bytes - len(self.data)
            self.data += chunk[:room]
            if len(chunk) > room:
                self.flooded = True
                return
            if self._on_data is not None:
                self._on_data(chunk)


async def run_guest(
    guest: Description,
    initrd: bytes,
    limits: Limits,
    on_results: OnResults = lambda _data: None,
    units: int = 0,
) -> Capture:
    """Run one guest to its end or to a limit, and return all that came out of it.

    units are the benchmarks that it is to finish. initrd and channels are handed over in memory, so
    that nothing is left on disk whatever happens. QEMU is killed when the caller is cancelled, and
    by the kernel when this process dies.
    """
    if guest.plugin is None:
        return await _run(guest, initrd, limits, on_results, units)
    with tempfile.TemporaryDirectory(prefix="lsmeter-outputs-") as folder:
        guest = replace(guest, plugin=replace(guest.plugin, folder=folder))
        capture = await _run(guest, initrd, limits, on_results, units)
        written = {}
        for path in Path(folder).iterdir():
            with path.open("rb") as file:
                written[path.name] = file.read(_MAX_OUTPUT_BYTES)
        return replace(capture, outputs=written)


async def _run(
    guest: Description, initrd: bytes, limits: Limits, on_results: OnResults, units: int
) -> Capture:
    started = time.monotonic()
    qemu, (console_pipe, results_pipe) = await _start(guest, initrd)
    patience = Patience(limits, units, started)
    console = _Stream(limits.console_bytes, lambda _: patience.heard())
    results = _Stream(limits.results_bytes, lambda data: patience.heard(on_results(data)))
    stderr = _Stream(_STDERR_BYTES)
    assert qemu.stderr is not None  # noqa: S101  (asked for in _start)
    readers = [
        asyncio.create_task(console.read(await _reader(console_pipe))),
        asyncio.create_task(results.read(await _reader(results_pipe))),
        asyncio.create_task(stderr.read(qemu.stderr)),
    ]
    try:
        ending = await _wait(qemu, (console, results), patience)
    finally:
        with contextlib.suppress(ProcessLookupError):
            if qemu.returncode is None:
                os.killpg(qemu.pid, signal.SIGKILL)
        await qemu.wait()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.gather(*readers, return_exceptions=True), timeout=5)
    if results.flooded or console.flooded:
        ending = Ending.FLOODED
    return Capture(
        results=bytes(results.data),
        console=bytes(console.data),
        ending=ending,
        exit_code=qemu.returncode if ending is Ending.EXITED else None,
        wall_s=time.monotonic() - started,
        stderr=stderr.data.decode(errors="replace"),
    )


async def _start(
    guest: Description, initrd: bytes
) -> tuple[asyncio.subprocess.Process, tuple[int, int]]:
    """Start QEMU; return it with what to read: of the console, and of the results."""
    console_read, console_write = os.pipe()
    results_read, results_write = os.pipe()
    initrd_fd = os.memfd_create("initrd")
    given = (console_write, results_write, initrd_fd)
    console, results, image = (f"/dev/fd/{fd}" for fd in given)
    guest = replace(guest, console=console, results=results, initrd=image)
    try:
        with os.fdopen(initrd_fd, "wb", closefd=False) as file:
            file.write(initrd)
        # setpriv makes the kernel kill QEMU when lsmeter is killed: no guest is left behind.
        qemu = await asyncio.create_subprocess_exec(
            *("setpriv", "--pdeathsig", "KILL", "--", *qemu_words(guest)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=given,
            start_new_session=True,
        )
    except OSError as error:
        for fd in (console_read, results_read):
            os.close(fd)
        raise InfrastructureError(f"cannot start {guest.arch.program}: {error}") from error
    finally:
        for fd in given:
            os.close(fd)
    return qemu, (console_read, results_read)


async def _reader(fd: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=_CHUNK_BYTES)
    protocol = asyncio.StreamReaderProtocol(reader)
    pipe = os.fdopen(fd, "rb", buffering=0)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, pipe)
    return reader


async def _wait(
    qemu: asyncio.subprocess.Process, streams: tuple[_Stream, ...], patience: Patience
) -> Ending:
    """Wait until QEMU ends or one of the limits is reached."""
    exited = asyncio.create_task(qemu.wait())
    try:
        while True:
            await asyncio.wait((exited,), timeout=LOOK_S)
            if exited.done():
                return Ending.EXITED
            if any(stream.flooded for stream in streams):
                return Ending.FLOODED
            if ending := patience.look(time.monotonic()):
                return ending
    finally:
        exited.cancel()
