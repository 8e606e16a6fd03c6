# SPDX-License-Identifier: GPL-2.0-or-later
"""A report for programs: a versioned contract, described in `lsmeter help report-json`; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lsmeter.core.model import Benchmark, Place
from lsmeter.core.model.conclusion import Comparison, Estimate
from lsmeter.questions.attribution.data import layer_entry, report_entry
from lsmeter.questions.cells.evidence import StateChange
from lsmeter.questions.cost import beside, summary
from lsmeter.questions.cost.model import Report
from lsmeter.questions.events import document as events
from lsmeter.questions.time import document as predicted
from lsmeter.tables import numbers
from lsmeter.tables.data import plain, plain_fields
from lsmeter.tables.model import Column, Raw, Table, rows

NAME = "lsmeter-report"
VERSION = 1
# What many reports have nothing for is left out of those.
_RARE = (
    *("accounts", "proofs", "layers", "layer_origins", "states", "one_off", "caveats", "looks"),
    *("warnings", "events", "predictions", "beside"),
)
_PAIRS = ("conditions", "host", "tools")
_KERNEL = ("name", "release", "version", "origin", "image_sha256", "boot_protocol")
_TYPICAL = ("value", "baseline_value", "difference", "overhead", "overhead_low", "overhead_high")


def document(report: Report) -> dict[str, Any]:
    """Return the report as plain dictionaries and lists, as the schema describes them."""

    def each(items: Iterable[object]) -> list[dict[str, Any]]:
        return [_flat(report, item) for item in items]

    changed = {
        **{name: dict(getattr(report, name)) for name in _PAIRS},
        "setups": [{**plain_fields(facts), "facts": dict(facts.facts)} for facts in report.setups],
        "estimates": [_estimate(report, item) for item in report.estimates],
        "comparisons": [_comparison(report, item) for item in report.comparisons],
        "layers": [_other(each([item])[0], "base", item.base) for item in report.layers],
        "proofs": each(report.checks),
        "one_off": each(report.one_off),
        "states": [_state(report, item) for item in report.states],
        "events": events.entries(report.events, report.baseline_setup),
        "beside": beside.entries(report),
        "accounts": [report_entry(item) for item in report.accounts],
        "layer_origins": [layer_entry(item) for item in report.layer_origins],
    }
    apart = {*changed, "checks", "told", "every_call"}
    rest = (name for name in vars(report) if name not in apart)
    kernels = [{name: plain(getattr(k, name)) for name in _KERNEL} for k in report.kernels]
    found = {**{name: plain(getattr(report, name)) for name in rest}, "kernels": kernels, **changed}
    found["predictions"] = predicted.entries(report.told)
    found["measured"] = summary.measured_fact(report)
    return {name: value for name, value in found.items() if value or name not in _RARE}


def _flat(report: Report, item: object) -> dict[str, Any]:
    """Return all fields, with those of the place and of the benchmark beside them."""
    found = plain_fields(item)
    place = found.pop("place")
    kind = getattr(item, "benchmark", None)
    if not isinstance(kind, Benchmark):
        # Nothing was measured: the suite says nothing of it.
        return {**found, **{name: value for name, value in place.items() if name != "suite"}}
    return {
        **found,
        **place,
        "id": kind.id,
        "params": dict(kind.params),
        "metric": kind.metric.name,
        "unit": kind.metric.unit,
        "better": kind.metric.better.value,
        "control": kind.control,
        "cycle": kind.cycle,
        "instrument": report.instrument,
        "benchmark": kind.operation,
    }


def _other(found: dict[str, Any], name: str, place: Place) -> dict[str, Any]:
    """Name the other side by its kernel and setup: all else is the same."""
    rest = {key: value for key, value in found.items() if key != name}
    return {**rest, f"{name}_kernel": place.kernel, f"{name}_setup": place.setup}


def _comparison(report: Report, item: Comparison) -> dict[str, Any]:
    found = _other(_flat(report, item), "baseline", item.baseline)
    heads = {name: found["typical"][name] for name in _TYPICAL}
    if item.tests is None:
        del found["tests"]
    return {**found, **heads, "margin": plain(report.margin)}


def _estimate(report: Report, item: Estimate) -> dict[str, Any]:
    found = _flat(report, item)
    evidence = found.pop("evidence")
    value, share = found.pop("centre"), evidence.pop("share")
    typical = {"value": value, "low": found["low"], "high": found["high"]}
    return {
        **found,
        **evidence,
        "value": value,
        "share_at_mode": share,
        "typical": {**typical, "share": share, "readings": item.evidence.samples},
    }


def _state(report: Report, item: StateChange) -> dict[str, Any]:
    return {
        **_flat(report, item),
        "counters": {
            counter.name: {
                "difference": counter.difference,
                "per_reading": counter.difference / item.readings,
            }
            for counter in item.counters
        },
        "gauges": {g.name: {"before": g.before, "after": g.after} for g in item.gauges},
    }


_HEADS = """
record kernel setup baseline_kernel baseline_setup filesystem user suite benchmark params metric
unit instrument value baseline_value difference overhead overhead_low overhead_high margin verdict
repeats minimum maximum share_at_mode low high samples boots cycle difference_low difference_high
peaks mean mean_low mean_high ticked mean_difference mean_difference_low mean_difference_high
mean_overhead mean_overhead_low mean_overhead_high whole whole_low whole_high whole_boot_low
whole_boot_high whole_operations whole_missing whole_difference whole_difference_low
whole_difference_high whole_overhead whole_overhead_low whole_overhead_high in_step moved found
cause caveats measured decided_by decided_difference decided_difference_low
decided_difference_high decided_overhead decided_overhead_low decided_overhead_high
"""


_TEST_HEADS = (
    *("blocks", "p_student", "p_permutation", "p", "p_equivalent", "comparisons"),
    *("p_corrected", "p_equivalent_corrected", "more_blocks"),
)


def table(report: Report) -> Table:
    """Return a row per comparison, then one per estimate that no comparison has as its value.

    Those are baselines, and setups whose baseline gave no number.
    """
    timed = any(item.tests for item in report.comparisons)
    heads = [*_HEADS.split(), *(_TEST_HEADS if timed else ())]
    heads += predicted.HEADS if report.told else ()
    found = ((row.get(head) for head in heads) for row in _rows(report))
    return Table("numbers", "", tuple(Column(head, head) for head in heads), rows(found))


def _rows(report: Report) -> Iterator[dict[str, Raw]]:
    told = predicted.by_row(report.told)
    estimates = {(item.place, item.benchmark.id): item for item in report.estimates}
    rest = dict(estimates)
    measured = summary.measured_fact(report)
    for item in report.comparisons:
        rest.pop((item.place, item.benchmark.id), None)
        own = estimates.get((item.place, item.benchmark.id))
        entry = _comparison(report, item)
        row = {**entry, "record": "comparison", "caveats": "; ".join(report.caveats)}
        row |= {"params": numbers.variant(item.benchmark), "measured": measured}
        row |= entry.get("tests", {})
        for name in ("typical", "mean", "whole", "decided"):
            row |= _change("" if name == "typical" else f"{name}_", entry[name] or {})
        # Two runs of one kernel share the key: an estimate of another value is not this one's.
        if own is not None and own.centre == item.value:
            row |= _spread(_estimate(report, own))
        yield {**row, **told.get((item.place, item.benchmark.id), {})}
    for estimate in rest.values():
        entry = _estimate(report, estimate)
        params = numbers.variant(estimate.benchmark)
        named = {"record": "estimate", "params": params, "measured": measured}
        more = told.get((estimate.place, estimate.benchmark.id), {})
        yield {**entry, **named, **_spread(entry), **more}


def _change(name: str, part: dict[str, Any]) -> dict[str, Raw]:
    bounds = {"low": "difference_low", "high": "difference_high"}
    found = {f"{name}{bounds.get(key, key)}": value for key, value in part.items()}
    return {**found, name.rstrip("_"): found.get(f"{name}value")}


def _spread(entry: dict[str, Any]) -> dict[str, Raw]:
    mean, whole = entry["mean"] or {}, entry["whole"] or {}
    names = ("minimum", "maximum", "share_at_mode", "low", "high", "samples", "boots")
    peaks = " ".join(f"{peak['value']}:{round(peak['share'], 4)}" for peak in entry["peaks"])
    return {
        **{name: entry[name] for name in (*names, "whole_missing")},
        "peaks": peaks,
        **{f"mean_{key}": value for key, value in mean.items()},
        **{f"whole_{key}": value for key, value in whole.items()},
        "mean": mean.get("value"),
        "whole": whole.get("value"),
        "ticked": mean.get("ticked"),
    }
