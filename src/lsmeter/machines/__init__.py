# SPDX-License-Identifier: GPL-2.0-or-later
"""The interface of a machine, where boots happen: a planned boot goes in, raw bytes come out.

A machine does not know what the bytes mean, and the parser knows no machine, so that a recorded
capture goes the same way as a live one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path

from lsmeter.core.errors import UsageError
from lsmeter.core.host import cores
from lsmeter.core.limits import Limits
from lsmeter.core.model import Cell, Kernel, Setup
from lsmeter.core.model.filesystems import FILESYSTEMS
from lsmeter.core.registry import members, unknown
from lsmeter.guest.capture import Capture, Ending
from lsmeter.measure.experiment.plan import PlannedBoot

# Takes bytes of the result channel as they come; returns how many benchmarks the guest has
# finished by now, None if nobody counts them, or why it is to be killed.
OnResults = Callable[[bytes], int | Ending | None]


class Machine(ABC):
    """A place where guests run. Implementations are stateless and may run many at a time."""

    name: str
    title: str  # one line for people
    filesystems: tuple[str, ...] = tuple(FILESYSTEMS)  # that its guests can work on
    internal: bool = False  # for tests: not offered to users

    @abstractmethod
    def identity(self, plugins: Iterable[str] = ()) -> Mapping[str, str]:
        """Name what can change results (versions, hashes); raise if it cannot run at all.

        plugins: by name, those that its guests run with.
        """

    @abstractmethod
    async def run(self, planned: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Run one guest to its end; on_results sees bytes of the result channel as they come.

        What on_results returns is how far the guest is, which gives it more time (Limits), or that
        its time is over.
        Must kill the guest when cancelled, and never raise for what the guest does.
        """

    def together(self, planned: PlannedBoot) -> Hashable:  # noqa: ARG002
        """Name what boots of one block have in common that take turns; None: it runs alone."""
        return None

    def in_turns(self, count: int) -> AbstractContextManager[Sequence[Machine]]:
        """Give a machine for each of so many boots that take turns, all of which must be run."""
        raise NotImplementedError(f"{self.name} cannot run {count} boots in turns")

    def tuned(self, tell: Callable[[str], None]) -> AbstractContextManager[None]:  # noqa: ARG002
        """Change the machine so that readings vary less, and put it back at the end."""
        raise UsageError(
            f"--tune: {self.name} is no machine that can be tuned", hint="--machine here can"
        )

    def prepare(self, cells: Iterable[Cell]) -> None:  # noqa: B027
        """Make what guests of these cells share, and takes long, while Ctrl-C ends it at once.

        Raises if they cannot be run at all. Planning alone makes nothing.
        """

    def leave(self, planned: PlannedBoot, folder: Path) -> str:  # noqa: ARG002
        """Write into `folder` what it takes to boot a guest by hand; return the command, if any."""
        return ""

    @property
    def users(self) -> tuple[str, ...]:
        """Who can measure there."""
        return ("root", "user")

    @property
    def cpus(self) -> int:
        """How many copies of a benchmark can run at once, each on a CPU of its own."""
        return cores()

    def lacks(self, setup: Setup) -> str:
        """Say why it cannot be under a setup that needs no boot; "" where it can."""
        if setup.host or setup.profiles:
            return "it would have to be changed, which only --machine here does"
        return ""

    def running(self) -> tuple[Kernel, ...]:
        """Return the kernels that run on it, one for each host, where it boots none."""
        return ()

    def at(self, place: str) -> Machine:
        """Return the machine at a place, named as NAME:PLACE; most are of one place."""
        raise UsageError(
            f"--machine {self.name}:{place[:80]}: {self.name} is at no other place",
            hint=f"write --machine {self.name}",
        )

    async def back(self, planned: PlannedBoot) -> bool:  # noqa: ARG002
        """Wait for the host of a boot that was lost; whether it can be tried again."""
        return False

    def lane(self, planned: PlannedBoot) -> str:  # noqa: ARG002
        """Name what a boot has to itself: boots of different lanes never disturb each other."""
        return ""

    @abstractmethod
    def command(self, cell: Cell) -> tuple[str, ...]:
        """Return the words that start a guest of `cell`, for the manifest and --dry-run."""


@cache
def machines() -> Mapping[str, Machine]:
    """Return every machine that lsmeter.machines holds, by name."""
    found = members("lsmeter.machines", "MACHINE", Machine)  # type: ignore[type-abstract]
    return {machine.name: machine for machine in found}


def find_machine(name: str) -> Machine:
    """Return the machine called `name`, or NAME:PLACE; UsageError with the nearest otherwise."""
    known = machines()
    kind, colon, place = name.partition(":")
    if kind not in known:
        raise unknown("machine", kind, known)
    return known[kind].at(place) if colon else known[kind]
