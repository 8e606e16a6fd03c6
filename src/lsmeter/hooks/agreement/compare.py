# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the views of a benchmark, and checks why they differ against call trees; pure.

A reason accounts for a difference exactly, or names functions that a call tree shows to have been
reached or not. One that would hold for every lower count is none: the difference stays open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import networkx as nx

from lsmeter.attribution.profile import Tree
from lsmeter.hooks.agreement.model import (
    CHECKS,
    CHECKS_NAME,
    BenchmarkAgreement,
    Finding,
    Outcome,
    Readings,
    View,
    hook_runs,
    other_process,
    rcu_walks_left,
    stacks,
)
from lsmeter.hooks.source.model import SourceAnalysis
from lsmeter.kernels.functions import base_name, is_hook

_TASK_WORK = "task_work_run"

Found = tuple[str, str]  # the reason, "" when it is open, and the evidence


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
        for node, stack in (*stacks(tree), *stacks(tree, interrupts=True)):
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
        mine = node.function.name == hook
        if mine and (by := other_process(stack, readings.benchmark.syscalls)):
            others[by] += node.calls
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
    every = (*stacks(tree), *stacks(tree, interrupts=True))
    callers = sorted({stack[-2] for _, stack in every if stack[-1] == hook and stack[1:]})
    return "", f"called by {', '.join(callers) or 'nothing in the call tree'}"
