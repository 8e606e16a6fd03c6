# SPDX-License-Identifier: GPL-2.0-or-later
"""Costs that are known to the instruction, for the selftest: kernel/inject-lsm, bpf/inject.bpf.c.

A kernel parameter sets the costs of the module, a word those of the BPF programs, which serve
kernels that cannot be rebuilt; both report them in the same form. One boot can have many, since
each benchmark meets the points of its own operation only: getattr is stat's, setattr chmod's,
permission that of read and write.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Self

from lsmeter.core.model.arch import ARM64, X86_64

NOTHING = "none"  # what the module says when it injects nothing
_AMOUNTS = re.compile(r"(?:insns|bytes)=[0-9+]+")


@dataclass(frozen=True)
class Memset:
    """What memset() of an architecture clears with an instruction.

    By edge_insns a call may be off it: what is not aligned is cleared apart.
    """

    bytes_per_insn: int
    edge_insns: int


# x86-64: `rep stosq`, on a CPU without fast short stores; the emulator counts each of its rounds.
# arm64: a loop of four instructions clears 64 bytes (arch/arm64/lib/memset.S, 6.1).
_MEMSETS = {X86_64.name: Memset(8, 0), ARM64.name: Memset(16, 20)}


# Where a cost can be, by its word in the parameter, in the module's own order. BLOB: clearing what
# belongs to an inode when it gets it.
Point = StrEnum(
    "Point",
    "GETATTR OPEN RENAME SETATTR RMDIR MKDIR CREATE PERMISSION FILE_FREE INODE_FREE "
    "RCU TASK WORK OUTSIDE INODE_RCU BLOB",
)


class Way(StrEnum):
    """What injects, by the name of its setups."""

    MODULE = "inject"
    BPF = "bpf-inject"


POINTS = {  # where each can
    Way.MODULE: frozenset(Point) - {Point.INODE_RCU},
    Way.BPF: frozenset(Point) - {Point.RCU, Point.TASK, Point.WORK, Point.BLOB},
}


@dataclass(frozen=True)
class Injection:
    """Costs that one boot has: the text of the kernel's parameter, its points in their order.

    At a point calls cost `insns` instructions more, several such costs (`0+1000`) in turn. `share`
    is the percentage of calls that do, evenly spread; `random` the same in no period (exact in
    each 20 calls); `every` one call of so many. `blob:bytes` makes what belongs to an inode larger.
    Unburnt, no instruction and no byte is injected: all that the module does besides stays.
    """

    name: str
    title: str
    text: str
    burnt: bool = True
    way: Way = Way.MODULE
    memset: Memset = _MEMSETS[X86_64.name]

    @property
    def setup(self) -> str:
        """Name the setup that has it."""
        if self.name == NOTHING:
            return self.way
        return f"{self.way}:cost={self.name}{'' if self.burnt else ',burn=no'}"

    def by(self, way: Way) -> Injection:
        """Return what these means inject of it; all BPF programs are always there."""
        if way is Way.BPF and not self.burnt:
            return replace(INJECTIONS[NOTHING], way=way)
        words = [word for word in self.text.split(";") if word.partition(":")[0] in POINTS[way]]
        return replace(self, text=";".join(words) or NOTHING, way=way)

    def on(self, arch: str) -> Injection:
        """Return the same on another architecture; on one that is not known, as it is."""
        return replace(self, memset=_MEMSETS.get(arch, self.memset))

    @property
    def unburnt(self) -> Self:
        """Return the same with no instruction and no byte, to compare with."""
        nothing = _AMOUNTS.sub(lambda found: re.sub("[0-9]+", "0", found[0]), self.text)
        return replace(self, text=nothing, burnt=False)

    @property
    def costs(self) -> Mapping[Point, Mapping[str, tuple[int, ...]]]:
        """Return what is set at each point: insns or bytes, and share, random or every."""
        words = [word.split(":") for word in self.text.split(";") if self.text != NOTHING]
        return {
            Point(point): {
                key: tuple(map(int, numbers.split("+")))
                for key, numbers in (setting.split("=") for setting in settings.split(","))
            }
            for point, settings in words
        }

    def peaks(self, point: Point) -> Mapping[int, Fraction]:
        """Return how many instructions calls of a point cost more, each with its part of them.

        For a larger blob what clearing it takes, which is the least: slabs that hold fewer blobs
        cost more than that; how much is not known.
        """
        settings = self.costs.get(point, {})
        blob = tuple(count // self.memset.bytes_per_insn for count in settings.get("bytes", ()))
        insns = settings.get("insns") or blob or (0,)
        (percent,) = settings.get("share") or settings.get("random") or (100,)
        (every,) = settings.get("every") or (1,)
        part = Fraction(percent, 100 * every)
        found = {0: 1 - part}
        for amount in insns:
            found[amount] = found.get(amount, Fraction(0)) + part / len(insns)
        return {amount: part for amount, part in sorted(found.items()) if part}

    def mean_insns(self, point: Point) -> Fraction:
        """Return what a call of a point costs more in the mean."""
        return sum((insns * part for insns, part in self.peaks(point).items()), Fraction(0))


# rename meets its point twice, in the operation and in its undo: where the period is even, each of
# the two would see a share of its own.
_ALL = (
    Injection(NOTHING, "nothing", NOTHING),
    Injection(
        "rows",
        "costs that a typical count does not show",
        "getattr:insns=500,share=40;open:insns=500,share=55;rename:insns=5000,random=45;"
        "setattr:insns=32000,every=64;rmdir:insns=500,share=60;"
        "permission:insns=20+120+220+320+420+520+620+720+820+920;"
        "file_free:insns=1000;rcu:insns=5000",
    ),
    Injection(
        "even",
        "shares of the calls, evenly spread",
        "getattr:insns=500;rename:insns=500,share=60;setattr:insns=500,share=10;"
        "mkdir:insns=500,share=55;create:insns=500,share=40;permission:insns=500,share=90",
    ),
    Injection(
        "random",
        "shares of the calls, in no period",
        "getattr:insns=500,random=10;rename:insns=500,random=90;setattr:insns=500,random=40;"
        "mkdir:insns=500,random=60;create:insns=500,random=55",
    ),
    Injection(
        "rare",
        "every 8th, 64th and 1,000th call",
        "getattr:insns=2000,every=8;setattr:insns=16000,every=64;"
        "permission:insns=200000,every=1000",
    ),
    Injection(
        "free", "the release of files and inodes", "file_free:insns=1000;inode_free:insns=700"
    ),
    Injection(
        "elsewhere",
        "RCU callbacks, task work, a worker, code outside of hooks",
        "rcu:insns=5000;task:insns=500;work:insns=2000;outside:insns=500;inode_rcu:insns=5000",
    ),
    Injection("blob", "a blob of each inode that is 1,000 bytes larger", "blob:bytes=1000"),
    Injection(
        "flat",
        "500 instructions in each call",
        "getattr:insns=500;rename:insns=500;setattr:insns=500;permission:insns=500",
    ),
    Injection(
        "cancel",
        "0 instructions in half of the calls and 1,000 in the others",
        "getattr:insns=0+1000;rename:insns=1000,random=50;setattr:insns=1000,share=50;"
        "permission:insns=1000,random=50",
    ),
)
INJECTIONS: Mapping[str, Injection] = {item.name: item for item in _ALL}
