# SPDX-License-Identifier: GPL-2.0-or-later
"""What C files say, and what the analysis of a kernel's source finds in them; types without I/O.

A *hook* is an entry of the framework's list (`inode_permission`); an *interface* is the function
the rest of the kernel calls for it (`security_inode_permission`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import total_ordering
from typing import Any, NamedTuple

# A statement; only what decides how often a call runs is kept.
#   ("call", index of the call)           ("case", statements, whether it is the default)
#   ("if", retry, condition, then, else)  ("switch", on, cases)    ("loop", statements)
#   ("return",)  ("break",) or continue   ("goto", label)          ("label", label)
# retry tells which branch of an if follows ECHILD, ESTALE or the like: "then", "else", "" for none.
Statement = tuple[Any, ...]
Statements = tuple[Statement, ...]


# Plain tuples: hundreds of thousands of them cross between processes.
class Call(NamedTuple):
    """One call as written: a name, or a field (`x->i_op->permission`) of `base` or `variable`."""

    line: int
    name: str  # of the function, the field, or the local variable that holds a function
    arguments: tuple[tuple[int, str], ...] = ()  # position and name of plain names passed on
    is_field: bool = False
    base: str = ""  # the field before it (i_op), or ""
    variable: str = ""  # the variable before it, or ""


class Function(NamedTuple):
    """A function's body, or that of a macro that looks like one (macro is True)."""

    name: str
    file: str
    static: bool
    macro: bool
    calls: tuple[Call, ...]
    body: Statements
    parameters: tuple[str, ...] = ()
    types: tuple[tuple[str, str], ...] = ()  # variable: struct it points to
    aliases: tuple[tuple[str, str, str], ...] = ()  # variable: field before, field or function
    hooks: tuple[str, ...] = ()  # framework files only: hooks whose modules it calls


class Entry(NamedTuple):
    """One function in a table: `static const struct STRUCT TABLE = { .FIELD = FUNCTION }`."""

    struct: str
    field: str
    function: str
    table: str
    file: str


@dataclass
class FileFacts:
    """All that one file says."""

    path: str
    dropped_lines: int = 0
    unread_bytes: int = 0  # text that the parser could not make sense of
    references: frozenset[str] = frozenset()  # names whose address is taken
    functions: list[Function] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    fields: set[tuple[str, str]] = field(default_factory=set)  # field: struct it points to
    # field that is a pointer to a function: struct that has it
    function_fields: set[tuple[str, str]] = field(default_factory=set)


# From here on a count says no more than that there are many ways, and is printed as "many".
MANY = 50


@total_ordering
@dataclass(frozen=True, slots=True)
class Count:
    """Runs of a hook in one system call: constant + per_component x d, d components of the path.

    Ordered as for long paths. repeats: the hook is also in a loop of unknown length.
    """

    constant: int = 0
    per_component: int = 0
    repeats: bool = field(default=False, compare=False)

    @staticmethod
    def parse(text: str) -> Count:
        """Read `3`, `d`, `6d` or `2d+4`."""
        found = re.fullmatch(r"(?:(\d*)d)?\+?(\d+)?", text.strip())
        if not found or not text.strip():
            raise ValueError(f"{text!r} is no count")
        return Count(int(found[2] or "0"), 0 if found[1] is None else int(found[1] or "1"))

    def __str__(self) -> str:
        depth = f"{self.per_component}d" if self.per_component > 1 else "d" * self.per_component
        constant = "many" if self.constant >= MANY else str(self.constant or "")
        return "+".join(filter(None, (depth, constant))) or "0"

    def __add__(self, other: Count) -> Count:
        return Count(
            self.constant + other.constant,
            self.per_component + other.per_component,
            self.repeats or other.repeats,
        )

    def __or__(self, other: Count) -> Count:
        more = max(self, other)
        return more if self.repeats == other.repeats else replace(more, repeats=True)

    def looped(self, *, over_path: bool = False) -> Count:
        """Return the runs in a loop: over the path's components, or of unknown length."""
        if over_path:
            return Count(0, self.constant + self.per_component, self.repeats)
        return replace(self, repeats=True)

    def __lt__(self, other: Count) -> bool:
        return (self.per_component, self.constant) < (other.per_component, other.constant)


@dataclass(frozen=True)
class Hook:
    """One hook of the framework; condition is the #if around it, as written, or ""."""

    name: str
    object_class: str
    returns: str  # a hook that returns void decides nothing
    condition: str


@dataclass(frozen=True)
class Implementation:
    """One hook as a module implements it; condition is that of the module's own list."""

    hook: str
    function: str
    condition: str


@dataclass(frozen=True)
class Module:
    """A security module, named as in /sys/kernel/security/lsm.

    general_hooks are under no #if of the module's own list. called_by_name: no module of the
    framework, the kernel calls its functions by name (IMA and EVM before 6.9).
    """

    name: str
    directory: str  # or its file in security/ itself
    hooks: int
    general_hooks: int
    hooks_by_class: dict[str, int]
    code_lines: int
    lines_per_hook: float | None  # None when it has no hooks
    implementations: tuple[Implementation, ...]
    called_by_name: bool = False
    note: str = ""


@dataclass(frozen=True)
class Interface:
    """A function that the kernel calls to ask modules, and the modules that act when it does."""

    name: str
    hooks: tuple[str, ...]
    modules: tuple[str, ...]
    object_class: str
    decision: bool


@dataclass(frozen=True, order=True)
class Edge:
    """One call that leads towards a hook, in the order of the source.

    via says how the callee was found: `call`, `STRUCT.FIELD of TABLE`, `static call NAME`,
    `hook NAME`, `callback`, `variable` or `macro`.
    """

    file: str
    line: int
    callee: str
    via: str
    caller: str
    in_path_loop: bool


@dataclass(frozen=True)
class HookUse:
    """One interface that one system call can reach on one file system.

    ordinary is the most runs in a call that succeeds at the first try, over all its flags; most
    adds retries and rare ways. repeats: it is also in a loop of unknown length. chain is a
    shortest way to it.
    """

    interface: str
    ordinary: Count
    most: Count
    repeats: bool
    chain: tuple[str, ...]


@dataclass(frozen=True)
class SyscallUse:
    """All interfaces that one system call can reach on one file system."""

    syscall: str
    filesystem: str
    hooks: tuple[HookUse, ...]


@dataclass(frozen=True)
class Mediation:
    """How often one module decides at most in one system call, over all interfaces together.

    Of two branches that ask different hooks only one counts. least is what POSIX needs, where the
    study says so; verdict is over-worked, as needed, fewer, unmediated or none needed.
    """

    syscall: str
    filesystem: str
    module: str
    decisions: Count
    most: Count
    least: Count
    verdict: str


@dataclass(frozen=True)
class SourceAnalysis:
    """All that `lsmeter hooks source` found in one tree."""

    tree: str
    kernel_version: str
    configuration: str  # where it was read, "" when every option is taken to be on
    hooks: tuple[Hook, ...]
    modules: tuple[Module, ...]
    # hooks, general_hooks, code_lines (security/*.c without modules), security_code_lines (all)
    framework: dict[str, int]
    interfaces: tuple[Interface, ...]
    edges: dict[str, tuple[Edge, ...]]  # by file system
    syscalls: tuple[SyscallUse, ...]
    judges: tuple[str, ...]  # the modules that judge accesses to files
    mediation: tuple[Mediation, ...]
    scope: dict[str, int]  # what was read, and what was not
    notes: tuple[str, ...]
    problems: tuple[str, ...]
