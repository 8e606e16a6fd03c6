# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds QEMU and runs it under limits, reading its two channels; kills what it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import cache

from lsmeter.backend import Capture, Ending, OnResults
from lsmeter.errors import InfrastructureError
from lsmeter.limits import Limits
from lsmeter.qemu.command import PROGRAM, Channels
from lsmeter.qemu.patience import LOOK_S, Patience

_CHUNK_BYTES = 1 << 16
_STDERR_BYTES = 16 << 10


@cache
def qemu_version() -> str:
    """Return QEMU's version as it prints it; InfrastructureError when there is no QEMU."""
    path = shutil.which(PROGRAM)
    if path is None:
        raise InfrastructureError(
            f"{PROGRAM} is not installed",
            hint="install it: apt-get install qemu-system-x86",
        )
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=20, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise InfrastructureError(f"{path} does not run: {error}") from error
    found = re.search(r"version (\S+(?: \([^)]{1,80}\))?)", said)
    if found is None:
        raise InfrastructureError(f"{path} says no version; it printed {said[:80]!r}")
    return found[1]


class _Stream:
    """Collects one channel up to a limit."""

    def __init__(self, limit_bytes: int, on_data: Callable[[bytes], None] | None = None) -> None:
        self.data = bytearray()
        self.flooded = asyncio.Event()
        self._limit_bytes = limit_bytes
        self._on_data = on_data

    async def read(self, reader: asyncio.StreamReader) -> None:
        while chunk := await reader.read(_CHUNK_BYTES):
            room = self._limit_bytes - len(self.data)
            self.data += chunk[:room]
            if len(chunk) > room:
                self.flooded.set()
                return
            if self._on_data is not None:
                self._on_data(chunk)


async def run_qemu(
    arguments: Callable[[Channels], Sequence[str]],
    initrd: bytes,
    limits: Limits,
    on_results: OnResults,
    units: int = 0,
) -> Capture:
    """Run one QEMU to its end or to a limit, and return all that came out of it.

    units are the benchmarks that the guest is to finish; the limit depends on how many it has.
    arguments is called with the channels and gives the command; initrd is handed over in
    memory, so that nothing is left on disk whatever happens. The process is killed when the
    caller is cancelled, and by the kernel when this process dies.
    """
    console_read, console_write = os.pipe()
    results_read, results_write = os.pipe()
    initrd_fd = os.memfd_create("initrd")
    channels = Channels(*(f"/dev/fd/{fd}" for fd in (console_write, results_write, initrd_fd)))
    words = arguments(channels)
    started = time.monotonic()
    try:
        with os.fdopen(initrd_fd, "wb", closefd=False) as file:
            file.write(initrd)
        # setpriv makes the kernel kill QEMU when lsmeter is killed: no guest is left behind.
        process = await asyncio.create_subprocess_exec(
            *("setpriv", "--pdeathsig", "KILL", "--", *words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=(console_write, results_write, initrd_fd),
            start_new_session=True,
        )
    except OSError as error:
        for fd in (console_read, results_read):
            os.close(fd)
        raise InfrastructureError(f"cannot start {PROGRAM}: {error}") from error
    finally:
        for fd in (console_write, results_write, initrd_fd):
            os.close(fd)
    patience = Patience(limits, units, started)
    console = _Stream(limits.console_bytes, lambda _: patience.heard())
    results = _Stream(limits.results_bytes, lambda data: patience.heard(on_results(data)))
    stderr = _Stream(_STDERR_BYTES)
    assert process.stderr is not None  # noqa: S101  (asked for above)
    readers = [
        asyncio.create_task(console.read(await _reader(console_read))),
        asyncio.create_task(results.read(await _reader(results_read))),
        asyncio.create_task(stderr.read(process.stderr)),
    ]
    try:
        ending = await _wait(process, (console, results), patience)
    finally:
        _kill(process)
        await process.wait()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.gather(*readers, return_exceptions=True), timeout=5)
    if results.flooded.is_set() or console.flooded.is_set():
        ending = Ending.FLOODED
    return Capture(
        results=bytes(results.data),
        console=bytes(console.data),
        ending=ending,
        exit_code=process.returncode if ending is Ending.EXITED else None,
        wall_s=time.monotonic() - started,
        stderr=stderr.data.decode(errors="replace"),
    )


async def _reader(fd: int) -> asyncio.StreamReader:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_CHUNK_BYTES)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", buffering=0)
    )
    return reader


async def _wait(
    process: asyncio.subprocess.Process, streams: tuple[_Stream, ...], patience: Patience
) -> Ending:
    """Wait until QEMU ends or one of the limits is reached."""
    exited = asyncio.create_task(process.wait())
    floods = [asyncio.create_task(stream.flooded.wait()) for stream in streams]
    try:
        while True:
            done, _ = await asyncio.wait(
                (exited, *floods), timeout=LOOK_S, return_when=asyncio.FIRST_COMPLETED
            )
            if exited in done:
                return Ending.EXITED
            if done:
                return Ending.FLOODED
            if ending := patience.look(time.monotonic()):
                return ending
    finally:
        for task in (exited, *floods):
            task.cancel()


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
