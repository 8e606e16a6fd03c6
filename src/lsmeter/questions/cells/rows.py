# SPDX-License-Identifier: GPL-2.0-or-later
"""What the JSON forms of all runs share, declared once: heads, comparisons, estimates, problems."""

from __future__ import annotations

from lsmeter.core.model import Better, Place, Problem
from lsmeter.core.model.conclusion import (
    BootPeak,
    Change,
    Difference,
    Mean,
    Number,
    Peak,
    Tests,
    Verdict,
    WholeCost,
)
from lsmeter.tables.fields import By, Contract, Each, Field, Maybe, Row, fields_of, given, named
from lsmeter.tables.model import Kind

RUN = (
    *map(named, ("title", "created", "lsmeter_version", "command", "instrument", "covers")),
    Field("conditions", of=By(bool | int | str)),
)
PROBLEMS = Field("problems", of=Each(Row(fields_of(Problem))))
PLACE = fields_of(Place, of="place.")
_BENCHMARK = (
    named("id", "benchmark.id"),
    named("benchmark", "benchmark.operation"),
    Field(
        "params",
        value=lambda item: dict(item.benchmark.params),
        of=By(int | str),
        text=lambda params: " ".join(f"{key}={value}" for key, value in params.items()),
    ),
)
PLACED = (*PLACE, *_BENCHMARK)
MEASURED = (
    *PLACED,
    named("metric", "benchmark.metric.name"),
    named("unit", "benchmark.metric.unit"),
    Field("better", value="benchmark.metric.better", of=Better),
    Field("control", value="benchmark.control", kind=Kind.YES),
    named("cycle", "benchmark.cycle"),
    given("instrument", str),
)
_BOUNDS = {"low": "difference_low", "high": "difference_high"}
_CHANGE = tuple(field._replace(flat=_BOUNDS.get(field.key)) for field in fields_of(Change))
CHANGE = Row(_CHANGE)
BASELINE = (named("baseline_kernel", "baseline.kernel"), named("baseline_setup", "baseline.setup"))
COMPARISON = Row(
    (
        *MEASURED,
        *BASELINE,
        *(
            field._replace(key=field.flat or field.key, value=f"first.{field.key}")
            for field in _CHANGE
        ),
        given("margin", float),
        Field("verdict", of=Verdict),
        Field("decided_by", of=Number),
        Field("repeats", kind=Kind.YES),
        Field("typical", of=CHANGE, flat="-"),
        Field("mean", of=Maybe(CHANGE)),
        Field("whole", of=Maybe(CHANGE)),
        Field("decided", of=CHANGE),
        Field("in_step"),
        Field("moved"),
        Field("found", of=Difference),
        Field("cycles", of=int),
        named("cause"),
        Field("tests", of=Maybe(Row(fields_of(Tests))), flat="", rare=True),
    )
)
_TYPICAL = (
    Field("value", value="centre"),
    Field("low"),
    Field("high"),
    Field("share", value="evidence.share"),
    Field("readings", value="evidence.samples", of=int),
)
_MEAN = fields_of(Mean, "value", "low", "high", "readings")
ESTIMATE = Row(
    (
        *MEASURED,
        *_TYPICAL[:3],
        Field("repeats", kind=Kind.YES),
        Field("share_at_mode", value="evidence.share"),
        Field("minimum", value="evidence.minimum"),
        Field("maximum", value="evidence.maximum"),
        Field("samples", value="evidence.samples", of=int),
        Field("boots", value="evidence.boots", of=int),
        Field("typical", value=lambda item: item, of=Row(_TYPICAL), flat="-"),
        Field("mean", of=Maybe(Row((*_MEAN, Field("ticked", of=int, flat="=ticked"))))),
        Field("whole", of=Maybe(Row(fields_of(WholeCost)))),
        named("whole_missing"),
        Field(
            "peaks",
            value="evidence.peaks",
            of=Each(Row(fields_of(Peak))),
            text=lambda peaks: " ".join(f"{i['value']}:{round(i['share'], 4)}" for i in peaks),
        ),
        Field("by_boot", value="evidence.by_boot", of=Each(Row(fields_of(BootPeak)))),
    )
)


def run_contract(name: str, *fields: Field) -> Contract:
    """Return the form of a run's document, which has these fields beside those of every run."""
    return Contract(name, 1, Row((*RUN, *fields, PROBLEMS, Field("notes", of=Each(str)))))
