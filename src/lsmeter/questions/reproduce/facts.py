# SPDX-License-Identifier: GPL-2.0-or-later
"""What rules read: numbers of a study's runs at one place, by functions (`lsmeter help studies`).

A benchmark is SUITE/ID, as in `file/open depth=1`. Overheads are per cent, positive is worse.
"""

from __future__ import annotations

import fnmatch
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from lsmeter.catalogue.studies import Published
from lsmeter.core.model.conclusion import Change, Comparison
from lsmeter.questions.attribution.account import account
from lsmeter.questions.cells.cells import CellResult, compare_cells
from lsmeter.questions.index.figures import run_indices
from lsmeter.questions.reproduce.parts import KEYWORDS, Part, Row, Where
from lsmeter.questions.reproduce.quantities import PERCENT, MissingError, Quantity, Source
from lsmeter.questions.workload.figures import KERNEL, USER, Measured
from lsmeter.statistics.blocks import deviation, student
from lsmeter.statistics.means import compare_ratios, pooled_ratios, ratios
from lsmeter.statistics.regression import Coefficient, Regression

ALL = "all"  # kernel and user instructions
INSNS = "insns"


class _Found(NamedTuple):
    part: Part
    cell: CellResult


class Facts:
    """The functions of rules, at one place; MissingError where a number is not known."""

    def __init__(
        self,
        parts: Mapping[str, Part],
        where: Where,
        own: str = "",
        printed: Mapping[str, Published] | None = None,
        source: Callable[[str], Mapping[str, Mapping[str, float | None]]] | None = None,
    ) -> None:
        self._parts, self._where, self._own = parts, where, own
        self._printed, self._source = printed or {}, source
        self._compared: dict[tuple[int, int], dict[str, Comparison]] = {}

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions by name; what they read elsewhere is named with its place."""
        names = (
            *("ov", "added", "cost", "rows", "hook_calls", "lookups", "slope", "r2"),
            *("per_component", "work", "work_cost", "index", "in_hooks", "printed", "failed"),
            *("scatter", "gain"),
        )
        found = {name: self._placed(getattr(self, name)) for name in names}
        return {**found, "source": self.source}  # which names its kernel itself

    def _placed(self, do: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(do)
        def read(*args: object, **at: object) -> object:
            found, away = do(*args, **at), self._away(at)
            if away and isinstance(found, Quantity):
                return replace(found, name=f"{found.name} ({away})")
            return found

        return read

    def _away(self, at: Mapping[str, object]) -> str:
        """Say where another place than the rule's own differs from it."""
        own = {**self._where._asdict(), "part": self._own}
        said = {key: at[key] for key in KEYWORDS if at.get(key, own[key]) != own[key]}
        return ", ".join(
            f"part {word}" if key == "part" else f"{word}" for key, word in said.items()
        )

    def rows(self, pattern: str, **at: str) -> list[str]:
        """Return the benchmarks that were measured and match SUITE/PATTERN, controls left out."""
        where = self._at(at)
        every = (name for part in self._parts_of(at) for name in part.named.get(where, ()))
        found = dict.fromkeys(name for name in every if fnmatch.fnmatchcase(name, pattern))
        if not found:
            raise MissingError(f"{pattern}: not measured on {where}")
        return list(found)

    def ov(
        self,
        setup: str,
        base: str,
        benchmark: str,
        *,
        whole: float = 0,
        base_user: str = "",
        **at: str,
    ) -> Quantity:
        """Return an overhead: of the call, or of the whole cycle; over the base of another user."""
        against = {**at, "user": base_user} if base_user else at
        change, source = self._change(setup, base, benchmark, at, against, whole=bool(whole))
        bounds = (change.overhead, change.overhead_low, change.overhead_high)
        return _quantity([100 * bound for bound in bounds], PERCENT, source, setup)

    def added(
        self, setup: str, base: str, benchmark: str, *, whole: float = 0, **at: str
    ) -> Quantity:
        """Return what a setup adds to a call, or to the whole cycle: instructions."""
        change, source = self._change(setup, base, benchmark, at, at, whole=bool(whole))
        return _quantity((change.difference, change.low, change.high), INSNS, source, setup)

    def cost(self, setup: str, benchmark: str, *, whole: float = 0, **at: str) -> Quantity:
        """Return what a call costs: instructions, typical where one count stands out.

        whole: what the whole cycle does.
        """
        part, cell = self._measured(setup, benchmark, at)[0]
        name = benchmark.partition("/")[2]
        item = next(item for item in cell.estimates if item.benchmark.id == name)
        mean = item.whole if whole else item.mean if item.evidence.share < 0.5 else None
        if whole and not mean:
            raise MissingError(f"{benchmark}: no whole cost of {setup}")
        bounds = (mean.value, mean.low, mean.high) if mean else (item.centre, item.low, item.high)
        source = Source(part.name, benchmark, cell.cell.place, whole=bool(whole))
        return _quantity(bounds, INSNS, source, setup)

    def gain(self, setup: str, base: str, benchmark: str, before: str, **at: str) -> Quantity:
        """Return how much less a setup adds than on another kernel, % of the call there."""
        then = {**at, "kernel": before}
        old, new = (self.added(setup, base, benchmark, whole=0, **kernel) for kernel in (then, at))
        share = 100 * (old - new) / self.cost(setup, benchmark, whole=0, **then)
        return replace(share, unit=PERCENT, name=f"{benchmark} {setup}", sign="")

    def _change(
        self,
        setup: str,
        base: str,
        benchmark: str,
        at: Mapping[str, str],
        against: Mapping[str, str],
        *,
        whole: bool,
    ) -> tuple[Change, Source]:
        sides = self._measured(setup, benchmark, at), self._measured(base, benchmark, against)
        tested, baseline = min(product(*sides), key=self._distance)
        found = self._comparisons(baseline, tested).get(benchmark.partition("/")[2])
        change = None if found is None else found.whole if whole else found.in_line
        if found is None or change is None:
            raise MissingError(f"{benchmark}: {setup} cannot be compared with {base}")
        places = found.place, found.baseline
        return change, Source(tested.part.name, benchmark, *places, whole=whole)

    def _distance(self, pair: tuple[_Found, _Found]) -> tuple[bool, bool, bool]:
        """Rank pairs of cells: of one kernel, of one run, of the rule's own part."""
        one, other = pair
        kernels = one.cell.cell.place.kernel, other.cell.cell.place.kernel
        return one.part is not other.part, kernels[0] != kernels[1], one.part.name != self._own

    def _comparisons(self, base: _Found, tested: _Found) -> dict[str, Comparison]:
        key = (id(base.cell), id(tested.cell))
        if key not in self._compared:
            margin = tested.part.run.manifest.margin
            together = base.part is tested.part
            found = compare_cells(base.cell, tested.cell, margin, together=together)
            self._compared[key] = {item.benchmark.id: item for item in found}
        return self._compared[key]

    def _at(self, at: Mapping[str, str]) -> Where:
        wanted = {key: at[key] for key in ("kernel", "fs", "user") if key in at}
        return self._where._replace(**wanted)

    def _parts_of(self, at: Mapping[str, str]) -> list[Part]:
        """Return the parts to read, the rule's own first."""
        parts = [part for part in self._parts.values() if at.get("part", part.name) == part.name]
        return sorted(parts, key=lambda part: part.name != self._own)

    def _cells(self, setup: str, suite: str, at: Mapping[str, str]) -> Iterator[_Found]:
        wanted = self._at(at), setup, suite, 1
        for part in self._parts_of(at):
            for cell in part.cells:
                place = cell.cell.place
                if (part.where(place), place.setup, place.suite, place.copies) == wanted:
                    yield _Found(part, cell)

    def _measured(self, setup: str, benchmark: str, at: Mapping[str, str]) -> list[_Found]:
        """Return the cells that have readings of a benchmark; MissingError where none has."""
        row = Row(self._at(at), setup, benchmark)
        found = [
            _Found(part, cell)
            for part in self._parts_of(at)
            for cell in part.estimated.get(row, ())
        ]
        if not found:
            raise MissingError(self._lacking(setup, benchmark, at))
        return found

    def _lacking(self, setup: str, benchmark: str, at: Mapping[str, str]) -> str:
        """Say that a number is missing, and the problem of a run that says why, if one does."""
        for part in self._parts_of(at):
            for problem in part.run.manifest.problems:
                if problem.setup == setup and not problem.benchmark:
                    return f"{benchmark}: {problem.title}"
        return f"{benchmark}: not measured under {setup} on {self._at(at)}"

    def failed(self, setup: str, benchmark: str, **at: str) -> float:
        """Return 1 for a benchmark that gave a number in no boot of a setup, else 0."""
        suite, _, name = benchmark.partition("/")
        for _, cell in self._cells(setup, suite, at):
            if any(item.benchmark == name for boot in cell.boots for item in boot.samples):
                return float(name not in cell.readings)
        raise MissingError(self._lacking(setup, benchmark, at))

    def hook_calls(self, setup: str, benchmark: str, hooks: str = "*", **at: str) -> Quantity:
        """Return how often hooks whose name matches a pattern run in one operation."""
        row = Row(self._at(at), setup, benchmark)
        for part in self._parts_of(at):
            if row in part.counted:
                found = part.counts.of(*part.counted[row])
                runs = sum(c.runs for c in found if fnmatch.fnmatchcase(c.name, hooks))
                source = Source(part.name, benchmark, part.counted[row][0])
                return _quantity([runs] * 3, "", source, hooks)
        raise MissingError(f"{benchmark}: hooks of {setup} not counted on {self._at(at)}")

    def lookups(
        self, setup: str, benchmark: str, counter: str = "avc.lookups", **at: str
    ) -> Quantity:
        """Return how far a module's own counter goes in one operation."""
        wanted = Row(self._at(at), setup, benchmark)
        for part in self._parts_of(at):
            for item in part.slopes.lookups:
                if item.name == counter and part.row(item.place, item.benchmark) == wanted:
                    source = Source(part.name, benchmark, item.place)
                    return _quantity([item.runs] * 3, "", source, counter)
        raise MissingError(f"{benchmark}: no {counter} of {setup} on {self._at(at)}")

    def slope(self, benchmark: str, **at: str) -> Quantity:
        """Return how often an operation calls hooks that consult the policy."""
        fit, source = self._line(benchmark, at)
        return _quantity(_bounds(fit.slope), "", source, "slope")

    def r2(self, benchmark: str, **at: str) -> Quantity:
        """Return how much of an operation's latency that line explains; 1: all of it."""
        fit, source = self._line(benchmark, at)
        if fit.r2 is None:
            raise MissingError(f"{benchmark}: its latency is the same at all delays")
        return _quantity([fit.r2] * 3, "", source, "r²")

    def _line(self, benchmark: str, at: Mapping[str, str]) -> tuple[Regression, Source]:
        here = self._at(at), benchmark
        for part in self._parts_of(at):
            if here in part.lines:
                item = part.lines[here]
                return item.regression, Source(part.name, benchmark, item.place)
        raise MissingError(f"{benchmark}: no slope on {self._at(at)}")

    def per_component(self, operation: str, **at: str) -> Quantity:
        """Return how many of those calls one more component of the path adds."""
        suite, _, name = operation.partition("/")
        for part in self._parts_of(at):
            for item in part.slopes.depths:
                here = part.where(item.place) == self._at(at)
                if here and (item.place.suite, item.operation) == (suite, name):
                    source = Source(part.name, operation, item.place)
                    return _quantity(_bounds(item.hook_calls.slope), "", source, "per component")
        raise MissingError(f"{operation}: no slopes over depth on {self._at(at)}")

    def work(self, setup: str, base: str, benchmark: str, of: str = KERNEL, **at: str) -> Quantity:
        """Return the overhead of a unit of a workload: kernel instructions, user, or all."""
        part, tested = self._workload(setup, benchmark, at)
        _, against = self._workload(base, benchmark, {**at, "part": part.name})
        every = [
            ratios(_by_seed(against, of), _by_seed(item, of))
            for item in part.workloads.measured
            if item.benchmark.id == against.benchmark.id
            and item.place.beside == tested.place.beside
            and item.place != against.place
        ]
        both = _by_seed(against, of), _by_seed(tested, of)
        level = sum(both[0].values()) / len(both[0])
        found = compare_ratios(level, ratios(*both), pooled_ratios(every), 0.01)
        if found is None:
            raise MissingError(f"{benchmark}: no boot of {setup} has a seed of {base}")
        bounds = (found.overhead, found.overhead_low, found.overhead_high)
        source = Source(part.name, benchmark, tested.place, against.place, of)
        return _quantity([100 * bound for bound in bounds], PERCENT, source, _named(setup, of))

    def work_cost(self, setup: str, benchmark: str, of: str = KERNEL, **at: str) -> Quantity:
        """Return a figure of a unit of a workload: kernel, user, all, or another by its name."""
        part, item = self._workload(setup, benchmark, at)
        found = student(np.array([*_by_seed(item, of).values()]))
        unit = INSNS if of in (KERNEL, USER, ALL) else ""
        source = Source(part.name, benchmark, item.place, of=of)
        return _quantity((found.value, found.low, found.high), unit, source, _named(setup, of))

    def _workload(self, setup: str, benchmark: str, at: Mapping[str, str]) -> tuple[Part, Measured]:
        wanted = Row(self._at(at), setup, benchmark)
        for part in self._parts_of(at):
            for item in part.workloads.measured:
                if part.row(item.place, item.benchmark) == wanted:
                    return part, item
        raise MissingError(self._lacking(setup, benchmark, at))

    def scatter(self, setup: str, benchmark: str, of: str = ALL, **at: str) -> Quantity:
        """Return how far boots lie apart: the standard deviation of their means, % of their mean.

        Of a workload it is that of a unit, of the instructions named third.
        """
        suite, _, name = benchmark.partition("/")
        for part, cell in self._cells(setup, suite, at):
            if name in cell.readings:
                means = [float(boot.values.mean()) for boot in cell.readings[name]]
                return _scatter(means, Source(part.name, benchmark, cell.cell.place), setup)
        part, item = self._workload(setup, benchmark, at)
        means = list(_by_seed(item, of).values())
        return _scatter(means, Source(part.name, benchmark, item.place, of=of), setup)

    def index(self, setup: str, base: str, suite: str, **at: str) -> Quantity:
        """Return the index of a suite; that of the other setup is 100."""
        for part in self._parts_of(at):
            for item in run_indices(part.run, part.run, base):
                place = item.place
                here = part.where(place) == self._at(at)
                if here and (place.setup, place.suite) == (setup, suite):
                    bounds = item.typical.value, item.typical.low, item.typical.high
                    return _quantity(bounds, "", Source(part.name, suite, place), setup)
        raise MissingError(f"no index of {suite} under {setup} on {self._at(at)}")

    def in_hooks(
        self, setup: str, base: str, benchmark: str, hooks: str = "*", **at: str
    ) -> Quantity:
        """Return the instructions that hooks whose name matches a pattern add to a call."""
        suite, _, name = benchmark.partition("/")
        for part in self._parts_of(at):
            here = [
                item
                for item in part.attributed
                if (part.where(item.cell.place), item.cell.place.suite) == (self._at(at), suite)
            ]
            sides = (
                [item for item in here if item.cell.place.setup == own] for own in (base, setup)
            )
            for against, tested in product(*sides):
                found = account(against, tested).typical.benchmarks.get(name)
                places = tested.cell.place, against.cell.place
                if found:
                    insns = sum(
                        item.difference_insns
                        for item in found.hooks
                        if fnmatch.fnmatchcase(item.hook.removeprefix("security_"), hooks)
                    )
                    return _quantity(
                        [insns] * 3, INSNS, Source(part.name, benchmark, *places), setup
                    )
        raise MissingError(f"{benchmark}: {setup} was not attributed on {self._at(at)}")

    def printed(self, table: str, row: str, setup: str) -> float:
        """Return a printed overhead: per cent."""
        study = self._printed.get(table)
        item = next((item for item in study.rows if item.name == row), None) if study else None
        value = item.overhead(setup) if item else None
        if value is None:
            raise MissingError(f"{table}: no printed overhead of '{row}' under {setup}")
        return 100 * value

    def source(self, what: str, module: str = "", **at: str) -> Quantity:
        """Return a count of the kernel's source: hooks, lines or lines_per_hook of a module.

        Without a module it is of the framework; hooks:CLASS are those of one object class.
        """
        if self._source is None:
            raise MissingError("the kernel's source was not read")
        where = self._at(at)
        value = self._source(where.kernel).get(module, {}).get(what)
        if value is None:
            raise MissingError(
                f"source of {where.kernel}: no {what} of {module or 'the framework'}"
            )
        number, label = float(value), f"{module} {what} of {where.kernel}".strip()
        return Quantity(number, number, number, name=label)


