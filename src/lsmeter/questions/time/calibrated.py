# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibrations as documents: how wrong each operation was when it was left out; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lsmeter.questions.time.calibration import LEVEL, MOST_OFF, Calibration, spread
from lsmeter.tables.fields import Field, named, tabled
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


def overhead_words(item: Calibration) -> str:
    """Say how far off predicted overheads are, or that nobody knows."""
    if item.overheads is None:
        return "not measured"
    median, most = (
        f"{100 * part:.1f} points" for part in (item.overheads.median, item.overheads.most)
    )
    return f"median {median}, 90th percentile {most}"


def why_no_overheads(item: Calibration) -> str:
    """Say why no predicted overhead is shown; "" where it is."""
    if item.tells_overheads:
        return ""
    if item.overheads is None:
        return "No overhead in time: this calibration tried none; lsmeter calibrate does now."
    return (
        f"No overhead in time: predicted ones were off by {overhead_words(item)} here, and more "
        f"than {100 * MOST_OFF:.0f} points (median) is too much."
    )


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
        ("Leave-one-out error", error_words(item)),
    ]
    of = f" ({', '.join(item.overheads.setups)})" if item.overheads else ""
    facts.append(("Overheads", overhead_words(item) + of))
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
    fields = (
        *map(named, ("benchmark", "suite")),
        Field("measured_ns", "measured ns", lambda part: round(part.measured_ns, 1)),
        Field("predicted_ns", "predicted ns", lambda part: round(part.predicted_ns, 1)),
        Field("error", "error", kind=Kind.PERCENT),
    )
    return tabled("benchmarks", "By benchmark", fields, item.left_out)


def _weights(item: Calibration) -> Table:
    def seen(name: str, bound: str) -> float | None:
        return round(getattr(item.seen[name], bound), 2) if name in item.seen else None

    fields = (
        named("event", str),
        Field("weight_ns", "ns each", lambda n: float(f"{item.weights_ns.get(n, 0.0):.3g}")),
        Field("least", "least", lambda name: seen(name, "least")),
        Field("most", "most in 1,000 instructions", lambda name: seen(name, "most")),
    )
    return tabled("weights", "", fields, dict.fromkeys((*item.weights_ns, *item.seen)))


def listing(found: Sequence[Calibration], mine: Iterable[str]) -> Document:
    """List calibrations; mine are the names of those of this machine as it runs now."""
    own = set(mine)
    fields = (
        *(named("name"), named("host", "host.cpu"), named("kernel", "host.kernel")),
        Field("median_error", "median error", lambda item: item.error[0], Kind.SHARE),
        Field("error_90", "90th percentile", lambda item: item.error[1], Kind.SHARE),
        Field("here", "this machine", lambda item: item.name in own, Kind.YES),
    )
    table = tabled("calibrations", "", fields, found)
    empty = "there is no calibration; make one: lsmeter calibrate"
    sections = (Section("", tables=(table,)),) if found else ()
    notes = () if found else (empty,)
    return Document(
        "lsmeter-calibrations", 1, "Calibrations", sections=sections, notes=notes, data=[*found]
    )
