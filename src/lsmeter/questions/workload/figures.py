# SPDX-License-Identifier: GPL-2.0-or-later
"""From the tallies of a run's workloads to what a unit costs, and to how setups differ; pure.

Everything is per unit (a request). `kernel` is what the kernel executes for the service: in its
tasks, in interrupts and softirqs (the network of both ends), and in the kernel's own threads;
the client's tasks and lsmeter's own, what they put off, and the guest's clock are in no number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from lsmeter.core.groups import grouped
from lsmeter.core.inputs import whole_number
from lsmeter.core.model import Benchmark, BenchmarkStatus, Boot, BootStatus, Place, Problem
from lsmeter.core.model.conclusion import Change, Comparison, Number, Verdict
from lsmeter.core.model.conclusion import Difference as Whether
from lsmeter.core.model.workload import Batch, Workload
from lsmeter.measure.results.boots import read_output
from lsmeter.measure.results.directory import RunData, keep_by_run
from lsmeter.measure.results.manifest import Manifest, ManifestCell
from lsmeter.measure.tasks.tally import (
    EVERYBODY,
    PLUGIN,
    Account,
    DamagedTallyError,
    Tally,
    parse_tally,
)
from lsmeter.measure.tasks.workload import once_titles, said_by
from lsmeter.questions.cells.cells import pair_places, read_boots
from lsmeter.questions.cells.evidence import BOOT_FACT
from lsmeter.statistics.means import (
    Difference,
    Level,
    Spread,
    compare_ratios,
    correct,
    level,
    mean_by_name,
    pooled,
    pooled_ratios,
    ratios,
)

KERNEL, USER, SYSCALLS, SWITCHES = "kernel", "user", "syscalls", "switches"
# Left out of `kernel`: what comes with time, and what the client put off.
CLOCK, CLEANUP = (f"kernel of {account}" for account in (Account.CLOCK, Account.CLEANUP))
AVC_LOOKUPS, AVC_MISSES = "AVC look-ups", "AVC misses"
HOOK_CALLS, HOOK_INSNS = "hook calls", "in hooks"
_START = "kernel until its first process"
NO_MODULE = ("other", "framework")  # code of the kernel that is no security module's
NAME = "workload"  # of the task
Figures = dict[str, float]


@dataclass(frozen=True)
class BootFigures:
    """One boot of one benchmark: each figure per unit, its mean over the batches.

    spread is how far the batches' kernel instructions lie apart, as a fraction of their mean, None
    for a single batch; units are those of all batches;
    client is what the client said (rates and times as the emulated guest saw them), calls are the
    system calls by name; none in runs of versions that did not count them so.
    """

    seed: int
    figures: Mapping[str, float]
    modules: Mapping[str, float]
    hooks: Mapping[str, tuple[float, float]]  # calls and instructions
    spread: float | None
    client: Mapping[str, float]
    calls: Mapping[str, float] = field(default_factory=dict)
    units: int = 0


@dataclass
class Measured:
    """One benchmark of one cell, boot by boot."""

    place: Place
    benchmark: Benchmark
    unit: str
    boots: list[BootFigures] = field(default_factory=list)

    def of(self, name: str) -> list[float]:
        """Return one figure of each boot."""
        return [boot.figures.get(name, 0.0) for boot in self.boots]

    def by_seed(self, name: str) -> dict[int, float]:
        """Return one figure of each boot by its seed."""
        return {boot.seed: boot.figures.get(name, 0.0) for boot in self.boots}

    def mean(self, name: str) -> float:
        """Return the mean of one figure over boots."""
        return fmean(self.of(name))

    def in_calls(self) -> dict[str, float]:
        """Return the mean of how often each system call was made."""
        return mean_by_name([boot.calls for boot in self.boots])

    def in_hooks(self, *, insns: bool = False) -> dict[str, float]:
        """Return the mean of how often each hook was called, or of its instructions."""
        return mean_by_name(
            [{name: counts[insns] for name, counts in boot.hooks.items()} for boot in self.boots]
        )

    def in_modules(self) -> dict[str, float]:
        """Return the mean of what each module's code executes."""
        return mean_by_name([boot.modules for boot in self.boots])


_OPEN = "not told from the spread between boots"
_Pair = tuple[Measured, Measured]  # the baseline's, and what is compared with it


