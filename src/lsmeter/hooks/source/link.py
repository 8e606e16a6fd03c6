# SPDX-License-Identifier: GPL-2.0-or-later
"""Joins the facts of all files: which functions a call may run, seen from one file system.

A name means the function of the same file, else those of headers, else those that are not
static. A call through a pointer means the functions that tables hold for that field of that
struct. Tables of the VFS's own structs are those that the file system's files define or name,
so that `i_op->setattr` on ext4 is ext4's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from lsmeter.hooks.source.facts import Call, Entry, FileFacts, Function

# Structs whose tables belong to a file system: another one's functions never run for it.
VFS_STRUCTS = frozenset(
    {
        "address_space_operations",
        "dentry_operations",
        "dquot_operations",
        "export_operations",
        "file_operations",
        "file_system_type",
        "fs_context_operations",
        "fscrypt_operations",
        "fsverity_operations",
        "inode_operations",
        "iomap_ops",
        "iomap_dio_ops",
        "iomap_write_ops",
        "iomap_writeback_ops",
        "iomap_folio_ops",
        "mnt_idmap_operations",
        "offset_ctx_operations",
        "quotactl_ops",
        "quota_format_ops",
        "super_operations",
        "vm_operations_struct",
        "xattr_handler",
    }
)


class Program:
    """All functions of the files that were read, with numbers; and the tables of functions."""

    def __init__(self, files: Iterable[FileFacts], owners: Mapping[str, tuple[str, ...]]) -> None:
        self.functions: list[Function] = []
        self.by_name: dict[str, list[int]] = defaultdict(list)
        self.entries: list[Entry] = []
        self.field_structs: dict[str, set[str]] = defaultdict(set)
        self.callable_fields: dict[str, set[str]] = defaultdict(set)
        self.references: dict[str, frozenset[str]] = {}
        self.owner = {path: name for name, paths in owners.items() for path in paths}
        for file in files:
            for function in file.functions:
                self.by_name[function.name].append(len(self.functions))
                self.functions.append(function)
            self.entries.extend(file.entries)
            self.references[file.path] = file.references
            for name, struct in file.fields:
                self.field_structs[name].add(struct)
            for struct, name in file.function_fields:
                self.callable_fields[name].add(struct)


class View:
    """The program as it is for files on one file system."""

    def __init__(self, program: Program, filesystem: str) -> None:
        self.program = program
        self.filesystem = filesystem
        owner = program.owner
        own_files = [path for path, name in owner.items() if name == filesystem]
        named: set[str] = set()
        for path in own_files:
            named |= program.references.get(path, frozenset())
        self._targets: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        self.tables: set[str] = set()
        for entry in program.entries:
            holder = owner.get(entry.file)
            if holder not in (None, filesystem):
                continue
            if entry.struct in VFS_STRUCTS:
                if holder != filesystem and entry.table not in named:
                    continue
                self.tables.add(entry.table)
            self._targets[entry.struct, entry.field].append(entry)
        self._named: dict[tuple[str, str], tuple[int, ...]] = {}

    def visible(self, function: int) -> bool:
        """Tell whether a function can run for this file system at all."""
        holder = self.program.owner.get(self.program.functions[function].file)
        return holder in (None, self.filesystem)

    def named(self, name: str, file: str) -> tuple[int, ...]:
        """Return the functions that `name` means in `file`."""
        known = self._named.get((name, file))
        if known is None:
            known = self._find(name, file)
            self._named[name, file] = known
        return known

    def _find(self, name: str, file: str) -> tuple[int, ...]:
        functions = self.program.functions
        seen = [one for one in self.program.by_name.get(name, ()) if self.visible(one)]
        here = [one for one in seen if functions[one].file == file]
        if here:
            return tuple(here)
        headers = [one for one in seen if functions[one].file.endswith(".h")]
        others = [one for one in seen if one not in headers and not functions[one].static]
        macros = [one for one in headers if functions[one].macro]
        if len(macros) < len(headers):
            return tuple(headers)
        return tuple(macros + others)

    def through_pointer(self, function: Function, call: Call) -> list[tuple[int, str]]:
        """Return the functions that a call through a field may run, each with how it is found."""
        if call.base == "static_call":
            structs = {"static_call"}
        else:
            structs = self._structs(function, call.base, call.variable, call.name)
        found: list[tuple[int, str]] = []
        for struct in sorted(structs):
            for entry in self._targets.get((struct, call.name), ()):
                via = f"{struct}.{entry.field} of {entry.table}"
                if struct == "static_call":
                    via = f"static call {entry.field}"
                found += [(one, via) for one in self.named(entry.function, entry.file)]
        return found

    def _structs(self, function: Function, base: str, variable: str, name: str) -> set[str]:
        """Return the structs that may hold the pointer called; all that have it, if unknown."""
        candidates = self.program.callable_fields.get(name, set())
        if base:
            return (self.program.field_structs.get(base, set()) & candidates) or candidates
        declared = dict(function.types).get(variable)
        if declared is not None:
            return {declared} & candidates
        return candidates

    def through_variable(self, function: Function, name: str) -> list[tuple[int, str]] | None:
        """Return what a call of a local variable may run; None when `name` is no such variable."""
        aliases = [alias for alias in function.aliases if alias[0] == name]
        if not aliases:
            return None
        found: list[tuple[int, str]] = []
        for _, base, field in aliases:
            if base:
                call = Call(0, field, is_field=True, base=base, variable=base)
                found += self.through_pointer(function, call)
            else:
                found += [(one, "variable") for one in self.named(field, function.file)]
        return found
