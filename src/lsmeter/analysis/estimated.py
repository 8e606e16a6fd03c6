# SPDX-License-Identifier: GPL-2.0-or-later
"""From a system-call profile and what runs say of each call to what every setup would cost; pure.

A call costs what the benchmarks that stand for it cost more under a setup than under the baseline.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from lsmeter.analysis.cells import cell_results, within_run
from lsmeter.analysis.predictions import predict
from lsmeter.analysis.workloads import KERNEL, Measured, find_workloads
from lsmeter.base.errors import UsageError
from lsmeter.instruments import find_instrument
from lsmeter.model.setup import is_again
from lsmeter.prediction.calibration import Calibration
from lsmeter.profiles.model import Calls, Profile, added
from lsmeter.profiles.standins import Name, Reading, StandIn, stand_ins
from lsmeter.results.directory import RunData
from lsmeter.results.manifest import Manifest

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


NOTHING = Cost(0.0, 0.0, 0.0)
Costs = Mapping[str, Mapping[Name, Cost]]  # by setup, and benchmark


@dataclass(frozen=True)
class Known:
    """What runs of one kind say of benchmarks: the difference to the baseline, by setup.

    unit is insns or ns. calibration names what predicted times, "" where they were measured.
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

    @property
    def kind(self) -> tuple[str, ...]:
        """What known costs must share to be added up."""
        place = (self.kernel, self.release, self.filesystem, self.user, self.baseline)
        return (self.instrument, self.unit, *place, self.calibration)


@dataclass(frozen=True)
class CallCost:
    """One call of the profile: what stands for it, and what one costs under each setup.

    why says under which setups nothing is known, and why: "" is all of them.
    """

    call: Calls
    benchmarks: tuple[Name, ...]
    within: str
    costs: Mapping[str, Cost]  # of one call
    failed: Mapping[str, Cost]
    why: str = ""

    def cost(self, setup: str) -> Cost | None:
        """Return what all calls of the profile cost under a setup; None where nothing is known."""
        one = self.costs.get(setup)
        if one is None:
            return None
        fine = one.times(self.call.calls - self.call.errors)
        other = self.failed.get(setup, one).times(self.call.errors)
        return fine.plus(other)


@dataclass(frozen=True)
class SetupCost:
    """What a setup costs the whole profile, and of which share of its calls and time that is."""

    setup: str
    cost: Cost
    calls_share: float
    time_share: float | None


@dataclass(frozen=True)
class Estimated:
    """What a profile would cost, by one kind of results."""

    profile: Profile
    known: Known
    setups: tuple[SetupCost, ...]
    calls: tuple[CallCost, ...]  # in the order of the profile

    def uncovered(self, setup: str) -> tuple[CallCost, ...]:
        """Return the calls of which nothing is known under a setup."""
        return tuple(item for item in self.calls if item.cost(setup) is None)


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


def known_costs(run: RunData, calibration: Calibration | None = None) -> tuple[Known, ...]:
    """Return what a run says of its benchmarks, measured and predicted, kernel by kernel."""
    if run.manifest.instrument == EXACT and calibration is not None:
        told = predict(run, calibration)
    else:
        told = None
    found: dict[tuple[str, ...], dict[str, dict[Name, Cost]]] = {}
    unit = find_instrument(run.manifest.instrument).unit
    for item in within_run(run.manifest, cell_results(run)):
        place, setup = item.place, item.place.setup
        if place.copies > 1:
            continue
        if is_again(setup, item.baseline.setup) or item.benchmark.metric.better != "lower":
            continue
        change = item.typical
        cost = Cost(change.difference, change.low, change.high)
        key = (place.kernel, place.filesystem, place.user, unit)
        found.setdefault(key, {}).setdefault(setup, {})[place.suite, item.benchmark.id] = cost
    for part in told.changes if told else ():
        key = (part.place.kernel, part.place.filesystem, part.place.user, "ns")
        cost = Cost(part.difference_ns, part.difference_ns, part.difference_ns)
        of = found.setdefault(key, {}).setdefault(part.place.setup, {})
        of[part.place.suite, part.benchmark.id] = cost
    return tuple(_known(run, key, costs, calibration) for key, costs in found.items())


