# SPDX-License-Identifier: GPL-2.0-or-later
"""What the analysis of a kernel's source finds, as frozen types without I/O.

Words: a *hook* is an entry of the framework's list (`inode_permission`); an *interface* is the
function the rest of the kernel calls for it (`security_inode_permission`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import total_ordering

# From here on a count says no more than that there are many ways, and is printed as "many".
MANY = 50


@total_ordering
@dataclass(frozen=True)
class Count:
    """How often a hook runs in one system call: constant + per_component x path components.

    d, the path's number of components, is the number of directories that are searched. Counts
    are ordered as they are for long paths: first per_component, then constant.
    """

    constant: int = 0
    per_component: int = 0

    def __str__(self) -> str:
        constant = "many" if self.constant >= MANY else str(self.constant)
        if not self.per_component:
            return constant
        depth = "d" if self.per_component == 1 else f"{self.per_component}d"
        return f"{depth}+{constant}" if self.constant else depth

    def __add__(self, other: Count) -> Count:
        return Count(self.constant + other.constant, self.per_component + other.per_component)

    def __lt__(self, other: Count) -> bool:
        return (self.per_component, self.constant) < (other.per_component, other.constant)


@dataclass(frozen=True)
class Hook:
    """One hook that the framework defines.

    condition is the preprocessor condition it is under, as written, or "". returns is the type
    it returns: a hook that returns void decides nothing.
    """

    name: str
    object_class: str
    returns: str
    condition: str
    file: str
    line: int


@dataclass(frozen=True)
class Implementation:
    """One hook as a module implements it; condition is that of the module's own list."""

    hook: str
    function: str
    condition: str
    file: str
    line: int


@dataclass(frozen=True)
class Module:
    """A security module, named as in /sys/kernel/security/lsm.

    general_hooks are the hooks outside of every #if in the module's own list. called_by_name says
    that it is no module of the framework: the kernel calls its functions by name (IMA and EVM of
    old kernels). code_lines follow the rule of lsmeter.hooks.source.lines.
    """

    name: str
    directory: str
    hooks: int
    general_hooks: int
    hooks_by_class: tuple[tuple[str, int], ...]
    code_lines: int
    lines_per_hook: float | None  # None when it has no hooks
    implementations: tuple[Implementation, ...]
    called_by_name: bool = False
    note: str = ""


@dataclass(frozen=True)
class Interface:
    """A function that the kernel calls to ask its modules, and what it leads to.

    modules are those that act when it is called: through the hooks, or by a call of their own
    functions.
    """

    name: str
    hooks: tuple[str, ...]
    modules: tuple[str, ...]
    object_class: str
    decision: bool
    file: str
    line: int


@dataclass(frozen=True)
class Edge:
    """One call that leads towards a hook, as the source has it.

    via says how the callee was found: `call`, `STRUCT.FIELD of TABLE`, `static call NAME`,
    `callback`, `variable` or `macro`. condition is the #if around the call, or "".
    """

    caller: str
    callee: str
    file: str
    line: int
    via: str
    condition: str
    in_path_loop: bool


@dataclass(frozen=True)
class HookUse:
    """One interface that one system call can reach on one file system.

    ordinary is the most runs in a call that succeeds at the first try, over all flags of the
    call; most adds the retries (RCU walk, stale handles). repeats says that it is also inside
    a loop whose length cannot be told from the source. chain is a shortest way to it.
    """

    interface: str
    ordinary: Count
    most: Count
    repeats: bool
    chain: tuple[str, ...]


@dataclass(frozen=True)
class Decisions:
    """How often one module decides at most, over all interfaces of one system call together.

    That is no more than the sum over interfaces, and less where branches ask different ones.
    """

    module: str
    ordinary: Count = field(default_factory=Count)
    most: Count = field(default_factory=Count)


@dataclass(frozen=True)
class SyscallUse:
    """All interfaces that one system call can reach on one file system."""

    syscall: str
    filesystem: str
    uses: tuple[HookUse, ...]
    decisions: tuple[Decisions, ...]  # of the modules that judge accesses to files


@dataclass(frozen=True)
class Mediation:
    """How often one module decides in one system call, against the least that POSIX needs.

    verdict: `over-worked` (more decisions than needed), `as needed`, `fewer` (less often than
    needed: a module that judges whole paths decides once), `unmediated` (needed, but no
    decision), `none needed`.
    """

    syscall: str
    filesystem: str
    module: str
    decisions: Count
    most: Count
    least: Count
    verdict: str


@dataclass(frozen=True)
class FileSystem:
    """A file system whose operation tables were followed."""

    name: str
    tables: tuple[str, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Scope:
    """What was read, and what was not."""

    files: int
    size_bytes: int
    functions: int
    conditional_regions: int
    lines_of_other_branches: int
    unresolved_pointer_calls: int


@dataclass(frozen=True)
class SourceAnalysis:
    """All that `lsmeter hooks source` found in one tree."""

    tree: str
    kernel_version: str
    hooks: tuple[Hook, ...]
    modules: tuple[Module, ...]
    framework_code_lines: int  # security/*.c without commoncap.c, and the framework's headers
    security_code_lines: int  # all of security/
    interfaces: tuple[Interface, ...]
    filesystems: tuple[FileSystem, ...]
    syscalls: tuple[SyscallUse, ...]
    mediations: tuple[Mediation, ...]
    scope: Scope
    notes: tuple[str, ...]
    problems: tuple[str, ...]
