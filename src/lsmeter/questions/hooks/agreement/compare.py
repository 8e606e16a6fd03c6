# SPDX-License-Identifier: GPL-2.0-or-later
"""Four views of which hooks one operation runs, how far they agree, and why they do not; pure.

A *view* is one way to know which hooks run: the source (which can be reached), counting in the
running kernel, attribution, and the slope of the tunable module, which sees the two hooks of
CHECKS only. None means that a view was not measured, never 0. Hooks are named with security_.

A reason for a difference accounts for it exactly, or names functions that a call tree shows to
have been reached or not. One that would hold for every lower count is none: the difference stays
open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import networkx as nx

from lsmeter.core.model import Benchmark, Place, Problem
from lsmeter.questions.attribution.profile import INTERRUPT, Node, Tree
from lsmeter.questions.hooks.source.model import SourceAnalysis
from lsmeter.questions.slopes.figures import Slope
from lsmeter.sources.kernels.functions import base_name, is_hook
from lsmeter.statistics.estimate import mode

# The hooks that the tunable module delays: all that its slopes count.
CHECKS = ("security_inode_permission", "security_file_permission")
CHECKS_NAME = "inode_permission + file_permission"

Stack = tuple[str, ...]  # functions from the root to a node, without what the compiler appended
Found = tuple[str, str]  # the reason, "" when it is open, and the evidence

_TASK_WORK = "task_work_run"
_SYSCALL = re.compile(r"__[a-z0-9]+_sys_(\w+)")  # its entry: __x64_sys_newstat
_RCU_WALK_ENDS = frozenset({"try_to_unlazy", "unlazy_walk"})
_WALKERS = frozenset({"link_path_walk", "may_lookup"})


def stacks(tree: Tree, *, interrupts: bool | None = False) -> Iterator[tuple[Node, Stack]]:
    """Yield the nodes of the operation, of the interrupts in it, or (None) of both."""
    found: list[Stack] = []
    for node in tree.nodes:
        above = found[node.parent] if node.parent >= 0 else ()
        found.append((*above, base_name(node.function.name)))
        if interrupts in (None, found[-1][0] == INTERRUPT):
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
        if name == "do_exit" or (syscall and syscall[1] not in syscalls):
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
            counts = {hook: mode(Counter(of)) for hook, of in self.counted.items()}
            found[View.COUNTING] = +Counter(counts)
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

    @property
    def compared(self) -> bool:
        """Whether two views had the same benchmark anywhere."""
        return any(
            {item.total, item.checks, item.source} != {Outcome.NOT_MEASURED}
            for items in self.places.values()
            for item in items
        )


@dataclass(frozen=True)
class Source:
    """The calls that lead to hooks on one file system, as the source has them."""

    reached: Mapping[str, frozenset[str]]  # hooks, by system call
    roots: Mapping[str, str]  # the function of a system call that reaches any
    graph: nx.DiGraph[str]  # from callers to callees

    def hooks(self, syscalls: Iterable[str]) -> frozenset[str] | None:
        """Return the hooks that system calls can reach; None when one was not analysed."""
        known = [self.reached.get(name) for name in syscalls]
        return None if None in known else frozenset().union(*filter(None, known))


def source_of(analysis: SourceAnalysis, filesystem: str) -> Source:
    """Return what an analysis says of one file system.

    Functions of modules that the kernel calls by name (IMA and EVM of old kernels) are no hooks.
    """
    uses = {use.syscall: use.hooks for use in analysis.syscalls if use.filesystem == filesystem}
    hooks = {name: (one.interface for one in of) for name, of in uses.items()}
    return Source(
        {name: frozenset(filter(is_hook, of)) for name, of in hooks.items()},
        {name: of[0].chain[0] for name, of in uses.items() if of},
        nx.DiGraph((edge.caller, edge.callee) for edge in analysis.edges.get(filesystem, ())),
    )


@dataclass(frozen=True)
class KernelFacts:
    """What all call trees of one kernel show, and its symbols where they are known.

    calls are the calls of hooks by caller and hook, each with a benchmark whose tree has it.
    refused are hooks that no BPF program may be attached to.
    """

    functions: frozenset[str] = frozenset()
    symbols: frozenset[str] = frozenset()
    calls: Mapping[tuple[str, str], str] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()


def kernel_facts(
    trees: Iterable[tuple[str, Tree]], symbols: Iterable[str] = (), refused: Iterable[str] = ()
) -> KernelFacts:
    """Gather the facts of one kernel from its trees, each with the benchmark's name."""
    functions = set(map(base_name, symbols))
    known = frozenset(functions)
    calls: dict[tuple[str, str], str] = {}
    for benchmark, tree in trees:
        for node, stack in stacks(tree, interrupts=None):
            functions.add(stack[-1])
            if node.function.hook and node.parent >= 0:
                calls.setdefault((stack[-2], stack[-1]), benchmark)
    return KernelFacts(frozenset(functions), known, calls, frozenset(refused))


