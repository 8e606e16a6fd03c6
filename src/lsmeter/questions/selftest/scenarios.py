# SPDX-License-Identifier: GPL-2.0-or-later
"""What the selftest injects, into which kernel, and what each number has to say of it.

A scenario is one benchmark under two setups that differ in injected costs and in nothing else.
The truth comes from the definition of the injection, and from what the module or the BPF programs
counted while it was measured (`counted_insns`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

from lsmeter.catalogue.setups.inject import INJECTIONS, NOTHING, Injection, Point, Way
from lsmeter.core.model import Kernel
from lsmeter.core.model.arch import Arch
from lsmeter.core.model.conclusion import Verdict
from lsmeter.core.progress import SILENT, Progress
from lsmeter.measure.experiment.options import Experiment, build_experiment
from lsmeter.sources.kernels.build.builder import build_kernel
from lsmeter.sources.kernels.build.fragment import shipped_lsm
from lsmeter.sources.kernels.resolve import Request

SOURCE = "debian-source:6.1"
TITLE = "Selftest of the exact instrument: known costs, and what every number says of them"
# What the plugin calls the machine code of BPF programs: it is younger than the table of symbols.
NO_SYMBOL = "[no symbol]"
Numbers = Sequence[tuple[str, int]]  # a state of the module, as StateReading has it


class Part(StrEnum):
    """Which of a benchmark's numbers a truth is about."""

    IN_LINE = "in_line"  # the measured call alone
    WHOLE = "whole"  # the call, its undo, and all that both leave to be done


class Context(StrEnum):
    """What runs a cost: the operation itself, or something after it."""

    CALL = "call"
    RCU = "rcu"
    TASK_WORK = "task work"
    WORKER = "worker"


@dataclass(frozen=True)
class Site:
    """What attribution has to say of an injection point."""

    function: str  # of the kernel, which burns the instructions
    hook: str  # the hook that it is below, without security_; "" for none
    context: Context | None = Context.CALL  # None: as the kernel's release has it


_FILE = tomllib.loads(Path(__file__).with_name("scenarios.toml").read_text(encoding="utf-8"))
SITES: Mapping[Point, Site] = {
    Point(point): Site(**{**words, "context": Context(words.get("context", Context.CALL))})
    for point, words in _FILE["sites"].items()
}
# How often each point is met, by operation.
_CALLS: Mapping[Part, Mapping[str, Mapping[Point, int]]] = {
    part: {
        operation: {Point(point): count for point, count in points.items()}
        for operation, points in {**_FILE["calls"]["in_line"], **_FILE["calls"][part]}.items()
    }
    for part in Part
}


