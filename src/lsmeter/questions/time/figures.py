# SPDX-License-Identifier: GPL-2.0-or-later
"""From runs to what a calibration is made of, and from a calibration to predicted times; pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Benchmark, Place
from lsmeter.core.model.setup import is_again
from lsmeter.measure.instruments import find_instrument
from lsmeter.measure.instruments.timed import EMPTY
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks.attribute import ATTRIBUTION
from lsmeter.questions.cells.cells import baseline_of, cell_results, pair_places
from lsmeter.questions.events.figures import event_vectors
from lsmeter.questions.time.calibration import Calibration, Host, Prediction
from lsmeter.questions.time.fit import Observation, vector
from lsmeter.statistics.blocks import Block

_WAITS = 0.5  # of what is predicted: code of the kernel waits for next to nothing
_WIDE = 4  # instructions that the plugin's dataflow begins in a cycle
_FEW_CYCLES = 20.0  # of waiting: less is nothing
_QUIET = 0.1  # of the blocks: what else a host does makes operations slower, never faster


@dataclass(frozen=True)
class Predicted:
    """The time of one benchmark in one cell, as a calibration tells it."""

    place: Place
    benchmark: Benchmark
    prediction: Prediction


@dataclass(frozen=True)
class PredictedChange:
    """How two predicted times differ; overhead as a fraction of the baseline's time."""

    place: Place
    baseline: Place
    benchmark: Benchmark
    baseline_ns: float
    ns: float

    @property
    def difference_ns(self) -> float:
        """The predicted difference."""
        return self.ns - self.baseline_ns

    @property
    def overhead(self) -> float:
        """The predicted overhead."""
        return self.difference_ns / self.baseline_ns if self.baseline_ns else math.nan


@dataclass(frozen=True)
class PredictedDifference:
    """The time of one benchmark on both sides of a patch, and what it takes more.

    waiting_cycles: what instructions wait for each other longer, beyond the quarter of a cycle that
    each takes; None where an older plugin counted. waiting_ns is the same in time.
    """

    place: Place
    benchmark: Benchmark
    old_ns: float
    new_ns: float
    difference: Prediction
    waiting_cycles: float | None = None
    waiting_ns: float | None = None

    @property
    def waits(self) -> bool:
        """Whether waiting, which weights do not see, is much beside all that is predicted."""
        if self.waiting_ns is None or self.waiting_cycles is None:
            return False
        much = self.waiting_ns > _WAITS * abs(self.difference.ns)
        return much and self.waiting_cycles > _FEW_CYCLES


@dataclass(frozen=True)
class ToldDifference:
    """All that a calibration says of two runs: of the second one, and how they differ."""

    second: Told
    differences: tuple[PredictedDifference, ...]


@dataclass(frozen=True)
class Told:
    """All that a calibration says of a run."""

    calibration: Calibration
    same_plugin: bool  # what counted the run's events counted those of the calibration
    unlike: tuple[str, ...]  # conditions of the calibration's events that the run's had otherwise
    costs: tuple[Predicted, ...]
    changes: tuple[PredictedChange, ...]


def predict(run: RunData, calibration: Calibration, *, always: bool = False) -> Told | None:
    """Predict the times of a run that counted events; None for any other run.

    How they change is told where the calibration's error of overheads allows it, or always.
    """
    vectors = event_vectors(run)
    if not vectors or run.manifest.instrument != "exact":
        return None
    results = cell_results(run)
    costs = [
        Predicted(item.place, item.benchmark, calibration.predict(of[item.benchmark.id], empty))
        for result in results
        if (of := vectors.get(result.cell.place)) is not None
        for empty in [of.get(EMPTY, {})]
        for item in result.estimates
        if item.benchmark.id in of and item.benchmark.id != EMPTY
    ]
    found = {(item.place, item.benchmark.id): item for item in costs}
    changes = []
    for result in results if always or calibration.tells_overheads else ():
        base = baseline_of(run.manifest, result, results)
        if base is None or base is result:
            continue
        before, after = base.cell.place, result.cell.place
        for item in costs:
            other = found.get((before, item.benchmark.id))
            if item.place == after and other is not None:
                times = (other.prediction.ns, item.prediction.ns)
                changes.append(PredictedChange(after, before, item.benchmark, *times))
    plugin = dict(run.manifest.tools).get(ATTRIBUTION, "")
    same = calibration.counted.plugin in {"", plugin}
    settings = {name: str(value).lower() for name, value in vars(run.manifest.conditions).items()}
    wanted = calibration.counted.conditions.items()
    unlike = tuple(f"{name}={text}" for name, text in wanted if settings.get(name, text) != text)
    return Told(calibration, same, unlike, tuple(costs), tuple(changes))


