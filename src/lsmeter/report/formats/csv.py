# SPDX-License-Identifier: GPL-2.0-or-later
"""CSV for spreadsheets and scripts; the columns are described in docs/report-json.md.

One row per comparison, then one per estimate that no comparison has as its value: baselines,
and setups whose baseline gave no number. A field without a number is empty.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping

from lsmeter.model import Benchmark, Comparison, Estimate
from lsmeter.report import numbers
from lsmeter.report.format import RenderOptions, ReportFormat
from lsmeter.report.model import Report

HEADER = (
    *("record", "kernel", "setup", "baseline_kernel", "baseline_setup", "filesystem", "user"),
    *("suite", "benchmark", "params", "metric", "unit", "instrument", "value", "baseline_value"),
    *("difference", "overhead", "overhead_low", "overhead_high", "margin", "verdict", "repeats"),
    *("minimum", "maximum", "share_at_mode", "low", "high", "samples", "boots"),
)

Field = str | int | float


def render(report: Report, options: RenderOptions) -> str:  # noqa: ARG001 - width has no meaning
    """Return a header line and one line per comparison and remaining estimate."""
    text = io.StringIO()
    writer = csv.DictWriter(text, HEADER, restval="", lineterminator="\n")
    writer.writeheader()
    estimates = {
        (e.kernel, e.setup, e.filesystem, e.user, e.benchmark.suite, e.benchmark.id): e
        for e in report.estimates
    }
    used = set()
    for item in report.comparisons:
        kind = item.benchmark
        key = (item.kernel, item.setup, item.filesystem, item.user, kind.suite, kind.id)
        used.add(key)
        # Two runs of one kernel share the key: an estimate of another value is not this one's.
        own = estimates.get(key)
        spread = _spread(own) if own is not None and own.value == item.value else {}
        writer.writerow({**_comparison(report, item), **spread})
    for key, estimate in estimates.items():
        if key not in used:
            writer.writerow(_estimate(report, estimate))
    return text.getvalue()


def _benchmark(report: Report, item: Benchmark) -> dict[str, Field]:
    return {
        "suite": item.suite,
        "benchmark": item.operation,
        "params": numbers.variant(item),
        "metric": item.metric.name,
        "unit": item.metric.unit,
        "instrument": report.instrument.value,
    }


def _comparison(report: Report, item: Comparison) -> dict[str, Field]:
    return {
        "record": "comparison",
        "kernel": item.kernel,
        "setup": item.setup,
        "baseline_kernel": item.baseline_kernel,
        "baseline_setup": item.baseline_setup,
        "filesystem": item.filesystem,
        "user": item.user,
        **_benchmark(report, item.benchmark),
        **_finite(
            {
                "value": item.value,
                "baseline_value": item.baseline_value,
                "difference": item.difference,
                "overhead": item.overhead,
                "overhead_low": item.overhead_low,
                "overhead_high": item.overhead_high,
                "margin": report.margin,
            }
        ),
        "verdict": item.verdict.value,
        "repeats": _yes(item.repeats),
    }


def _estimate(report: Report, item: Estimate) -> dict[str, Field]:
    return {
        "record": "estimate",
        "kernel": item.kernel,
        "setup": item.setup,
        "filesystem": item.filesystem,
        "user": item.user,
        **_benchmark(report, item.benchmark),
        **_finite({"value": item.value}),
        "repeats": _yes(item.repeats),
        **_spread(item),
    }


def _spread(item: Estimate) -> dict[str, Field]:
    return {
        **_finite(
            {
                "minimum": item.minimum,
                "maximum": item.maximum,
                "share_at_mode": item.share_at_mode,
                "low": item.low,
                "high": item.high,
            }
        ),
        "samples": item.samples,
        "boots": item.boots,
    }


def _finite(fields: Mapping[str, float]) -> dict[str, Field]:
    """Drop what is no number; whole numbers are written without a point."""
    return {
        name: int(value) if float(value).is_integer() else round(value, 9)
        for name, value in fields.items()
        if math.isfinite(value)
    }


def _yes(value: bool) -> str:  # noqa: FBT001 - one argument, one meaning
    return "true" if value else "false"


FORMAT = ReportFormat("csv", "CSV for spreadsheets and scripts", ".csv", render)