def _known(
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
        kinds[item.kind] = Known(**{**vars(other), "costs": costs, "runs": runs})
    return tuple(kinds.values())


def estimate(profile: Profile, known: Known, on: Mapping[str, str] | None = None) -> Estimated:
    """Return what every setup of some results would cost a profile.

    on says of which kind the things are that a call is made on: by its name, and under "" for all
    others that have this kind.
    """
    calls = tuple(_call_cost(item, known, on or {}) for item in profile.calls)
    return Estimated(
        profile, known, tuple(_setup_cost(profile, calls, name) for name in known.costs), calls
    )


def _setup_cost(profile: Profile, calls: Sequence[CallCost], setup: str) -> SetupCost:
    costs = [(item.call, cost) for item in calls if (cost := item.cost(setup)) is not None]
    whole = reduce(Cost.plus, (cost for _, cost in costs), NOTHING)
    covered = math.fsum(call.calls for call, _ in costs)
    time_s = profile.time_s
    timed = math.fsum(call.time_s or 0.0 for call, _ in costs) / time_s if time_s else None
    return SetupCost(setup, whole, covered / profile.total, timed)


def _call_cost(call: Calls, known: Known, on: Mapping[str, str]) -> CallCost:
    table = stand_ins()
    name = table.name(call.name)
    stand_in = table.of.get(name)
    if stand_in is None:
        return CallCost(call, (), "", {}, {}, "no benchmark stands for it")
    if stand_in.within:
        outer = _call_cost(Calls(stand_in.within, 0.0), known, on)
        return CallCost(
            call, (), stand_in.within, dict.fromkeys(outer.costs, NOTHING), {}, outer.why
        )
    kind = on.get(name, on.get("", ""))
    kinds = [stand_in.kinds[kind]] if kind in stand_in.kinds else [*stand_in.kinds.values()]
    costs: dict[str, Cost] = {}
    failed: dict[str, Cost] = {}
    used: dict[Name, None] = {}
    for setup, differences in known.costs.items():
        if cost := _of_kinds(kinds, differences, used):
            costs[setup] = cost
        if cost := _of_kind(stand_in.failed, differences, {}):
            failed[setup] = cost
    why = _why(stand_in, known, costs)
    return CallCost(call, tuple(used), "", costs, failed, why)


def _why(stand_in: StandIn, known: Known, costs: Mapping[str, Cost]) -> str:
    lacking = [name for name in known.costs if name not in costs]
    if not lacking:
        return ""
    have = {suite for of in known.costs.values() for suite, _ in of}
    needed = [suite for suite in stand_in.suites if suite not in have]
    if len(lacking) == len(known.costs):
        return f"not in these runs: --suite {needed[0]}" if needed else "not in these runs"
    return f"its benchmarks gave no number under {', '.join(lacking)}"


def _of_kinds(
    kinds: Iterable[Sequence[Reading]], differences: Mapping[Name, Cost], used: dict[Name, None]
) -> Cost | None:
    """Return the median over the kinds of things that a call may be made on; bounds over all."""
    return _median(
        cost for kind in kinds if (cost := _of_kind(kind, differences, used)) is not None
    )


def _of_kind(
    kind: Sequence[Reading], differences: Mapping[Name, Cost], used: dict[Name, None]
) -> Cost | None:
    return _median(_variants(kind, differences, used))


def _variants(
    kind: Sequence[Reading], differences: Mapping[Name, Cost], used: dict[Name, None]
) -> Iterator[Cost]:
    for reading in kind:
        less, more = (
            NOTHING if name is None else differences.get(name)
            for name in (reading.less, reading.more)
        )
        for name, found in differences.items():
            if less is None or more is None or not reading.matches(name):
                continue
            used[name] = None
            cost = found.plus(less.times(-1)).times(1 / reading.calls)
            yield cost.plus(more)


def _median(costs: Iterable[Cost]) -> Cost | None:
    found = list(costs)
    if not found:
        return None
    value = statistics.median(item.value for item in found)
    return Cost(value, min(item.low for item in found), max(item.high for item in found))


def counted(run: RunData) -> tuple[Counted, ...]:
    """Return the profiles of the workloads that a run counted under its baseline, for a unit each.

    UsageError for a run that has none: of another task, or of a version that did not count calls.
    """
    if not any(cell.task.name == "workload" for cell in run.manifest.cells):
        raise UsageError(
            f"--profile: {run.path}: no workload was counted in it",
            hint="count one: lsmeter run --suite web-nginx; or name a file of strace or perf",
        )
    found = find_workloads(run).measured
    base = run.manifest.baseline_setup
    profiles = [_counted(item, found) for item in found if item.place.setup == base]
    named = [item for item in profiles if item.profile.calls]
    if not named:
        raise UsageError(
            f"--profile: {run.path}: it has no system calls by name",
            hint="measure again: the same command with --fresh",
        )
    return tuple(named)


def _counted(base: Measured, found: Iterable[Measured]) -> Counted:
    table = stand_ins()
    calls = added(Calls(table.name(name), count) for name, count in base.in_calls().items())
    key = (base.place.beside, base.benchmark.id)
    others = [item for item in found if (item.place.beside, item.benchmark.id) == key]
    added_insns = {
        item.place.setup: item.mean(KERNEL) - base.mean(KERNEL)
        for item in others
        if item is not base
    }
    return Counted(
        base.place.suite,
        base.benchmark.id,
        base.unit,
        base.place.kernel,
        base.place.setup,
        base.mean(KERNEL),
        Profile("counted by lsmeter", calls, unit=base.unit),
        added_insns,
    )


def is_of_use(manifest: Manifest) -> bool:
    """Tell whether a run has system calls one by one, under a setup and its baseline."""
    cells = manifest.cells
    names = {cell.place.setup for cell in cells if cell.task.name not in _NO_TASKS}
    suites = {suite for item in stand_ins().of.values() for suite in item.suites}
    return len(names) > 1 and any(cell.place.suite in suites for cell in cells)
