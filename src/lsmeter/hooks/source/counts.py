# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts how often each hook runs at most in one call of a function, from its skeleton.

Statements in sequence add up; of branches the dearest counts; the loop over path components in
link_path_walk multiplies by d; any other loop counts once and is marked. A way through a function
is ordinary or a retry: the branch taken after ECHILD, ESTALE or the like, and what follows it. A
jump back counts as one more run of the function, in a retry. Calls within a group of functions
that call each other count as one run of the group, marked like a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from lsmeter.hooks.source.facts import RETRY_ELSE, RETRY_THEN, Statement, Statements
from lsmeter.hooks.source.model import Count

ZERO = Count()


@dataclass(frozen=True)
class Cost:
    """Runs of one interface: on ordinary ways, on all ways, and whether a loop is around it."""

    ordinary: Count = ZERO
    most: Count = ZERO
    repeats: bool = False


Costs = Mapping[int, Cost]  # by interface
NO_COSTS: Costs = {}


@dataclass(frozen=True)
class _Ways:
    """Where a piece of code can end: the costs on the way, ordinary and with retries.

    None means that there is no such way.
    """

    ordinary: Costs | None = None
    retry: Costs | None = None

    def either(self, other: _Ways) -> _Ways:
        return _Ways(_dearer(self.ordinary, other.ordinary), _dearer(self.retry, other.retry))

    def then(self, costs: Costs) -> _Ways:
        if not costs:
            return self
        return _Ways(
            None if self.ordinary is None else added(self.ordinary, costs),
            None if self.retry is None else added(self.retry, costs),
        )

    def as_retry(self) -> _Ways:
        return _Ways(None, _dearer(self.ordinary, self.retry))

    def open(self) -> bool:
        return self.ordinary is not None or self.retry is not None


_NOWHERE = _Ways()


@dataclass
class _State:
    """The ways that have left the present statement, by how."""

    returned: _Ways = _NOWHERE
    broken: _Ways = _NOWHERE
    jumps: dict[str, _Ways] = field(default_factory=dict)
    labels: set[str] = field(default_factory=set)
    again: _Ways = _NOWHERE  # jumped back


def _dearer(one: Costs | None, other: Costs | None) -> Costs | None:
    if one is None or other is None:
        return other if one is None else one
    return highest((one, other))


def highest(costs: Iterable[Costs]) -> Costs:
    """Return the highest cost of each interface."""
    result: dict[int, Cost] = {}
    for one in costs:
        for interface, cost in one.items():
            known = result.get(interface)
            result[interface] = cost if known is None else _higher(known, cost)
    return result


def _higher(one: Cost, other: Cost) -> Cost:
    return Cost(
        max(one.ordinary, other.ordinary),
        max(one.most, other.most),
        one.repeats or other.repeats,
    )


def added(one: Costs, other: Costs) -> Costs:
    """Return the costs of running both."""
    result = dict(one)
    for interface, cost in other.items():
        known = result.get(interface)
        result[interface] = cost if known is None else _both(known, cost)
    return result


def _both(one: Cost, other: Cost) -> Cost:
    return Cost(one.ordinary + other.ordinary, one.most + other.most, one.repeats or other.repeats)


def function_costs(
    body: Statements, call_costs: Callable[[int], Costs], *, path_loops: bool
) -> Costs:
    """Return the costs of a function; call_costs gives those of its call of an index."""
    counter = _Counter(call_costs, path_loops=path_loops)
    return counter.count(body)


