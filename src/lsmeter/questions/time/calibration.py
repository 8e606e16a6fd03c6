# SPDX-License-Identifier: GPL-2.0-or-later
"""What one host takes for each event, how wrong that is, and what it says of a call.

Calibrations are files that people share: written with a digest, read strictly and bounded.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from lsmeter.core.errors import LsmeterError, UsageError
from lsmeter.core.groups import grouped
from lsmeter.core.host import microcode, processor, vulnerabilities
from lsmeter.core.inputs import check_shape, open_file
from lsmeter.core.registry import nearest
from lsmeter.core.storage import data_dir, write_atomic
from lsmeter.measure.results.documents import (
    SEALED,
    DamagedResultError,
    read_document,
    sealed,
    texts_of,
    validated,
)
from lsmeter.questions.time.fit import CYCLES, LEAST_OPERATIONS, LeftOut, Observation, fit, vector
from lsmeter.tables.data import plain

LEVEL = 0.9  # of the intervals of predictions: so many of the benchmarks left out lie inside
# Events of a call may be this much more or less frequent than in all that calibration has seen,
SLACK = 1.5
MOST_OFF = 0.05  # median error of predicted overheads up to which they are shown
# and this many more, before they count as outside: a share of a short call is coarse.
FEW = 4.0
LEAST_DIFFERENCES = 20  # of variants: fewer say nothing of how far differences are off
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

    Of the setup that was furthest off: another one that is well predicted does not clear it.
    """

    setups: tuple[str, ...]  # files of before have all, pooled
    changed: int  # of how many benchmarks, which the setups change
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
    def differences(self) -> tuple[tuple[float, float], ...]:
        """What variants of an operation differ by, predicted and measured, where that is enough."""
        found = []
        for first, second in combinations(self.left_out, 2):
            if (first.suite, first.operation) != (second.suite, second.operation):
                continue
            measured = second.measured_ns - first.measured_ns
            if abs(measured) > _APART * max(first.measured_ns, second.measured_ns):
                found.append((second.predicted_ns - first.predicted_ns, measured))
        return tuple(found)

    @cached_property
    def difference_error(self) -> tuple[float, float] | None:
        """The same of differences between variants, as a share; None where none differ enough."""
        found = [predicted / measured - 1 for predicted, measured in self.differences]
        return spread(found) if found else None

    @cached_property
    def difference_ratios(self) -> tuple[float, float] | None:
        """The same of measured over predicted differences, as bounds that hold LEVEL of them."""
        found = [measured / predicted for predicted, measured in self.differences if predicted]
        return _bounds(found) if len(found) >= LEAST_DIFFERENCES else None

    @cached_property
    def ratios(self) -> tuple[float, float]:
        """Measured over predicted of benchmarks left out: the bounds that hold LEVEL of them."""
        return _bounds([item.measured_ns / max(item.predicted_ns, 1e-9) for item in self.left_out])

    @property
    def cycle_ns(self) -> float:
        """About what a cycle takes: the median weight over what its event takes in cycles."""
        known = [ns / CYCLES[name] for name, ns in self.weights_ns.items() if ns > 0]
        return float(np.median(known)) if known else 0.0

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

    def predict_difference(self, old: Mapping[str, float], new: Mapping[str, float]) -> Prediction:
        """Predict what a call takes more, by the vectors of both sides.

        Its interval is that of differences between variants of an operation; not a number where
        the calibration has too few. outside names what the difference is made of otherwise than
        any call that the calibration has seen.
        """
        more = {name: new.get(name, 0.0) - old.get(name, 0.0) for name in {**old, **new}}
        ns = sum(weight * more.get(name, 0.0) for name, weight in self.weights_ns.items())
        least, most = self.difference_ratios or (math.nan, math.nan)
        low, high = sorted((ns * min(least, 1.0), ns * max(most, 1.0))) if ns else (0.0, 0.0)
        sign = -1 if more.get("plain_insns", 0.0) < 0 else 1
        outside = self.outside({name: sign * count for name, count in more.items()})
        return Prediction(ns, low, high, tuple(name for name in outside if name != "plain_insns"))

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


def _bounds(ratios: Sequence[float]) -> tuple[float, float]:
    """Return the bounds that hold LEVEL of ratios."""
    side = (1 - LEVEL) / 2
    low = np.quantile(ratios, side, method="lower")
    return float(low), float(np.quantile(ratios, 1 - side, method="higher"))


def spread(errors: Iterable[float]) -> tuple[float, float]:
    """Return the median and the 90th percentile of errors without their signs."""
    away = np.abs(np.array([*errors], dtype=float))
    return float(np.median(away)), float(np.quantile(away, 0.9))


