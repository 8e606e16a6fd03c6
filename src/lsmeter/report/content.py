# SPDX-License-Identifier: GPL-2.0-or-later
"""Arranges a report's numbers as grids of benchmarks and setups; pure, and adds no numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from lsmeter.conclusion import Comparison, Estimate
from lsmeter.model import Benchmark, Problem
from lsmeter.report import numbers
from lsmeter.report.model import Report, SetupFacts


@dataclass(frozen=True)
class Place:
    """What all numbers of one grid have in common."""

    kernel: str
    baseline_kernel: str
    suite: str
    filesystem: str
    user: str


@dataclass(frozen=True)
class Column:
    """A setup, and the baseline that it is compared with, inside a place."""

    setup: str
    baseline_setup: str


@dataclass(frozen=True)
class Slot:
    """What is known of one benchmark in one column; None where there is no number."""

    comparison: Comparison | None = None
    estimate: Estimate | None = None

    @property
    def value(self) -> float | None:
        """Cost under the setup."""
        if self.comparison is not None:
            return self.comparison.value
        return self.estimate.value if self.estimate is not None else None


@dataclass(frozen=True)
class Row:
    """One benchmark in all columns of its grid."""

    benchmark: Benchmark
    baseline: Estimate | None
    slots: tuple[Slot, ...]

    @property
    def label(self) -> str:
        """The parameters, or a dash for an operation without any."""
        return numbers.variant(self.benchmark) or numbers.MISSING

    def baseline_value(self, column: int | None = None) -> float | None:
        """Return the baseline's cost for `column`; None asks for the one that all share."""
        slots = self.slots if column is None else self.slots[column : column + 1]
        for slot in slots:
            if slot.comparison is not None:
                return slot.comparison.baseline_value
        return self.baseline.value if self.baseline is not None else None


@dataclass(frozen=True)
class Group:
    """All variants of one operation, in natural order."""

    operation: str
    rows: tuple[Row, ...]

    @property
    def alone(self) -> bool:
        """An operation without parameters: its one row needs no heading above it."""
        return len(self.rows) == 1 and not self.rows[0].benchmark.params

    @property
    def control(self) -> bool:
        """Whether no security module may change it."""
        return self.rows[0].benchmark.control


@dataclass(frozen=True)
class Grid:
    """All benchmarks of one place.

    baseline_setup is None when the columns have different baselines (two runs side by side).
    """

    place: Place
    baseline_setup: str | None
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]

    @property
    def before_and_after(self) -> bool:
        """Whether a setup is compared with itself: on another kernel, or in another run."""
        return any(column.setup == column.baseline_setup for column in self.columns)

    @property
    def baseline_head(self) -> str:
        """Name of the column that holds the shared baseline."""
        return f"{self.baseline_setup or ''}{' before' if self.before_and_after else ''}".strip()

    @property
    def heads(self) -> tuple[str, ...]:
        """Names of the columns, no two the same; the baseline is named where it is not shared."""
        return tuple(
            column.setup
            if self.baseline_setup is not None or column.setup == column.baseline_setup
            else f"{column.setup} / {column.baseline_setup}"
            for column in self.columns
        )

    @property
    def rows(self) -> Iterator[Row]:
        """All rows, group by group."""
        for group in self.groups:
            yield from group.rows

    def comparisons(self, column: int) -> tuple[Comparison, ...]:
        """Return the comparisons of one column, in the order of the rows."""
        slots = (row.slots[column] for row in self.rows)
        return tuple(slot.comparison for slot in slots if slot.comparison is not None)


@dataclass
class _Draft:
    """A grid while it is being collected."""

    columns: dict[Column, dict[str, Comparison]]
    benchmarks: dict[str, Benchmark]


_EstimateKey = tuple[str, str, str, str, str, str]  # kernel, setup, suite, fs, user, benchmark


def grids(report: Report) -> tuple[Grid, ...]:
    """Arrange all numbers of a report: a grid per place, rows and columns in natural order."""
    drafts: dict[Place, _Draft] = {}
    for item in report.comparisons:
        place = Place(
            item.kernel,
            item.baseline_kernel,
            item.benchmark.suite,
            item.filesystem,
            item.user,
        )
        draft = drafts.setdefault(place, _Draft({}, {}))
        draft.benchmarks.setdefault(item.benchmark.id, item.benchmark)
        column = Column(item.setup, item.baseline_setup)
        draft.columns.setdefault(column, {})[item.benchmark.id] = item
    for estimate in report.estimates:
        _add_estimate(report, drafts, estimate)
    estimates = {_estimate_key(item): item for item in report.estimates}
    built = (_grid(report, place, draft, estimates) for place, draft in drafts.items())
    return tuple(sorted(built, key=lambda grid: _place_rank(report, grid.place)))


