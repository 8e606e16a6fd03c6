# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows how a system call comes to a hook: a chain with its lines, and the graph of all ways."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

from lsmeter.errors import UsageError
from lsmeter.hooks.source.model import Edge, FileSystem, HookUse, Interface, SourceAnalysis
from lsmeter.hooks.source.syntax import syscall_function
from lsmeter.registry import unknown

MAX_JOINS = 15
MAX_GRAPH_NODES = 60  # nearest to the system call; more can be read by no one

_COLUMN, _ROW, _BOX, _CHAR, _MARGIN = 60, 44, 24, 7, 20  # of the SVG, in pixels


@dataclass(frozen=True)
class Explanation:
    """How one system call comes to one interface on one file system.

    chain are the calls of a shortest way; graph are the calls of all ways, cut at
    MAX_GRAPH_NODES functions (cut says so).
    """

    syscall: str
    filesystem: str
    interface: Interface
    use: HookUse
    chain: tuple[Edge, ...]
    graph: tuple[Edge, ...]
    cut: bool


def explain(
    analysis: SourceAnalysis, syscall: str, hook: str, filesystem: str | None = None
) -> Explanation:
    """Explain how `syscall` comes to `hook` (with or without security_ before it).

    Raises UsageError when one of them is not known, or there is no way between them.
    """
    system = _filesystem(analysis, filesystem)
    uses = [one for one in analysis.syscalls if one.filesystem == system.name]
    found = next((one for one in uses if one.syscall == syscall), None)
    if found is None:
        raise unknown("system call", syscall, (one.syscall for one in uses), where="--explain")
    names = {use.interface: use for use in found.uses}
    use = names.get(hook) or names.get(f"security_{hook}") or _with_hook(analysis, names, hook)
    if use is None:
        raise _no_way(analysis, syscall, hook, system.name, tuple(names))
    interface = next(one for one in analysis.interfaces if one.name == use.interface)
    graph, cut = _graph(system.edges, syscall_function(syscall), use.interface)
    chain = _chain(system.edges, use.chain)
    return Explanation(syscall, system.name, interface, use, chain, graph, cut)


def as_text(explanation: Explanation) -> str:
    """Return the chain, one call per line, with place, condition and how it was found."""
    use, interface = explanation.use, explanation.interface
    acting = ", ".join(interface.modules) or "no module"
    lines = [
        f"{explanation.syscall} on {explanation.filesystem} reaches {use.interface}"
        + (" (also in a loop)" if use.repeats else ""),
        f"  runs at most: {use.ordinary} on an ordinary pass, {use.most} with retries",
        f"  acting: {acting}",
        "",
        syscall_function(explanation.syscall),
    ]
    for depth, edge in enumerate(explanation.chain, start=1):
        lines.append(f"{'  ' * depth}{edge.callee}  ({_facts(edge)})")
    lines += _other_ways(explanation)
    return "\n".join(lines) + "\n"


def _facts(edge: Edge) -> str:
    facts = [f"{edge.file}:{edge.line}"]
    if edge.via != "call":
        facts.append(f"via {edge.via}")
    if edge.condition:
        facts.append(f"if {edge.condition}")
    if edge.in_path_loop:
        facts.append("once for each path component")
    return "; ".join(facts)


def _other_ways(explanation: Explanation) -> list[str]:
    """Name the calls that join the chain from elsewhere, and those in the walk of the path."""
    on_chain = set(explanation.use.chain)
    shown = {(edge.caller, edge.callee) for edge in explanation.chain}
    joins = [
        edge
        for edge in explanation.graph
        if (edge.caller, edge.callee) not in shown
        and (edge.in_path_loop or (edge.callee in on_chain and edge.caller not in on_chain))
    ]
    if not joins:
        return []
    lines = ["", "Other ways join it here:"]
    lines += [f"  {edge.caller} > {edge.callee}  ({_facts(edge)})" for edge in joins[:MAX_JOINS]]
    if len(joins) > MAX_JOINS:
        lines.append(f"  and {len(joins) - MAX_JOINS} more: see the graph")
    return lines


def as_dot(explanation: Explanation) -> str:
    """Return the graph of all ways in the language of Graphviz."""
    lines = ["digraph ways {", "  rankdir=LR;", "  node [shape=box, fontname=monospace];"]
    lines.append(f'  "{explanation.use.interface}" [style=bold];')
    for edge in explanation.graph:
        facts = [] if edge.via == "call" else [f'label="{edge.via}"', "style=dashed"]
        if edge.in_path_loop:
            facts = [f'label="{edge.via}: per component"', "color=red"]
        shown = f" [{', '.join(facts)}]" if facts else ""
        lines.append(f'  "{edge.caller}" -> "{edge.callee}"{shown};')
    return "\n".join([*lines, "}"]) + "\n"


def as_svg(explanation: Explanation) -> str:
    """Return the graph of all ways as an SVG that needs nothing else to be seen."""
    places = _layout(explanation)
    width = max(x + _width(name) for name, (x, _) in places.items()) + _MARGIN
    height = max(y for _, y in places.values()) + _ROW + _MARGIN
    title = f"{explanation.syscall} to {explanation.use.interface} on {explanation.filesystem}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">',
        '<g font-family="monospace" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    parts.extend(_svg_edge(edge, places) for edge in explanation.graph)
    for name, (x, y) in places.items():
        bold = ' stroke-width="2.5"' if name == explanation.use.interface else ""
        parts.append(
            f'<rect x="{x}" y="{y}" width="{_width(name)}" height="{_BOX}" rx="3" fill="#f4f6fa"'
            f' stroke="#345"{bold}/><text x="{x + 6}" y="{y + 16}">{escape(name)}</text>'
        )
    return "\n".join([*parts, "</g></svg>"]) + "\n"


