# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the functions by which the kernel asks its modules, and which modules each one reaches.

They are the functions of security/*.c that run the modules of a hook, and the functions of a
module itself that other code calls by name (IMA and EVM of old kernels, cap_* still).
"""

from __future__ import annotations

from collections.abc import Mapping

from lsmeter.hooks.source.classes import decides, object_class
from lsmeter.hooks.source.facts import Function
from lsmeter.hooks.source.model import Hook, Interface, Module

FRAMEWORK = "security/"


class Interfaces:
    """Tells which function is an interface, given the hooks and modules of a tree."""

    def __init__(
        self,
        hooks: tuple[Hook, ...],
        modules: tuple[Module, ...],
        functions: Mapping[str, list[Function]],
    ) -> None:
        self._returns = {hook.name: hook.returns for hook in hooks}
        self._functions = functions
        self._places = {module.directory: module.name for module in modules}
        self._by_hook: dict[str, list[str]] = {}
        for module in modules:
            if module.called_by_name:
                continue  # found by the calls of its functions
            for one in module.implementations:
                self._by_hook.setdefault(one.hook, []).append(module.name)

    def of(self, function: Function) -> Interface | None:
        """Describe a function of security/ as an interface; None when it is none."""
        if function.macro:
            return None
        owner = self._owner(function.file)
        if owner is not None:
            name = function.name.removeprefix("cap_").removeprefix("ima_").removeprefix("evm_")
            return Interface(
                name=function.name,
                hooks=(),
                modules=(owner,),
                object_class=object_class(name),
                decision=False,
                file=function.file,
                line=function.line,
            )
        hooks = tuple(hook for hook in function.hooks if hook in self._returns)
        if not hooks or not function.name.startswith("security_"):
            return None
        modules = {name for hook in hooks for name in self._by_hook.get(hook, ())}
        modules |= self._called(function)
        main = self._main(function.name, hooks)
        return Interface(
            function.name,
            hooks,
            tuple(sorted(modules)),
            object_class(main),
            any(decides(hook, self._returns[hook]) for hook in hooks),
            function.file,
            function.line,
        )

    def _called(self, function: Function) -> set[str]:
        """Return the modules whose functions an interface calls by name."""
        found: set[str] = set()
        for call in function.calls:
            for target in self._functions.get(call.name, ()):
                owner = self._owner(target.file)
                if owner is not None and not target.macro:
                    found.add(owner)
        return found

    def _owner(self, file: str) -> str | None:
        place = file
        while place:
            if place in self._places:
                return self._places[place]
            place = place.rpartition("/")[0]
        return None

    @staticmethod
    def _main(name: str, hooks: tuple[str, ...]) -> str:
        """Return the hook that an interface is named after, else the first one."""
        wanted = name.removeprefix("security_")
        return wanted if wanted in hooks else hooks[0]
