# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON for programs: a versioned contract, described in docs/report-json.md."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from lsmeter.conclusion import Change, Comparison, Estimate, Mean, WholeCost
from lsmeter.model import Benchmark
from lsmeter.report.format import RenderOptions, ReportFormat
from lsmeter.report.model import Report

if TYPE_CHECKING:
    from lsmeter.evidence import StateChange
    from lsmeter.hooks.attribution.account import Account
    from lsmeter.hooks.attribution.layer import LayerOrigin
    from lsmeter.hooks.attribution.whole_account import WholeAccount
    from lsmeter.layers import LayeredCost

NAME = "lsmeter-report"
VERSION = 1


def render(report: Report, options: RenderOptions) -> str:  # noqa: ARG001 - width has no meaning
    """Return the report as one JSON object; numbers that do not exist are null."""
    return json.dumps(document(report), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def document(report: Report) -> dict[str, Any]:
    """Return the report as plain dictionaries and lists, as the schema describes them."""
    # What many reports have nothing for is left out of those.
    rest = {
        "accounts": [_account(item) for item in report.accounts],
        "proofs": [dict(vars(item)) for item in report.proofs],
        "layers": [_layered(report, item) for item in report.layers],
        "layer_origins": [_layer_origin(item) for item in report.layer_origins],
        "states": [_state(report, item) for item in report.states],
        "one_off": [dict(vars(item)) for item in report.one_off],
        "caveats": list(report.caveats),
    }
    return {
        "format": NAME,
        "version": VERSION,
        "title": report.title,
        "created": report.created,
        "lsmeter_version": report.lsmeter_version,
        "command": report.command,
        "instrument": report.instrument.value,
        "unit": report.unit,
        "baseline_setup": report.baseline_setup,
        "margin": _number(report.margin),
        "conditions": dict(report.conditions),
        "host": dict(report.host),
        "tools": dict(report.tools),
        "notes": list(report.notes),
        "kernels": [dict(vars(facts)) for facts in report.kernels],
        "setups": [
            {
                **vars(facts),
                "asked_lsms": None if facts.asked_lsms is None else list(facts.asked_lsms),
                "active_lsms": list(facts.active_lsms),
                "facts": dict(facts.facts),
            }
            for facts in report.setups
        ],
        "estimates": [_estimate(report, item) for item in report.estimates],
        "comparisons": [_comparison(report, item) for item in report.comparisons],
        "problems": [
            {**vars(problem), "log_tail": list(problem.log_tail)} for problem in report.problems
        ],
        **{name: entries for name, entries in rest.items() if entries},
    }


def _account(item: Account) -> dict[str, Any]:
    """Return all but the call trees, which `lsmeter hooks cost --graphs` writes."""
    shown = {key: value for key, value in vars(item).items() if not key.endswith("_tree")}
    return {
        **shown,
        "hooks": [{**vars(line), "share": _share(line.share)} for line in item.hooks],
        "residue": [dict(vars(line)) for line in item.residue],
        "missing": list(item.missing),
        "whole": None if item.whole is None else _whole_account(item.whole),
    }


def _whole_account(item: WholeAccount) -> dict[str, Any]:
    return {
        **vars(item),
        "contexts": [dict(vars(line)) for line in item.contexts],
        "hooks": [{**vars(line), "share": _share(line.share)} for line in item.hooks],
        "causes": [dict(vars(line)) for line in item.causes],
    }


def _share(value: float | None) -> float | None:
    return None if value is None else _number(value)


def _layered(report: Report, item: LayeredCost) -> dict[str, Any]:
    return {
        **_place(report, item),
        "value": _number(item.value),
        "base_kernel": item.base_kernel,
        "base_setup": item.base_setup,
        "base_value": _number(item.base_value),
        "layers": [
            {
                "setup": layer.setup,
                "over": layer.over,
                "adds": [kind.value for kind in layer.adds],
                "difference": _number(layer.difference),
                "share": _share(layer.share),
                "repeats": layer.repeats,
            }
            for layer in item.layers
        ],
    }


def _layer_origin(item: LayerOrigin) -> dict[str, Any]:
    return {
        **vars(item),
        "hooks": [{**vars(line), "share": _share(line.share)} for line in item.hooks],
        "functions": [dict(vars(line)) for line in item.functions],
    }


def _state(report: Report, item: StateChange) -> dict[str, Any]:
    return {
        **_place(report, item),
        "state": item.state,
        "boot": item.boot,
        "readings": item.readings,
        "counters": {
            counter.name: {
                "difference": counter.difference,
                "per_reading": counter.difference / item.readings,
            }
            for counter in item.counters
        },
        "gauges": {
            gauge.name: {"before": gauge.before, "after": gauge.after} for gauge in item.gauges
        },
    }


def _place(report: Report, item: LayeredCost | StateChange | Estimate) -> dict[str, Any]:
    return {
        "kernel": item.kernel,
        "setup": item.setup,
        "filesystem": item.filesystem,
        "user": item.user,
        **_benchmark(report, item.benchmark),
    }


def _benchmark(report: Report, item: Benchmark) -> dict[str, Any]:
    return {
        "id": item.id,
        "suite": item.suite,
        "benchmark": item.operation,
        "params": dict(item.params),
        "metric": item.metric.name,
        "unit": item.metric.unit,
        "better": item.metric.better.value,
        "control": item.control,
        "cycle": item.cycle,
        "instrument": report.instrument.value,
    }


def _comparison(report: Report, item: Comparison) -> dict[str, Any]:
    return {
        "kernel": item.kernel,
        "setup": item.setup,
        "baseline_kernel": item.baseline_kernel,
        "baseline_setup": item.baseline_setup,
        "filesystem": item.filesystem,
        "user": item.user,
        **_benchmark(report, item.benchmark),
        "value": _number(item.value),
        "baseline_value": _number(item.baseline_value),
        "difference": _number(item.difference),
        "overhead": _number(item.overhead),
        "overhead_low": _number(item.overhead_low),
        "overhead_high": _number(item.overhead_high),
        "margin": _number(report.margin),
        "verdict": item.verdict.value,
        "repeats": item.repeats,
        "typical": _change(item.typical),
        "mean": None if item.mean is None else _change(item.mean),
        "whole": None if item.whole is None else _change(item.whole),
        "in_step": item.in_step,
        "moved": _number(item.moved),
        "found": item.found.value,
        "cause": item.cause,
    }


def _change(item: Change) -> dict[str, Any]:
    return {name: _number(value) for name, value in vars(item).items()}


def _estimate(report: Report, item: Estimate) -> dict[str, Any]:
    return {
        **_place(report, item),
        "value": _number(item.value),
        "minimum": _number(item.minimum),
        "maximum": _number(item.maximum),
        "share_at_mode": _number(item.share_at_mode),
        "low": _number(item.low),
        "high": _number(item.high),
        "samples": item.samples,
        "boots": item.boots,
        "repeats": item.repeats,
        "typical": {
            "value": _number(item.value),
            "share": _number(item.share_at_mode),
            "low": _number(item.low),
            "high": _number(item.high),
            "readings": item.samples,
        },
        "mean": None if item.mean is None else _bounded(item.mean),
        "whole": None if item.whole is None else _bounded(item.whole),
        "whole_missing": item.whole_missing,
        "peaks": [dict(vars(peak)) for peak in item.peaks],
    }


def _bounded(item: Mean | WholeCost) -> dict[str, Any]:
    """Write a number with its bounds, which are infinite where there is but one reading."""
    return {
        name: value if isinstance(value, int) else _number(value)
        for name, value in vars(item).items()
    }


def _number(value: float) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if math.isfinite(value) else None


FORMAT = ReportFormat("json", "JSON for programs, a versioned contract", ".json", render)