def _add_estimate(report: Report, drafts: dict[Place, _Draft], item: Estimate) -> None:
    """Make room for an estimate whose comparison may be missing."""
    rest = (item.benchmark.suite, item.filesystem, item.user)
    homes = [
        place
        for place in drafts
        if (place.suite, place.filesystem, place.user) == rest
        and item.kernel in (place.kernel, place.baseline_kernel)
    ]
    if not homes:
        homes = [Place(item.kernel, item.kernel, *rest)]
    for place in homes:
        draft = drafts.setdefault(place, _Draft({}, {}))
        draft.benchmarks.setdefault(item.benchmark.id, item.benchmark)
        side_by_side = place.kernel != place.baseline_kernel or any(
            column.setup == column.baseline_setup for column in draft.columns
        )
        known = {name for column in draft.columns for name in (column.setup, column.baseline_setup)}
        if not side_by_side and item.setup not in {*known, report.baseline_setup}:
            draft.columns[Column(item.setup, report.baseline_setup)] = {}


def _estimate_key(item: Estimate) -> _EstimateKey:
    return (
        item.kernel,
        item.setup,
        item.benchmark.suite,
        item.filesystem,
        item.user,
        item.benchmark.id,
    )


def _grid(
    report: Report, place: Place, draft: _Draft, estimates: dict[_EstimateKey, Estimate]
) -> Grid:
    order = [facts.setup for facts in report.setups]
    columns = sorted(draft.columns, key=lambda column: _rank(order, column.setup))
    baselines = {column.baseline_setup for column in columns} or {report.baseline_setup}
    baseline = baselines.pop() if len(baselines) == 1 else None

    def known(kernel: str, setup: str, benchmark: str) -> Estimate | None:
        rest = (place.suite, place.filesystem, place.user, benchmark)
        return estimates.get((kernel, setup, *rest))

    rows = tuple(
        Row(
            benchmark,
            known(place.baseline_kernel, baseline, name) if baseline is not None else None,
            tuple(
                Slot(draft.columns[column].get(name), known(place.kernel, column.setup, name))
                for column in columns
            ),
        )
        for name, benchmark in draft.benchmarks.items()
    )
    return Grid(place, baseline, tuple(columns), _grouped(rows))


def _grouped(rows: Iterable[Row]) -> tuple[Group, ...]:
    """Group rows by operation, in order of first appearance; variants in natural order."""
    by_operation: dict[str, list[Row]] = {}
    for row in rows:
        by_operation.setdefault(row.benchmark.operation, []).append(row)
    groups = []
    for operation, found in by_operation.items():
        names = list(dict.fromkeys(key for row in found for key, _ in row.benchmark.params))
        rank = {name: place for place, name in enumerate(names)}

        def key(row: Row, rank: dict[str, int] = rank) -> tuple[object, ...]:
            return tuple(
                (rank[name], numbers.natural(value)) for name, value in row.benchmark.params
            )

        groups.append(Group(operation, tuple(sorted(found, key=key))))
    return tuple(groups)


def _rank(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def _place_rank(report: Report, place: Place) -> tuple[int, int]:
    order = [facts.name for facts in report.kernels]
    return (_rank(order, place.baseline_kernel), _rank(order, place.kernel))


def kernel_label(report: Report, name: str) -> str:
    """Name a kernel with its release: debian:6.1 (6.1.0-49-cloud-amd64)."""
    releases = [facts.release for facts in report.kernels if facts.name == name and facts.release]
    return f"{name} ({releases[0]})" if releases and releases[0] != name else name


def place_label(report: Report, grid: Grid) -> str:
    """Say in one line what a grid is about."""
    place = grid.place
    kernel = kernel_label(report, place.kernel)
    if place.baseline_kernel != place.kernel:
        kernel += f" against {kernel_label(report, place.baseline_kernel)}"
    parts = (kernel, f"suite {place.suite}", place.filesystem, f"user {place.user}")
    return " \N{MIDDLE DOT} ".join(part for part in parts if part)


def setup_facts(report: Report, kernel: str, setup: str) -> SetupFacts | None:
    """Return what is known of a setup on a kernel."""
    for facts in report.setups:
        if (facts.kernel, facts.setup) == (kernel, setup):
            return facts
    return None


@dataclass(frozen=True)
class ProblemGroup:
    """One problem, and all benchmarks that it befell in the same way."""

    problem: Problem  # its benchmark is empty
    benchmarks: tuple[str, ...]

    @property
    def where(self) -> str:
        """Kernel, setup and benchmarks, as far as they are known."""
        parts = (self.problem.kernel, self.problem.setup, ", ".join(self.benchmarks))
        return " \N{MIDDLE DOT} ".join(part for part in parts if part)


def problem_groups(report: Report) -> tuple[ProblemGroup, ...]:
    """Join problems that differ in nothing but the benchmark."""
    found: dict[Problem, list[str]] = {}
    for problem in report.problems:
        names = found.setdefault(replace(problem, benchmark=""), [])
        if problem.benchmark and problem.benchmark not in names:
            names.append(problem.benchmark)
    return tuple(ProblemGroup(problem, tuple(names)) for problem, names in found.items())