class _Counter:
    def __init__(self, call_costs: Callable[[int], Costs], *, path_loops: bool) -> None:
        self._call_costs = call_costs
        self._path_loops = path_loops
        self._state = _State()

    def count(self, body: Statements) -> Costs:
        end = self._sequence(body, _Ways(ordinary=NO_COSTS))
        state = self._state
        ends = end.either(state.returned).either(state.broken)
        for way in state.jumps.values():
            ends = ends.either(way)  # to a label that was not seen: it leaves the function
        ordinary = ends.ordinary or {}
        every = _dearer(ends.ordinary, ends.retry) or {}
        again = _dearer(state.again.ordinary, state.again.retry)
        if again is not None:
            every = highest((every, added(again, every)))
        result: dict[int, Cost] = {}
        for interface, cost in every.items():
            known = ordinary.get(interface, Cost())
            result[interface] = Cost(known.ordinary, max(cost.most, known.most), cost.repeats)
        return result

    def _sequence(self, statements: Statements, ways: _Ways) -> _Ways:
        for statement in statements:
            if not ways.open() and not self._state.jumps and not _has_label(statement):
                continue
            ways = self._statement(statement, ways)
        return ways

    def _statement(self, statement: Statement, ways: _Ways) -> _Ways:
        match statement[0]:
            case "call":
                ways = ways.then(self._call_costs(cast("int", statement[1])))
            case "if":
                ways = self._if(statement, ways)
            case "seq":
                ways = self._sequence(cast("Statements", statement[1]), ways)
            case "loop":
                ways = self._loop(cast("Statements", statement[1]), ways)
            case "switch":
                ways = self._switch(statement, ways)
            case "label":
                ways = self._label(cast("str", statement[1]), ways)
            case _:
                self._leave(statement, ways)
                ways = _NOWHERE
        return ways

    def _leave(self, statement: Statement, ways: _Ways) -> None:
        state = self._state
        if statement[0] == "return":
            state.returned = state.returned.either(ways)
        elif statement[0] == "goto":
            label = cast("str", statement[1])
            if label in state.labels:
                state.again = state.again.either(ways)
            else:
                state.jumps[label] = state.jumps.get(label, _NOWHERE).either(ways)
        else:  # break, continue: both end this run of the loop's body
            state.broken = state.broken.either(ways)

    def _label(self, name: str, ways: _Ways) -> _Ways:
        self._state.labels.add(name)
        return ways.either(self._state.jumps.pop(name, _NOWHERE))

    def _if(self, statement: Statement, ways: _Ways) -> _Ways:
        _, branch, condition, then, other = statement
        ways = self._sequence(cast("Statements", condition), ways)
        yes = ways.as_retry() if branch == RETRY_THEN else ways
        no = ways.as_retry() if branch == RETRY_ELSE else ways
        after_yes = self._sequence(cast("Statements", then), yes)
        return after_yes.either(self._sequence(cast("Statements", other), no))

    def _switch(self, statement: Statement, ways: _Ways) -> _Ways:
        _, on, cases, has_default = statement
        ways = self._sequence(cast("Statements", on), ways)
        outer, self._state.broken = self._state.broken, _NOWHERE
        before = _NOWHERE
        for case in cast("Statements", cases):
            before = self._statement(case, ways.either(before))
        end = before.either(self._state.broken)
        self._state.broken = outer
        return end if has_default else end.either(ways)

    def _loop(self, body: Statements, ways: _Ways) -> _Ways:
        """Count a body once, as many times as the loop runs, beside what was before it."""
        outer, self._state.broken = self._state.broken, _NOWHERE
        returned, self._state.returned = self._state.returned, _NOWHERE
        once = self._sequence(body, _Ways(ordinary=NO_COSTS))
        once = once.either(self._state.broken)
        left = self._state.returned
        every = self._repeated(once.either(left))
        self._state.broken = outer
        self._state.returned = returned
        if left.open():
            self._state.returned = returned.either(_joined(ways, every))
        return ways if not every.open() else _joined(ways, every).either(ways)

    def _repeated(self, ways: _Ways) -> _Ways:
        return _Ways(
            None if ways.ordinary is None else self._times(ways.ordinary),
            None if ways.retry is None else self._times(ways.retry),
        )

    def _times(self, costs: Costs) -> Costs:
        """Multiply by the components of the path, or mark as repeated, no one knows how often."""
        if not self._path_loops:
            return {
                one: Cost(cost.ordinary, cost.most, repeats=True) for one, cost in costs.items()
            }
        return {
            one: Cost(_per_component(cost.ordinary), _per_component(cost.most), cost.repeats)
            for one, cost in costs.items()
        }


def _per_component(count: Count) -> Count:
    return Count(0, count.constant + count.per_component)


def _joined(first: _Ways, second: _Ways) -> _Ways:
    """Return the ways through two pieces of code, one after the other."""
    result = _NOWHERE
    if second.ordinary is not None:
        result = first.then(second.ordinary)
    if second.retry is not None:
        result = result.either(first.then(second.retry).as_retry())
    return result


def _has_label(statement: Statement) -> bool:
    kind = statement[0]
    if kind == "label":
        return True
    if kind in ("seq", "loop"):
        return any(_has_label(one) for one in cast("Statements", statement[1]))
    if kind == "if":
        return any(_has_label(one) for part in statement[2:] for one in cast("Statements", part))
    if kind == "switch":
        return any(_has_label(one) for one in cast("Statements", statement[2]))
    return False
