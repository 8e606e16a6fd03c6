# SPDX-License-Identifier: GPL-2.0-or-later
"""The small interface behind which guests are run: a request goes in, raw bytes come out.

A backend knows nothing of what the bytes mean, and the parser knows nothing of backends, so
that a recorded capture goes the same way as a live one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from lsmeter.limits import Limits
from lsmeter.model import Cell, Instrument
from lsmeter.plan import PlannedBoot
from lsmeter.registry import members, unknown


class Ending(StrEnum):
    """How the run of a guest came to its end, seen from outside."""

    EXITED = "exited"  # QEMU ended by itself; exit_code tells how
    DEADLINE = "deadline"  # killed: it took too long for what it had done
    SILENT = "silent"  # killed: nothing was reported for too long
    FLOODED = "flooded"  # killed: it printed more than any honest guest does
    STOPPED = "stopped"  # killed: the user stopped the run


@dataclass(frozen=True)
class Capture:
    """All that came out of one guest."""

    results: bytes
    console: bytes
    ending: Ending
    exit_code: int | None
    wall_s: float
    stderr: str = ""  # what QEMU itself complained of
    attribution: bytes = b""  # what the plugin of an attributed run wrote

    @property
    def complete_lines(self) -> bytes:
        """The results, without the line in the middle of which the guest was killed, if it was."""
        if self.ending is Ending.EXITED and (self.exit_code or 0) >= 0:
            return self.results
        return self.results[: self.results.rfind(b"\n") + 1]


# Takes bytes of the result channel as they come; returns how many benchmarks the guest has
# finished by now, None if nobody counts them.
OnResults = Callable[[bytes], int | None]


class Backend(ABC):
    """A way to run a guest. Implementations are stateless and may run many at a time.

    name is the word that names it, title one line for people, instrument what its numbers mean.
    """

    name: str
    title: str
    instrument: Instrument
    internal: bool = False  # for tests: not offered to users

    @abstractmethod
    def identity(self) -> Mapping[str, str]:
        """Name what can change results (versions, hashes); raise if it cannot run at all."""

    @abstractmethod
    def filesystems(self) -> tuple[str, ...]:
        """Name the file systems that its guests can make."""

    @abstractmethod
    async def run(self, boot: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Run one guest to its end; on_results sees bytes of the result channel as they come.

        What on_results returns is how far the guest is, which gives it more time (Limits).
        Must kill the guest when cancelled, and never raise for what the guest does.
        """

    @abstractmethod
    def command(self, cell: Cell) -> tuple[str, ...]:
        """Return the words that start a guest of `cell`, for the manifest and --dry-run."""


@cache
def backends() -> Mapping[str, Backend]:
    """Return every backend that lsmeter.backends holds, by name."""
    found = members("lsmeter.backends", "BACKEND", Backend)  # type: ignore[type-abstract]
    return {backend.name: backend for backend in found}


def find_backend(name: str) -> Backend:
    """Return the backend called `name`; UsageError with the nearest name otherwise."""
    known = backends()
    if name not in known:
        raise unknown("backend", name, known)
    return known[name]
