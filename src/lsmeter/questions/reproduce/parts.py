# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs of a study, read back: each view of one is worked out when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from lsmeter.core.model import Place
from lsmeter.core.model.conclusion import Estimate
from lsmeter.core.model.series import series_of
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks import find_task
from lsmeter.measure.tasks.attribute import ATTRIBUTION
from lsmeter.questions.attribution.load import AttributedCell, run_cells
from lsmeter.questions.cells.cells import CellResult, cell_results
from lsmeter.questions.hooks.count import Counts, find_counts
from lsmeter.questions.slopes.figures import Slopes, find_slopes
from lsmeter.questions.workload.figures import Measured, Workloads, find_workloads


class Where(NamedTuple):
    """Where a rule is worked out: Linux by its series (6.1), file system, user."""

    kernel: str
    fs: str
    user: str

    def __str__(self) -> str:
        return f"{self.kernel} {self.fs} {self.user}"


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
    def attributed(self) -> tuple[AttributedCell, ...]:
        """Call trees."""
        tasks = {cell.task.name for cell in self.run.manifest.cells}
        traced = any(find_task(name).plugin == ATTRIBUTION for name in tasks)
        return run_cells(self.run)[0] if traced else ()

    def where(self, place: Place) -> Where:
        """Return where a rule is worked out that reads this place."""
        return Where(self.kernels.get(place.kernel, ""), place.filesystem, place.user)

    def places(self) -> Iterator[Where]:
        """Yield where the part measured."""
        yield from dict.fromkeys(self.where(cell.place) for cell in self.run.manifest.cells)
