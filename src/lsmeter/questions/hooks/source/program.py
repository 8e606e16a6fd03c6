# SPDX-License-Identifier: GPL-2.0-or-later
"""Joins the facts of all files, and follows the calls of system calls up to the hooks.

A name means the function of the same file, else those of headers, else those that are not
static. A call through a pointer means the functions that tables hold for that field of that
struct. Tables of the VFS's own structs are those that the file system's files define or name,
so that `i_op->setattr` on ext4 is ext4's. Functions passed as arguments are followed to where the
callee calls its parameter.

The walk ends at barriers and at the framework, but for the modules that ask other modules in
turn: IMA and EVM want labels for their rules. The framework runs those by the hook they
implement, or calls them by name (before 6.9).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lsmeter.core.groups import grouped
from lsmeter.questions.hooks.source.model import Call, Entry, FileFacts, Function, Module
from lsmeter.questions.hooks.source.rules import VFS_STRUCTS, is_barrier

FRAMEWORK = "security/"
MAX_FUNCTIONS = 60_000  # more than a kernel has in the folders that are read

_ASKERS = "security/integrity/"
_CALLS_HOOK = re.compile(r"call_(?:int|void)_hook\w*")

Found = dict[int, str]  # functions that a call may run, and how each was found


class Program:
    """All functions of the files that were read, with numbers; and the tables of functions."""

    def __init__(
        self,
        files: Sequence[FileFacts],
        owners: Mapping[str, tuple[str, ...]],
        modules: Iterable[Module],
        calls: Iterable[str],
    ) -> None:
        self.calls = sorted(calls)
        self.functions = [function for file in files for function in file.functions]
        self.by_name = grouped((one.name, number) for number, one in enumerate(self.functions))
        self.entries = [entry for file in files for entry in file.entries]
        self.references = {file.path: file.references for file in files}
        self.owner = {path: name for name, paths in owners.items() for path in paths}
        self.field_structs = grouped(pair for file in files for pair in file.fields)
        callables = grouped(pair for file in files for pair in file.function_fields)
        self.callable_fields = {name: frozenset(of) for name, of in callables.items()}
        self.askers = grouped(  # functions of _ASKERS, by hook
            (one.hook, one.function)
            for module in modules
            if module.directory.startswith(_ASKERS) and not module.called_by_name
            for one in module.implementations
        )


class Walk:
    """The calls that were followed from the system calls, for files on one file system.

    targets are the functions that may run, by caller and by the index of its call.
    """

    def __init__(self, program: Program, filesystem: str) -> None:
        self._program = program
        self._functions = program.functions
        self._filesystem = filesystem
        self._tables: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        self._named: dict[tuple[str, str], tuple[int, ...]] = {}
        # functions given for a parameter (function, position), and parameters it is passed on to
        self._callbacks: dict[tuple[int, int], set[int]] = defaultdict(set)
        self._forwards: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
        self._waiting: list[int] = []
        self.targets: dict[int, dict[int, Found]] = {}
        self.unresolved = 0  # calls through pointers for which no function is known
        own = [path for path, name in program.owner.items() if name == filesystem]
        named = {name for path in own for name in program.references.get(path, ())}
        for entry in program.entries:
            holder = program.owner.get(entry.file)
            vfs = entry.struct in VFS_STRUCTS and holder != filesystem
            if holder in (None, filesystem) and (not vfs or entry.table in named):
                self._tables[entry.struct, entry.field].append(entry)
        bodies = {name: program.by_name.get(f"sys_{name}", ()) for name in program.calls}
        seen = {name: [one for one in of if self._visible(one)] for name, of in bodies.items()}
        self.roots = {name: found[0] for name, found in seen.items() if found}
        for root in self.roots.values():
            self._reach(root)
        while self._waiting and len(self.targets) < MAX_FUNCTIONS:
            self._follow(self._waiting.pop())

    def every(self) -> Iterator[tuple[int, int, int, str]]:
        """Yield the caller, index and callee of each call, and how the callee was found."""
        for caller, calls in self.targets.items():
            for index, found in calls.items():
                for callee, via in found.items():
                    yield caller, index, callee, via

    def _visible(self, function: int) -> bool:
        return self._program.owner.get(self._functions[function].file) in (None, self._filesystem)

    def _find(self, name: str, file: str) -> tuple[int, ...]:
        if (name, file) not in self._named:
            functions = self._functions
            seen = [one for one in self._program.by_name.get(name, ()) if self._visible(one)]
            here = [one for one in seen if functions[one].file == file]
            headers = [one for one in seen if functions[one].file.endswith(".h")]
            others = [one for one in seen if one not in headers and not functions[one].static]
            macros = [one for one in headers if functions[one].macro]
            found = here or (headers if len(macros) < len(headers) else [*macros, *others])
            self._named[name, file] = tuple(found)
        return self._named[name, file]

    def _through_pointer(self, function: Function, call: Call) -> Found:
        """Return what a call through a field may run: of all structs that have it, if unknown."""
        how, declared = "", dict(function.types).get(call.variable)
        structs = self._program.callable_fields.get(call.name, frozenset())
        if call.base == "static_call":
            how, structs = f"static call {call.name}", frozenset({call.base})
        elif call.base:
            known = self._program.field_structs.get(call.base, ())
            structs = structs.intersection(known) or structs
        elif declared is not None:
            structs &= {declared}
        return {
            one: how or f"{struct}.{call.name} of {entry.table}"
            for struct in sorted(structs)
            for entry in self._tables.get((struct, call.name), ())
            for one in self._find(entry.function, entry.file)
        }

    def _through_variable(self, function: Function, name: str) -> Found:
        """Return what a call of a local variable may run; nothing when it is no such variable."""
        found: Found = {}
        for variable, base, field in function.aliases:
            if variable == name and base:
                call = Call(0, field, is_field=True, base=base, variable=base)
                found |= self._through_pointer(function, call)
            elif variable == name:
                found |= dict.fromkeys(self._find(field, function.file), "variable")
        return found

    def _reach(self, function: int) -> None:
        if function not in self.targets:
            self.targets[function] = {}
            self._waiting.append(function)

    def _follow(self, number: int) -> None:
        function = self._functions[number]
        if is_barrier(function.name):
            return
        ends = function.file.startswith(FRAMEWORK) and not function.file.startswith(_ASKERS)
        for index, call in enumerate(function.calls):
            found = self._asked(call) if ends else self._resolve(number, function, call)
            if not found:
                self.unresolved += call.is_field and not ends
                continue
            self.targets[number].setdefault(index, {}).update(found)
            for target in found:
                self._reach(target)
                self._pass_on(number, function, call, target)

    def _asked(self, call: Call) -> Found:
        """Return the functions of modules that ask others, which a call in the framework runs."""
        names = {call.name: "call"}
        if _CALLS_HOOK.fullmatch(call.name):
            askers = self._program.askers
            hooks = [name for position, name in call.arguments if position == 0]
            names = {name: f"hook {hook}" for hook in hooks for name in askers.get(hook, ())}
        return {
            one: via
            for name, via in names.items()
            for one in self._program.by_name.get(name, ())
            if self._functions[one].file.startswith(_ASKERS) and not self._functions[one].macro
        }

    def _resolve(self, number: int, function: Function, call: Call) -> Found:
        if call.is_field:
            return self._through_pointer(function, call)
        if found := self._through_variable(function, call.name):
            return found
        if call.name in function.parameters:
            position = function.parameters.index(call.name)
            return dict.fromkeys(self._callbacks[number, position], "callback")
        return {
            one: "macro" if self._functions[one].macro else "call"
            for one in self._find(call.name, function.file)
            if one != number
        }

    def _pass_on(self, number: int, function: Function, call: Call, target: int) -> None:
        """Remember functions that a call gives to its callee as arguments."""
        for position, name in call.arguments:
            if position >= len(self._functions[target].parameters):
                break
            place = (target, position)
            if name in function.parameters:
                mine = (number, function.parameters.index(name))
                if place not in self._forwards[mine]:
                    self._forwards[mine].add(place)
                    self._give(place, self._callbacks[mine])
            elif name not in dict(function.types):
                self._give(place, set(self._find(name, function.file)))

    def _give(self, place: tuple[int, int], functions: set[int]) -> None:
        waiting = [place]
        while waiting:
            here = waiting.pop()
            if not functions <= self._callbacks[here]:
                self._callbacks[here] |= functions
                if here[0] in self.targets:
                    self._waiting.append(here[0])
                waiting.extend(self._forwards[here])


def asks(caller: Function, callee: Function) -> bool:
    """Tell whether a call comes to security/ from outside, or from a module that asks others."""
    if not callee.file.startswith(FRAMEWORK):
        return False
    if caller.file.startswith(_ASKERS):
        return not callee.file.startswith(_ASKERS)
    return not caller.file.startswith(FRAMEWORK)
