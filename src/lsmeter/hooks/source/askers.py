# SPDX-License-Identifier: GPL-2.0-or-later
"""Follows the modules that ask other modules in turn: IMA and EVM want labels for their rules.

A walk ends where the framework begins, but for the functions of these modules: the framework runs
them by the hook they implement, or calls them by name (before 6.9).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from lsmeter.hooks.source.facts import Call, Function
from lsmeter.hooks.source.link import Program
from lsmeter.hooks.source.model import Module

FRAMEWORK = "security/"
FOLDER = "security/integrity/"
_CALLS_HOOK = re.compile(r"call_(?:int|void)_hook\w*")


def is_asker(function: Function) -> bool:
    """Tell whether a function is of a module that asks others."""
    return function.file.startswith(FOLDER)


def ends(function: Function) -> bool:
    """Tell whether the walk of a system call ends at a function: at all other of security/."""
    return function.file.startswith(FRAMEWORK) and not is_asker(function)


class Askers:
    """The functions by which these modules are run, by hook and by name."""

    def __init__(self, program: Program, modules: Iterable[Module]) -> None:
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for number, function in enumerate(program.functions):
            if is_asker(function) and not function.macro:
                self._by_name[function.name].append(number)
        self._by_hook: dict[str, list[int]] = defaultdict(list)
        for module in modules:
            if not module.directory.startswith(FOLDER) or module.called_by_name:
                continue
            for one in module.implementations:
                self._by_hook[one.hook] += self._by_name.get(one.function, ())

    def run_by(self, call: Call) -> dict[int, str]:
        """Return the functions that a call in the framework runs, each with how it is found."""
        if _CALLS_HOOK.fullmatch(call.name):
            hooks = [name for position, name in call.arguments if position == 0]
            return {one: f"hook {hook}" for hook in hooks for one in self._by_hook.get(hook, ())}
        return dict.fromkeys(self._by_name.get(call.name, ()), "call")
