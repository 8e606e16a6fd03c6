# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibrations as documents: how wrong each operation was when it was left out; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lsmeter.prediction.calibration import LEVEL, Calibration, spread
from lsmeter.tables.model import Column, Document, Kind, Section, Table, columns, rows
from lsmeter.tables.values import many, percent

NAME = "lsmeter-calibration-report"
VERSION = 1
_HOW = (
    "Each operation was predicted, with all its variants, from weights that were fitted without "
    "it: error = predicted \N{DIVISION SIGN} measured \N{MINUS SIGN} 1."
)


def error_words(item: Calibration) -> str:
    """Say how wrong predictions of a calibration are: median 4.1 %, 90th percentile 12.3 %."""
    median, most = (percent(part, sign=False) for part in item.error)
    return f"median {median}, 90th percentile {most}"


def document(item: Calibration, where: str = "") -> Document:
    """Show one calibration."""
    host, counted = item.host, item.counted
    conditions = ", ".join(f"{name}={text}" for name, text in counted.conditions.items())
    of = f"{many(len(item.left_out), 'benchmark')} of {', '.join(item.suites)}"
    of += f", {many(item.blocks, 'block')}"
    facts = [
        ("Host", f"{host.cpu}, microcode {host.microcode or 'unknown'}, Linux {host.kernel}"),
        ("Guest", f"{counted.kernel} (Linux {counted.release}), {conditions}"),
        ("Made", f"{item.created} by lsmeter {item.lsmeter_version}"),
        ("Of", of),
        ("Error", f"{error_words(item)}, each operation left out"),
    ]
    if item.difference_error is not None:
        median, most = (percent(part, sign=False) for part in item.difference_error)
        what = "of the difference between variants of an operation"
        facts.append(("Differences", f"median {median}, 90th percentile {most} {what}"))
    low, high = (percent(bound - 1) for bound in item.ratios)
    facts.append(("Interval", f"{low} to {high} of a prediction holds {LEVEL:.0%} of them"))
    sections = (
        Section("Left out", (_HOW,), (_operations(item), _benchmarks(item)), key="left-out"),
        Section("Weights", (_WEIGHTS,), (_weights(item),), key="weights"),
    )
    notes = (f"stored {where}",) if where else ()
    return Document(
        NAME, VERSION, f"Calibration {item.name}", tuple(facts), (), sections, notes, data=item
    )


_WEIGHTS = (
    "Events that are not here cost nothing that the others do not tell; a weight is what fits "
    "best, and stands for all that comes along with its event."
)


def _operations(item: Calibration) -> Table:
    heads = (
        *columns(Kind.NAME, "operation", "suite"),
        Column("variants", "variants"),
        Column("median_error", "median error", Kind.SHARE),
        Column("least_error", "from", Kind.PERCENT),
        Column("most_error", "to", Kind.PERCENT),
    )
    found = (
        (operation, suite, len(errors), spread(errors)[0], min(errors), max(errors))
        for (suite, operation), parts in item.operations.items()
        for errors in [[part.error for part in parts]]
    )
    ordered = sorted(found, key=lambda row: -row[3])
    return Table("operations", "By operation, the worst first", heads, rows(ordered))


def _benchmarks(item: Calibration) -> Table:
    heads = (
        *columns(Kind.NAME, "benchmark", "suite"),
        Column("measured_ns", "measured ns"),
        Column("predicted_ns", "predicted ns"),
        Column("error", "error", Kind.PERCENT),
    )
    found = (
        (
            part.benchmark,
            part.suite,
            round(part.measured_ns, 1),
            round(part.predicted_ns, 1),
            part.error,
        )
        for part in item.left_out
    )
    return Table("benchmarks", "By benchmark", heads, rows(found))


def _weights(item: Calibration) -> Table:
    heads = (
        *columns(Kind.NAME, "event"),
        Column("weight_ns", "ns each"),
        Column("least", "least"),
        Column("most", "most in 1,000 instructions"),
    )
    names = [*item.weights_ns, *(name for name in item.seen if name not in item.weights_ns)]
    found = (
        (name, float(f"{item.weights_ns.get(name, 0.0):.3g}"), *_range(item, name))
        for name in names
    )
    return Table("weights", "", heads, rows(found))


def _range(item: Calibration, name: str) -> tuple[float | None, float | None]:
    seen = item.seen.get(name)
    return (None, None) if seen is None else (round(seen.least, 2), round(seen.most, 2))


def listing(found: Sequence[Calibration], mine: Iterable[str]) -> Document:
    """List calibrations; mine are the names of those of this machine as it runs now."""
    heads = (
        *columns(Kind.NAME, "name", "host", "kernel"),
        Column("median_error", "median error", Kind.SHARE),
        Column("error_90", "90th percentile", Kind.SHARE),
        Column("here", "this machine", Kind.YES),
    )
    own = set(mine)
    made = ((x.name, x.host.cpu, x.host.kernel, *x.error, x.name in own) for x in found)
    table = Table("calibrations", "", heads, rows(made))
    empty = "there is no calibration; make one: lsmeter calibrate"
    sections = (Section("", tables=(table,)),) if found else ()
    notes = () if found else (empty,)
    return Document(
        "lsmeter-calibrations", 1, "Calibrations", sections=sections, notes=notes, data=[*found]
    )
