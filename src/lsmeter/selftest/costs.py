# SPDX-License-Identifier: GPL-2.0-or-later
"""Costs that the kernel module `inject` (kernel/inject-lsm) is told, and what they amount to.

The kernel's parameter is written here, and told back by the module in the same form. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

# The limits of kernel/inject-lsm/inject.h.
MAX_COSTS = 16
MAX_INSNS = 1_000_000
MAX_EVERY = 4096
MAX_BYTES = 4096
BLOCK = 20  # calls in which a pseudo-random share is exact

NOTHING = "none"  # what the module says when it injects nothing
_BYTES_PER_INSN = 8  # `rep stosq` clears a word with each instruction that counts


class Place(StrEnum):
    """Where a cost can be, by its word in the parameter; in the module's own order."""

    GETATTR = "getattr"
    OPEN = "open"
    RENAME = "rename"
    SETATTR = "setattr"
    RMDIR = "rmdir"
    MKDIR = "mkdir"
    CREATE = "create"
    PERMISSION = "permission"
    FILE_FREE = "file_free"
    INODE_FREE = "inode_free"
    RCU = "rcu"
    TASK = "task"
    WORK = "work"
    OUTSIDE = "outside"


class Context(StrEnum):
    """What runs a cost: the operation itself, or something after it."""

    CALL = "call"
    RCU = "rcu"
    TASK_WORK = "task work"
    WORKER = "worker"


@dataclass(frozen=True)
class Site:
    """What attribution has to say of a place."""

    function: str  # of the kernel, which burns the instructions
    hook: str  # the hook that it is below, without security_; "" for none
    context: Context = Context.CALL


SITES: Mapping[Place, Site] = {
    Place.GETATTR: Site("inject_inode_getattr", "inode_getattr"),
    Place.OPEN: Site("inject_file_open", "file_open"),
    Place.RENAME: Site("inject_inode_rename", "inode_rename"),
    Place.SETATTR: Site("inject_inode_setattr", "inode_setattr"),
    Place.RMDIR: Site("inject_inode_rmdir", "inode_rmdir"),
    Place.MKDIR: Site("inject_inode_mkdir", "inode_mkdir"),
    Place.CREATE: Site("inject_inode_create", "inode_create"),
    Place.PERMISSION: Site("inject_file_permission", "file_permission"),
    Place.FILE_FREE: Site("inject_file_free", "file_free", Context.TASK_WORK),
    Place.INODE_FREE: Site("inject_inode_free", "inode_free"),
    Place.RCU: Site("inject_rcu_file_free", "", Context.RCU),
    Place.TASK: Site("inject_task_work", "", Context.TASK_WORK),
    Place.WORK: Site("inject_worker", "", Context.WORKER),
    Place.OUTSIDE: Site("inject_outside_getattr", ""),
}

# Where a larger blob costs more: it is cleared when an inode gets it.
BLOB_SITE = Site("memset", "inode_alloc")


@dataclass(frozen=True)
class Cost:
    """Instructions that calls of one place cost more; calls that do take several in turn.

    At most one of: share, percent of the calls, evenly spread; random, percent of the calls in
    no period (a multiple of 5: exact in each BLOCK of them); every, one call of so many. Neither:
    each call. Raises ValueError for what the module would refuse.
    """

    place: Place
    insns: tuple[int, ...]
    share: int = 0
    random: int = 0
    every: int = 0

    def __post_init__(self) -> None:
        if not 1 <= len(self.insns) <= MAX_COSTS:
            raise ValueError(f"{self.place}: {len(self.insns)} costs")
        if not all(0 <= insns <= MAX_INSNS for insns in self.insns):
            raise ValueError(f"{self.place}: {self.insns} instructions")
        if sum(bool(shape) for shape in (self.share, self.random, self.every)) > 1:
            raise ValueError(f"{self.place}: two of share, random and every")
        if not 0 <= self.share < 100 or self.random not in range(0, 100, 100 // BLOCK):
            raise ValueError(f"{self.place}: {self.share or self.random} percent")
        if self.every and not 2 <= self.every <= MAX_EVERY:
            raise ValueError(f"{self.place}: every {self.every}")

    @property
    def text(self) -> str:
        """Write it as the kernel's parameter has it."""
        shapes = {"share": self.share, "random": self.random, "every": self.every}
        shape = "".join(f",{key}={value}" for key, value in shapes.items() if value)
        return f"{self.place}:insns={'+'.join(map(str, self.insns))}{shape}"

    @property
    def part(self) -> Fraction:
        """Return the part of the calls that take one of the costs, 0 to 1."""
        if self.every:
            return Fraction(1, self.every)
        return Fraction(self.share or self.random or 100, 100)

    @property
    def mean_insns(self) -> Fraction:
        """Return what a call costs more in the mean, in instructions."""
        return self.part * Fraction(sum(self.insns), len(self.insns))

    @property
    def peaks(self) -> Mapping[int, Fraction]:
        """Return how many instructions calls cost more, each with its part of the calls."""
        found: dict[int, Fraction] = {}
        for insns in self.insns:
            found[insns] = found.get(insns, Fraction(0)) + self.part / len(self.insns)
        found[0] = found.get(0, Fraction(0)) + 1 - self.part
        return {insns: part for insns, part in sorted(found.items()) if part}

    @property
    def unburnt(self) -> Cost:
        """Return the same with no instruction: all that the module does besides stays."""
        return replace(self, insns=(0,) * len(self.insns))


@dataclass(frozen=True)
class Injection:
    """Costs that one boot has, at most one in each place.

    blob_bytes is how much larger what belongs to an inode is, None where that is left alone.
    """

    name: str
    title: str
    costs: tuple[Cost, ...] = ()
    blob_bytes: int | None = None

    def __post_init__(self) -> None:
        places = [cost.place for cost in self.costs]
        if len(set(places)) != len(places):
            raise ValueError(f"{self.name}: two costs in one place")
        if self.blob_bytes is not None and not 0 <= self.blob_bytes <= MAX_BYTES:
            raise ValueError(f"{self.name}: a blob of {self.blob_bytes} bytes")

    @property
    def text(self) -> str:
        """Write the kernel's parameter, without its name; NOTHING if there is no cost."""
        order = list(Place)
        words = [cost.text for cost in sorted(self.costs, key=lambda item: order.index(item.place))]
        if self.blob_bytes is not None:
            words.append(f"blob:bytes={self.blob_bytes}")
        return ";".join(words) or NOTHING

    @property
    def unburnt(self) -> Injection:
        """Return the same with no instruction and no byte, to compare with."""
        blob_bytes = None if self.blob_bytes is None else 0
        costs = tuple(cost.unburnt for cost in self.costs)
        return replace(self, costs=costs, blob_bytes=blob_bytes)

    def cost(self, place: Place) -> Cost | None:
        """Return the cost of a place, None for a place without one."""
        return next((cost for cost in self.costs if cost.place is place), None)


def total_insns(numbers: Iterable[tuple[str, int]]) -> int:
    """Add up the instructions that were injected in all places, from the module's counters."""
    return sum(value for name, value in numbers if name.endswith("_insns"))


def clearing_insns(blob_bytes: int) -> int:
    """Return what clearing a larger blob costs each new inode at least, in instructions.

    The memset() of a CPU without fast short stores is `rep stosq`, and the emulator counts each
    of its rounds. Slabs that hold fewer blobs cost more than that; how much is not known.
    """
    return blob_bytes // _BYTES_PER_INSN
