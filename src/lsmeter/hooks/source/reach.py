# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells which interfaces each system call reaches on one file system, how often, and how."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from functools import reduce

from lsmeter.hooks.source.askers import FRAMEWORK, Askers, is_asker
from lsmeter.hooks.source.barriers import is_rare
from lsmeter.hooks.source.counts import (
    NO_COSTS,
    ZERO,
    Cost,
    Costs,
    added,
    function_costs,
    highest,
)
from lsmeter.hooks.source.explore import Reached, explore
from lsmeter.hooks.source.facts import Function, Statement
from lsmeter.hooks.source.interfaces import Interfaces
from lsmeter.hooks.source.link import Program, View
from lsmeter.hooks.source.model import (
    Count,
    Decisions,
    Edge,
    FileSystem,
    HookUse,
    Interface,
    SyscallUse,
)
from lsmeter.hooks.source.syntax import syscall_function

# Functions whose loops run once for each component of the path.
PATH_LOOPS = frozenset({"link_path_walk"})


class Reach:
    """What is reached on one file system, once the walk has been done."""

    def __init__(
        self,
        program: Program,
        filesystem: str,
        interfaces: Interfaces,
        askers: Askers,
        judges: tuple[str, ...] = (),
    ) -> None:
        self._functions = program.functions
        self._program = program
        self._view = View(program, filesystem)
        self._interfaces = interfaces
        self._askers = askers
        # The decisions of each of these modules are counted together: of two branches with
        # different hooks only one runs. Their keys among the costs are negative.
        self._judges = {name: -1 - at for at, name in enumerate(judges)}
        self.found: dict[int, Interface] = {}
        self._reached = Reached()
        self._callees: dict[int, tuple[int, ...]] = {}
        self._costs: dict[int, Costs] = {}

    def run(self, syscalls: Iterable[str]) -> tuple[tuple[SyscallUse, ...], FileSystem]:
        """Follow the system calls; those that the tree does not have are left out."""
        roots = {name: root for name in syscalls if (root := self._root(name)) is not None}
        self._reached = explore(self._view, roots.values(), self._askers)
        self._find_interfaces()
        self._keep_relevant()
        for group in _groups(self._callees):
            self._count(group)
        uses = tuple(self._uses(name, root) for name, root in sorted(roots.items()))
        return uses, FileSystem(
            self._view.filesystem, tuple(sorted(self._view.tables)), self._edges()
        )

    @property
    def unresolved(self) -> int:
        """Return how many calls through pointers led to no known function."""
        return self._reached.unresolved

    def _root(self, syscall: str) -> int | None:
        found = self._program.by_name.get(syscall_function(syscall), ())
        return next((one for one in found if self._view.visible(one)), None)

    def _find_interfaces(self) -> None:
        """Find those that are called by name; a module's own tables are no way to ask it."""
        by_name = {
            target
            for caller, calls in self._reached.targets.items()
            for targets in calls.values()
            for target, via in targets.items()
            if via in ("call", "macro") and self._asks(caller, target)
        }
        for number in sorted(by_name):
            interface = self._interfaces.of(self._functions[number])
            if interface is not None:
                self.found[number] = interface

    def _asks(self, caller: int, target: int) -> bool:
        """Tell whether a call comes to security/ from outside, or from a module that asks."""
        asking, asked = self._functions[caller], self._functions[target]
        if not asked.file.startswith(FRAMEWORK):
            return False
        if is_asker(asking):
            return not is_asker(asked)
        return not asking.file.startswith(FRAMEWORK)

    def _keep_relevant(self) -> None:
        """Keep the calls that lead to an interface."""
        callers: dict[int, set[int]] = {}
        for caller, calls in self._reached.targets.items():
            for targets in calls.values():
                for callee in targets:
                    callers.setdefault(callee, set()).add(caller)
        relevant = set(self.found)
        waiting = list(relevant)
        while waiting:
            for caller in callers.get(waiting.pop(), ()):
                if caller not in relevant:
                    relevant.add(caller)
                    waiting.append(caller)
        for number in relevant:
            calls = self._reached.targets.get(number, {})
            callees = {one for targets in calls.values() for one in targets if one in relevant}
            self._callees[number] = tuple(sorted(callees))

    def _count(self, group: tuple[int, ...]) -> None:
        if len(group) == 1 and group[0] in self.found and not self._callees[group[0]]:
            self._costs[group[0]] = self._one_run(group[0])
            return
        first = {one: self._one(one, frozenset(group), NO_COSTS) for one in group}
        if len(group) > 1:
            whole = {
                interface: Cost(cost.ordinary, cost.most, repeats=True)
                for interface, cost in highest(first.values()).items()
            }
            first = {one: self._one(one, frozenset(group), whole) for one in group}
        for one, costs in first.items():
            rare = is_rare(self._functions[one].name)
            self._costs[one] = _never_ordinary(costs) if rare else costs

    def _one_run(self, number: int) -> Costs:
        interface = self.found[number]
        once = Cost(Count(1), Count(1))
        costs = {number: once}
        if interface.decision:
            costs |= {
                self._judges[name]: once for name in interface.modules if name in self._judges
            }
        return costs

    def _one(self, number: int, group: frozenset[int], inside: Costs) -> Costs:
        """Count one function; calls of its own group cost `inside`."""
        function = self._functions[number]
        calls = self._reached.targets.get(number, {})

        def call_costs(index: int) -> Costs:
            targets = calls.get(index)
            if not targets:
                return NO_COSTS
            found = [
                inside if target in group else self._costs[target]
                for target in targets
                if target in self._callees
            ]
            if function.file.startswith(FRAMEWORK):
                return reduce(added, found, NO_COSTS)  # the framework runs one module after another
            return found[0] if len(found) == 1 else highest(found)

        path = function.name in PATH_LOOPS
        costs = function_costs(function.body, call_costs, path_loops=path)
        return added(self._one_run(number), costs) if number in self.found else costs

    def _uses(self, syscall: str, root: int) -> SyscallUse:
        costs = self._costs.get(root, NO_COSTS)
        chains = self._chains(root)
        uses = [
            HookUse(
                self.found[one].name,
                costs[one].ordinary,
                costs[one].most,
                costs[one].repeats,
                chain,
            )
            for one, chain in chains.items()
            if one in costs
        ]
        decisions = tuple(
            Decisions(name, costs[key].ordinary, costs[key].most)
            if key in costs
            else Decisions(name)
            for name, key in self._judges.items()
        )
        ordered = tuple(sorted(uses, key=lambda use: use.interface))
        return SyscallUse(syscall, self._view.filesystem, ordered, decisions)

    def _chains(self, root: int) -> dict[int, tuple[str, ...]]:
        """Return a shortest chain from `root` to every interface it reaches."""
        parents: dict[int, int | None] = {root: None}
        waiting = deque([root])
        while waiting:
            here = waiting.popleft()
            for callee in self._callees.get(here, ()):
                if callee not in parents:
                    parents[callee] = here
                    waiting.append(callee)
        chains: dict[int, tuple[str, ...]] = {}
        for interface in self.found:
            if interface not in parents:
                continue
            chain: list[str] = []
            step: int | None = interface
            while step is not None:
                chain.append(self._functions[step].name)
                step = parents[step]
            chains[interface] = tuple(reversed(chain))
        return chains

    def _edges(self) -> tuple[Edge, ...]:
        edges: set[Edge] = set()
        for number in self._callees:
            function = self._functions[number]
            conditions = dict(function.conditions)
            looped = _in_loops(function) if function.name in PATH_LOOPS else frozenset[int]()
            for index, targets in self._reached.targets.get(number, {}).items():
                line = function.calls[index].line
                for target, via in targets.items():
                    if target in self._callees:
                        edges.add(
                            Edge(
                                function.name,
                                self._functions[target].name,
                                function.file,
                                line,
                                via,
                                conditions.get(line, ""),
                                index in looped,
                            )
                        )
        return tuple(sorted(edges, key=lambda edge: (edge.file, edge.line, edge.callee, edge.via)))


