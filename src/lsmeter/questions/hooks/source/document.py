# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes documents of an analysis: its tables, and how a system call comes to a hook."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from itertools import pairwise

import networkx as nx

from lsmeter.core.errors import UsageError
from lsmeter.core.groups import grouped
from lsmeter.core.registry import unknown
from lsmeter.questions.hooks.source.model import (
    Count,
    Edge,
    HookUse,
    Interface,
    Mediation,
    SourceAnalysis,
    SyscallUse,
)
from lsmeter.questions.hooks.source.rules import (
    CLASSES,
    FILE_ACCESS_CLASSES,
    OTHER,
    SYSCALLS,
    TABLE5_CLASSES,
)
from lsmeter.tables.model import Document, Item, Kind, Section, Shown, Table, Tone, Value, columns
from lsmeter.tables.values import many, some

MAX_JOINS = 15
_NAMED = 4
MAX_GRAPH_NODES = 60  # nearest to the system call; more can be read by no one
_WORDS = {"unmediated": "UNMEDIATED", "none needed": ""}
_TONES = {"unmediated": Tone.WORSE, "over-worked": Tone.WARNING}
_SYSCALL = columns(Kind.NAME, "system call")


def document(analysis: SourceAnalysis, filesystem: str | None = None) -> Document:
    """Return every table, those of system calls for one file system (ext4, or the first)."""
    name = chosen_filesystem(analysis, filesystem)
    tables = (
        _modules(analysis),
        _classes(analysis),
        decisions_table(analysis, name),
        mediation_table(analysis, name),
        _reached(analysis, name),
    )
    sections = [Section(table.title, tables=(table,)) for table in tables]
    if analysis.problems:
        problems = tuple(Item(one, tone=Tone.WARNING) for one in analysis.problems)
        sections.append(Section("Problems", items=problems))
    configuration = analysis.configuration or "none: every option is taken to be on"
    fields = vars(analysis).items()
    return Document(
        "lsmeter-hooks-source",
        2,
        f"Hooks in the source of Linux {analysis.kernel_version}",
        facts=(("tree", analysis.tree), ("configuration", configuration)),
        answer=tuple(_sentences(analysis, name)),
        sections=tuple(sections),
        notes=analysis.notes,
        data={key: value for key, value in fields if key not in ("edges", "judges")},
    )


def _sentences(analysis: SourceAnalysis, filesystem: str) -> Iterator[str]:
    """Say how many hooks there are, who has most, and where checks are too many or lack."""
    modules = sorted(analysis.modules, key=lambda one: -one.hooks)
    most = some((f"{one.name} {one.hooks}" for one in modules), _NAMED)
    yield f"Linux {analysis.kernel_version}: {analysis.framework['hooks']} hooks; modules: {most}."
    found = [one for one in analysis.mediation if one.filesystem == filesystem]
    for module in analysis.judges if found else ():
        said = Tally(one.verdict for one in found if one.module == module)
        calls = ", ".join(f"{number} {verdict}" for verdict, number in said.most_common())
        yield f"{module} on {filesystem}, of {many(said.total(), 'system call')}: {calls}."


def _modules(analysis: SourceAnalysis) -> Table:
    """Return hooks and lines of each module, as Table 2 of the study."""
    whole = analysis.framework
    sizes = [
        *(
            (m.name, m.hooks, m.general_hooks, m.code_lines, m.lines_per_hook)
            for m in analysis.modules
        ),
        ("(framework)", whole["hooks"], whole["general_hooks"], whole["code_lines"], None),
        ("(all of security/)", None, None, whole["security_code_lines"], None),
    ]
    heads = columns(Kind.COUNT, "hooks", "general hooks", "code lines", "lines per hook")
    return Table(
        "modules",
        f"Hooks and code lines per module, Linux {analysis.kernel_version}",
        (*columns(Kind.NAME, "module"), *heads),
        tuple((*row, None if per is None else round(per)) for *row, per in sizes),
        lead=("General hooks are under no #if. Code lines: without blank lines, comments, tests.",),
        more=tuple(f"{one.name}: {one.note}." for one in analysis.modules if one.note),
    )


def _classes(analysis: SourceAnalysis) -> Table:
    """Return hooks of each module by object class, as Table 5 of the study."""
    counts = [dict(module.hooks_by_class) for module in analysis.modules]
    used = set(TABLE5_CLASSES).union(*counts)
    for module, of in zip(analysis.modules, counts, strict=True):
        of["file access"] = sum(of.get(name, 0) for name in FILE_ACCESS_CLASSES)
        of["total"] = module.hooks
    names = (*(name for name in (*CLASSES, OTHER) if name in used), "file access", "total")
    modules = columns(Kind.COUNT, *(module.name for module in analysis.modules))
    return Table(
        "classes",
        f"Hooks per object class, Linux {analysis.kernel_version}",
        (*columns(Kind.NAME, "class"), *modules),
        tuple((name, *(of.get(name, 0) for of in counts)) for name in names),
        lead=(f"By prefix of the hook's name. File access: {', '.join(FILE_ACCESS_CLASSES)}.",),
    )


