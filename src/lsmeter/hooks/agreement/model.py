# SPDX-License-Identifier: GPL-2.0-or-later
"""Four views of which hooks one operation runs, and how far they agree; pure.

A *view* is one way to know which hooks run: the source (which can be reached), counting in the
running kernel, attribution, and the slope of the tunable module, which sees the two hooks of
CHECKS only. None means that a view was not measured, never 0. Hooks are named with security_.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from lsmeter.analysis.slopes import Slope
from lsmeter.attribution.profile import INTERRUPT, Node, Tree
from lsmeter.kernels.functions import base_name
from lsmeter.model import Benchmark, Place, Problem
from lsmeter.tasks.sweep import most_frequent

# The hooks that the tunable module delays: all that its slopes count.
CHECKS = ("security_inode_permission", "security_file_permission")
CHECKS_NAME = "inode_permission + file_permission"


Stack = tuple[str, ...]  # functions from the root to a node, without what the compiler appended

_SYSCALL = re.compile(r"__[a-z0-9]+_sys_(\w+)")  # its entry: __x64_sys_newstat
_RCU_WALK_ENDS = frozenset({"try_to_unlazy", "unlazy_walk"})
_WALKERS = frozenset({"link_path_walk", "may_lookup"})


def stacks(tree: Tree, *, interrupts: bool = False) -> Iterator[tuple[Node, Stack]]:
    """Yield the nodes of the operation, or of the interrupts in it, with their stacks."""
    found: list[Stack] = []
    for node in tree.nodes:
        above = found[node.parent] if node.parent >= 0 else ()
        found.append((*above, base_name(node.function.name)))
        if (found[-1][0] == INTERRUPT) == interrupts:
            yield node, found[-1]


def hook_runs(tree: Tree, *, below: str = "", interrupts: bool = False) -> Counter[str]:
    """Count the runs of every hook, also of those that hooks call; below a function, if named."""
    found: Counter[str] = Counter()
    for node, stack in stacks(tree, interrupts=interrupts):
        if node.function.hook and (not below or below in stack):
            found[node.function.name] += node.calls
    return found


def other_process(stack: Stack, syscalls: Collection[str]) -> str:
    """Return what shows that the process that measures did not run this, "" for nothing.

    It outlives every reading, and makes no other system calls than the benchmark's.
    """
    for name in stack if syscalls else ():
        syscall = _SYSCALL.fullmatch(name)
        if name == "do_exit" or (syscall is not None and syscall[1] not in syscalls):
            return name
    return ""


def rcu_walks_left(tree: Tree) -> int:
    """Return how often a look-up of a component left the RCU walk: it asks the hook again."""
    return sum(
        node.calls
        for node, stack in stacks(tree)
        if stack[-1] in _RCU_WALK_ENDS and _WALKERS & set(stack[-2:-1])
    )


class View(StrEnum):
    """A way to know which hooks run."""

    SOURCE = "source"
    COUNTING = "counting"
    ATTRIBUTION = "attribution"
    SLOPE = "slope"


class Outcome(StrEnum):
    """What a comparison of views says."""

    AGREE = "agree"
    EXPLAINED = "explained"
    OPEN = "open"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Readings:
    """All that is known of one benchmark at one place; counted has every reading of a hook."""

    benchmark: Benchmark
    least: int | None = None  # access checks that POSIX needs; None where the study says nothing
    reachable: frozenset[str] | None = None
    counted: Mapping[str, tuple[int, ...]] | None = None
    tree: Tree | None = None
    slope: Slope | None = None

    @cached_property
    def runs(self) -> dict[View, Mapping[str, int]]:
        """The runs of each hook that ran, by the views that were measured hook by hook."""
        found: dict[View, Mapping[str, int]] = {}
        if self.counted is not None:
            counts = {hook: most_frequent(of) for hook, of in self.counted.items()}
            found[View.COUNTING] = {hook: runs for hook, runs in counts.items() if runs}
        if self.tree is not None:
            found[View.ATTRIBUTION] = +hook_runs(self.tree)
        return found

    @property
    def ran(self) -> frozenset[str]:
        """The hooks that ran in any view."""
        return frozenset(hook for runs in self.runs.values() for hook in runs)

    def total(self, view: View) -> int | None:
        """Return the runs of all hooks in one view."""
        return sum(self.runs[view].values()) if view in self.runs else None

    def checks(self, view: View) -> float | None:
        """Return the runs of CHECKS in one view; a slope that is not whole stays as it is."""
        if view is View.SLOPE and self.slope is not None:
            whole = self.slope.hook_calls.value
            return self.slope.regression.slope.value if whole is None else whole
        runs = self.runs.get(view)
        return None if runs is None else sum(runs.get(hook, 0) for hook in CHECKS)


@dataclass(frozen=True)
class Finding:
    """One disagreement: what two views say of a hook, or of CHECKS together (CHECKS_NAME).

    first_runs is None where the source can reach the hook. reason names why they differ, "" while
    that is open; evidence is what was found in either case.
    """

    hook: str
    first: View
    first_runs: float | None
    second: View
    second_runs: float
    reason: str = ""
    evidence: str = ""

    @property
    def outcome(self) -> Outcome:
        """Whether it is explained."""
        return Outcome.EXPLAINED if self.reason else Outcome.OPEN


@dataclass(frozen=True)
class BenchmarkAgreement:
    """One benchmark: what is known of it, and where the views differ.

    checks is the outcome for CHECKS (counting, attribution, slope), total for all hooks (counting,
    attribution), source for which hooks run (source, counting, attribution).
    """

    readings: Readings
    checks: Outcome
    total: Outcome
    source: Outcome
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Agreement:
    """All benchmarks by place, and what a reader must know of what went in."""

    places: Mapping[Place, tuple[BenchmarkAgreement, ...]]
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