def compare(
    readings: Readings, kernel: KernelFacts, source: Source | None = None
) -> BenchmarkAgreement:
    """Compare the views of one benchmark."""
    measured = tuple(_measured(readings, kernel))
    slope = tuple(_slope(readings))
    of_source = tuple(_source(readings, kernel, source))
    checks = [finding for finding in measured if finding.hook in CHECKS]
    views = len(readings.runs)
    sources = 2 if views and readings.reachable is not None else 0
    return BenchmarkAgreement(
        readings=readings,
        checks=_outcome(views + (readings.slope is not None), (*checks, *slope)),
        total=_outcome(views, measured),
        source=_outcome(sources, of_source),
        findings=(*measured, *slope, *of_source),
    )


def _outcome(views: int, findings: Iterable[Finding]) -> Outcome:
    if views < 2:
        return Outcome.NOT_MEASURED
    found = {finding.outcome for finding in findings}
    if Outcome.OPEN in found:
        return Outcome.OPEN
    return Outcome.EXPLAINED if found else Outcome.AGREE


def _measured(readings: Readings, kernel: KernelFacts) -> Iterator[Finding]:
    """Hold counting against attribution, hook by hook: equal sums hide nothing."""
    counted, tree = readings.runs.get(View.COUNTING), readings.tree
    if counted is None or tree is None:
        return
    attributed = readings.runs[View.ATTRIBUTION]
    for hook in sorted(counted.keys() | attributed):
        first, second = counted.get(hook, 0), attributed.get(hook, 0)
        if first == second:
            continue
        if hook in kernel.refused and not first:
            why = "not countable", "the kernel refuses a BPF program at this hook (count.refused)"
        else:
            why = _uncounted(readings, tree, hook, first, second)
        yield Finding(hook, View.COUNTING, first, View.ATTRIBUTION, second, *why)


def _uncounted(readings: Readings, tree: Tree, hook: str, first: int, second: int) -> Found:
    """Say why a hook was counted `first` times and attributed `second` times."""
    others: Counter[str] = Counter()
    for node, stack in stacks(tree):
        if node.function.name == hook:
            others[other_process(stack, readings.benchmark.syscalls)] += node.calls
    del others[""]
    if others and first == second - others.total():
        where = ", ".join(f"{runs} of {second} below {name}" for name, runs in others.items())
        return "another process", f"{where}; counters see the measuring process only"
    interrupts = hook_runs(tree, interrupts=True)[hook]
    if interrupts and first == second + interrupts:
        return "interrupt", f"{interrupts} more in an interrupt, which attribution leaves out"
    each = (readings.counted or {}).get(hook, ())
    if second in each:
        return "not steady", f"{each.count(second)} of {len(each)} readings counted {second}"
    return "", "no run is below an interrupt or of another process"