def decisions_table(analysis: SourceAnalysis, filesystem: str) -> Table:
    """Return which decisions each system call asks for, how often, as Table 7 of the study."""
    least = columns(Kind.COUNT, "least")
    counts = columns(Kind.COUNT, "ordinary", "most", *analysis.judges)
    return Table(
        "decisions",
        f"Decisions per system call on {filesystem}, Linux {analysis.kernel_version}",
        (*_SYSCALL, *least, *columns(Kind.NAME, "interface"), *counts),
        tuple(row for use in _of(analysis, filesystem) for row in _decisions(analysis, use)),
        lead=(
            "At most, over all flags: ordinary without retries and symbolic links, most with them.",
            "d: components of the path. *: more in a loop. least: the study's Min Hook.",
        ),
    )


def _decisions(analysis: SourceAnalysis, use: SyscallUse) -> Iterator[tuple[Value, ...]]:
    """Yield a row for each decision; people see the system call on the first of them."""
    acting = {one.name: one.modules for one in analysis.interfaces if one.decision}
    needed = {one.syscall: _value(one.least) for one in analysis.mediation}
    first: tuple[Value, ...] = (use.syscall, needed.get(use.syscall))
    made = [one for one in use.hooks if one.interface in acting]
    for one in made:
        ordinary = _value(one.ordinary, "*" if one.repeats else "")
        asked = (name in acting[one.interface] for name in analysis.judges)
        runs = (_value(one.ordinary) if yes else 0 for yes in asked)
        yield (*first, one.interface, ordinary, _value(one.most), *runs)
        first = tuple(Shown(of.value if isinstance(of, Shown) else of, "") for of in first)
    if not made and use.syscall in needed:
        yield (*first, "none", 0, 0, *(0 for _ in analysis.judges))


def mediation_table(analysis: SourceAnalysis, filesystem: str) -> Table:
    """Return each module's decisions against the least that POSIX needs."""
    here = (one for one in analysis.mediation if one.filesystem == filesystem)
    found = grouped((one.syscall, one) for one in here)
    rows = ((name, found[name]) for name in SYSCALLS if name in found)
    return Table(
        "mediation",
        f"Decisions against the least needed on {filesystem}, Linux {analysis.kernel_version}",
        (*_SYSCALL, *columns(Kind.COUNT, "least", *analysis.judges)),
        tuple((name, _value(of[0].least), *map(_verdict, of)) for name, of in rows),
        lead=(
            "over-worked: more decisions than needed. UNMEDIATED: needed, but none is made.",
            "fewer: less often than counted; a module that judges whole paths decides once.",
            "Of branches with different hooks only one counts.",
        ),
    )


def _reached(analysis: SourceAnalysis, filesystem: str) -> Table:
    """Return every other interface that each system call can reach."""
    decisions = {one.name for one in analysis.interfaces if one.decision}
    rows = (
        (use.syscall, len(use.hooks), _bare({one.interface for one in use.hooks} - decisions))
        for use in _of(analysis, filesystem)
    )
    prose = columns(Kind.PROSE, "those that decide no access to a file")
    return Table(
        "reached",
        f"Other hooks in reach on {filesystem}, Linux {analysis.kernel_version}",
        (*_SYSCALL, *columns(Kind.COUNT, "interfaces"), *prose),
        tuple(rows),
    )


def _of(analysis: SourceAnalysis, filesystem: str) -> list[SyscallUse]:
    found = {one.syscall: one for one in analysis.syscalls if one.filesystem == filesystem}
    return [found[name] for name in SYSCALLS if name in found]


def _value(count: Count, mark: str = "") -> Value:
    text = f"{count}{mark}"
    return int(text) if text.isdigit() else Shown(text, text)


def _verdict(one: Mediation) -> Shown:
    text = f"{one.decisions} {_WORDS.get(one.verdict, one.verdict)}".rstrip()
    return Shown(text, text, _TONES.get(one.verdict, Tone.PLAIN))


def chosen_filesystem(analysis: SourceAnalysis, name: str | None) -> str:
    """Return the file system that is asked for: ext4, or the first, when none is named."""
    if name is not None and name not in analysis.edges:
        raise unknown("file system", name, analysis.edges, where="--filesystem")
    return name or ("ext4" if "ext4" in analysis.edges else next(iter(analysis.edges), ""))


