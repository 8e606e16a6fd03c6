# SPDX-License-Identifier: GPL-2.0-or-later
"""The event vector of each benchmark of a run: what its typical call does to a processor.

    vectors = event_vectors(read_run(path))
    vectors[place]["open depth=2"]["indirect_calls"]

The names of events are those of `lsmeter.measure.tasks.events.EVENTS` (`lsmeter help events`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low

from lsmeter.core.model import Benchmark, Boot, Place, Problem
from lsmeter.measure.results.boots import read_output
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import ManifestCell
from lsmeter.measure.tasks import find_task
from lsmeter.measure.tasks.attribute import MARKER_INSNS
from lsmeter.measure.tasks.events import (
    EVENTS,
    EVENTS_OUTPUT,
    DamagedEventsError,
    RegionEvents,
    Vector,
    parse_events,
)
from lsmeter.tables.values import many

_INSNS = list(EVENTS).index("insns")


@dataclass(frozen=True)
class EventCount:
    """How often an event occurs in one call.

    typical is the median of all readings (the lower one of two), share the part of the readings
    that have just this number, least and most the extremes. by_boot has the median of each boot.
    """

    typical: int
    share: float
    least: int
    most: int
    by_boot: tuple[int, ...]

    @property
    def repeats(self) -> bool:
        """Whether at least two boots were made, and have the same median."""
        return len(self.by_boot) > 1 and len(set(self.by_boot)) == 1


Counts = Mapping[str, EventCount]  # by event


@dataclass(frozen=True)
class EventCell:
    """The events of one cell by benchmark, as EVENTS orders them; kinds say what these are."""

    cell: ManifestCell
    benchmarks: Mapping[str, Counts]
    kinds: Mapping[str, Benchmark]


def event_vectors(run: RunData) -> Mapping[Place, Mapping[str, Mapping[str, float]]]:
    """Return the typical number of each event, by place and by the benchmark's id.

    Instructions are those of the clock, as in all reports. Everything else is of the region
    between two markers, of which the benchmark `empty` shows what is not the call's. Places that
    were measured without events are absent; so are boots whose events are damaged.
    """
    return {
        item.cell.place: {
            benchmark: {name: float(count.typical) for name, count in counts.items()}
            for benchmark, counts in item.benchmarks.items()
        }
        for item in event_cells(run)[0]
    }


def event_cells(run: RunData) -> tuple[tuple[EventCell, ...], tuple[Problem, ...]]:
    """Return the events of each cell that was measured with them, and what of them is damaged."""
    cells, problems = [], []
    for cell in run.manifest.cells:
        if not was_counted(cell):
            continue
        readings: dict[str, list[list[Vector]]] = {}
        for boot in run.boots_of(cell):
            why, missed = "not all events are known", list[str]()
            title = f"{cell.place.setup} on {cell.place.kernel}: boot {boot.index}: "
            try:
                for benchmark, found in _boot_readings(run, cell, boot):
                    if isinstance(found, str):
                        missed.append(f"{benchmark}: {found}")
                    else:
                        readings.setdefault(benchmark, []).append(found)
            except DamagedEventsError as error:
                # What is not what was written is a problem of the run already.
                if not any(item.title.startswith(title) for item in run.damaged):
                    why, missed = "no events", [f"they are damaged: {error}"]
            if missed:
                where = cell.place.kernel, cell.place.setup
                problems.append(Problem(title + why, *where, detail="; ".join(missed)))
        asked = {item.id: item for item in run.manifest.benchmarks_of(cell) if item.id in readings}
        if asked:
            counts = {name: _counts(readings[name]) for name in asked}
            cells.append(EventCell(cell, counts, asked))
    return tuple(cells), tuple(problems)


def was_counted(cell: ManifestCell) -> bool:
    """Say whether the boots of a cell were asked for events."""
    return EVENTS_OUTPUT in find_task(cell.task.name).also


def _boot_readings(
    run: RunData, cell: ManifestCell, boot: Boot
) -> Iterable[tuple[str, list[Vector] | str]]:
    """Yield the vectors of each benchmark that ended well, or what the plugin missed of it.

    Warm-up readings are left out; the median of readings of which some are missing is not known.
    Nothing is known of a boot of which more was counted than was read, or than passed by its clock.
    """
    if not boot.status.usable:
        return
    data = read_output(run.folder(boot), EVENTS_OUTPUT)
    if data is None:
        raise DamagedEventsError("what the plugin counted is missing")
    regions = parse_events(data.decode("ascii", errors="replace"))
    for place, samples in enumerate(boot.samples):
        if samples.usable:
            region = regions.get(place, RegionEvents(place, (), 0))
            found = _read(region, len(samples.values), cell.warmup)
            counted = () if isinstance(found, str) else [vector[_INSNS] for vector in found]
            if any(more > value for more, value in zip(counted, samples.values, strict=False)):
                raise DamagedEventsError(f"{samples.benchmark}: more instructions than were read")
            yield samples.benchmark, found


def _read(region: RegionEvents, readings: int, warmup: int) -> list[Vector] | str:
    """Return what is known of the last `readings` of a region: warm-up readings come first."""
    taken = len(region.readings) + region.more
    if taken > warmup + readings:
        many_more = f"{taken} readings, and {warmup + readings} were asked for"
        raise DamagedEventsError(f"region {region.region} has {many_more}")
    found = region.readings[max(0, taken - readings) :]
    # By the clock, which does not see the marker's own.
    vectors = [(*v[:_INSNS], v[_INSNS] - MARKER_INSNS, *v[_INSNS + 1 :]) for v in found if v]
    lost = max(0, readings - taken) + len(found) - len(vectors) if vectors else readings
    return f"the plugin lost {many(lost, 'reading')}" if lost else vectors


def _counts(boots: Sequence[Sequence[Vector]]) -> Counts:
    known = min(len(vector) for vectors in boots for vector in vectors)
    return {
        name: count_of([[vector[at] for vector in vectors] for vectors in boots])
        for at, name in enumerate([*EVENTS][:known])
    }


def count_of(boots: Sequence[Sequence[int]]) -> EventCount:
    """Return the count that the readings of each boot give; there is at least one."""
    values = [value for boot in boots for value in boot]
    typical = median_low(values)
    share = values.count(typical) / len(values)
    return EventCount(typical, share, min(values), max(values), tuple(map(median_low, boots)))
