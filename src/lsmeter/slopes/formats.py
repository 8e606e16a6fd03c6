# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a report of slopes: terminal, Markdown, JSON; pure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from rich import box
from rich.console import JustifyMethod
from rich.table import Table

from lsmeter.report.format import RenderOptions
from lsmeter.report.heading import markdown_row, text_console
from lsmeter.report.heading import markdown_text as _md
from lsmeter.slopes.model import DepthFit, LookUp, Slope, SlopesReport
from lsmeter.slopes.rows import SLOPE_UNIT, Block, blocks, doubts

JSON_NAME = "lsmeter-slopes"
JSON_VERSION = 1


def terminal(report: SlopesReport, options: RenderOptions) -> str:
    """Return the report for a terminal, at least 100 columns wide."""
    console, text = text_console(options)
    console.print(report.heading.title, style="bold")
    for block in blocks(report):
        console.print()
        console.print(block.title, style="bold")
        console.print(_rich(block))
        if block.legend:
            console.print(block.legend, style="dim")
    _remarks(report, lambda head, lines: console.print("\n".join(["", head, *lines])))
    return text.getvalue()


def _rich(block: Block) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, padding=0)
    for column in block.columns:
        justify: JustifyMethod = "right" if column.number else "left"
        table.add_column(column.head, justify=justify, no_wrap=True)
    for row in block.rows:
        table.add_row(*row)
    return table


def markdown(report: SlopesReport, options: RenderOptions) -> str:  # noqa: ARG001
    """Return the report as Markdown."""
    parts = [f"# {_md(report.heading.title)}"]
    for block in blocks(report):
        parts.append(f"## {_md(block.title)}")
        lines = [
            markdown_row(column.head for column in block.columns),
            markdown_row("---:" if column.number else "---" for column in block.columns),
            *(markdown_row(map(_md, row)) for row in block.rows),
        ]
        parts.append("\n".join(lines))
        if block.legend:
            parts.append(block.legend)
    _remarks(
        report,
        lambda head, lines: parts.append(
            "\n".join([f"## {head}", "", *(f"- {_md(line)}" for line in lines)])
        ),
    )
    return "\n\n".join(parts) + "\n"


def _remarks(report: SlopesReport, add: Callable[[str, list[str]], None]) -> None:
    """Hand over what stands below the tables: doubts, problems, the study's footnotes, notes."""
    footnotes = [
        f"{row.benchmark}: {row.place}: {row.note}"
        for row in report.published
        if row.note and any(slope.benchmark.id == row.benchmark for slope in report.slopes)
    ]
    problems = [f"{p.title}: {p.detail}" if p.detail else p.title for p in report.problems]
    for head, lines in (
        ("Not whole numbers", list(doubts(report))),
        ("Problems", problems),
        ("On the study's figures", footnotes),
        ("Notes", list(report.notes)),
    ):
        if lines:
            add(head, lines)


def as_json(report: SlopesReport, options: RenderOptions) -> str:  # noqa: ARG001
    """Return the report as one JSON object; numbers that do not exist are null."""
    return json.dumps(document(report), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def document(report: SlopesReport) -> dict[str, Any]:
    """Return the report as plain dictionaries and lists."""
    return {
        **report.heading.document(JSON_NAME, JSON_VERSION),
        "instrument": "exact",
        "unit": SLOPE_UNIT,
        "delays_ns": list(report.delays_ns),
        "conditions": dict(report.conditions),
        "slopes": [_slope(report, slope) for slope in report.slopes],
        "lookups": [_lookup(item) for item in report.lookups],
        "depths": [_depth(fit) for fit in report.depths],
        "problems": [{"title": p.title, "detail": p.detail} for p in report.problems],
        "notes": list(report.notes),
    }


def _slope(report: SlopesReport, slope: Slope) -> dict[str, Any]:
    term = slope.regression.slope
    published = report.published_for(slope)
    return {
        "benchmark": slope.benchmark.operation,
        "params": dict(slope.benchmark.params),
        "kernel": slope.kernel,
        "setup": slope.setup,
        "slope": term.value,
        "stderr": term.stderr,
        "ci_low": term.ci_low,
        "ci_high": term.ci_high,
        "confidence": slope.regression.confidence,
        "r2": slope.regression.r2,
        "max_residual": slope.regression.max_residual,
        "max_residual_delay_ns": slope.sweep.points[slope.regression.max_residual_at].delay_ns,
        "intercept": slope.regression.intercept.value,
        "hook_calls": slope.hook_calls.value,
        "hook_calls_reason": slope.hook_calls.reason,
        # The name that hook_calls had.
        "authorisations": slope.hook_calls.value,
        "authorisations_reason": slope.hook_calls.reason,
        "published": None if published is None else published.slope,
        "delays": len(slope.sweep.points),
        "points": [
            {name: _finite(value) for name, value in vars(point).items()}
            for point in slope.sweep.points
        ],
    }


def _lookup(item: LookUp) -> dict[str, Any]:
    return {
        "benchmark": item.benchmark.operation,
        "params": dict(item.benchmark.params),
        "kernel": item.kernel,
        "setup": item.setup,
        "counter": item.counter,
        "per_operation": item.value,
        "steady": item.steady,
    }


def _depth(fit: DepthFit) -> dict[str, Any]:
    calls = {
        "per_component": fit.hook_calls.slope.value,
        "fixed": fit.hook_calls.intercept.value,
        "r2": fit.hook_calls.r2,
    }
    return {
        "benchmark": fit.operation,
        "kernel": fit.kernel,
        "setup": fit.setup,
        "depths": list(fit.depths),
        **{f"hook_calls_{name}": value for name, value in calls.items()},
        **{f"authorisations_{name}": value for name, value in calls.items()},
        "latency_per_component_ns": fit.latency.slope.value,
        "latency_fixed_ns": fit.latency.intercept.value,
        "latency_r2": fit.latency.r2,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


FORMATS: Mapping[str, Callable[[SlopesReport, RenderOptions], str]] = {
    "table": terminal,
    "markdown": markdown,
    "json": as_json,
}
