# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the tables that people read out of an analysis; the formats only draw them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lsmeter.errors import UsageError
from lsmeter.hooks.source.classes import CLASSES, FILE_ACCESS_CLASSES, OTHER, TABLE5_CLASSES
from lsmeter.hooks.source.mediation import NONE_NEEDED, OVER_WORKED, UNMEDIATED
from lsmeter.hooks.source.model import HookUse, Mediation, SourceAnalysis, SyscallUse
from lsmeter.hooks.source.syscalls import FAMILIES, RELATIVES

MARKS = {OVER_WORKED: "over-worked", UNMEDIATED: "UNMEDIATED", NONE_NEEDED: ""}


@dataclass(frozen=True)
class Table:
    """A table with a name for programs, a title, and a note on how to read it."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def all_tables(analysis: SourceAnalysis, filesystem: str | None = None) -> tuple[Table, ...]:
    """Return every table, those of system calls for one file system (ext4, or the first)."""
    name = chosen_filesystem(analysis, filesystem)
    return (
        modules_table(analysis),
        classes_table(analysis),
        decisions_table(analysis, name),
        mediation_table(analysis, name),
        reached_table(analysis, name),
    )


def chosen_filesystem(analysis: SourceAnalysis, name: str | None) -> str:
    """Return the file system that the tables are for."""
    known = [one.name for one in analysis.filesystems]
    if name is None:
        return "ext4" if "ext4" in known else known[0]
    if name not in known:
        raise UsageError(
            f"--filesystem: {name} was not analysed", hint=f"analysed: {', '.join(known)}"
        )
    return name


def modules_table(analysis: SourceAnalysis) -> Table:
    """Return hooks and lines of each module, as Table 2 of the study."""
    rows: list[tuple[str, ...]] = [
        (
            module.name,
            str(module.hooks),
            str(module.general_hooks),
            str(module.code_lines),
            "" if module.lines_per_hook is None else f"{module.lines_per_hook:.0f}",
        )
        for module in analysis.modules
    ]
    unconditional = sum(1 for hook in analysis.hooks if not hook.condition)
    rows.append(
        (
            "(framework)",
            str(len(analysis.hooks)),
            str(unconditional),
            str(analysis.framework_code_lines),
            "",
        )
    )
    rows.append(("(all of security/)", "", "", str(analysis.security_code_lines), ""))
    notes = [f"{one.name}: {one.note}." for one in analysis.modules if one.note]
    return Table(
        "modules",
        f"Hooks and code lines per module, Linux {analysis.kernel_version}",
        ("module", "hooks", "general hooks", "code lines", "lines per hook"),
        tuple(rows),
        "General hooks are under no #if. Code lines: without blank lines, comments, tests. "
        + " ".join(notes),
    )


def classes_table(analysis: SourceAnalysis) -> Table:
    """Return hooks of each module by object class, as Table 5 of the study."""
    counts = [dict(module.hooks_by_class) for module in analysis.modules]
    names = [name for name, _ in CLASSES] + [OTHER]
    rows: list[tuple[str, ...]] = [
        (name, *(str(one.get(name, 0)) for one in counts))
        for name in names
        if name in TABLE5_CLASSES or any(name in one for one in counts)
    ]
    access = (sum(one.get(name, 0) for name in FILE_ACCESS_CLASSES) for one in counts)
    rows.append(("file access", *map(str, access)))
    rows.append(("total", *(str(module.hooks) for module in analysis.modules)))
    return Table(
        "classes",
        f"Hooks per object class, Linux {analysis.kernel_version}",
        ("class", *(module.name for module in analysis.modules)),
        tuple(rows),
        f"The class is that of the hook's prefix. File access: {', '.join(FILE_ACCESS_CLASSES)}.",
    )


def decisions_table(analysis: SourceAnalysis, filesystem: str) -> Table:
    """Return which decisions each system call asks for, how often, as Table 7 of the study."""
    interfaces = {one.name: one for one in analysis.interfaces}
    judges = _judges(analysis)
    least = {(one.syscall, one.filesystem): one.least for one in analysis.mediations}
    rows: list[tuple[str, ...]] = []
    for use in _of(analysis, filesystem):
        needed = least.get((use.syscall, filesystem))
        first = (use.syscall, "" if needed is None else str(needed))
        for one in use.uses:
            if not interfaces[one.interface].decision:
                continue
            acting = interfaces[one.interface].modules
            shown = (str(one.ordinary) if name in acting else "0" for name in judges)
            rows.append((*first, one.interface, _count(one), str(one.most), *shown))
            first = ("", "")
        if first[0] and needed is not None:
            rows.append((*first, "none", "0", "0", *("0" for _ in judges)))
    return Table(
        "decisions",
        f"Decisions per system call on {filesystem}, Linux {analysis.kernel_version}",
        ("system call", "least", "interface", "ordinary", "most", *judges),
        tuple(rows),
        "At most, over all flags: ordinary without retries, symbolic links and the like; most"
        " with them. d: components of the path. *: more in a loop. least: the study's Min Hook.",
    )


def mediation_table(analysis: SourceAnalysis, filesystem: str) -> Table:
    """Return each module's decisions against the least that POSIX needs."""
    judges = _judges(analysis)
    cells: dict[str, dict[str, Mediation]] = {}
    for one in analysis.mediations:
        if one.filesystem == filesystem:
            cells.setdefault(one.syscall, {})[one.module] = one
    rows: list[tuple[str, ...]] = []
    for syscall in _order(cells):
        found = cells[syscall]
        needed = str(next(iter(found.values())).least)
        rows.append((syscall, needed, *(_verdict(found[name]) for name in judges)))
    return Table(
        "mediation",
        f"Decisions against the least needed on {filesystem}, Linux {analysis.kernel_version}",
        ("system call", "least", *judges),
        tuple(rows),
        "over-worked: more decisions than needed. UNMEDIATED: needed, but the module decides"
        " nothing. fewer: less often than counted; a module that judges whole paths decides once."
        " Of branches with different hooks only one counts.",
    )


def reached_table(analysis: SourceAnalysis, filesystem: str) -> Table:
    """Return every other interface that each system call can reach."""
    interfaces = {one.name: one for one in analysis.interfaces}
    rows: list[tuple[str, ...]] = []
    for use in _of(analysis, filesystem):
        names = [
            one.interface.removeprefix("security_")
            for one in use.uses
            if not interfaces[one.interface].decision
        ]
        rows.append((use.syscall, str(len(use.uses)), ", ".join(names)))
    return Table(
        "reached",
        f"Other hooks in reach on {filesystem}, Linux {analysis.kernel_version}",
        ("system call", "interfaces", "those that decide no access to a file"),
        tuple(rows),
    )


def _judges(analysis: SourceAnalysis) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.module for use in analysis.syscalls for one in use.decisions))


def _of(analysis: SourceAnalysis, filesystem: str) -> list[SyscallUse]:
    found = {one.syscall: one for one in analysis.syscalls if one.filesystem == filesystem}
    return [found[name] for name in _order(found)]


def _order(syscalls: Iterable[str]) -> list[str]:
    """Put those of Table 7 first, in its order, then the others."""
    rows = [name for _, members in FAMILIES for name in members]
    order = {name: at for at, name in enumerate((*rows, *RELATIVES))}
    return sorted(syscalls, key=lambda name: order[name])


def _count(use: HookUse) -> str:
    return f"{use.ordinary}*" if use.repeats else str(use.ordinary)


def _verdict(one: Mediation) -> str:
    mark = MARKS.get(one.verdict, one.verdict)
    return f"{one.decisions} {mark}".rstrip()