def calibrate(known: Sequence[Observation], make: Callable[..., Calibration]) -> Calibration:
    """Fit weights to benchmarks, and note what they cover; raises as `fit` does.

    make takes that; it knows the host, the runs and the name already.
    """
    found = fit(known, CYCLES)
    insns = [item.events.get("plain_insns", 0.0) for item in known]
    return make(
        **vars(found),
        suites=tuple(dict.fromkeys(item.suite for item in known)),
        seen={event: _seen(known, event) for event in CYCLES if event != "plain_insns"},
        insns=Seen(min(insns), max(insns)),
    )


def _seen(known: Sequence[Observation], event: str) -> Seen:
    shares = [
        1000 * item.events.get(event, 0.0) / insns
        for item in known
        if (insns := item.events.get("plain_insns", 0.0))
    ]
    return Seen(min(shares, default=0.0), max(shares, default=0.0))


FORMAT = "lsmeter-calibration"
# Since 3 it carries a digest as all files of results do, since 4 the error of overheads.
_FIRST, VERSION = SEALED, 4
_MOST_TEXT = 200
_MOST_NS = 1e12
_SEAL = frozenset({"format", "version", "sha256"})
_FIELDS = frozenset(Calibration.__dataclass_fields__)


def folder() -> Path:
    """Return where calibrations are kept; it may not exist yet."""
    return data_dir() / "calibrations"


def to_bytes(item: Calibration) -> bytes:
    """Write a calibration as its file has it."""
    content = plain(item)
    return sealed(FORMAT, VERSION, content if isinstance(content, dict) else {})


def keep(item: Calibration) -> Path:
    """Store a calibration of this host, and return where."""
    path = folder() / f"{item.name}.json"
    write_atomic(path, to_bytes(item))
    return path


def read_calibration(path: Path) -> Calibration:
    """Read a calibration that anybody may have made; what is wrong is said in one line."""
    try:
        open_file(path, "--calibration").close()
    except OSError as error:
        raise UsageError(f"--calibration: cannot read {path}: {error.strerror}") from error
    document = read_document(path, FORMAT, (_FIRST, VERSION))
    check_shape(document, str(path))
    content = {key: value for key, value in document.items() if key not in _SEAL}
    if unknown := sorted(content.keys() - _FIELDS):
        raise DamagedResultError(path, f"unknown key {unknown[0]!r:.60}")
    found = validated(TypeAdapter(Calibration), content, path)
    if why := next(_wrong(found), ""):
        raise DamagedResultError(path, why)
    return found


def find_calibration(named: str) -> Calibration:
    """Return the calibration in a file, or of this host by its name."""
    path = folder() / f"{named}.json"
    if "/" in named or named.endswith(".json") or not path.is_file():
        if Path(named).exists() or "/" in named:
            return read_calibration(Path(named))
        known = [item.stem for item in _files()]
        raise UsageError(
            f"--calibration: no file and no calibration is called {named!r}{nearest(named, known)}",
            hint="lsmeter calibrate show lists those of this host",
        )
    return read_calibration(path)


def kept() -> tuple[Calibration, ...]:
    """Return the calibrations that are stored here, the newest first; damaged ones are left out."""
    found = []
    for path in _files():
        with suppress(LsmeterError):
            found.append(read_calibration(path))
    return tuple(sorted(found, key=lambda item: item.created, reverse=True))


def of_host(host: Host) -> Calibration | None:
    """Return the newest calibration of a host: same processor, microcode and kernel."""
    return next((item for item in kept() if item.host.like(host)), None)


def this_host() -> Host:
    """Return the machine that lsmeter itself runs on."""
    return Host(processor(), microcode(), platform.release(), vulnerabilities())


def _files() -> Iterable[Path]:
    return sorted(folder().glob("*.json"))


def _wrong(item: Calibration) -> Iterator[str]:
    """Say what no type can: numbers that are none, events that nothing counts, too little."""
    if stray := sorted({*item.weights_ns, *item.seen} - CYCLES.keys()):
        yield f"there is no event {stray[0]!r:.60}"
    if not item.weights_ns:
        yield "it has no weights"
    pairs = [(part.measured_ns, part.predicted_ns) for part in item.left_out]
    ranges = [(seen.least, seen.most) for seen in (item.insns, *item.seen.values())]
    numbers = [*item.weights_ns.values(), item.stiffness, *chain(*pairs, *ranges)]
    if item.overheads is not None:
        numbers += [item.overheads.changed, item.overheads.median, item.overheads.most]
    if not all(math.isfinite(x) and 0 <= x <= _MOST_NS for x in numbers):
        yield "a number is below 0, too large or none"
    if any(least > most for least, most in ranges):
        yield "a range ends before it begins"
    if any(measured <= 0 for measured, _ in pairs):
        yield "a benchmark that takes no time"
    if len(item.operations) < LEAST_OPERATIONS:
        yield f"it covers {len(item.operations)} operations; at least {LEAST_OPERATIONS} are needed"
    if item.blocks < 1:
        yield "it was made of no block"
    if any(len(text) > _MOST_TEXT or not text.isprintable() for text in texts_of(plain(item))):
        yield f"a text of more than {_MOST_TEXT} letters, or one that cannot be printed"
