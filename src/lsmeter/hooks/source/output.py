# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes an analysis as JSON, CSV or Markdown text, or draws its tables with rich."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence

from rich import box
from rich.markup import escape
from rich.table import Table as RichTable

from lsmeter.hooks.source.model import Count, Module, SourceAnalysis, SyscallUse
from lsmeter.hooks.source.tables import Table

FORMAT_VERSION = 1
_LEFT = frozenset({"module", "class", "system call", "interface"})


def as_json(analysis: SourceAnalysis) -> str:
    """Return all that was found; docs/hooks-from-source.md describes the fields."""
    interfaces = {one.name: one for one in analysis.interfaces}
    conditions = [hook for hook in analysis.hooks if not hook.condition]
    content = {
        "format_version": FORMAT_VERSION,
        "tree": analysis.tree,
        "kernel_version": analysis.kernel_version,
        "framework": {
            "hooks": len(analysis.hooks),
            "general_hooks": len(conditions),
            "code_lines": analysis.framework_code_lines,
            "security_code_lines": analysis.security_code_lines,
        },
        "hooks": [
            {
                "name": hook.name,
                "object_class": hook.object_class,
                "returns": hook.returns,
                "condition": hook.condition,
            }
            for hook in analysis.hooks
        ],
        "modules": [_module(module) for module in analysis.modules],
        "interfaces": [
            {
                "name": one.name,
                "hooks": one.hooks,
                "modules": one.modules,
                "object_class": one.object_class,
                "decision": one.decision,
            }
            for one in interfaces.values()
        ],
        "syscalls": [_syscall(use) for use in analysis.syscalls],
        "mediation": [
            {
                "syscall": one.syscall,
                "filesystem": one.filesystem,
                "module": one.module,
                "decisions": _count(one.decisions),
                "most": _count(one.most),
                "least": _count(one.least),
                "verdict": one.verdict,
            }
            for one in analysis.mediations
        ],
        "scope": vars(analysis.scope),
        "notes": analysis.notes,
        "problems": analysis.problems,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _module(module: Module) -> Mapping[str, object]:
    return {
        "name": module.name,
        "hooks": module.hooks,
        "general_hooks": module.general_hooks,
        "hooks_by_class": dict(module.hooks_by_class),
        "code_lines": module.code_lines,
        "lines_per_hook": module.lines_per_hook,
        "directory": module.directory,
        "note": module.note,
        "implementations": [
            {"hook": one.hook, "function": one.function, "condition": one.condition}
            for one in module.implementations
        ],
    }


def _syscall(use: SyscallUse) -> Mapping[str, object]:
    return {
        "syscall": use.syscall,
        "filesystem": use.filesystem,
        "hooks": [
            {
                "interface": one.interface,
                "ordinary": _count(one.ordinary),
                "most": _count(one.most),
                "repeats": one.repeats,
                "chain": one.chain,
            }
            for one in use.uses
        ],
    }


def _count(count: Count) -> Mapping[str, int]:
    return {"constant": count.constant, "per_component": count.per_component}


def as_csv(tables: tuple[Table, ...]) -> str:
    """Return every cell of every table in one tidy table: table, row, key, column, value.

    row is the number of the row in its table, from 1; key is its first cell (that of the row
    above where it is empty).
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("table", "row", "key", "column", "value"))
    for table in tables:
        key = ""
        for number, row in enumerate(table.rows, start=1):
            key = row[0] or key
            for column, value in zip(table.columns[1:], row[1:], strict=True):
                writer.writerow((table.name, number, key, column, value))
    return text.getvalue()


def as_markdown(tables: tuple[Table, ...], analysis: SourceAnalysis) -> str:
    """Return the tables in Markdown, with their notes and the problems."""
    parts: list[str] = []
    for table in tables:
        text = f"### {table.title}\n\n{markdown_table(table.columns, table.rows)}"
        parts.append(f"{text}\n{table.note.strip()}\n" if table.note else text)
    notes = [*analysis.notes, *(f"Problem: {problem}" for problem in analysis.problems)]
    parts.append("\n".join(f"- {note}" for note in notes) + "\n")
    return "\n".join(parts)


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return one table in Markdown, without title and note."""
    lines = [_markdown_row(columns)]
    lines.append(_markdown_row("---" if name in _LEFT else "--:" for name in columns))
    lines += [_markdown_row(row) for row in rows]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def as_rich(table: Table) -> RichTable:
    """Draw one table for a terminal."""
    drawn = RichTable(
        title=escape(table.title),
        title_justify="left",
        title_style="bold",
        caption=escape(table.note) or None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for column in table.columns:
        left = column in _LEFT or column.startswith("those")
        drawn.add_column(escape(column), justify="left" if left else "right")
    for row in table.rows:
        drawn.add_row(*(_styled(cell) for cell in row))
    return drawn


def _styled(cell: str) -> str:
    if cell.endswith("UNMEDIATED"):
        return f"[bold red]{escape(cell)}[/]"
    return f"[yellow]{escape(cell)}[/]" if cell.endswith("over-worked") else escape(cell)
