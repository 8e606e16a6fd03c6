# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs of a study, read back: each view of one is worked out when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from lsmeter.core.groups import grouped
from lsmeter.core.model import Benchmark, Place
from lsmeter.core.model.conclusion import Estimate
from lsmeter.core.model.series import series_of
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks import find_task
from lsmeter.measure.tasks.attribute import ATTRIBUTION
from lsmeter.questions.attribution.load import AttributedCell, run_cells
from lsmeter.questions.cells.cells import CellResult, cell_results
from lsmeter.questions.hooks.count import Counts, find_counts
from lsmeter.questions.slopes.figures import Slope, Slopes, find_slopes
from lsmeter.questions.workload.figures import Measured, Workloads, find_workloads


class Where(NamedTuple):
    """Where a rule is worked out: Linux by its series (6.1), file system, user."""

    kernel: str
    fs: str
    user: str

    def __str__(self) -> str:
        return f"{self.kernel} {self.fs} {self.user}"


class Row(NamedTuple):
    """What a rule names: where a benchmark ran, under which setup, and itself as SUITE/ID."""

    where: Where
    setup: str
    benchmark: str


# Of every function of rules: another place than the rule's.
KEYWORDS = (*Where._fields, "part")


@dataclass(frozen=True)
class Part:
    """One run of a study, read back; each view of it is worked out when a rule first asks."""

    name: str
    run: RunData

    @cached_property
    def kernels(self) -> Mapping[str, str]:
        """The series of each kernel."""
        return {
            kernel.name: str(series_of(kernel.release) or kernel.release)
            for kernel in self.run.manifest.kernels
        }

    @cached_property
    def cells(self) -> tuple[CellResult, ...]:
        """What took readings."""
        return cell_results(self.run)

    @cached_property
    def counts(self) -> Counts:
        """Counts of hooks."""
        return find_counts(self.run)

    @cached_property
    def slopes(self) -> Slopes:
        """Sweeps of policy latencies, and look-ups."""
        return find_slopes(self.run)

    @cached_property
    def workloads(self) -> Workloads:
        """Servers."""
        return find_workloads(self.run)

    @cached_property
    def measured(self) -> tuple[Estimate | Measured, ...]:
        """What has a cost: system calls, and units of workloads."""
        return (*(item for cell in self.cells for item in cell.estimates), *self.workloads.measured)

    @cached_property
    def named(self) -> Mapping[Where, Sequence[str]]:
        """The benchmarks with a cost, each once, as SUITE/ID; controls left out."""
        measured = (item for item in self.measured if not item.benchmark.control)
        rows = (self.row(item.place, item.benchmark) for item in measured)
        return grouped(dict.fromkeys((row.where, row.benchmark) for row in rows))

    @cached_property
    def estimated(self) -> Mapping[Row, Sequence[CellResult]]:
        """The cells of one copy that have readings of a benchmark."""
        alone = (cell for cell in self.cells if cell.cell.place.copies == 1)
        return grouped(
            (self.row(cell.cell.place, item.benchmark), cell)
            for cell in alone
            for item in cell.estimates
        )

    @cached_property
    def counted(self) -> Mapping[Row, tuple[Place, Benchmark]]:
        """Where hooks of a benchmark were counted; of two places the first."""
        every = reversed(self.counts.benchmarks)
        return {self.row(place, item): (place, item) for place, item in every}

    @cached_property
    def lines(self) -> Mapping[tuple[Where, str], Slope]:
        """The line over delays of a benchmark; of two setups that of the first."""
        rows = ((self.row(item.place, item.benchmark), item) for item in self.slopes.slopes[::-1])
        return {(row.where, row.benchmark): item for row, item in rows}

    @cached_property
    def attributed(self) -> tuple[AttributedCell, ...]:
        """Call trees."""
        tasks = {cell.task.name for cell in self.run.manifest.cells}
        traced = any(find_task(name).plugin == ATTRIBUTION for name in tasks)
        return run_cells(self.run)[0] if traced else ()

    def where(self, place: Place) -> Where:
        """Return where a rule is worked out that reads this place."""
        return Where(self.kernels.get(place.kernel, ""), place.filesystem, place.user)

    def row(self, place: Place, benchmark: Benchmark) -> Row:
        """Return the row that a rule names for a benchmark at a place."""
        return Row(self.where(place), place.setup, f"{place.suite}/{benchmark.id}")

    def places(self) -> Iterator[Where]:
        """Yield where the part measured."""
        yield from dict.fromkeys(self.where(cell.place) for cell in self.run.manifest.cells)