def _never_ordinary(costs: Costs) -> Costs:
    return {interface: Cost(ZERO, cost.most, cost.repeats) for interface, cost in costs.items()}


def _in_loops(function: Function) -> frozenset[int]:
    """Return the indices of the calls that stand inside a loop."""
    found: set[int] = set()
    waiting: list[tuple[Statement, bool]] = [(one, False) for one in function.body]
    while waiting:
        statement, inside = waiting.pop()
        if statement[0] == "call" and inside and isinstance(statement[1], int):
            found.add(statement[1])
        inside = inside or statement[0] == "loop"
        for part in statement[1:]:
            if isinstance(part, tuple):
                waiting += [(one, inside) for one in part]
    return frozenset(found)


def _groups(callees: Mapping[int, tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return groups of functions that call each other, callees before callers (Tarjan 1972)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    groups: list[tuple[int, ...]] = []
    for start in callees:
        if start in order:
            continue
        work = [(start, 0)]
        while work:
            node, at = work.pop()
            if at == 0:
                order[node] = low[node] = len(order)
                stack.append(node)
                on_stack.add(node)
            nexts = callees[node]
            if at:
                low[node] = min(low[node], low[nexts[at - 1]])
            while at < len(nexts):
                callee = nexts[at]
                at += 1
                if callee not in order:
                    work += [(node, at), (callee, 0)]
                    break
                if callee in on_stack:
                    low[node] = min(low[node], order[callee])
            else:
                if low[node] == order[node]:
                    groups.append(_pop_group(stack, on_stack, node))
    return groups


def _pop_group(stack: list[int], on_stack: set[int], root: int) -> tuple[int, ...]:
    group: list[int] = []
    while not group or group[-1] != root:
        group.append(stack.pop())
        on_stack.discard(group[-1])
    return tuple(group)
