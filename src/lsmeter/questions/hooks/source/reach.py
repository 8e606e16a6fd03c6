# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells which interfaces each system call reaches on one file system, how often, and how.

Statements in sequence add up; of branches the highest counts; the loop over path components in
link_path_walk multiplies by d; any other loop counts once and is marked. Without retries, a branch
taken after ECHILD, ESTALE or the like is no way through, nor is a jump back; with them, a jump
back is one more run of the function.

Modules that judge accesses to files are held against the least that POSIX needs. Their decisions
are the runs of the interfaces that are decisions (rules.decides) and that they act on.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import networkx as nx

from lsmeter.questions.hooks.source.model import (
    Count,
    Edge,
    HookUse,
    Interface,
    Mediation,
    Statement,
    Statements,
    SyscallUse,
)
from lsmeter.questions.hooks.source.program import FRAMEWORK, Program, Walk, asks
from lsmeter.questions.hooks.source.rules import is_rare, least_needed

# Functions whose loops run once for each component of the path.
PATH_LOOPS = frozenset({"link_path_walk"})
_END = -1  # a node that all interfaces lead to

Costs = Mapping[int | str, Count]  # runs by interface, and decisions by module
NO_COSTS: Costs = {}
_Way = Costs | None  # the costs on the way to a place; None: there is no way


def _combine(join: Callable[[Count, Count], Count], *costs: Costs) -> Costs:
    result: dict[int | str, Count] = {}
    for one in costs:
        for interface, count in one.items():
            result[interface] = join(result[interface], count) if interface in result else count
    return result


_highest = partial(_combine, Count.__or__)
_added = partial(_combine, Count.__add__)


def _either(*ways: _Way) -> _Way:
    there = [way for way in ways if way is not None]
    return _highest(*there) if len(there) > 1 else next(iter(there), None)


def _then(way: _Way, costs: Costs) -> _Way:
    return _added(way, costs) if way is not None and costs else way


@dataclass
class Counter:
    """Counts a function; call_costs gives the costs of its call of an index."""

    call_costs: Callable[[int], Costs]
    path_loops: bool  # its loops run once for each component of the path
    retries: bool
    _left: dict[str, _Way] = field(default_factory=dict)  # by return, break, or goto back
    _jumps: dict[str, _Way] = field(default_factory=dict)  # by label
    _labels: set[str] = field(default_factory=set)

    def count(self, body: Statements) -> Costs:
        """Return the costs of the function with this body."""
        end = self._sequence(body, NO_COSTS)
        # a jump to a label that was not seen leaves the function
        again = self._left.pop("goto", None)
        every = _either(end, *self._left.values(), *self._jumps.values()) or NO_COSTS
        return every if again is None else _highest(every, _added(again, every))

    def _sequence(self, statements: Statements, way: _Way) -> _Way:
        for statement in statements:
            if way is not None or self._jumps or _has_label(statement):
                way = self._statement(statement, way)
        return way

    def _statement(self, statement: Statement, way: _Way) -> _Way:
        """Return the way after a statement, None when it ends elsewhere."""
        match statement:
            case ("call", index):
                way = _then(way, self.call_costs(index))
            case ("if", retry, condition, then, other):
                way = self._sequence(condition, way)
                ways = (way if self.retries or retry != one else None for one in ("then", "else"))
                way = _either(*map(self._sequence, (then, other), ways))
            case ("case", inside, _):
                way = self._sequence(inside, way)
            case ("loop", inside):
                way = self._loop(inside, way)
            case ("switch", on, cases):
                way = self._switch(cases, self._sequence(on, way))
            case ("label", name):
                self._labels.add(name)
                way = _either(way, self._jumps.pop(name, None))
            case ("goto", label) if label not in self._labels:
                self._jumps[label] = _either(self._jumps.get(label), way)
                way = None
            case (kind, *_):
                if kind != "goto" or self.retries:
                    self._left[kind] = _either(self._left.get(kind), way)
                way = None
        return way

    def _switch(self, cases: Statements, way: _Way) -> _Way:
        outer = self._left.pop("break", None)
        before: _Way = None
        for case in cases:
            before = self._statement(case, _either(way, before))
        end = _either(before, self._left.get("break"))
        self._left["break"] = outer
        has_default = any(case[0] == "case" and case[2] for case in cases)
        return end if has_default else _either(end, way)

    def _loop(self, body: Statements, way: _Way) -> _Way:
        """Count a body once, as many times as the loop runs, beside what was before it."""
        broken, returned = self._left.pop("break", None), self._left.pop("return", None)
        once = _either(self._sequence(body, NO_COSTS), self._left.get("break"))
        left = self._left.get("return")
        self._left |= {"break": broken, "return": returned}
        every = _either(once, left)
        if every is None:
            return way
        runs = {one: count.looped(over_path=self.path_loops) for one, count in every.items()}
        through = _then(way, runs)
        if left is not None:
            self._left["return"] = _either(returned, through)
        return _either(through, way)


