# SPDX-License-Identifier: GPL-2.0-or-later
"""What the plugin counted: call trees of regions, and the context of each of their nodes; pure.

A region is what lies between two markers, that is one benchmark. All numbers of a tree are
guest instructions, or counts of calls, of one sample.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from itertools import pairwise
from typing import Any, NamedTuple

from lsmeter.core.errors import GuestError
from lsmeter.measure.tasks.events import EVENTS
from lsmeter.sources.kernels.functions import base_name, is_hook

USER = "[user]"
INTERRUPT = "[interrupt]"
RESUMED = "[resumed]"
# Numbers of regions: benchmarks have those below.
_WINDOWS = 0x4000
_LEFT = 0x6000
_BRIEF_LEFT = 0x8000

# Before sums, before events, and since.
HEADERS = ("lsmeter-attribution 1", "lsmeter-attribution 2", "lsmeter-attribution 3")
MAX_NODES = 1 << 18
MAX_DEPTH = 4096  # no kernel stack has room for so many calls

_REGION = re.compile(r"region (\d{1,5}) (\d{1,18}) (\d{1,18}) (\d{1,18}) (\d{1,18})\n")
_TOTAL = re.compile(r"t (-?\d{1,18}) (\d{1,18})\n")
_TREE = re.compile(r"tree (-?\d{1,18})\n")
_SUM = re.compile(r"sum (-?\d{1,18}) (\d{1,18})\n")
# A node, and its events where such a line follows.
_NODE = re.compile(
    r"n (\d{1,7}) (\d{1,7}) (\d{1,10}) (-?\d{1,18}) ([!-~][ -~]{0,511}?)(?:@([a-z]{1,32}))?\n"
    r"(?:e((?: [0-9]{1,2}:[0-9]{1,10})*)\n)?"
)
_END = re.compile(r"end (\d{1,5})\n")
_TAIL = re.compile(r"(stray|refused) (\d{1,18})\n")
_EOF = re.compile("eof\n")


class Function(NamedTuple):
    """A function by name, and the security module it belongs to ("" for none)."""

    name: str
    module: str = ""

    @property
    def hook(self) -> bool:
        """Whether it is a hook of the framework."""
        return is_hook(self.name)


class Node(NamedTuple):
    """One function at one place of the call tree. parent is an index, -1 for a root.

    events are its own that occurred: the place in EVENTS, and how often. Empty where none were
    counted.
    """

    parent: int
    function: Function
    calls: int
    self_insns: int
    events: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Tree:
    """The call tree of the samples with one total; parents come before their children."""

    insns: int
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Region:
    """One region: how often each total occurred, and the trees of some.

    samples are the whole ones; damaged ones hit a limit of the plugin, aborted ones lack their
    end. trees are those of the most frequent totals, the most frequent first. Windows of
    whole costs have one tree instead, the sum over `summed` samples.
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

    def cycles(self, benchmark: int) -> tuple[Region | None, ...]:
        """Return what the whole cost of the benchmark at this place of the boot is made of.

        That is its windows, and what whole windows and short ones left to be done.
        """
        return tuple(map(self.region, regions_of(benchmark)[1:]))


def regions_of(benchmark: int) -> tuple[int, int, int, int]:
    """Return the regions of the benchmark at this place of the boot: typical calls and cycles."""
    return benchmark, _WINDOWS + benchmark, _LEFT + benchmark, _BRIEF_LEFT + benchmark


class Context(StrEnum):
    """Where code runs. What is not in line is not in a reading of the call, but in its whole cost.

    Task work runs when a system call returns to user space (the release of a closed file): apart,
    but in line.
    """

    CALL = "system call"
    TASK_WORK = "task work"
    INTERRUPT = "interrupt"
    SOFTIRQ = "softirq"
    RCU = "RCU callback"
    WORKQUEUE = "workqueue"
    THREAD = "kernel thread"
    USER = "user"

    @property
    def inline(self) -> bool:
        """Whether the caller waits for it."""
        return self is Context.CALL or self is Context.TASK_WORK


_ROOTS = {
    USER: Context.USER,
    INTERRUPT: Context.INTERRUPT,
    # What is known of a task that was in the kernel before: nearly always a kernel thread.
    RESUMED: Context.THREAD,
}


@functools.cache
def known_functions() -> Mapping[str, Any]:
    """Return what reference/kernel-functions.toml says of functions of the kernel."""
    file = resources.files("lsmeter.questions.attribution") / "kernel-functions.toml"
    found = tomllib.loads(file.read_text(encoding="utf-8"))
    for rule in found["cause"]:
        for key in ("evidence", "accounts", "refused_by"):
            rule[key] = re.compile("|".join(rule.get(key, ())))
    return found


def contexts(tree: Tree) -> Sequence[Context]:
    """Return the context of each node of a tree.

    A system call leaves work behind that others do later. The functions that run such work are
    few and have kept their names, so a tree alone tells the contexts apart.
    """
    runners, rcu_own = known_functions()["runners"], tuple(known_functions()["rcu_core"]["own"])
    found: list[Context] = []
    for node in tree.nodes:
        name = node.function.name
        caller = tree.nodes[node.parent].function.name
        if node.parent < 0:
            found.append(_ROOTS.get(name, Context.CALL))
        elif base_name(caller) == "rcu_core" and not name.startswith(rcu_own):
            found.append(Context.RCU)
        else:
            found.append(Context(runners.get(base_name(name), found[node.parent])))
    return found


class _CutError(Exception):
    """The text ends inside of a block."""