def predict_differences(
    before: RunData, after: RunData, calibration: Calibration
) -> ToldDifference | None:
    """Predict what calls take more in a second run; None unless both have counted events."""
    old, new = predict(before, calibration), predict(after, calibration)
    if old is None or new is None:
        return None
    key = pair_places(before.manifest, after.manifest)
    first = {key(place): of for place, of in event_vectors(before).items()}
    second = event_vectors(after)
    was = {(key(item.place), item.benchmark.id): item.prediction.ns for item in old.costs}

    def waiting(*sides: Mapping[str, float]) -> tuple[float | None, float | None]:
        cycles = [side.get("flow_cycles", math.nan) - side["insns"] / _WIDE for side in sides]
        more = cycles[1] - cycles[0]
        return (None, None) if math.isnan(more) else (more, more * calibration.cycle_ns)

    found = [
        PredictedDifference(
            *(item.place, item.benchmark, was[place, name], item.prediction.ns),
            calibration.predict_difference(
                vector(first[place][name], first[place].get(EMPTY, {})),
                vector(second[item.place][name], second[item.place].get(EMPTY, {})),
            ),
            *waiting(first[place][name], second[item.place][name]),
        )
        for item in new.costs
        for place, name in [(key(item.place), item.benchmark.id)]
        if (place, name) in was
    ]
    return ToldDifference(new, tuple(found))


def match_observations(timed: RunData, counted: RunData) -> list[Observation]:
    """Return the benchmarks that one run timed and another counted, each without a setup.

    The baselines of both runs are taken; file systems and users must be the same.
    """
    if not find_instrument(timed.manifest.instrument).ticks:
        raise UsageError(
            f"{timed.title}: no time was measured in it",
            hint="make it with: lsmeter run --instrument timed --setup running",
        )
    vectors = event_vectors(counted)
    if not vectors:
        raise UsageError(
            f"{counted.title}: no events were counted in it",
            hint="make it with: lsmeter run --setup capability --events",
        )
    baseline = counted.manifest.baseline_setup
    counts = {place.beside[1:]: of for place, of in vectors.items() if place.setup == baseline}
    found: dict[Benchmark, tuple[dict[str, float], list[Block]]] = {}
    for result in cell_results(timed):
        of = counts.get(result.cell.place.beside[1:])
        setup, base = result.cell.place.setup, timed.manifest.baseline_setup
        # The control is the baseline under another name, and its blocks are as good.
        if of is not None and (setup == base or is_again(setup, base)):
            for kind in (item.benchmark for item in result.estimates):
                if kind.id in of and kind.id != EMPTY:
                    events = vector(of[kind.id], of.get(EMPTY, {}))
                    found.setdefault(kind, (events, []))[1].extend(result.readings[kind.id])
    return [
        Observation(kind.suite, kind.operation, kind.id, events, cost_ns)
        for kind, (events, blocks) in found.items()
        if (cost_ns := quiet_ns(blocks)) > 0
    ]


def quiet_ns(blocks: Sequence[Block]) -> float:
    """Return what an operation takes undisturbed: the first decile of the medians of its blocks."""
    return float(np.quantile([block.median for block in blocks], _QUIET))


def host_of(timed: RunData) -> Host | None:
    """Return the machine that a run was timed on, as it said itself; None where no block did."""
    facts = next((found for found in _facts(timed) if "host.kernel" in found), None)
    if facts is None:
        return None
    begin = "mitigations."
    kept = {name.removeprefix(begin): facts[name] for name in facts if name.startswith(begin)}
    cpu, microcode = (facts.get(f"host.{name}", "") for name in ("cpu", "microcode"))
    return Host(cpu, microcode, facts["host.kernel"], kept)


def lsms_of(timed: RunData) -> str:
    """Return the modules that were active where a run was timed, "" where no block read them."""
    return next((found for facts in _facts(timed) if (found := facts.get("lsm"))), "")


def _facts(timed: RunData) -> Iterator[dict[str, str]]:
    for cell in timed.manifest.cells:
        yield from (dict(boot.facts) for boot in timed.boots_of(cell))


def blocks_of(timed: RunData) -> int:
    """Return how many blocks of each cell gave numbers, at the least."""
    usable = [
        sum(boot.status.usable for boot in timed.boots_of(cell)) for cell in timed.manifest.cells
    ]
    return min(usable, default=0)
