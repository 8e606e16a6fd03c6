# SPDX-License-Identifier: GPL-2.0-or-later
"""What one host takes for each event, how wrong that is, and what it says of a call; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np

from lsmeter.core.groups import grouped
from lsmeter.questions.time.expected import CYCLES, vector
from lsmeter.questions.time.fit import LeftOut, Observation, fit

LEVEL = 0.9  # of the intervals of predictions: so many of the benchmarks left out lie inside
# Events of a call may be this much more or less frequent than in all that calibration has seen,
SLACK = 1.5
MOST_OFF = 0.05  # median error of predicted overheads up to which they are shown
# and this many more, before they count as outside: a share of a short call is coarse.
FEW = 4.0
_APART = 0.1  # variants of an operation that differ by more than this share tell differences


@dataclass(frozen=True)
class Host:
    """The machine that a calibration holds for, as it was then."""

    cpu: str
    microcode: str
    kernel: str
    mitigations: Mapping[str, str] = field(default_factory=dict)  # by vulnerability

    def like(self, other: Host) -> bool:
        """Whether what holds for the one holds for the other: all but mitigations is the same."""
        mine = (self.cpu, self.microcode, self.kernel)
        return mine == (other.cpu, other.microcode, other.kernel)


@dataclass(frozen=True)
class Counted:
    """Where the events come from: the kernel of the guest, and under which conditions."""

    kernel: str  # as the user names it
    release: str
    conditions: Mapping[str, str] = field(default_factory=dict)
    plugin: str = ""  # its digest: another one may count events in another way


@dataclass(frozen=True)
class Seen:
    """How often an event comes in 1,000 instructions: the least and the most in calibration."""

    least: float
    most: float


@dataclass(frozen=True)
class Prediction:
    """The time that a call should take; outside names the events that calibration never saw so.

    The interval holds LEVEL of the benchmarks that were left out of their own weights.
    """

    ns: float
    low_ns: float
    high_ns: float
    outside: tuple[str, ...] = ()


@dataclass(frozen=True)
class Overheads:
    """How far predicted overheads were from those measured beside them: as fractions.

    changed is of how many benchmarks, which the setups change.
    """

    setups: tuple[str, ...]
    changed: int
    median: float
    most: float  # the 90th percentile


@dataclass(frozen=True)
class Calibration:
    """Weights of one host, made of what each benchmark was measured to take."""

    name: str
    created: str  # ISO 8601, UTC
    lsmeter_version: str
    host: Host
    counted: Counted
    suites: tuple[str, ...]
    blocks: int  # of the timed run
    stiffness: float
    weights_ns: Mapping[str, float]
    seen: Mapping[str, Seen]
    insns: Seen  # instructions of a call, of which `seen` has the shares
    left_out: tuple[LeftOut, ...]
    overheads: Overheads | None = None  # None: no setup was measured beside its prediction

    @property
    def tells_overheads(self) -> bool:
        """Whether predicted overheads were found near enough to measured ones to be shown."""
        return self.overheads is not None and self.overheads.median <= MOST_OFF

    @cached_property
    def error(self) -> tuple[float, float]:
        """Median and 90th percentile of the error of benchmarks whose operation was left out."""
        return spread([item.error for item in self.left_out])

    @cached_property
    def difference_error(self) -> tuple[float, float] | None:
        """The same of differences between variants of an operation, as a share of them.

        None where no two variants of an operation differ enough.
        """
        found = []
        for first, second in combinations(self.left_out, 2):
            if (first.suite, first.operation) != (second.suite, second.operation):
                continue
            measured = second.measured_ns - first.measured_ns
            if abs(measured) > _APART * max(first.measured_ns, second.measured_ns):
                found.append((second.predicted_ns - first.predicted_ns) / measured - 1)
        return spread(found) if found else None

    @cached_property
    def ratios(self) -> tuple[float, float]:
        """Measured over predicted of benchmarks left out: the bounds that hold LEVEL of them."""
        found = [item.measured_ns / max(item.predicted_ns, 1e-9) for item in self.left_out]
        side = (1 - LEVEL) / 2
        low = np.quantile(found, side, method="lower")
        return float(low), float(np.quantile(found, 1 - side, method="higher"))

    @property
    def operations(self) -> dict[tuple[str, str], list[LeftOut]]:
        """What was left out, by suite and operation."""
        return grouped(((item.suite, item.operation), item) for item in self.left_out)

    def predict(self, events: Mapping[str, float], empty: Mapping[str, float]) -> Prediction:
        """Predict a call from its events and those of an empty region of the same guest."""
        counts = vector(events, empty)
        ns = sum(weight * counts.get(name, 0.0) for name, weight in self.weights_ns.items())
        low, high = self.ratios
        # Around the prediction even where all that was left out lies to one side of it.
        return Prediction(ns, ns * min(low, 1.0), ns * max(high, 1.0), self.outside(counts))

    def outside(self, counts: Mapping[str, float]) -> tuple[str, ...]:
        """Name what a call has more or less of than anything that calibration has seen."""
        insns = counts.get("plain_insns", 0.0)
        found = []
        if not self.insns.least / SLACK <= insns <= self.insns.most * SLACK:
            found.append("plain_insns")
        for name, count in counts.items():
            if name == "plain_insns":
                continue
            seen = self.seen.get(name, Seen(0.0, 0.0))
            least, most = (bound * insns / 1000 for bound in (seen.least, seen.most))
            if count > most * SLACK + FEW or count < least / SLACK - FEW:
                found.append(name)
        return tuple(found)


def spread(errors: Iterable[float]) -> tuple[float, float]:
    """Return the median and the 90th percentile of errors without their signs."""
    away = np.abs(np.array([*errors], dtype=float))
    return float(np.median(away)), float(np.quantile(away, 0.9))


def calibrate(
    known: Sequence[Observation],
    *,
    name: str,
    created: str,
    lsmeter_version: str,
    host: Host,
    counted: Counted,
    blocks: int,
) -> Calibration:
    """Fit weights to benchmarks, and note what they cover; raises as `fit` does."""
    found = fit(known, CYCLES)
    insns = [item.events.get("plain_insns", 0.0) for item in known]
    seen = {event: _seen(known, event) for event in CYCLES if event != "plain_insns"}
    return Calibration(
        name=name,
        created=created,
        lsmeter_version=lsmeter_version,
        host=host,
        counted=counted,
        suites=tuple(dict.fromkeys(item.suite for item in known)),
        blocks=blocks,
        stiffness=found.stiffness,
        weights_ns=found.weights_ns,
        seen=seen,
        insns=Seen(min(insns), max(insns)),
        left_out=found.left_out,
    )


def _seen(known: Sequence[Observation], event: str) -> Seen:
    shares = [
        1000 * item.events.get(event, 0.0) / insns
        for item in known
        if (insns := item.events.get("plain_insns", 0.0))
    ]
    return Seen(min(shares, default=0.0), max(shares, default=0.0))