def parse_profile(text: str, *, where: str, regions: Container[int] | None = None) -> Profile:
    """Read a plugin's output, or these regions of it; GuestError names the line that is wrong.

    The text (`lsmeter help attribution`) is made of whole blocks. What follows the last one was
    being written when the guest was killed, and is passed over; anything else that is not as it
    must be is an error, since half a call tree would give wrong numbers. Regions that are not asked
    for are passed over unread: theirs are most of the text, and of the time.
    """
    return _Reader(text, where, regions).read()


class _Reader:
    """Walks over the lines, and knows where it is for errors."""

    def __init__(self, text: str, where: str, wanted: Container[int] | None) -> None:
        # What the last newline ends is whole; what follows it is not.
        end = text.rfind("\n") + 1
        self._text, self._rest = text[:end], text[end:]
        self._where, self._wanted = where, wanted
        self._at = 0  # of what is not read yet
        self._functions: dict[tuple[str, str], Function] = {}
        self._known: dict[str, tuple[tuple[int, int], ...]] = {}  # events by their text

    def read(self) -> Profile:
        self._at = self._text.find("\n") + 1
        if self._text[: self._at - 1] not in HEADERS:
            raise self._wrong(f"does not begin with '{HEADERS[-1]}'", line=1)
        regions: dict[int, Region] = {}
        tail: dict[str, int] = {}
        whole = False
        with suppress(_CutError):
            while not (whole := bool(self._take(_EOF))):
                if found := self._take(_TAIL):
                    if found[1] in tail:
                        raise self._wrong(f"{found[1]} is there twice")
                    tail[found[1]] = int(found[2])
                elif region := self._region():
                    regions[region.id] = region
        if whole and (self._rest or self._at < len(self._text)):
            raise self._wrong("text after the end", line=self._line() + 1)
        known = tuple(regions[key] for key in sorted(regions))
        return Profile(known, tail.get("stray", 0), tail.get("refused", 0), whole)

    def _region(self) -> Region | None:
        header = map(int, self._need(_REGION).groups())
        region_id, samples, uncounted, damaged, aborted = header
        if self._wanted is not None and region_id not in self._wanted:
            self._at = self._text.find(f"\nend {region_id}\n", self._at - 1) + 1
            if not self._at:
                raise _CutError
            self._need(_END)
            return None
        totals: dict[int, int] = {}
        trees = []
        total, summed = None, 0
        while found := self._take(_TOTAL):
            totals[int(found[1])] = int(found[2])
        while found := self._take(_TREE):
            trees.append(self._tree(int(found[1])))
            if trees[-1].insns not in totals:
                raise self._wrong(f"no sample has the {found[1]} instructions of a tree")
        if found := self._take(_SUM):
            total, summed = self._tree(int(found[1])), int(found[2])
        end = self._need(_END)
        if int(end[1]) != region_id:
            raise self._wrong(f"region {region_id} ends as {end[1]}")
        if sum(totals.values()) + uncounted != samples:
            raise self._wrong(f"region {region_id}: its totals are not of {samples} samples")
        if summed > samples:
            raise self._wrong(f"region {region_id}: a sum over {summed} of {samples} samples")
        # The most frequent first, the smallest of several.
        trees.sort(key=lambda tree: (-totals[tree.insns], tree.insns))
        counts = (samples, uncounted, damaged, aborted)
        return Region(region_id, *counts, tuple(totals.items()), tuple(trees), total, summed)

    def _tree(self, insns: int) -> Tree:
        nodes: list[Node] = []
        total, depths = 0, [0]
        while found := _NODE.match(self._text, self._at):
            number, parent, calls, self_insns, name, module, events = found.groups()
            above, own = int(parent), int(self_insns)
            if len(nodes) == MAX_NODES:
                raise self._wrong(f"more than {MAX_NODES} nodes", line=self._line() + 1)
            if int(number) != len(nodes) + 1 or above > len(nodes):
                raise self._wrong("nodes out of order", line=self._line() + 1)
            self._at = found.end()
            depths.append(depths[above] + 1)
            if depths[-1] > MAX_DEPTH:
                raise self._wrong(f"calls nested more than {MAX_DEPTH} deep")
            key = name, module or ""
            if (function := self._functions.get(key)) is None:
                function = self._functions[key] = Function(*key)
            nodes.append(Node(above - 1, function, int(calls), own, self._events(events or "")))
            total += own
        if self._at == len(self._text):
            raise _CutError
        if total != insns:
            raise self._wrong(f"the nodes of a tree do not have its {insns} instructions")
        return Tree(insns, tuple(nodes))

    def _events(self, text: str) -> tuple[tuple[int, int], ...]:
        """Read the events of a node: many nodes have the same."""
        if (known := self._known.get(text)) is not None:
            return known
        parts = (part.partition(":") for part in text.split())
        events = tuple((int(event), int(count)) for event, _, count in parts)
        if any(one >= other for (one, _), (other, _) in pairwise((*events, (len(EVENTS), 0)))):
            raise self._wrong("events out of order, or unknown ones")
        return self._known.setdefault(text, events)

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Read the next line if it is what the pattern says."""
        if self._at == len(self._text):
            raise _CutError
        found = pattern.match(self._text, self._at)
        if found:
            self._at = found.end()
        return found

    def _need(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = self._take(pattern)
        if found is None:
            line = self._text[self._at : self._text.index("\n", self._at)]
            raise self._wrong(f"not understood: {line[:60]!r}", line=self._line() + 1)
        return found

    def _line(self) -> int:
        """Return the number of the line that was read last."""
        return self._text.count("\n", 0, self._at)

    def _wrong(self, what: str, line: int = 0) -> GuestError:
        return GuestError(
            f"{self._where}:{line or self._line()}: {what}",
            hint="the attribution of this boot is damaged; run it again",
        )