def explain(
    analysis: SourceAnalysis, syscall: str, hook: str, filesystem: str | None = None
) -> tuple[Document, str]:
    """Explain how `syscall` comes to `hook` (with or without security_ before it).

    Returns a shortest chain of calls with those by which other ways join it, and the graph of all
    ways in the language of Graphviz, cut at MAX_GRAPH_NODES functions. Raises UsageError when one
    of them is not known, or there is no way between them.
    """
    system = chosen_filesystem(analysis, filesystem)
    use, interface = _reaching(analysis, syscall, hook, system)
    edges: dict[tuple[str, str], Edge] = {}  # the first place of each call
    for edge in analysis.edges[system]:
        edges.setdefault((edge.caller, edge.callee), edge)
    chain = [edges[pair] for pair in pairwise(use.chain)]
    kept = _near(nx.DiGraph(list(edges)), use.chain[0], interface.name)
    ways = (one for one in edges.values() if {one.caller, one.callee} <= kept)
    on = use.chain
    graph = [one for one in ways if one.callee != on[0]]
    others = (one for one in graph if one not in chain)
    joins = [e for e in others if e.in_path_loop or (e.callee in on and e.caller not in on)]
    heads = columns(Kind.CODE, "caller", "callee", "place", "via")
    more = (f"{len(joins) - MAX_JOINS} more: see the graph",) if len(joins) > MAX_JOINS else ()
    tables = [Table("chain", "A shortest way", heads, tuple(map(_cells, chain)))]
    if joins:
        cells = tuple(map(_cells, joins[:MAX_JOINS]))
        tables.append(Table("joins", "Other ways join it here", heads, cells, more=more))
    document = Document(
        "lsmeter-hooks-explain",
        1,
        f"{syscall} on {system} reaches {interface.name}"
        + (" (also in a loop)" if use.repeats else ""),
        facts=(
            ("runs at most", f"{use.ordinary} on an ordinary pass, {use.most} with retries"),
            ("modules that act", ", ".join(interface.modules) or "none"),
        ),
        sections=(Section("Calls", tables=tuple(tables)),),
    )
    return document, _dot(interface.name, graph)


def _reaching(
    analysis: SourceAnalysis, syscall: str, hook: str, system: str
) -> tuple[HookUse, Interface]:
    calls = {one.syscall: one.hooks for one in analysis.syscalls if one.filesystem == system}
    if syscall not in calls:
        raise unknown("system call", syscall, calls, where="--explain")
    uses = {use.interface: use for use in calls[syscall]}
    interfaces = [one for one in analysis.interfaces if one.name in uses]
    named = [one for one in interfaces if one.name in (hook, f"security_{hook}")]
    for found in named or [one for one in interfaces if hook in one.hooks]:
        return uses[found.name], found
    known = {one.name for one in analysis.hooks}
    known |= {one.name.removeprefix("security_") for one in analysis.interfaces}
    if hook.removeprefix("security_") not in known:
        raise unknown("hook", hook, known, where="--explain")
    raise UsageError(
        f"--explain: {syscall} does not reach {hook} on {system}",
        hint=f"it reaches: {_bare(uses)}" if uses else "it reaches no hook at all",
    )


def _bare(interfaces: Iterable[str]) -> str:
    return ", ".join(name.removeprefix("security_") for name in sorted(interfaces))


def _near(calls: nx.DiGraph[str], start: str, end: str) -> set[str]:
    """Return the functions on some way from `start` to `end`, those nearest to a shortest one."""
    down = nx.single_source_shortest_path_length(calls, start)
    up = nx.single_source_shortest_path_length(calls.reverse(copy=False), end)
    ways = sorted((down[name] + up[name], down[name], name) for name in down if name in up)
    return {name for _, _, name in ways[:MAX_GRAPH_NODES]}


def _cells(edge: Edge) -> tuple[str, ...]:
    via = f"{edge.via}, once for each path component" if edge.in_path_loop else edge.via
    return edge.caller, edge.callee, f"{edge.file}:{edge.line}", via


def _dot(end: str, graph: Iterable[Edge]) -> str:
    lines = ["digraph ways {", "  rankdir=LR;", "  node [shape=box, fontname=monospace];"]
    lines.append(f'  "{end}" [style=bold];')
    for edge in graph:
        facts = "" if edge.via == "call" else f' [label="{edge.via}", style=dashed]'
        if edge.in_path_loop:
            facts = f' [label="{edge.via}: per component", color=red]'
        lines.append(f'  "{edge.caller}" -> "{edge.callee}"{facts};')
    return "\n".join([*lines, "}"]) + "\n"
