# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes counts of hooks: terminal, Markdown, JSON; pure."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich import box
from rich.table import Table

from lsmeter.hooks.count.model import CountReport, HookCount
from lsmeter.report.format import RenderOptions
from lsmeter.report.heading import markdown_row, text_console
from lsmeter.report.heading import markdown_text as _md

JSON_NAME = "lsmeter-hook-counts"
JSON_VERSION = 1
HEAD = ("operation", "hooks run", "which, and how often")
UNSTEADY = "?"  # stands after a number that was not that of every reading

_Row = tuple[str, str, str]


def terminal(report: CountReport, options: RenderOptions) -> str:
    """Return the report for a terminal, at least 100 columns wide."""
    console, text = text_console(options)
    console.print(report.heading.title, style="bold")
    for title, rows in _blocks(report):
        console.print()
        console.print(title, style="bold")
        table = Table(box=box.SIMPLE, pad_edge=False)
        table.add_column(HEAD[0], no_wrap=True)
        table.add_column(HEAD[1], justify="right", no_wrap=True)
        table.add_column(HEAD[2])
        for row in rows:
            table.add_row(*row)
        console.print(table)
    for head, lines in _remarks(report):
        console.print("\n".join([head, *lines]), soft_wrap=True)
    return text.getvalue()


def markdown(report: CountReport, options: RenderOptions) -> str:  # noqa: ARG001
    """Return the report as Markdown."""
    parts = [f"# {_md(report.heading.title)}"]
    for title, rows in _blocks(report):
        lines = [markdown_row(HEAD), markdown_row(("---", "---:", "---"))]
        lines += [markdown_row(map(_md, row)) for row in rows]
        parts += [f"## {_md(title)}", "\n".join(lines)]
    for head, lines in _remarks(report):
        parts += [f"## {head}", "\n".join(f"- {_md(line)}" for line in lines)]
    return "\n\n".join(parts) + "\n"


def as_json(report: CountReport, options: RenderOptions) -> str:  # noqa: ARG001
    """Return the report as one JSON object; docs/hooks-counting.md describes it."""
    return json.dumps(document(report), indent=1, ensure_ascii=False) + "\n"


def document(report: CountReport) -> dict[str, Any]:
    """Return the report as plain dictionaries and lists."""
    return {
        **report.heading.document(JSON_NAME, JSON_VERSION),
        "watched": [
            {"kernel": kernel, "setup": setup, "functions": functions}
            for kernel, setup, functions in report.watched
        ],
        "benchmarks": [
            {
                "kernel": kernel,
                "setup": setup,
                "benchmark": benchmark.operation,
                "params": dict(benchmark.params),
                "runs": sum(count.runs for count in _of(report, kernel, setup, benchmark.id)),
            }
            for kernel, setup, benchmark in report.benchmarks
        ],
        "counts": [_count(count) for count in report.counts],
        "problems": [
            {
                "kernel": problem.kernel,
                "setup": problem.setup,
                "benchmark": problem.benchmark,
                "title": problem.title,
                "detail": problem.detail,
            }
            for problem in report.problems
        ],
        "notes": list(report.notes),
    }


def _count(count: HookCount) -> dict[str, Any]:
    return {
        "kernel": count.kernel,
        "setup": count.setup,
        "benchmark": count.benchmark.operation,
        "params": dict(count.benchmark.params),
        "hook": count.hook,
        "runs": count.runs,
        "steady": count.steady,
    }


def _of(report: CountReport, kernel: str, setup: str, benchmark: str) -> list[HookCount]:
    """Return the counts of one benchmark, the most frequent hook first."""
    found = [
        count
        for count in report.counts
        if (count.kernel, count.setup, count.benchmark.id) == (kernel, setup, benchmark)
    ]
    return sorted(found, key=lambda count: (-count.runs, count.hook))


def _blocks(report: CountReport) -> Iterator[tuple[str, list[_Row]]]:
    """Return a title and the rows for each kernel and setup."""
    watched = {(kernel, setup): functions for kernel, setup, functions in report.watched}
    rows: dict[tuple[str, str], list[_Row]] = defaultdict(list)
    for kernel, setup, benchmark in report.benchmarks:
        counts = _of(report, kernel, setup, benchmark.id)
        which = ", ".join(
            f"{count.hook} {count.runs}{'' if count.steady else UNSTEADY}" for count in counts
        )
        total = str(sum(count.runs for count in counts))
        rows[kernel, setup].append((benchmark.id, total, which or "none"))
    for (kernel, setup), block in rows.items():
        functions = watched.get((kernel, setup), 0)
        yield f"{setup} on {kernel}: {functions} functions security_* watched", block


def _remarks(report: CountReport) -> Iterator[tuple[str, list[str]]]:
    problems = [
        f"{' on '.join(filter(None, (p.setup, p.kernel)))}: {p.title}"
        + (f": {p.detail}" if p.detail else "")
        for p in report.problems
    ]
    if problems:
        yield "Problems", problems
    if report.notes:
        yield "Notes", list(report.notes)


FORMATS: Mapping[str, Callable[[CountReport, RenderOptions], str]] = {
    "table": terminal,
    "markdown": markdown,
    "json": as_json,
}
