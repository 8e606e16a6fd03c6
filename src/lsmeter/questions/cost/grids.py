# SPDX-License-Identifier: GPL-2.0-or-later
"""Arranges a report's numbers as grids of benchmarks and setups; pure, and adds no numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import NamedTuple

from lsmeter.core.model import Benchmark, Place
from lsmeter.core.model.conclusion import Comparison, Estimate
from lsmeter.questions.cost.model import Report, SetupFacts
from lsmeter.tables import numbers
from lsmeter.tables.values import MISSING


class Column(NamedTuple):
    """A setup, and the baseline that it is compared with."""

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
            return self.comparison.typical.value
        return self.estimate.centre if self.estimate is not None else None


@dataclass(frozen=True)
class Row:
    """One benchmark in all columns of its grid."""

    benchmark: Benchmark
    baseline: Estimate | None
    slots: tuple[Slot, ...]

    @property
    def label(self) -> str:
        """The parameters, or a dash for an operation without any."""
        return numbers.variant(self.benchmark) or MISSING

    def baseline_value(self, column: int | None = None) -> float | None:
        """Return the baseline's cost for `column`; None asks for the one that all share."""
        slots = self.slots if column is None else self.slots[column : column + 1]
        for slot in slots:
            if slot.comparison is not None:
                return slot.comparison.typical.baseline_value
        return self.baseline.centre if self.baseline is not None else None


@dataclass(frozen=True)
class Group:
    """All variants of one operation, in natural order."""

    operation: str
    rows: tuple[Row, ...]

    def comparisons(self, column: int) -> list[Comparison]:
        """Return the comparisons of one column."""
        return [c for row in self.rows if (c := row.slots[column].comparison) is not None]


@dataclass(frozen=True)
class Grid:
    """All benchmarks of one place; the place has no setup.

    baseline_setup is None when the columns have different baselines (two runs side by side).
    """

    place: Place
    baseline_kernel: str
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

    @property
    def compared(self) -> bool:
        """Whether anything was compared."""
        return any(map(self.comparisons, range(len(self.columns))))

    def comparisons(self, column: int) -> tuple[Comparison, ...]:
        """Return the comparisons of one column, in the order of the rows."""
        return tuple(item for group in self.groups for item in group.comparisons(column))

    def has(self, item: Estimate) -> bool:
        """Say whether an estimate belongs here, as a value or as a baseline."""
        return _belongs(item.place, self.place, self.baseline_kernel)


_Key = tuple[Place, str]  # without a setup; the kernel of the baseline
_Columns = dict[Column, dict[str, Comparison]]  # by the benchmark's id


def grids(report: Report) -> tuple[Grid, ...]:
    """Arrange all numbers of a report: a grid per place, rows and columns in natural order."""
    found: dict[_Key, _Columns] = {}
    for item in report.comparisons:
        place, base = item.place, item.baseline
        columns = found.setdefault((replace(place, setup=""), base.kernel), {})
        columns.setdefault(Column(place.setup, base.setup), {})[item.benchmark.id] = item
    for estimate in report.estimates:
        _make_room(report, found, estimate.place)
    kernels = [facts.name for facts in report.kernels]
    keys = sorted(found, key=lambda k: (_rank(kernels, k[1]), _rank(kernels, k[0].kernel)))
    return tuple(_grid(report, key, found[key]) for key in keys)


def _make_room(report: Report, found: dict[_Key, _Columns], place: Place) -> None:
    """Make a column for an estimate whose comparison may be missing."""
    homes = [key for key in found if _belongs(place, *key)]
    for home in homes or [(replace(place, setup=""), place.kernel)]:
        columns = found.setdefault(home, {})
        side_by_side = home[0].kernel != home[1] or any(a == b for a, b in columns)
        known = {name for column in columns for name in column}
        if not side_by_side and place.setup not in {*known, report.baseline_setup}:
            columns[Column(place.setup, report.baseline_setup)] = {}


def _belongs(place: Place, at: Place, baseline_kernel: str) -> bool:
    """Say whether a value or a baseline of a place belongs into the grid of another."""
    alike = at == replace(place, setup="", kernel=at.kernel)
    return alike and place.kernel in (at.kernel, baseline_kernel)


def _grid(report: Report, key: _Key, found: _Columns) -> Grid:
    place, baseline_kernel = key
    estimates = {(item.place, item.benchmark.id): item for item in report.estimates}
    order = [facts.setup for facts in report.setups]
    columns = sorted(found, key=lambda column: _rank(order, column.setup))
    baselines = {column.baseline_setup for column in columns} or {report.baseline_setup}
    baseline = baselines.pop() if len(baselines) == 1 else None
    base = replace(place, kernel=baseline_kernel, setup=baseline or "")
    measured: tuple[Comparison | Estimate, ...] = (*report.comparisons, *report.estimates)
    kinds = {item.benchmark.id: item.benchmark for item in measured if _belongs(item.place, *key)}
    rows = []
    for name, benchmark in kinds.items():
        slots = (
            Slot(found[c].get(name), estimates.get((replace(place, setup=c.setup), name)))
            for c in columns
        )
        rows.append(Row(benchmark, estimates.get((base, name)), tuple(slots)))
    groups = tuple(Group(name, tuple(part)) for name, part in numbers.by_operation(rows).items())
    return Grid(place, baseline_kernel, baseline, tuple(columns), groups)


def _rank(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def place_label(report: Report, grid: Grid) -> str:
    """Say in one line what a grid is about, kernels with their release."""
    releases = {item.name: item.release for item in report.kernels}
    named = {
        name: f"{name} ({releases[name]})" if releases.get(name, "") not in ("", name) else name
        for name in (grid.place.kernel, grid.baseline_kernel)
    }
    place = grid.place
    parts = (
        " against ".join(named.values()),
        f"suite {place.suite}",
        place.filesystem,
        f"user {place.user}",
        *place.said_copies,
    )
    return numbers.DOT.join(part for part in parts if part)


def told_apart(places: Sequence[Place]) -> list[str]:
    """Name places by that in which they differ, their setups aside; "" where that is nothing."""
    parts = ("kernel", "suite", "filesystem", "user")
    named = [(*(getattr(place, part) for part in parts), *place.said_copies) for place in places]
    parts_of = [*zip_longest(*named, fillvalue="")]
    differ = [words for words in parts_of if len({*words}) > 1]
    return [", ".join(filter(None, (words[at] for words in differ))) for at in range(len(places))]


def setup_facts(report: Report, kernel: str, setup: str) -> SetupFacts | None:
    """Return what is known of a setup on a kernel."""
    return next((f for f in report.setups if (f.kernel, f.setup) == (kernel, setup)), None)
