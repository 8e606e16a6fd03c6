# SPDX-License-Identifier: GPL-2.0-or-later
"""The interface of a machine, where boots happen: a planned boot goes in, raw bytes come out.

What only some machines can do is a type for each ability, asked for by isinstance. A machine does
not know what the bytes mean, and the parser knows no machine, so that a recorded capture goes the
same way as a live one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lsmeter.core.errors import UsageError
from lsmeter.core.host import cores
from lsmeter.core.limits import Limits
from lsmeter.core.model import Cell, Kernel, Setup
from lsmeter.core.model.arch import X86_64, Arch, arch_of_host
from lsmeter.core.model.filesystems import FILESYSTEMS
from lsmeter.core.registry import members, unknown
from lsmeter.guest.capture import Capture, Ending

if TYPE_CHECKING:
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
        """Name what can change results, with these plugins; raise if it cannot run at all."""

    @abstractmethod
    async def run(self, planned: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Run one guest to its end; on_results sees bytes of the result channel as they come.

        What on_results returns is how far the guest is, which gives it more time (Limits), or that
        its time is over.
        Must kill the guest when cancelled, and never raise for what the guest does.
        """

    @abstractmethod
    def command(self, cell: Cell) -> tuple[str, ...]:
        """Return the command that starts a guest of `cell`, for the manifest and --dry-run."""


class Addressed(ABC):
    """A machine that is one of many, named as NAME:ADDRESS."""

    @abstractmethod
    def connect(self, addresses: str) -> Machine:
        """Return the machine at these addresses; UsageError for what is none."""


class HasHosts(ABC):
    """A machine of hosts that run already; cells of different hosts have kernels of other names."""

    @abstractmethod
    def kernels(self) -> tuple[Kernel, ...]:
        """Return the kernel that each host runs."""

    @property
    def users(self) -> tuple[str, ...]:
        """Who can measure there."""
        return ("root", "user")

    @property
    def cpus(self) -> int:
        """How many copies of a benchmark can run at once, each on a CPU of its own."""
        return cores()

    def why_unsupported(self, setup: Setup) -> str:
        """Say why no host can be under a setup that needs no boot; "" where one can."""
        if setup.host or setup.profiles:
            return "it would have to be changed, which only --machine here does"
        return ""


class ComesBack(ABC):
    """A machine whose hosts may be lost for a while."""

    @abstractmethod
    async def wait_for_host(self, planned: PlannedBoot) -> bool:
        """Wait for the host of a boot that was lost; whether it can be tried again."""


class TakesTurns(ABC):
    """A machine on which processes of one block can take turns."""

    @abstractmethod
    def turn_group(self, planned: PlannedBoot) -> Hashable:
        """Return what is equal for boots of one block that take turns; None: it runs alone."""

    @abstractmethod
    def in_turns(self, count: int) -> AbstractContextManager[Sequence[Machine]]:
        """Give a machine for each of so many boots that take turns, all of which must be run."""


class Tunable(ABC):
    """A machine whose settings can be changed so that readings vary less."""

    @abstractmethod
    def tuned(self, tell: Callable[[str], None]) -> AbstractContextManager[None]:
        """Change it, tell what is changed, and put it back at the end."""


class EmulatesArches(ABC):
    """A machine whose guests can be of another architecture than the machine is."""

    @abstractmethod
    def identity_of(self, arch: Arch, plugins: Iterable[str] = ()) -> Mapping[str, str]:
        """Name what can change results of guests of `arch`; raise if none can run."""


class Prepares(ABC):
    """A machine that has to make something before its boots."""

    @abstractmethod
    def prepare(self, cells: Iterable[Cell]) -> None:
        """Make what boots of these cells share, which planning does not; raise if none can run."""


class Spreads(ABC):
    """A machine that has its boots made on others, of which each has so many places."""

    @property
    @abstractmethod
    def places(self) -> int:
        """How many boots are made at a time, as far as is known."""

    @abstractmethod
    def connect(self, addresses: str, *, insecure: bool = False) -> Machine:
        """Return the machine at an address; insecure: also where others could stand in for it."""

    @abstractmethod
    def session(self, tell: Callable[[str], None]) -> AbstractAsyncContextManager[None]:
        """Hold the way there, and tell what happens to it; no boot is left at its end."""

    @abstractmethod
    def place(self) -> AbstractAsyncContextManager[Machine]:
        """Wait for a free place, in a session, and give the machine of one boot."""

    @abstractmethod
    def check(self) -> Iterable[tuple[str, str, str]]:
        """Ask each of those machines; give its name, what it has, and why it cannot be used."""

    @abstractmethod
    def said(self) -> str:
        """Say in a few words how many machines there are, and what they do."""


class BootsByHand(ABC):
    """A machine whose boots a person can repeat without lsmeter."""

    @abstractmethod
    def write_boot_files(self, planned: PlannedBoot, folder: Path) -> str:
        """Write into `folder` what it takes to boot a guest by hand; return the command."""


@cache
def machines() -> Mapping[str, Machine]:
    """Return every machine that lsmeter.machines holds, by name."""
    found = members("lsmeter.machines", "MACHINE", Machine)  # type: ignore[type-abstract]
    return {machine.name: machine for machine in found}


def find_machine(name: str, *, insecure: bool = False) -> Machine:
    """Return the machine called `name`, or NAME:PLACE; UsageError with the nearest otherwise."""
    known = machines()
    kind, colon, place = name.partition(":")
    if kind not in known:
        raise unknown("machine", kind, known)
    found = known[kind]
    if insecure:
        if not isinstance(found, Spreads):
            raise UsageError("--insecure: only of --machine dask:tcp://HOST:PORT")
        return found.connect(place, insecure=True)
    if not colon:
        return found
    if not isinstance(found, Addressed):
        raise UsageError(
            f"--machine {kind}:{place[:80]}: {kind} is at no other place",
            hint=f"write --machine {kind}",
        )
    return found.connect(place)


def identity_for(machine: Machine, arch: Arch, plugins: Iterable[str] = ()) -> Mapping[str, str]:
    """Name what can change results on a machine; UsageError where it has no such guests."""
    if isinstance(machine, EmulatesArches):
        return machine.identity_of(arch, plugins)
    refuse_arch(machine, arch)
    return machine.identity(plugins)


def refuse_arch(machine: Machine, arch: Arch) -> None:
    """Raise UsageError for kernels of an architecture that a machine has not."""
    if arch not in {X86_64, arch_of_host()}:
        raise UsageError(
            f"--machine {machine.name} has no guests of {arch.name}",
            hint="leave --machine and --instrument out: QEMU's emulator has",
        )


def refuse_plugins(machine: Machine, plugins: Iterable[str]) -> None:
    """Raise UsageError for plugins on a machine that cannot watch single instructions."""
    if names := ", ".join(plugins):
        raise UsageError(
            f"--machine {machine.name} cannot watch instructions ({names})",
            hint="the exact instrument can: leave --instrument and --machine out",
        )


def tuned(machine: Machine, tell: Callable[[str], None]) -> AbstractContextManager[None]:
    """Tune a machine until the end of the block; UsageError where it cannot be."""
    if not isinstance(machine, Tunable):
        raise UsageError(f"--tune: {machine.name} cannot be tuned", hint="--machine here can")
    return machine.tuned(tell)