@dataclass(frozen=True)
class Scenario:
    """One benchmark under two injections; a bystander is one that nobody meant to differ."""

    name: str
    title: str
    benchmark: str  # id
    before: Injection
    after: Injection
    bystander: bool = False

    @property
    def operation(self) -> str:
        """Name the benchmark's operation."""
        return self.benchmark.partition(" ")[0]

    @property
    def injections(self) -> tuple[Injection, Injection]:
        """The injections of the baseline and of the tested setup."""
        return (self.before, self.after)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Return those that may be given."""
        if truth := self.expected_insns(Part.WHOLE):
            ruling = Verdict.SLOWER if truth > 0 else Verdict.FASTER
            return (ruling, Verdict.INCONCLUSIVE) if self.is_single else (ruling,)
        if self.bystander:
            return (Verdict.EQUIVALENT, Verdict.INCONCLUSIVE)
        if self.is_control:
            return (Verdict.EQUIVALENT,)
        return (Verdict.SLOWER, Verdict.FASTER, Verdict.INCONCLUSIVE)

    def on(self, arch: str) -> Scenario:
        """Return the same on another architecture."""
        return replace(self, before=self.before.on(arch), after=self.after.on(arch))

    def site(self, point: Point) -> Site:
        """Return what attribution has to say of a point."""
        found = SITES[point]
        if self.after.way is Way.MODULE:
            return found
        # Since 6.6, close() releases the file by itself.
        context = None if point is Point.FILE_FREE else found.context
        return replace(found, function=NO_SYMBOL, context=context)

    def costs(self, side: Injection, part: Part) -> Mapping[Point, Fraction]:
        """Return what each point costs more in the mean, in instructions of one operation."""
        points = _CALLS[part][self.operation].items()
        return {point: count * side.mean_insns(point) for point, count in points}

    def expected_insns(self, part: Part) -> Fraction:
        """Return by how much the tested setup costs more in the mean, in instructions.

        Negative for a cost that was removed. For a blob it is the least (see is_least).
        """
        before, after = (
            sum(self.costs(side, part).values(), Fraction()) for side in self.injections
        )
        return after - before

    def injected_insns(self, injection: Injection) -> Fraction:
        """Return what the module counts of one side; a larger blob is not counted."""
        costs = self.costs(injection, Part.WHOLE).items()
        return sum((cost for point, cost in costs if point != Point.BLOB), Fraction())

    @property
    def is_single(self) -> bool:
        """Whether a boot meets the cost once: nobody can be sure then that it is not chance."""
        return self.name == "every-1000"

    @property
    def is_least(self) -> bool:
        """Say whether the whole cost has a lower bound only: slabs of larger blobs cost more."""
        return SITES[Point.BLOB] in self.site_insns

    @property
    def edge_insns(self) -> int:
        """By so many instructions what is cleared in one call may be off what it should be."""
        return self.after.memset.edge_insns if self.is_least else 0

    @property
    def site_insns(self) -> Mapping[Site, Fraction]:
        """Return by how much each function that attribution has to name costs more in the mean.

        0 where costs cancel; for a larger blob the least.
        """
        before, after = (self.costs(side, Part.WHOLE) for side in self.injections)
        return {
            self.site(point): after[point] - before[point]
            for point in after
            if self.before.peaks(point) != self.after.peaks(point)
        }

    def site_cost(self, site: Site) -> Fraction:
        """Return what a function costs on the side on which it costs most, in instructions."""
        costs = (item for side in self.injections for item in self.costs(side, Part.WHOLE).items())
        return max(cost for point, cost in costs if self.site(point) == site)

    @property
    def is_control(self) -> bool:
        """Say whether no cost of this benchmark differs: an instrument has to find none."""
        return not self.site_insns

    def peaks(self, part: Part = Part.IN_LINE) -> tuple[Mapping[int, Fraction], ...]:
        """Return which costs single calls have, with their part of the calls: before and after.

        As if the points of one operation took no notice of each other.
        """
        return tuple(_peaks(side, _CALLS[part][self.operation]) for side in self.injections)


def _peaks(injection: Injection, points: Mapping[Point, int]) -> Mapping[int, Fraction]:
    found = {0: Fraction(1)}
    for point in (point for point, count in points.items() for _ in range(count)):
        joined: dict[int, Fraction] = {}
        for insns, share in injection.peaks(point).items():
            for others, their in found.items():
                joined[insns + others] = joined.get(insns + others, Fraction(0)) + share * their
        found = joined
    return dict(sorted(found.items()))


def counted_insns(
    before: Numbers, after: Numbers, operation: str, part: Part = Part.WHOLE
) -> Fraction | None:
    """Return what an operation cost more in the mean, by the calls that the module counted.

    More than the operations may lie between before and after, as around a benchmark with all that
    prepares it; a period that is cut off at either end counts for as much as it was there. None
    where a point of the operation was named and never met.
    """
    total = Fraction(0)
    for point, count in _CALLS[part][operation].items():
        if f"{point}_calls" not in dict(after):
            continue  # it was not named: it costs nothing
        if (calls := _counted(f"{point}_calls", before, after)) <= 0:
            return None
        total += count * Fraction(_counted(f"{point}_insns", before, after), calls)
    return total


def counted_slack(
    injection: Injection, before: Numbers, after: Numbers, operation: str
) -> Fraction:
    """Return what one cost more or less is worth in what was counted, in instructions."""
    total = Fraction(0)
    for point, count in _CALLS[Part.WHOLE][operation].items():
        if (calls := _counted(f"{point}_calls", before, after)) > 0:
            insns = injection.peaks(point)
            total += count * Fraction(max(insns) - min(insns), calls)
    return total


def _counted(name: str, before: Numbers, after: Numbers) -> int:
    return dict(after).get(name, 0) - dict(before).get(name, 0)


def lost(numbers: Numbers) -> int:
    """Return how many costs the module could not put off: the truth is not known if any."""
    return dict(numbers).get("lost", 0)


# Points that put work off, and the copy of the inode operations, cost something by themselves: the
# baseline has all of that, and no instruction.
_WITH_MACHINERY = ("rows", "elsewhere", "blob")


def _scenario(way: Way, name: str, operation: str, injected: Sequence[str], title: str) -> Scenario:
    *others, tested = injected
    after = INJECTIONS[tested]
    before = after.unburnt if tested in _WITH_MACHINERY else INJECTIONS[NOTHING]
    before = INJECTIONS[others[0]] if others else before
    benchmark = "read size=1" if operation == "read" else f"{operation} depth=1"
    return Scenario(name, title, benchmark, before.by(way), after.by(way))


def _bystanders(way: Way, scenarios: Sequence[Scenario]) -> tuple[Scenario, ...]:
    """Return all else that setups without machinery have in common with the one without a cost."""
    nothing = INJECTIONS[NOTHING].by(way)
    injections = [item.after for item in scenarios if item.before == nothing]
    injections += [INJECTIONS[name].by(way) for name in ("flat", "cancel")]
    injections += [INJECTIONS["blob"].unburnt] if way is Way.MODULE else []
    known = {(*item.injections, item.benchmark) for item in scenarios}
    every = (
        Scenario(f"{after.setup} {name}", "nothing", name, nothing, after, bystander=True)
        for after in dict.fromkeys(injections)
        for name in dict.fromkeys(item.benchmark for item in scenarios)
        if (nothing, after, name) not in known
    )
    return tuple(item for item in every if item.is_control)


@dataclass(frozen=True)
class Plan:
    """All that one way injects; of bystanders nobody must say that anything costs more or less."""

    way: Way
    scenarios: tuple[Scenario, ...]
    bystanders: tuple[Scenario, ...]

    def on(self, arch: str) -> Plan:
        """Return the same on another architecture."""
        scenarios, bystanders = (
            tuple(item.on(arch) for item in each) for each in (self.scenarios, self.bystanders)
        )
        return Plan(self.way, scenarios, bystanders)

    @property
    def setups(self) -> tuple[str, ...]:
        """Name the setups in the order in which they are first needed."""
        return tuple(
            dict.fromkeys(side.setup for item in self.scenarios for side in item.injections)
        )

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Name the benchmarks, in the same order."""
        return tuple(dict.fromkeys(item.benchmark for item in self.scenarios))


def _plan(way: Way) -> Plan:
    scenarios = tuple(
        _scenario(way, name, row["operation"], row["injected"], row["title"])
        for name, row in _FILE["scenarios"].items()
        if row.get("only", way) == way
    )
    return Plan(way, scenarios, _bystanders(way, scenarios))


PLANS: Mapping[Way, Plan] = {way: _plan(way) for way in Way}


def selftest_kernel(arch: Arch, progress: Progress = SILENT) -> Kernel:
    """Return the smallest kernel that runs the probe, with the module `inject`, built if needed."""
    module, name = shipped_lsm("inject-lsm"), f"selftest{arch.suffix}"
    return build_kernel(SOURCE, ("tiny",), (module,), name, Request(progress=progress), arch)


def selftest_experiment(plan: Plan, words: Mapping[str, Any]) -> Experiment:
    """Return the experiment that has all scenarios of a plan; words are keys of an experiment."""
    own = {
        "title": TITLE,
        "setups": list(plan.setups),
        "baseline": INJECTIONS[NOTHING].by(plan.way).setup,
        "benchmarks": list(plan.benchmarks),
        "task": "attribute",
    }
    return build_experiment({**own, **words}, where="lsmeter selftest exact")