@dataclass(frozen=True)
class Compared:
    """A benchmark under one setup and under the baseline, or in one run and in another."""

    baseline: Measured
    tested: Measured
    kernel: Difference
    user: Difference | None

    @property
    def comparison(self) -> Comparison:
        """Return it as a comparison: of means over boots, without a typical number."""
        return self._as(self.kernel, KERNEL, self.tested.benchmark)

    @property
    def control(self) -> Comparison | None:
        """Return what the service itself executes, which no kernel and no setup should change."""
        of = self.tested.benchmark
        kind = replace(of, operation=f"{of.operation}-{USER}", control=True)
        return None if self.user is None else self._as(self.user, USER, kind)

    def _as(self, found: Difference, name: str, benchmark: Benchmark) -> Comparison:
        mean = replace(found, value=self.tested.mean(name))
        sides = (self.baseline, self.tested)
        return Comparison(
            typical=Change(*[math.nan] * 8),
            mean=mean,
            whole=None,
            in_step=None,
            moved=math.nan,
            found=Whether.SEEN if found.seen else Whether.UNSEEN,
            verdict=found.verdict,
            cause=_OPEN if found.verdict is Verdict.INCONCLUSIVE else "",
            decided_by=Number.MEAN,
            decided=mean,
            cycles=min(sum(boot.units for boot in side.boots) for side in sides),
            place=self.tested.place,
            baseline=self.baseline.place,
            benchmark=benchmark,
            repeats=False,
        )


@dataclass
class Once:
    """What the guests of one cell did once before the first batch, boot by boot: instructions."""

    place: Place
    title: str
    kernel: list[int] = field(default_factory=list)
    user: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Workloads:
    """All that a run measured of workloads."""

    measured: tuple[Measured, ...]
    once: tuple[Once, ...]
    compared: tuple[Compared, ...]
    spreads: Mapping[tuple[tuple[str, ...], str], Spread]  # by place and benchmark
    problems: tuple[Problem, ...]

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """What is compared, each with its control, where there is one."""
        each = (pair for item in self.compared for pair in (item.comparison, item.control))
        return tuple(item for item in each if item is not None)

    def level(self, item: Measured) -> Level:
        """Return the kernel instructions of a unit, with their interval."""
        return level(item.of(KERNEL), self.spreads[_key(item)])


@keep_by_run
def find_workloads(run: RunData) -> Workloads:
    """Gather what the cells of a run measured of workloads, and compare it with the baseline."""
    found: dict[tuple[Place, str], Measured] = {}
    once: dict[tuple[Place, str], Once] = {}
    setups = {setup.name: setup for setup in run.manifest.setups}

    def read(cell: ManifestCell, boot: Boot, asked: Sequence[Benchmark]) -> tuple[Problem, ...]:
        if (workload := cell.task.workload) is None:
            return (Problem("the run does not say what the workload was"),)
        titles = run.once.get(cell.hash) or once_titles(workload, setups[cell.place.setup])
        try:
            tallies = _tallies(run, boot)
            _hold(tallies, boot, cell.warmup, len(titles))
        except DamagedTallyError as error:
            return (*_failed(boot), Problem(f"boot {boot.index}: what was counted {error}"))
        figures, problems = _boot_figures(cell, workload, boot, tallies)
        sound = [tally for tally in tallies if not tally.lost]
        if any(tally.lost and tally.region >= len(cell.benchmarks) for tally in tallies):
            said = "the plugin lost track of tasks or frames"
            problems += (Problem(f"boot {boot.index}: not all that is done once: {said}"),)
        insns = whole_number(dict(boot.facts).get(BOOT_FACT, ""))
        started = [] if insns is None else [(_START, insns, 0)]
        for title, kernel, user in (*started, *_once(sound, titles, len(cell.benchmarks))):
            item = once.setdefault((cell.place, title), Once(cell.place, title))
            item.kernel.append(kernel)
            item.user.append(user)
        for benchmark in asked:
            if benchmark.id in figures:
                key = (cell.place, benchmark.id)
                new = Measured(cell.place, benchmark, workload.unit)
                found.setdefault(key, new).boots.append(figures[benchmark.id])
        return problems

    problems = read_boots(run, {NAME: read})
    measured = tuple(found.values())
    levels = grouped((_key(item), item.of(KERNEL)) for item in measured)
    spreads = {key: pooled(of) for key, of in levels.items()}
    compared, alone = compare_setups(measured, run.manifest)
    return Workloads(measured, tuple(once.values()), compared, spreads, (*problems, *alone))


def has_workloads(run: RunData) -> bool:
    """Return whether a run has any workload."""
    return any(cell.task.name == NAME for cell in run.manifest.cells)


