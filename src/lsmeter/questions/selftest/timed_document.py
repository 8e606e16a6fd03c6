# SPDX-License-Identifier: GPL-2.0-or-later
"""What a selftest of the timed instrument found, as a document; pure (`lsmeter help selftest`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from lsmeter.core.model.conclusion import Change
from lsmeter.questions.selftest.rates import FAMILY, MARGIN, Growth, Rate, Row, Size
from lsmeter.questions.selftest.spun import TITLE, Recovery
from lsmeter.statistics.family import Looks
from lsmeter.tables.data import plain_fields
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Column, Document, Kind, Section, Shown, Table, Tone, Value
from lsmeter.tables.numbers import PLUS_MINUS
from lsmeter.tables.values import change, count, percent

NAME, VERSION = "lsmeter-selftest-timed", 1
_HEADS = {
    "typical ratio held": "median",
    "mean ratio held": "mean",
    "level held": "level",
    "false equivalent": "false =",
}
_RATES = (
    "In % of simulated comparisons. median, mean: the 95 % interval of the ratio holds the truth "
    "(asked: 93 to 97); level: that of the baseline's median; alarms: p at most 0.05 where nothing "
    f"differs (at most 5); after Holm: reports of {FAMILY} comparisons with any wrong verdict (at "
    "most 5); false =: equivalent within the margin where the truth is as far apart as that (at "
    "most 5); power: a true overhead of that size is seen. What chance does to so many replicates "
    "is allowed for. Of a level that drifts, the interval has the drift in it: it holds more often."
)
_GROWTH = (
    "One comparison that grows until it is conclusive. wrong: it ends with a verdict that is not "
    "true (at most 5 %); conclusive: with the true one."
)
_SPUN = (
    "Nanoseconds of an operation, spun on this machine at the end of readings; truth: as the probe "
    f"counted it, mean. {PLUS_MINUS}: half the interval; all of them together hold in 95 %."
)


@dataclass(frozen=True)
class TimedReport:
    """All that a selftest of the timed instrument found."""

    size: Size
    looks: Looks
    rows: tuple[Row, ...]
    growths: tuple[Growth, ...]
    recoveries: tuple[Recovery, ...] | None  # None where nothing was measured

    @property
    def failed(self) -> int:
        """How many rows did not pass."""
        passed = [item.passed for item in self.rows]
        passed += [item.passed for item in self.growths]
        passed += [item.passed for item in self.recoveries or ()]
        return passed.count(False)

    @property
    def passed(self) -> bool:
        """Whether everything passed, and something was measured where it was to be."""
        return not self.failed and self.recoveries != ()

    @property
    def summary(self) -> str:
        """How it ended, in one line."""
        parts = [f"{sum(row.passed for row in self.rows)} of {len(self.rows)} noise models pass"]
        if self.growths:
            good = sum(item.passed for item in self.growths)
            parts.append(f"{good} of {len(self.growths)} that grow")
        if self.recoveries is not None:
            good = sum(item.passed for item in self.recoveries)
            parts.append(f"{good} of {len(self.recoveries)} times spun on this machine are found")
        return f"{'' if self.passed else 'FAIL: '}{', '.join(parts)}"


def document(report: TimedReport) -> Document:
    """Return what every format shows."""
    size = report.size
    facts = (
        ("replicates", f"{size.replicates:,} of each noise model"),
        ("each", f"{size.blocks} blocks of {size.readings} readings"),
        ("margin", percent(MARGIN, sign=False)),
    )
    tables = [_rates(report)]
    if report.growths:
        tables.append(_growths(report))
    if report.recoveries:
        tables.append(_spun(report.recoveries))
    data = {
        **vars(size),
        "passed": report.passed,
        "rates": [
            {"noise": row.noise.name, "passed": row.passed, **_data(row)} for row in report.rows
        ],
        "growing": [_growth_data(item) for item in report.growths],
        "spun": [{**plain_fields(item), "passed": item.passed} for item in report.recoveries or ()],
    }
    sections = (Section("", tables=tuple(tables)), Section("Result", lead=(report.summary,)))
    return Document(NAME, VERSION, TITLE, facts=facts, sections=sections, data=data)


def _data(row: Row) -> dict[str, Any]:
    return {rate.name.replace(" ", "_").replace("%", "pc"): rate.value for rate in row.rates}


def _growth_data(item: Growth) -> dict[str, Any]:
    return {
        "noise": item.noise.name,
        "overhead": item.overhead,
        "wrong": item.wrong.value,
        "conclusive": item.conclusive,
        "blocks": item.blocks,
        "passed": item.passed,
    }


def _result(passed: bool) -> Shown:  # noqa: FBT001
    return Shown(passed, "pass" if passed else "FAIL", Tone.PLAIN if passed else Tone.WARNING)


def _rates(report: TimedReport) -> Table:
    names = [rate.name for rate in report.rows[0].rates] if report.rows else []
    columns = (
        Column("noise", "noise", Kind.NAME),
        *(Column(name.replace(" ", "_"), _HEADS.get(name, name), Kind.SHARE) for name in names),
        Column("result", "result", Kind.NAME),
    )
    found = tuple(
        (row.noise.name, *map(_rate, row.rates), _result(row.passed)) for row in report.rows
    )
    more = (_RATES, *(f"{row.noise.name}: {row.noise.title}." for row in report.rows))
    return Table("rates", "Simulated, with a known truth", columns, found, more=more)


def _rate(rate: Rate) -> Value:
    text = percent(rate.value, sign=False, space="").removesuffix("%")
    shown = Shown(rate.value, text + ("" if rate.passed else "!"))
    return shown if rate.passed else replace(shown, tone=Tone.WARNING)


def _growths(report: TimedReport) -> Table:
    fields = (
        named("noise", "noise.name"),
        Field("overhead", "truth", kind=Kind.PERCENT),
        Field("wrong", "wrong", "wrong.value", Kind.SHARE),
        Field("conclusive", "conclusive", kind=Kind.SHARE),
        Field("blocks", "blocks", lambda item: Shown(item.blocks, f"{item.blocks:.0f}")),
        named("result", lambda item: _result(item.passed)),
    )
    at = ", ".join(map(str, report.looks.planned))
    title = f"Until conclusive: looks at {at} blocks"
    return tabled("growing", title, fields, report.growths, more=(_GROWTH,))


def _spun(found: tuple[Recovery, ...]) -> Table:
    def truth(item: Recovery) -> Shown:
        return Shown(item.truth.mean, count(round(item.truth.mean, 1)))

    fields = (
        *(named("setup"), named("benchmark"), Field("truth_ns", "truth", truth)),
        Field("median_ns", "median", lambda item: _amount(item.median), Kind.CHANGE),
        Field("mean_ns", "mean", lambda item: _amount(item.mean), Kind.CHANGE),
        named("result", lambda item: _result(item.passed)),
    )
    return tabled("spun", "Spun on this machine", fields, found, more=(_SPUN,))


def _amount(item: Change) -> Shown:
    half = (item.high - item.low) / 2
    known = f"{half:,.1f}" if math.isfinite(half) else "?"
    return Shown(item.difference, f"{change(round(item.difference, 1))} {PLUS_MINUS}{known}")
