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

from lsmeter.conclusion import Change, Comparison, Estimate, Mean, WholeCost
from lsmeter.model import Benchmark
from lsmeter.report import numbers
from lsmeter.report.format import RenderOptions, ReportFormat
from lsmeter.report.model import Report

HEADER = (
    *("record", "kernel", "setup", "baseline_kernel", "baseline_setup", "filesystem", "user"),
    *("suite", "benchmark", "params", "metric", "unit", "instrument", "value", "baseline_value"),
    *("difference", "overhead", "overhead_low", "overhead_high", "margin", "verdict", "repeats"),
    *("minimum", "maximum", "share_at_mode", "low", "high", "samples", "boots"),
    *("cycle", "difference_low", "difference_high", "peaks", "mean", "mean_low", "mean_high"),
    *("ticked", "mean_difference", "mean_difference_low", "mean_difference_high"),
    *("mean_overhead", "mean_overhead_low", "mean_overhead_high"),
    *("whole", "whole_low", "whole_high", "whole_boot_low", "whole_boot_high"),
    *("whole_operations", "whole_missing"),
    *("whole_difference", "whole_difference_low", "whole_difference_high"),
    *("whole_overhead", "whole_overhead_low", "whole_overhead_high"),
    *("in_step", "moved", "found", "cause", "caveats"),
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
        "cycle": item.cycle,
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
        **_finite({"difference_low": item.typical.low, "difference_high": item.typical.high}),
        **_change("mean", item.mean),
        **_change("whole", item.whole),
        **_finite({"moved": item.moved}),
        **_finite({} if item.in_step is None else {"in_step": item.in_step}),
        "found": item.found.value,
        "cause": item.cause,
        "caveats": "; ".join(report.caveats),
    }


def _change(name: str, item: Change | None) -> dict[str, Field]:
    if item is None:
        return {}
    fields = {
        name: item.value,
        f"{name}_difference": item.difference,
        f"{name}_difference_low": item.low,
        f"{name}_difference_high": item.high,
        f"{name}_overhead": item.overhead,
        f"{name}_overhead_low": item.overhead_low,
        f"{name}_overhead_high": item.overhead_high,
    }
    return _finite(fields)


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
        "peaks": " ".join(f"{peak.value}:{round(peak.share, 4)}" for peak in item.peaks),
        **_mean(item.mean),
        **_whole(item.whole),
        "whole_missing": item.whole_missing,
    }


def _mean(item: Mean | None) -> dict[str, Field]:
    if item is None:
        return {}
    bounds = {"mean": item.value, "mean_low": item.low, "mean_high": item.high}
    return {**_finite(bounds), "ticked": item.ticked}


def _whole(item: WholeCost | None) -> dict[str, Field]:
    if item is None:
        return {}
    bounds = {
        "whole": item.value,
        "whole_low": item.low,
        "whole_high": item.high,
        "whole_boot_low": item.boot_low,
        "whole_boot_high": item.boot_high,
    }
    return {**_finite(bounds), "whole_operations": item.operations}


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