def compare_workloads(before: RunData, after: RunData) -> Workloads:
    """Compare what two runs measured of workloads, each setup with its namesake.

    All but what is compared is of the second run; a problem of the first one says so.
    """
    alike = pair_places(before.manifest, after.manifest)
    first, then = find_workloads(before), find_workloads(after)
    is_alike = asked_alike(before.manifest, after.manifest)
    known = {(alike(item.place), item.benchmark.id): item for item in first.measured}
    pairs: list[_Pair] = []
    unlike: list[Problem] = []
    for item in then.measured:
        base = known.get((alike(item.place), item.benchmark.id))
        if base is None:
            continue
        if is_alike(base, item):
            pairs.append((base, item))
        else:
            at, name = item.place, item.benchmark.id
            why = "the runs asked for other units, by another client, or one was monitored"
            title = f"{name}: not compared: {why}"
            unlike.append(Problem(title, at.kernel, at.setup, name, suite=at.suite))
    compared, alone = _compared(pairs, after.manifest.margin)
    marked = (replace(item, title=f"{before.name}: {item.title}") for item in first.problems)
    problems = (*marked, *then.problems, *unlike, *alone)
    return replace(then, compared=compared, problems=problems)


def asked_alike(
    before: Manifest, after: Manifest
) -> Callable[[Measured | Comparison, Measured | Comparison], bool]:
    """Return what tells whether two runs asked for the same of a service; calls are always."""
    first, then = map(_asked, (before, after))

    def is_alike(old: Measured | Comparison, new: Measured | Comparison) -> bool:
        return first.get((old.place, old.benchmark.id)) == then.get((new.place, new.benchmark.id))

    return is_alike


def _asked(manifest: Manifest) -> dict[tuple[Place, str], tuple[object, ...]]:
    """Return what was asked for, by whom, and how it was watched, by place and benchmark."""
    return {
        (cell.place, batch.benchmark): (of.unit, of.client, cell.task.monitor_ms, batch)
        for cell in manifest.cells
        if (of := cell.task.workload) is not None
        for batch in of.batches
    }


def _key(item: Measured) -> tuple[tuple[str, ...], str]:
    return item.place.beside, item.benchmark.id


def compare_setups(
    measured: Sequence[Measured], manifest: Manifest
) -> tuple[tuple[Compared, ...], tuple[Problem, ...]]:
    """Compare each setup with the baseline of a manifest; also return what could not be."""
    baseline = manifest.baseline_setup
    bases = {_key(item): item for item in measured if item.place.setup == baseline}
    others = (item for item in measured if item.place.setup != baseline and _key(item) in bases)
    return _compared([(bases[_key(item)], item) for item in others], manifest.margin)


def _compared(
    pairs: Sequence[_Pair], margin: float
) -> tuple[tuple[Compared, ...], tuple[Problem, ...]]:
    """Compare the sides of each pair, and correct the verdicts for all of them."""
    compared: list[Compared] = []
    problems: list[Problem] = []
    for base, item in pairs:
        beside = [pair for pair in pairs if _key(pair[1]) == _key(item)]
        kernel, user = (_apart(base, item, beside, name, margin) for name in (KERNEL, USER))
        if kernel is not None:
            compared.append(Compared(base, item, kernel, user))
        elif base.mean(KERNEL):
            place, name = item.place, item.benchmark.id
            title = f"{name}: no boot of {place.setup} has a seed of {base.place.setup}"
            problems.append(Problem(title, place.kernel, place.setup, name))
    kernels = correct([item.kernel for item in compared])
    users = iter(correct([item.user for item in compared if item.user is not None]))
    return tuple(
        replace(item, kernel=kernel, user=None if item.user is None else next(users))
        for item, kernel in zip(compared, kernels, strict=True)
    ), tuple(problems)


def _apart(
    base: Measured, item: Measured, beside: Sequence[_Pair], name: str, margin: float
) -> Difference | None:
    """Compare one figure; how far ratios spread is told by all setups beside it."""
    spread = pooled_ratios(ratios(a.by_seed(name), b.by_seed(name)) for a, b in beside)
    found = ratios(base.by_seed(name), item.by_seed(name))
    return compare_ratios(base.mean(name), found, spread, margin)


def _tallies(run: RunData, boot: Boot) -> tuple[Tally, ...]:
    raw = read_output(run.folder(boot), PLUGIN)
    if raw is None:
        raise DamagedTallyError("is missing")
    try:
        ended = boot.status is BootStatus.OK
        return parse_tally(raw.decode("ascii", "replace"), ended=ended)
    except DamagedTallyError as error:
        raise DamagedTallyError(f"is damaged: {error}") from error


