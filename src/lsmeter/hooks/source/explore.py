# SPDX-License-Identifier: GPL-2.0-or-later
"""Follows the calls of system calls, on one file system, up to the hooks.

Functions passed as arguments are followed to where the callee calls its parameter. The walk ends
at barriers and at the framework, whose calls lead on only to modules that ask others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from lsmeter.hooks.source.askers import Askers, ends
from lsmeter.hooks.source.barriers import is_barrier
from lsmeter.hooks.source.facts import Call, Function
from lsmeter.hooks.source.link import View

MAX_FUNCTIONS = 60_000  # more than a kernel has in the folders that are read


@dataclass
class Reached:
    """The calls that were followed: caller, index of its call, and what may run there."""

    targets: dict[int, dict[int, dict[int, str]]] = field(default_factory=dict)
    unresolved: int = 0  # calls through pointers for which no function is known


class _Explorer:
    def __init__(self, view: View, askers: Askers) -> None:
        self._view = view
        self._functions = view.program.functions
        self._askers = askers
        self._callbacks: dict[tuple[int, int], set[int]] = defaultdict(set)
        self._forwards: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
        self._waiting: list[int] = []
        self.reached = Reached()

    def run(self, roots: Iterable[int]) -> Reached:
        for root in roots:
            self._reach(root)
        while self._waiting and len(self.reached.targets) < MAX_FUNCTIONS:
            self._follow(self._waiting.pop())
        return self.reached

    def _reach(self, function: int) -> None:
        if function not in self.reached.targets:
            self.reached.targets[function] = {}
            self._waiting.append(function)

    def _follow(self, number: int) -> None:
        function = self._functions[number]
        if is_barrier(function.name):
            return
        in_framework = ends(function)
        for index, call in enumerate(function.calls):
            if in_framework:
                found = self._askers.run_by(call)
            else:
                found = self._resolve(number, function, call)
            if not found:
                self.reached.unresolved += call.is_field and not in_framework
                continue
            self.reached.targets[number].setdefault(index, {}).update(found)
            for target in found:
                self._reach(target)
                if call.arguments:
                    self._pass_on(number, function, call, target)

    def _resolve(self, number: int, function: Function, call: Call) -> dict[int, str]:
        if call.is_field:
            return dict(self._view.through_pointer(function, call))
        found = self._view.through_variable(function, call.name)
        if found:
            return dict(found)
        if call.name in function.parameters:
            position = function.parameters.index(call.name)
            return dict.fromkeys(self._callbacks[number, position], "callback")
        return {
            one: "macro" if self._functions[one].macro else "call"
            for one in self._view.named(call.name, function.file)
            if one != number
        }

    def _pass_on(self, number: int, function: Function, call: Call, target: int) -> None:
        """Remember functions that a call gives to its callee as arguments."""
        callee = self._functions[target]
        for position, name in call.arguments:
            if position >= len(callee.parameters):
                break
            place = (target, position)
            if name in function.parameters:
                mine = (number, function.parameters.index(name))
                if place not in self._forwards[mine]:
                    self._forwards[mine].add(place)
                    self._give(place, self._callbacks[mine])
            elif name not in dict(function.types):
                self._give(place, set(self._view.named(name, function.file)))

    def _give(self, place: tuple[int, int], functions: set[int]) -> None:
        waiting = [place]
        while waiting:
            here = waiting.pop()
            if functions <= self._callbacks[here]:
                continue
            self._callbacks[here] |= functions
            if here[0] in self.reached.targets:
                self._waiting.append(here[0])
            waiting.extend(self._forwards[here])


def explore(view: View, roots: Iterable[int], askers: Askers) -> Reached:
    """Follow all calls from `roots`; of the framework's, those of `askers`."""
    return _Explorer(view, askers).run(roots)
