# SPDX-License-Identifier: GPL-2.0-or-later
"""What a selftest of the timed instrument found, as a document; pure (`lsmeter help selftest`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lsmeter.core.model.conclusion import Change
from lsmeter.questions.selftest.spun import TITLE, Recovery
from lsmeter.tables.data import plain_fields
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Document, Kind, Section, Shown, Table, Tone
from lsmeter.tables.numbers import PLUS_MINUS
from lsmeter.tables.values import change, count

NAME, VERSION = "lsmeter-selftest-timed", 2
_SPUN = (
    "Nanoseconds of an operation, spun on this machine at the end of readings; truth: as the probe "
    f"counted it, mean. {PLUS_MINUS}: half the interval; all of them together hold in 95 %."
)


@dataclass(frozen=True)
class TimedReport:
    """All that a selftest of the timed instrument found."""

    recoveries: tuple[Recovery, ...]

    @property
    def failed(self) -> int:
        """How many rows did not pass."""
        return sum(not item.passed for item in self.recoveries)

    @property
    def passed(self) -> bool:
        """Whether everything passed, and there was anything to pass."""
        return bool(self.recoveries) and not self.failed

    @property
    def summary(self) -> str:
        """How it ended, in one line."""
        good, all_ = len(self.recoveries) - self.failed, len(self.recoveries)
        text = f"{good} of {all_} times spun on this machine are found"
        return text if self.passed else f"FAIL: {text}"


def document(report: TimedReport) -> Document:
    """Return what every format shows."""
    spun = [{**plain_fields(item), "passed": item.passed} for item in report.recoveries]
    tables = (_table(report.recoveries),) if report.recoveries else ()
    sections = (Section("", tables=tables), Section("Result", lead=(report.summary,)))
    return Document(
        NAME, VERSION, TITLE, sections=sections, data={"passed": report.passed, "spun": spun}
    )


def _table(found: tuple[Recovery, ...]) -> Table:
    def truth(item: Recovery) -> Shown:
        return Shown(item.truth.mean, count(round(item.truth.mean, 1)))

    fields = (
        *(named("setup"), named("benchmark"), Field("truth_ns", "truth", truth)),
        Field("median_ns", "median", lambda item: _amount(item.median), Kind.CHANGE),
        Field("mean_ns", "mean", lambda item: _amount(item.mean), Kind.CHANGE),
        named("result", _result),
    )
    return tabled("spun", "Spun on this machine", fields, found, more=(_SPUN,))


def _result(item: Recovery) -> Shown:
    if item.passed:
        return Shown(item.passed, "pass")
    return Shown(item.passed, "FAIL", Tone.WARNING)


def _amount(item: Change) -> Shown:
    half = (item.high - item.low) / 2
    known = f"{half:,.1f}" if math.isfinite(half) else "?"
    return Shown(item.difference, f"{change(round(item.difference, 1))} {PLUS_MINUS}{known}")