def _hold(tallies: Sequence[Tally], boot: Boot, warmup: int, once: int) -> None:
    """Hold what was counted of a boot against what it was asked, and against the guest's clock."""
    for place, item in enumerate(boot.samples):
        mine = [tally for tally in tallies if tally.region == place]
        if item.status is BenchmarkStatus.OK and len(mine) > warmup + len(item.values):
            raise DamagedTallyError(f"has {len(mine)} batches of {item.benchmark}")
        for tally, passed in zip(mine[warmup:], item.values, strict=False):
            if tally.exceeds(passed):
                raise DamagedTallyError(f"has more of {item.benchmark} than a batch took")
    if any(tally.region >= len(boot.samples) + once for tally in tallies):
        raise DamagedTallyError("has regions of nothing that was asked for")


def _failed(boot: Boot) -> tuple[Problem, ...]:
    return tuple(
        Problem(f"{item.benchmark}: {item.status}", benchmark=item.benchmark, detail=item.detail)
        for item in boot.samples
        if item.status is not BenchmarkStatus.OK
    )


def _once(
    tallies: Sequence[Tally], titles: Sequence[str], first: int
) -> Iterator[tuple[str, int, int]]:
    """Give what was done once, and has a name: kernel and user instructions of all but idling."""
    everybody = [account for account in EVERYBODY if account is not Account.IDLE]
    # What the probe does to itself between two of them has the number of the one before.
    by_number = {tally.region: tally for tally in reversed(tallies)}
    for number, title in enumerate(titles, first):
        if title and (tally := by_number.get(number)):
            kernel, user = (tally.total(kind, of=everybody) for kind in ("kernel", "insns"))
            yield title, kernel, user


def _boot_figures(
    cell: ManifestCell, workload: Workload, boot: Boot, tallies: Sequence[Tally]
) -> tuple[dict[str, BootFigures], tuple[Problem, ...]]:
    """Return the figures of each benchmark that ended well in one boot, and what is wrong."""
    problems = [*_failed(boot)]
    found: dict[str, BootFigures] = {}
    batches = {item.benchmark: item for item in workload.batches}
    for place, item in enumerate(boot.samples):
        mine = [tally for tally in tallies if tally.region == place]
        if item.status is not BenchmarkStatus.OK:
            continue
        wanted, counting = cell.warmup + len(item.values), mine[cell.warmup :]
        if len(mine) != wanted:
            wrong = f"{len(mine)} of {wanted} batches were counted in boot {boot.index}"
        elif lost := sum(tally.lost for tally in counting):
            wrong = f"the plugin lost track of {lost} tasks or frames"
        else:
            said, batch = [said_by(line) for line in item.said], batches[item.benchmark]
            found[item.benchmark] = _figures(boot.seed, counting, batch, said)
            continue
        problems.append(Problem(f"{item.benchmark}: {wrong}", benchmark=item.benchmark))
    return found, tuple(problems)


def _figures(
    seed: int, tallies: Sequence[Tally], batch: Batch, said: Sequence[Mapping[str, float]]
) -> BootFigures:
    units = batch.units
    each = [_per_unit(tally, units) for tally in tallies]
    kernel, figures = [item[KERNEL] for item in each], mean_by_name(each)
    mean = figures[KERNEL]
    modules, hooks = counted(tallies)
    calls = mean_by_name([tally.syscalls() for tally in tallies])
    return BootFigures(
        seed,
        figures,
        {name: insns / units for name, insns in modules.items() if name not in NO_MODULE},
        {name: (runs / units, insns / units) for name, (runs, insns) in hooks.items()},
        (max(kernel) - min(kernel)) / mean if mean and len(kernel) > 1 else None,
        mean_by_name(said),
        {name: count / units for name, count in calls.items()},
        units * len(tallies),
    )


def counted(tallies: Sequence[Tally]) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """Return means: instructions by whose code they are; calls and instructions of each hook."""
    calls, insns, modules = (
        mean_by_name([tally.by_name(of) for tally in tallies]) for of in ("calls", "hook", "kernel")
    )
    return modules, {name: (calls[name], insns.get(name, 0.0)) for name in sorted(calls)}


def _per_unit(tally: Tally, units: int) -> Figures:
    service = (Account.SERVICE,)
    return {
        KERNEL: tally.total("kernel") / units,
        USER: tally.total("insns", of=service) / units,
        SYSCALLS: tally.total("events", "syscalls", of=service) / units,
        SWITCHES: tally.total("events", "switches", of=service) / units,
        AVC_LOOKUPS: tally.total("events", "avc_lookups") / units,
        AVC_MISSES: tally.total("events", "avc_misses") / units,
        HOOK_CALLS: tally.total("calls") / units,
        HOOK_INSNS: tally.total("hook") / units,
        **{f"kernel of {of}": tally.total("kernel", of=[of]) / units for of in Account},
    }
