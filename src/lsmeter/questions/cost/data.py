# SPDX-License-Identifier: GPL-2.0-or-later
"""A report for programs: a versioned contract, described in docs/reference/report-json.md; pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lsmeter.core.model import Kernel, Place
from lsmeter.core.model.conclusion import Tests
from lsmeter.questions.attribution.data import ACCOUNT, LAYER
from lsmeter.questions.cells.evidence import CheckOutcome, OneOffCost, StateChange
from lsmeter.questions.cells.layers import LayerCost
from lsmeter.questions.cells.rows import COMPARISON, ESTIMATE, MEASURED, PLACE, PROBLEMS
from lsmeter.questions.cost import beside, summary
from lsmeter.questions.cost.model import Report, SetupFacts
from lsmeter.questions.events import document as events
from lsmeter.questions.time import document as predicted
from lsmeter.statistics.family import Looks
from lsmeter.tables.fields import (
    By,
    Contract,
    Each,
    Field,
    Maybe,
    Row,
    fields_of,
    flat_table,
    named,
)
from lsmeter.tables.model import Raw, Table

NAME = "lsmeter-report"
VERSION = 1
# Of what nothing was measured: the suite says nothing of it.
_WHERE = tuple(field for field in PLACE if field.key != "suite")
_COUNTER = Row((Field("difference", of=int), Field("per_reading")))
_GAUGE = Row((Field("before", of=int | None), Field("after", of=int)))


def _others(kind: type, *but: str) -> tuple[Field, ...]:
    """Return the fields of a class, but the place and those named."""
    return tuple(field for field in fields_of(kind) if field.key not in {"place", *but})


def _counters(item: StateChange) -> dict[str, dict[str, float]]:
    return {
        counter.name: {
            "difference": counter.difference,
            "per_reading": counter.difference / item.readings,
        }
        for counter in item.counters
    }


_STATE = Row(
    (
        *(*MEASURED, named("state")),
        *fields_of(StateChange, "boot", "readings"),
        Field("counters", value=_counters, of=By(_COUNTER)),
        Field("gauges", value=lambda item: {g.name: g for g in item.gauges}, of=By(_GAUGE)),
    )
)
_LAYERED = Row(
    (
        *(*MEASURED, named("base_kernel", "base.kernel"), named("base_setup", "base.setup")),
        *(Field("base_value"), Field("value")),
        Field("layers", of=Each(Row(fields_of(LayerCost)))),
    )
)
_SETUP = Row((*_others(SetupFacts, "facts"), Field("facts", of=By(str))))
_KERNEL = ("name", "release", "version", "origin", "image_sha256", "boot_protocol")
# What many reports have nothing for is left out of those.
REPORT = Row(
    (
        *map(named, ("title", "created", "lsmeter_version", "command", "instrument", "unit")),
        Field("measured", value=summary.measured_fact, of=str),
        *(named("baseline_setup"), Field("margin")),
        *(Field(key, of=By(str)) for key in ("conditions", "host", "tools")),
        Field("kernels", of=Each(Row(fields_of(Kernel, *_KERNEL)))),
        Field("setups", of=Each(_SETUP)),
        Field("estimates", of=Each(ESTIMATE)),
        Field("comparisons", of=Each(COMPARISON)),
        PROBLEMS,
        Field("notes", of=Each(str)),
        Field("warnings", of=Each(str), rare=True),
        Field("accounts", of=Each(ACCOUNT), rare=True),
        Field("proofs", value="checks", of=Each(Row((*_WHERE, *_others(CheckOutcome)))), rare=True),
        Field("layers", of=Each(_LAYERED), rare=True),
        Field("layer_origins", of=Each(LAYER), rare=True),
        Field("states", of=Each(_STATE), rare=True),
        Field("one_off", of=Each(Row((*_WHERE, *_others(OneOffCost)))), rare=True),
        Field(
            "events",
            value=lambda item: events.entries(item.events, item.baseline_setup),
            of=Each(events.VECTOR),
            rare=True,
        ),
        Field("predictions", value="told", of=Maybe(predicted.TOLD), rare=True),
        Field("caveats", of=Each(str), rare=True),
        Field("looks", of=Maybe(Row(fields_of(Looks))), rare=True),
        Field("beside", value=beside.entries, of=Each(beside.STUDY), rare=True),
    )
)


def document(report: Report) -> dict[str, Any]:
    """Return the report as plain dictionaries and lists, as the schema describes them."""
    return REPORT.entry(report, instrument=report.instrument, margin=report.margin)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a report, which the package has as a file."""
    found = Contract(NAME, VERSION, REPORT).schema()
    # Only of compare: what the runs are, what only one has, how overheads changed.
    return {**found, "properties": {**found["properties"], "sides": {"type": "object"}}}


def table(report: Report, found: dict[str, Any]) -> Table:
    """Return a row per comparison, then one per estimate that no comparison has as its value.

    Those are baselines, and setups whose baseline gave no number. found is the whole document.
    """
    heads = ["record", *COMPARISON.flat(None), *ESTIMATE.flat(None), "caveats", "measured"]
    if not any(item.tests for item in report.comparisons):
        tests = Row(fields_of(Tests)).flat(None)
        heads = [head for head in heads if head not in tests]
    return flat_table("numbers", [*_rows(report, found)], heads)


def _rows(report: Report, found: dict[str, Any]) -> Iterator[dict[str, Raw]]:
    told = predicted.by_row(report.told)
    estimates: dict[tuple[Place, str], tuple[float | None, dict[str, Raw]]] = {
        (item.place, item.benchmark.id): (item.centre, ESTIMATE.flat(entry))
        for item, entry in zip(report.estimates, found["estimates"], strict=True)
    }
    rest = dict(estimates)
    measured: dict[str, Raw] = {"measured": found["measured"]}
    caveats: dict[str, Raw] = {"caveats": "; ".join(report.caveats)}
    for item, entry in zip(report.comparisons, found["comparisons"], strict=True):
        key = (item.place, item.benchmark.id)
        rest.pop(key, None)
        centre, own = estimates.get(key, (None, {}))
        row = COMPARISON.flat(entry)
        # Two runs of one kernel share the key: an estimate of another value is not this one's.
        if centre == item.typical.value:
            row |= {name: v for name, v in own.items() if v is not None and name != "repeats"}
        yield {"record": "comparison", **row, **caveats, **measured, **told.get(key, {})}
    for key, (_, row) in rest.items():
        yield {"record": "estimate", **row, **measured, **told.get(key, {})}
