# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs say of benchmarks: what each costs more under a setup than the baseline; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from lsmeter.core.model.setup import is_again
from lsmeter.measure.instruments import find_instrument
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import Manifest
from lsmeter.questions.cells.cells import cell_results, within_run
from lsmeter.questions.estimate.profiles.proxies import Name, proxies
from lsmeter.questions.time.calibration import Calibration
from lsmeter.questions.time.figures import predict

EXACT = "exact"
_NO_TASKS = frozenset({"load", "visit"})  # under load: no system calls one by one


@dataclass(frozen=True)
class Cost:
    """What something costs more under a setup, and the least and the most that it may be."""

    value: float
    low: float
    high: float

    def times(self, count: float) -> Cost:
        """Return the cost of so many; of a negative number it is what is taken away."""
        low, high = sorted((self.low * count, self.high * count))
        return Cost(self.value * count, low, high)

    def plus(self, other: Cost) -> Cost:
        """Return the cost of both."""
        return Cost(self.value + other.value, self.low + other.low, self.high + other.high)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The least and the most; None where nothing says how far it may be off."""
        return None if math.isclose(self.low, self.high, abs_tol=1e-9) else (self.low, self.high)


NOTHING = Cost(0.0, 0.0, 0.0)
Costs = Mapping[str, Mapping[Name, Cost]]  # by setup, and benchmark


@dataclass(frozen=True)
class Known:
    """What runs of one kind say of benchmarks: the difference to the baseline, by setup.

    unit is insns or ns. calibration names what predicted times, "" where they were measured.
    base is what benchmarks cost under the baseline, as far as that was measured.
    error are the median and the 90th percentile of a predicted difference's own, as a share.
    """

    instrument: str
    unit: str
    kernel: str
    release: str
    filesystem: str
    user: str
    baseline: str
    runs: tuple[str, ...]
    costs: Costs
    calibration: str = ""
    error: tuple[float, float] | None = None
    base: Mapping[Name, float] = field(default_factory=dict)

    @property
    def kind(self) -> tuple[str, ...]:
        """What known costs must share to be added up."""
        place = (self.kernel, self.release, self.filesystem, self.user, self.baseline)
        return (self.instrument, self.unit, *place, self.calibration)


def known_costs(run: RunData, calibration: Calibration | None = None) -> tuple[Known, ...]:
    """Return what a run says of its benchmarks, measured and predicted, kernel by kernel."""
    if run.manifest.instrument == EXACT and calibration is not None:
        told = predict(run, calibration)
    else:
        told = None
    found: dict[tuple[str, ...], dict[str, dict[Name, Cost]]] = {}
    bases: dict[tuple[str, ...], dict[Name, float]] = {}
    unit = find_instrument(run.manifest.instrument).unit
    for item in within_run(run.manifest, cell_results(run)):
        place, setup = item.place, item.place.setup
        if place.copies > 1:
            continue
        if is_again(setup, item.baseline.setup) or item.benchmark.metric.better != "lower":
            continue
        change = item.in_line
        cost = Cost(change.difference, change.low, change.high)
        key = (place.kernel, place.filesystem, place.user, unit)
        name = (place.suite, item.benchmark.id)
        found.setdefault(key, {}).setdefault(setup, {})[name] = cost
        bases.setdefault(key, {})[name] = change.baseline_value
    for part in told.changes if told else ():
        key = (part.place.kernel, part.place.filesystem, part.place.user, "ns")
        cost = Cost(part.difference_ns, part.difference_ns, part.difference_ns)
        of = found.setdefault(key, {}).setdefault(part.place.setup, {})
        of[part.place.suite, part.benchmark.id] = cost
    return tuple(
        replace(_reference(run, key, costs, calibration), base=bases.get(key, {}))
        for key, costs in found.items()
    )


def _reference(
    run: RunData, key: tuple[str, ...], costs: Costs, calibration: Calibration | None
) -> Known:
    manifest = run.manifest
    kernel, filesystem, user, unit = key
    release = next(item.release for item in manifest.kernels if item.name == kernel)
    by = calibration if unit == "ns" and manifest.instrument == EXACT else None
    return Known(
        manifest.instrument,
        unit,
        kernel,
        release,
        filesystem,
        user,
        manifest.baseline_setup,
        (str(run.path),),
        costs,
        by.name if by else "",
        by.difference_error if by else None,
    )


def together(found: Iterable[Known]) -> tuple[Known, ...]:
    """Put what runs of one kind say into one; the first run that has a benchmark is taken."""
    kinds: dict[tuple[str, ...], Known] = {}
    for item in found:
        other = kinds.get(item.kind)
        if other is None:
            kinds[item.kind] = item
            continue
        setups = dict.fromkeys((*other.costs, *item.costs))
        costs = {name: {**item.costs.get(name, {}), **other.costs.get(name, {})} for name in setups}
        runs = tuple(dict.fromkeys((*other.runs, *item.runs)))
        base = {**item.base, **other.base}
        kinds[item.kind] = replace(other, costs=costs, runs=runs, base=base)
    return tuple(kinds.values())


def is_of_use(manifest: Manifest) -> bool:
    """Tell whether a run has system calls one by one, under a setup and its baseline."""
    cells = manifest.cells
    names = {cell.place.setup for cell in cells if cell.task.name not in _NO_TASKS}
    suites = {suite for item in proxies().of.values() for suite in item.suites}
    return len(names) > 1 and any(cell.place.suite in suites for cell in cells)
