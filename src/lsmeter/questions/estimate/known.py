# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs say: what each benchmark costs more under a setup than the baseline, and workloads.

Workloads that were counted are system-call profiles with what setups added to them. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Setup
from lsmeter.core.model.setup import is_again
from lsmeter.measure.instruments import find_instrument
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import Manifest
from lsmeter.questions.cells.cells import within_run
from lsmeter.questions.cells.frame import conditions_of, joined_settings, settings_of
from lsmeter.questions.estimate.profiles.model import Calls, Profile, added
from lsmeter.questions.estimate.profiles.objects import with_hooks
from lsmeter.questions.estimate.profiles.proxies import Name, proxies
from lsmeter.questions.time.calibration import Calibration
from lsmeter.questions.time.figures import predict
from lsmeter.questions.workload.figures import KERNEL, Measured, find_workloads

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
    conditions are those that the runs were made under.
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
    conditions: tuple[tuple[str, str], ...] = ()
    setups: Mapping[str, Setup] = field(default_factory=dict)  # as the first run defines them

    @property
    def kind(self) -> tuple[str, ...]:
        """What known costs must share to be added up."""
        place = (self.kernel, self.release, self.filesystem, self.user, self.baseline)
        settings = joined_settings(self.conditions)
        return (self.instrument, self.unit, *place, self.calibration, settings)


def known_costs(run: RunData, calibration: Calibration | None = None) -> tuple[Known, ...]:
    """Return what a run says of its benchmarks, measured and predicted, kernel by kernel."""
    exact = run.manifest.instrument == EXACT
    told = predict(run, calibration) if exact and calibration else None
    found: dict[tuple[str, str, str, str], dict[str, dict[Name, Cost]]] = {}
    bases: dict[tuple[str, str, str, str], dict[Name, float]] = {}
    unit = find_instrument(run.manifest.instrument).unit
    for item in within_run(run):
        place, setup = item.place, item.place.setup
        again = is_again(setup, item.baseline.setup)
        if place.copies > 1 or again or item.benchmark.metric.better != "lower":
            continue
        change = item.in_line
        cost = Cost(change.difference, change.low, change.high)
        key = (place.kernel, place.filesystem, place.user, unit)
        name = (place.suite, item.benchmark.id)
        found.setdefault(key, {}).setdefault(setup, {})[name] = cost
        bases.setdefault(key, {})[name] = change.baseline_value
    for part in told.changes if told else ():
        key = (part.place.kernel, part.place.filesystem, part.place.user, "ns")
        cost = Cost(*(part.difference_ns,) * 3)
        of = found.setdefault(key, {}).setdefault(part.place.setup, {})
        of[part.place.suite, part.benchmark.id] = cost
    releases = {item.name: item.release for item in run.manifest.kernels}
    conditions = tuple(settings_of(conditions_of(run.manifest)).items())
    known = []
    for (kernel, filesystem, user, unit), costs in found.items():
        by = calibration if unit == "ns" and exact else None
        known.append(
            Known(
                *(run.manifest.instrument, unit, kernel, releases[kernel], filesystem, user),
                *(run.manifest.baseline_setup, (run.title,), costs),
                calibration=by.name if by else "",
                error=by.difference_error if by else None,
                base=bases.get((kernel, filesystem, user, unit), {}),
                conditions=conditions,
                setups={item.name: item for item in run.manifest.setups},
            )
        )
    return tuple(known)


def together(found: Iterable[Known]) -> tuple[Known, ...]:
    """Put what runs of one kind say into one; the first run that has a benchmark is taken.

    UsageError where two define a setup of one name otherwise: its costs are of two things.
    """
    kinds: dict[tuple[str, ...], Known] = {}
    for item in found:
        other = kinds.setdefault(item.kind, item)
        for name, setup in item.setups.items():
            if keys := other.setups.get(name, setup).differs(setup):
                raise UsageError(
                    f"{', '.join(item.runs)}: {name} is defined differently in "
                    f"{', '.join(other.runs)} ({', '.join(keys)})",
                    hint="name runs of one definition, each in a command of its own",
                )
        setups = dict.fromkeys((*other.costs, *item.costs))
        costs = {name: {**item.costs.get(name, {}), **other.costs.get(name, {})} for name in setups}
        runs = tuple(dict.fromkeys((*other.runs, *item.runs)))
        base = {**item.base, **other.base}
        defined = {**item.setups, **other.setups}
        kinds[item.kind] = replace(other, costs=costs, runs=runs, base=base, setups=defined)
    return tuple(kinds.values())


def is_of_use(manifest: Manifest) -> bool:
    """Tell whether a run has system calls one by one, under a setup and its baseline."""
    cells = manifest.cells
    names = {cell.place.setup for cell in cells if cell.task.name not in _NO_TASKS}
    suites = {suite for item in proxies().of.values() for suite in item.suites}
    return len(names) > 1 and any(cell.place.suite in suites for cell in cells)


@dataclass(frozen=True)
class Counted:
    """A workload that lsmeter counted: its profile for a unit, and what setups cost it then."""

    workload: str
    benchmark: str
    unit: str
    kernel: str
    baseline: str
    baseline_insns: float
    profile: Profile
    added_insns: Mapping[str, float]  # by setup


def counted(run: RunData) -> tuple[Counted, ...]:
    """Return the profiles of the workloads that a run counted under its baseline, for a unit each.

    UsageError for a run that has none: of another task, or of a version that did not count calls.
    """
    if not any(cell.task.name == "workload" for cell in run.manifest.cells):
        raise UsageError(
            f"--profile: {run.title}: no workload was counted in it",
            hint="count one: lsmeter run --suite web-nginx; or name a file of strace or perf",
        )
    found = find_workloads(run).measured
    base = run.manifest.baseline_setup
    profiles = [_counted(item, found) for item in found if item.place.setup == base]
    named = [item for item in profiles if item.profile.calls]
    if not named:
        raise UsageError(
            f"--profile: {run.title}: it has no system calls by name",
            hint="measure again: the same command with --fresh",
        )
    return tuple(named)


def _counted(base: Measured, found: Iterable[Measured]) -> Counted:
    table = proxies()
    calls = added(Calls(table.name(name), count) for name, count in base.in_calls().items())
    names = frozenset(item.name for item in calls)
    profile = Profile("counted by lsmeter", calls, unit=base.unit, errors_unknown=names)
    key = (base.place.beside, base.benchmark.id)
    added_insns = {
        item.place.setup: item.mean(KERNEL) - base.mean(KERNEL)
        for item in found
        if item is not base and (item.place.beside, item.benchmark.id) == key
    }
    return Counted(
        base.place.suite,
        base.benchmark.id,
        base.unit,
        base.place.kernel,
        base.place.setup,
        base.mean(KERNEL),
        with_hooks(profile, base.in_hooks()),
        added_insns,
    )