def _filesystem(analysis: SourceAnalysis, name: str | None) -> FileSystem:
    systems = {one.name: one for one in analysis.filesystems}
    if name is None:
        return systems.get("ext4") or analysis.filesystems[0]
    if name not in systems:
        raise unknown("file system", name, systems, where="--filesystem")
    return systems[name]


def _with_hook(analysis: SourceAnalysis, names: dict[str, HookUse], hook: str) -> HookUse | None:
    """Find the interface of a hook that has another name than the hook."""
    for interface in analysis.interfaces:
        if hook in interface.hooks and interface.name in names:
            return names[interface.name]
    return None


def _no_way(
    analysis: SourceAnalysis, syscall: str, hook: str, system: str, reached: tuple[str, ...]
) -> UsageError:
    bare = hook.removeprefix("security_")
    known = {one.name for one in analysis.hooks}
    known |= {one.name.removeprefix("security_") for one in analysis.interfaces}
    if bare not in known:
        return unknown("hook", hook, known, where="--explain")
    names = ", ".join(name.removeprefix("security_") for name in sorted(reached))
    return UsageError(
        f"--explain: {syscall} does not reach {hook} on {system}",
        hint=f"it reaches: {names}" if names else "it reaches no hook at all",
    )


def _chain(edges: tuple[Edge, ...], names: tuple[str, ...]) -> tuple[Edge, ...]:
    """Return the call that each step of a chain is; its first place in the source."""
    calls: dict[tuple[str, str], Edge] = {}
    for edge in edges:
        calls.setdefault((edge.caller, edge.callee), edge)
    return tuple(calls[pair] for pair in pairwise(names) if pair in calls)


def _graph(edges: tuple[Edge, ...], start: str, end: str) -> tuple[tuple[Edge, ...], bool]:
    """Keep the calls on some way from `start` to `end`, nearest first."""
    after: dict[str, list[str]] = defaultdict(list)
    before: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        after[edge.caller].append(edge.callee)
        before[edge.callee].append(edge.caller)
    down, up = _distances(start, after), _distances(end, before)
    ways = sorted((down[name] + up[name], down[name], name) for name in down if name in up)
    kept = {name for _, _, name in ways[:MAX_GRAPH_NODES]}
    calls: dict[tuple[str, str], Edge] = {}
    for edge in edges:
        if edge.caller in kept and edge.callee in kept and edge.callee != start:
            calls.setdefault((edge.caller, edge.callee), edge)
    return tuple(calls.values()), len(ways) > MAX_GRAPH_NODES


def _distances(start: str, nexts: dict[str, list[str]]) -> dict[str, int]:
    found = {start: 0}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        for name in nexts.get(here, ()):
            if name not in found:
                found[name] = found[here] + 1
                waiting.append(name)
    return found


def _width(name: str) -> int:
    return len(name) * _CHAR + 12


def _layout(explanation: Explanation) -> dict[str, tuple[int, int]]:
    """Give every function a place, to the right of all that call it."""
    columns: dict[int, list[str]] = defaultdict(list)
    for name, column in _columns(explanation).items():
        columns[column].append(name)
    places: dict[str, tuple[int, int]] = {}
    x = _MARGIN
    for _, names in sorted(columns.items()):
        for row, name in enumerate(sorted(names)):
            places[name] = (x, _MARGIN + row * _ROW)
        x += max(map(_width, names)) + _COLUMN
    return places


def _columns(explanation: Explanation) -> dict[str, int]:
    """Return the longest way to each function; calls that close a circle do not count."""
    start = syscall_function(explanation.syscall)
    after: dict[str, list[str]] = defaultdict(list)
    for edge in explanation.graph:
        after[edge.caller].append(edge.callee)
    order: list[str] = []
    seen, open_ = {start}, [(start, iter(after[start]))]
    while open_:
        name, callees = open_[-1]
        callee = next(callees, None)
        if callee is None:
            order.append(open_.pop()[0])
        elif callee not in seen:
            seen.add(callee)
            open_.append((callee, iter(after[callee])))
    order.reverse()
    place = {name: at for at, name in enumerate(order)}
    columns = dict.fromkeys(order, 0)
    for name in order:
        for callee in after[name]:
            if place[callee] > place[name]:
                columns[callee] = max(columns[callee], columns[name] + 1)
    return columns


def _svg_edge(edge: Edge, places: dict[str, tuple[int, int]]) -> str:
    if edge.caller not in places or edge.callee not in places:
        return ""
    (x1, y1), (x2, y2) = places[edge.caller], places[edge.callee]
    x1 += _width(edge.caller)
    y1, y2 = y1 + _BOX // 2, y2 + _BOX // 2
    color = "#c22" if edge.in_path_loop else "#789"
    dashes = "" if edge.via == "call" else ' stroke-dasharray="4 3"'
    where = f"{edge.file}:{edge.line}" + (f", via {edge.via}" if edge.via != "call" else "")
    return (
        f'<path d="M{x1} {y1} C{x1 + 30} {y1} {x2 - 30} {y2} {x2} {y2}" fill="none"'
        f' stroke="{color}"{dashes}><title>{escape(where)}</title></path>'
        f'<circle cx="{x2}" cy="{y2}" r="2.5" fill="{color}"/>'
    )