def _slope(readings: Readings) -> Iterator[Finding]:
    """Hold the slope against attribution, which sees all processes as well, else counting."""
    slope, value = readings.slope, readings.checks(View.SLOPE)
    view = next(reversed(readings.runs), None)
    runs = None if view is None else readings.checks(view)
    if slope is None or value is None or view is None or runs is None or runs == value:
        return
    left, asked = 0, "no call tree"
    if readings.tree is not None:
        left = rcu_walks_left(readings.tree)
        asked = f"{left} look-ups left the RCU walk and asked again"
    why = "", f"slope: {slope.hook_calls.reason}; {asked}"
    if left and runs == value + left:
        setup = slope.place.setup
        why = "RCU walk left", f"{asked}; {setup}, whose slope it is, answers under RCU"
    yield Finding(CHECKS_NAME, view, runs, View.SLOPE, value, *why)


def _source(readings: Readings, kernel: KernelFacts, source: Source | None) -> Iterator[Finding]:
    """Hold the hooks that can be reached against those that ran."""
    if source is None or readings.reachable is None or not readings.runs:
        return
    view = next(reversed(readings.runs))
    for hook in sorted(readings.reachable - readings.ran):
        yield Finding(hook, View.SOURCE, None, view, 0, *_not_run(hook, readings, kernel, source))
    for hook in sorted(readings.ran - readings.reachable):
        runs = readings.runs[view].get(hook, 0)
        yield Finding(hook, View.SOURCE, 0, view, runs, *_not_in_source(hook, readings.tree))


def _not_run(hook: str, readings: Readings, kernel: KernelFacts, source: Source) -> Found:
    """Say why a hook that the source can reach did not run.

    The ways to it are followed backwards, to the first functions that a tree would show. One that
    no tree would show may be inlined: the way goes on to its callers. What calls the hook in
    another tree is a caller, too: the source's may be inlined into it.
    """
    if kernel.symbols and hook not in kernel.symbols:
        return "not compiled in", "the kernel has no function of this name"
    if readings.tree is None:
        return "", "no call tree"
    roots = {source.roots[name] for name in readings.benchmark.syscalls if name in source.roots}
    reached = {stack[-1] for _, stack in stacks(readings.tree)} | roots
    on_ways = roots.union(*(nx.descendants(source.graph, root) for root in roots))
    ran = {caller for caller, called in kernel.calls if called == hook} & reached & on_ways
    missed, known, waiting = set[str](), set[str](), [hook]
    while waiting:
        callers = (on_ways & set(source.graph.predecessors(waiting.pop()))) - known
        known |= callers
        ran |= callers & reached
        missed |= (callers - reached) & kernel.functions
        waiting += callers - reached - kernel.functions
    if not ran:
        return "caller not reached", f"not reached: {', '.join(sorted(missed))}"
    shown = {name: kernel.calls.get((name, hook), "") for name in sorted(ran)}
    if all(shown.values()):
        where = ", ".join(f"{name} does in {example}" for name, example in shown.items())
        return "branch not taken", f"{', '.join(shown)} ran and did not call it; {where}"
    names = ", ".join(name for name, example in shown.items() if not example)
    return "", f"{names} ran and did not call it; no tree of this kernel shows that call"


def _not_in_source(hook: str, tree: Tree | None) -> Found:
    """Say why a hook ran that the source cannot reach."""
    if tree is None:
        return "", "no call tree"
    ran = hook_runs(tree)[hook]
    if ran and hook_runs(tree, below=_TASK_WORK)[hook] == ran:
        return "task work", f"all below {_TASK_WORK}: queued work, where the source's ways end"
    every = (stack for _, stack in stacks(tree, interrupts=None))
    callers = sorted({stack[-2] for stack in every if stack[-1] == hook and stack[1:]})
    return "", f"called by {', '.join(callers) or 'nothing in the call tree'}"