def _has_label(statement: Statement) -> bool:
    parts = [part for part in statement[1:] if isinstance(part, tuple)]
    return statement[0] == "label" or any(_has_label(one) for part in parts for one in part)


def _verdict(decisions: Count, least: Count) -> str:
    """Say how a module's decisions in a system call stand to the least needed."""
    if decisions == least:
        return "none needed" if least == Count() else "as needed"
    if decisions > least:
        return "over-worked"
    return "unmediated" if decisions == Count() else "fewer"


class Reach:
    """What the system calls of a tree reach on one file system."""

    def __init__(
        self,
        program: Program,
        filesystem: str,
        interfaces: Mapping[int, Interface],
        judges: tuple[str, ...],
    ) -> None:
        self._functions = functions = program.functions
        self._walk = walk = Walk(program, filesystem)
        self.unresolved = walk.unresolved
        # Those that are called by name; a module's own tables are no way to ask it.
        called = {
            target
            for caller, _, target, via in walk.every()
            if via in ("call", "macro") and asks(functions[caller], functions[target])
        }
        self.interfaces = {one: interfaces[one] for one in sorted(called) if one in interfaces}
        whole: nx.DiGraph[int] = nx.DiGraph((number, _END) for number in self.interfaces)
        whole.add_node(_END)
        whole.add_edges_from(sorted({(caller, callee) for caller, _, callee, _ in walk.every()}))
        self._graph = nx.DiGraph(whole.subgraph(nx.ancestors(whole, _END)))
        self._judges = judges
        counted = self._count(retries=False), self._count(retries=True)
        self.uses: list[SyscallUse] = []
        self.mediations: list[Mediation] = []
        least = least_needed()
        for name, root in walk.roots.items():
            ordinary, most = costs = [of.get(root, NO_COSTS) for of in counted]
            self.uses.append(SyscallUse(name, filesystem, self._uses(root, ordinary, most)))
            for judge in judges if name in least else ():
                runs, more = (of.get(judge, Count()) for of in costs)
                says = least[name], _verdict(runs, least[name])
                self.mediations.append(Mediation(name, filesystem, judge, runs, more, *says))

    def _count(self, *, retries: bool) -> dict[int, Costs]:
        """Count every function, callees first; those that call each other count as one run."""
        costs: dict[int, Costs] = {}
        groups = nx.condensation(self._graph)
        for number in reversed(list(nx.topological_sort(groups))):
            group: set[int] = groups.nodes[number]["members"]
            inside = ChainMap(dict.fromkeys(group, NO_COSTS), costs)
            found = {one: self._one(one, inside, retries=retries) for one in group}
            if len(group) > 1:
                once = _highest(*found.values())
                looped = {one: count.looped() for one, count in once.items()}
                inside.maps[0] = dict.fromkeys(group, looped)
                found = {one: self._one(one, inside, retries=retries) for one in group}
            for one, cost in found.items():
                rare = not retries and is_rare(self._functions[one].name)
                costs[one] = NO_COSTS if rare else cost
        return costs

    def _one(self, number: int, costs: Mapping[int, Costs], *, retries: bool) -> Costs:
        function = self._functions[number]
        calls = self._walk.targets.get(number, {})

        def call_costs(index: int) -> Costs:
            found = [costs[one] for one in calls.get(index, ()) if one in self._graph]
            if function.file.startswith(FRAMEWORK):
                return _added(*found)  # the framework runs one module after another
            return found[0] if len(found) == 1 else _highest(*found)

        path = function.name in PATH_LOOPS
        cost = Counter(call_costs, path_loops=path, retries=retries).count(function.body)
        if (interface := self.interfaces.get(number)) is None:
            return cost
        # The decisions of each judge are counted together: of two branches with different hooks
        # only one runs.
        keys = [name for name in interface.modules if name in self._judges]
        own: Costs = dict.fromkeys((number, *(keys if interface.decision else ())), Count(1))
        return _added(own, cost)

    def _uses(self, root: int, ordinary: Costs, most: Costs) -> tuple[HookUse, ...]:
        chains = nx.single_source_shortest_path(self._graph, root) if root in self._graph else {}
        uses = (
            HookUse(
                self.interfaces[one].name,
                ordinary.get(one, Count()),
                most[one],
                most[one].repeats,
                tuple(self._functions[step].name for step in chain),
            )
            for one, chain in chains.items()
            if one in self.interfaces and one in most
        )
        return tuple(sorted(uses, key=lambda use: use.interface))

    def edges(self) -> tuple[Edge, ...]:
        """Return the calls that lead to an interface, in the order of the source."""
        found: set[Edge] = set()
        for number, index, target, via in self._walk.every():
            if number in self._graph and target in self._graph:
                caller, callee = self._functions[number], self._functions[target].name
                loop, line = caller.name in PATH_LOOPS, caller.calls[index].line
                found.add(Edge(caller.file, line, callee, via, caller.name, loop))
        return tuple(sorted(found))
