# SPDX-License-Identifier: GPL-2.0-or-later
"""Predicted beside measured: what setups cost, from weights that know of none of them; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lsmeter.core.model import Benchmark
from lsmeter.core.model.conclusion import Change, Comparison
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.cells import cell_results, within_run
from lsmeter.questions.time.calibration import Calibration, spread
from lsmeter.questions.time.figures import predict
from lsmeter.questions.time.fit import GROUND

CHANGED = 0.01  # by which share a benchmark must differ, measured or predicted, to be changed


@dataclass(frozen=True)
class Validated:
    """What a setup adds to one benchmark: in instructions, predicted, and measured."""

    setup: str
    benchmark: Benchmark
    insns_overhead: float
    predicted_ns: float  # the difference
    predicted_overhead: float
    measured: Change
    outside: tuple[str, ...]

    @property
    def error(self) -> float:
        """Predicted overhead minus measured one: a fraction, so 0.01 is a percentage point."""
        return self.predicted_overhead - self.measured.overhead

    @property
    def insns_error(self) -> float:
        """The same where the share of instructions is taken for that of time."""
        return self.insns_overhead - self.measured.overhead

    @property
    def changed(self) -> bool:
        """Whether the setup changes it at all, by what is measured or by what is predicted."""
        return max(abs(self.predicted_overhead), abs(self.measured.overhead)) > CHANGED


@dataclass(frozen=True)
class Summary:
    """Errors of the benchmarks that setups change, and of the others; as fractions."""

    setup: str  # "" for all
    changed: int
    error: tuple[float, float] | None  # median and 90th percentile
    insns_error: tuple[float, float] | None
    unchanged: int
    drift: tuple[float, float] | None  # measured overhead of what is not changed


def validated(timed: RunData, counted: RunData, calibration: Calibration) -> tuple[Validated, ...]:
    """Line up all that both runs have of the same setups and benchmarks, controls left out."""
    told = predict(counted, calibration, always=True)
    if told is None:
        return ()
    outside = {(item.place, item.benchmark.id): item.prediction.outside for item in told.costs}
    insns = {
        (item.place, item.benchmark.id): item.in_line.overhead
        for item in within_run(counted.manifest, cell_results(counted))
    }
    measured: dict[tuple[str, ...], Comparison] = {}
    for item in within_run(timed.manifest, cell_results(timed)):
        place = item.place
        key = (place.setup, *place.beside[1:], item.benchmark.id)
        measured[key] = item
    found = []
    for part in told.changes:
        place, kind = part.place, part.benchmark
        key = (place.setup, *place.beside[1:], kind.id)
        if (
            kind.control
            or kind.suite == GROUND
            or key not in measured
            or (place, kind.id) not in insns
        ):
            continue
        found.append(
            Validated(
                place.setup,
                kind,
                insns[place, kind.id],
                part.difference_ns,
                part.overhead,
                measured[key].typical,
                outside[place, kind.id],
            )
        )
    return tuple(found)


def summaries(found: Iterable[Validated]) -> tuple[Summary, ...]:
    """Sum up each setup, then all."""
    items = tuple(found)
    setups = dict.fromkeys(item.setup for item in items)
    parts = [(name, [item for item in items if item.setup == name]) for name in setups]
    return tuple(_summary(name, part) for name, part in [*parts, ("", [*items])] if part)


def _summary(name: str, items: list[Validated]) -> Summary:
    changed = [item for item in items if item.changed]
    rest = [item for item in items if not item.changed]
    return Summary(
        name,
        len(changed),
        spread([item.error for item in changed]) if changed else None,
        spread([item.insns_error for item in changed]) if changed else None,
        len(rest),
        spread([item.measured.overhead for item in rest]) if rest else None,
    )
