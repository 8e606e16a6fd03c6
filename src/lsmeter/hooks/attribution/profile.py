# SPDX-License-Identifier: GPL-2.0-or-later
"""What the plugin found, as frozen types: call trees of regions; pure.

A region is what lies between two markers, that is one benchmark. All numbers of a tree are
guest instructions, or counts of calls, of one sample.
"""

from __future__ import annotations

from dataclasses import dataclass

from lsmeter.hooks.attribution.modules import is_hook

USER = "[user]"
INTERRUPT = "[interrupt]"
RESUMED = "[resumed]"
NO_SYMBOL = "[no symbol]"
# Numbers of regions: benchmarks have those below.
_BULK = 0x4000
_IDLE = 0x8000


@dataclass(frozen=True)
class Function:
    """A function by name, and the security module it belongs to ("" for none)."""

    name: str
    module: str = ""

    @property
    def hook(self) -> bool:
        """Whether it is a hook of the framework."""
        return is_hook(self.name)


@dataclass(frozen=True)
class Node:
    """One function at one place of the call tree. parent is an index, -1 for a root."""

    parent: int
    function: Function
    calls: int
    self_insns: int


@dataclass(frozen=True)
class Tree:
    """The call tree of the samples with one total.

    nodes is in an order in which parents come before their children.
    """

    insns: int
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Region:
    """What was seen of one region: how often each total occurred, and the trees of some.

    samples are the whole ones; damaged ones hit a limit of the plugin, aborted ones lack their
    end. trees are those of the most frequent totals, the most frequent first. A bulk window has
    one tree instead, the sum over `summed` samples.
    """

    id: int
    samples: int
    uncounted: int  # samples whose total found no room among totals
    damaged: int
    aborted: int
    totals: tuple[tuple[int, int], ...]  # (instructions, samples)
    trees: tuple[Tree, ...]
    sum: Tree | None = None
    summed: int = 0

    def tree(self, insns: int | None = None) -> Tree | None:
        """Return the tree with this total, or that of the most frequent; None without one."""
        if insns is None:
            return self.trees[0] if self.trees else None
        return next((tree for tree in self.trees if tree.insns == insns), None)


@dataclass(frozen=True)
class Profile:
    """Everything one guest's plugin wrote. whole is false when it was killed before its end."""

    regions: tuple[Region, ...]
    stray_ends: int
    refused_samples: int
    whole: bool

    def region(self, region_id: int) -> Region | None:
        """Return the region with this id, if there is one."""
        return next((region for region in self.regions if region.id == region_id), None)

    def bulk(self, benchmark: int) -> Region | None:
        """Return the bulk windows of the benchmark with this place among those of the boot."""
        return self.region(_BULK + benchmark)

    def idle(self) -> Region | None:
        """Return the windows in which the guest did nothing."""
        return self.region(_IDLE)
