# SPDX-License-Identifier: GPL-2.0-or-later
"""Processors of this machine: who holds one, and how long guests have waited for one."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path


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