def _named(setup: str, of: str) -> str:
    """Name a setup, and what of a unit was looked at where it is not its kernel instructions."""
    said = say_figure(of)
    return f"{setup} ({said})" if said else setup


def say_figure(of: str) -> str:
    """Name a figure of a unit of a workload; "" for its kernel instructions."""
    return {KERNEL: "", USER: "user instructions", ALL: "all instructions"}.get(of, of)


def _by_seed(item: Measured, of: str) -> dict[int, float]:
    """Return a figure of each boot: one by its name, all, or what a pattern sums.

    Patterns are of calls (call:), runs of hooks (hook:), instructions in them (inside:), and of
    what the client said (client:).
    """
    kind, _, pattern = of.partition(":")
    if of == ALL:
        user = item.by_seed(USER)
        return {seed: insns + user[seed] for seed, insns in item.by_seed(KERNEL).items()}
    if kind not in {"call", "hook", "inside", "client"}:
        return item.by_seed(of)
    found = {}
    for boot in item.boots:
        hooks = {hook.removeprefix("security_"): both for hook, both in boot.hooks.items()}
        runs, inside = ({hook: both[place] for hook, both in hooks.items()} for place in (0, 1))
        named = {"call": boot.calls, "hook": runs, "inside": inside, "client": boot.client}[kind]
        summed = (n for name, n in named.items() if fnmatch.fnmatchcase(name, pattern))
        found[boot.seed] = math.fsum(summed)
    return found


def _scatter(means: Sequence[float], source: Source, name: str) -> Quantity:
    if len(means) < 2:
        raise MissingError(f"{source.benchmark}: one boot of {name} does not scatter")
    found, mean = deviation(np.array(means)), statistics.fmean(means)
    bounds = [100 * bound / mean for bound in (found.value, found.low, found.high)]
    return _quantity(bounds, PERCENT, source, name)


def _bounds(item: Coefficient) -> tuple[float, float, float]:
    low = item.value if item.ci_low is None else item.ci_low
    return item.value, low, item.value if item.ci_high is None else item.ci_high


def _quantity(bounds: Iterable[float], unit: str, source: Source, name: str) -> Quantity:
    value, low, high = bounds
    if math.isnan(value):
        raise MissingError(f"{source.benchmark}: no count stands out, and every reading has a tick")
    label = f"{source.benchmark} {name}"
    return Quantity(value, low, high, unit, (source,), label)
