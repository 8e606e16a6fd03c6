# SPDX-License-Identifier: GPL-2.0-or-later
"""Overheads over kernel releases from any number of runs, and where they changed; pure.

A graph is one setup's overhead on one benchmark and architecture; its points are of one build of a
kernel each. A point is held against the newest older one that the same compiler built, so that a
backport is not taken for a change of the kernel; where there is none, against the newest older one.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from debian.debian_support import Version

from lsmeter.core.groups import grouped
from lsmeter.core.model import Conditions, Kernel, Problem
from lsmeter.core.model.arch import ARCHES, X86_64
from lsmeter.core.model.conclusion import Change, Comparison, Number, Verdict
from lsmeter.core.model.series import series_of
from lsmeter.core.model.workload import Workload
from lsmeter.core.releases import order_of
from lsmeter.measure.instruments import find_instrument
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import Manifest, ManifestCell
from lsmeter.measure.tasks import find_task, tally
from lsmeter.measure.tasks.attribute import ATTRIBUTION
from lsmeter.questions.cells.cells import within_run
from lsmeter.questions.compare.sides import OverheadChange
from lsmeter.questions.gate.judge import Moved

# The numbers whose hooks a plugin counts.
_COUNTED = {ATTRIBUTION: tuple(Number), tally.PLUGIN: (Number.MEAN,)}
_LATER = (Number.WHOLE, Number.TYPICAL, Number.MEAN)  # of two that decided as often


@dataclass(frozen=True)
class Release:
    """One build of a kernel."""

    name: str  # the package's version; without a package, what `uname -r` says
    release: str
    origin: str = field(compare=False)  # a build may be in two suites
    image_sha256: str
    compiler: str = ""  # gcc-12; "" where the configuration does not say
    arch: str = X86_64.name

    @property
    def label(self) -> str:
        """The name, with the architecture where it is not x86-64."""
        return self.name if self.arch == X86_64.name else f"{self.name} ({self.arch})"

    @property
    def series(self) -> str:
        """The series: 6.12."""
        return str(series_of(self.name) or series_of(self.release) or "other")

    @cached_property
    def order(self) -> tuple[Version, str]:
        """A key by which older versions come first."""
        return order_of(self.name), self.image_sha256


@dataclass(frozen=True)
class Graph:
    """What all points of a line share; conditions is "" for those that nobody has changed."""

    suite: str
    benchmark: str
    operation: str
    setup: str
    baseline: str
    filesystem: str
    user: str
    copies: int
    instrument: str
    unit: str
    conditions: str = ""
    arch: str = X86_64.name

    @property
    def panel(self) -> Graph:
        """The same without its setup: the lines of one panel share it."""
        return replace(self, setup="")

    @property
    def said(self) -> tuple[str, ...]:
        """What is not usual of it, in words."""
        usual = {"filesystem": "tmpfs", "user": "root", "baseline": "capability", "copies": 1}
        usual |= {"instrument": "exact", "conditions": "", "arch": X86_64.name}
        return tuple(
            f"{name} {getattr(self, name)}"
            for name, value in usual.items()
            if getattr(self, name) != value
        )


@dataclass(frozen=True)
class Origin:
    """Where a point's numbers come from."""

    run: str
    created: str
    command: str
    cell: str
    baseline_cell: str
    margin: float
    tools: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Point:
    """One setup's overhead on one benchmark and one build.

    hooks: by number, the run in which those of both sides were counted; it may be another run.
    """

    graph: Graph
    release: Release
    found: Comparison
    origin: Origin
    hooks: Mapping[Number, Path] = field(default_factory=dict, hash=False)

    def change(self, number: Number) -> Change | None:
        """Return a number of the comparison, None where it has none that is finite."""
        found: Change | None = getattr(self.found, number.value)
        if found is None or not math.isfinite(found.overhead + found.difference):
            return None
        return found


@dataclass(frozen=True)
class Step:
    """An overhead that changed by more than the margin from one release to a later one.

    moved: the hook whose cost changed most; None where hooks of a side were not counted, or not
    read. beside: what else differs between the two, so that the kernel need not be the cause.
    """

    before: Point
    after: Point
    change: OverheadChange  # of the number that says so
    beside: tuple[str, ...] = ()
    moved: Moved | None = None

    @property
    def is_of_baseline(self) -> bool:
        """Whether the setup adds as many as before, as far as it is shown: to one decimal."""
        return not round(self.change.difference.value, 1)


@dataclass(frozen=True)
class Line:
    """The points of one graph, the oldest release first; number: the one that is drawn."""

    graph: Graph
    points: tuple[Point, ...]

    @cached_property
    def number(self) -> Number:
        """The number that decided most of the points: a line is of one number throughout."""
        by = Counter(point.found.decided_by for point in self.points)
        return max(_LATER, key=lambda number: by[number])

    def before(self, index: int) -> Point | None:
        """Return the point that one is held against."""
        older = self.points[:index]
        compiler = self.points[index].release.compiler
        same = [point for point in older if point.release.compiler == compiler]
        return (same or older or (None,))[-1]


@dataclass(frozen=True)
class Site:
    """All that is published."""

    releases: tuple[Release, ...]  # the oldest first
    lines: tuple[Line, ...]
    steps: tuple[Step, ...]  # the newest release first
    problems: tuple[Problem, ...]
    updated: str  # when the newest run was made

    @cached_property
    def points(self) -> int:
        """How many points there are."""
        return sum(len(line.points) for line in self.lines)


def find_points(run: RunData, services: Iterable[Comparison] = ()) -> Iterator[Point]:
    """Give the points of a run: of its cells and of its services."""
    manifest = run.manifest
    releases = {kernel.name: release_of(kernel) for kernel in manifest.kernels}
    cells = {cell.place: cell for cell in manifest.cells}
    for item in (*within_run(run), *services):
        if item.benchmark.control:
            continue
        sides = cells[item.place], cells[item.baseline]
        task, other = (find_task(cell.task.name) for cell in sides)
        release = releases[item.place.kernel]
        made = (run.name, manifest.created, manifest.command, sides[0].hash, sides[1].hash)
        origin = Origin(*made, manifest.margin, _tools_of(manifest, release.arch))
        graph = _graph(manifest, item, release.arch, sides[0])
        counted = _COUNTED.get(task.plugin, ()) if task.plugin == other.plugin else ()
        yield Point(graph, release, item, origin, dict.fromkeys(counted, run.path))


def name_releases(manifest: Manifest, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Name the build that each problem is of: of a name, as debian:6.1, there is another later."""
    labels = {kernel.name: release_of(kernel).label for kernel in manifest.kernels}
    for item in problems:
        yield replace(item, kernel=labels.get(item.kernel, item.kernel))


def release_of(kernel: Kernel) -> Release:
    """Return a kernel as a build."""
    # Debian's kernels before 7 say gcc-14, later ones x-linux-gnu-gcc-14.
    said = kernel.config.get("CC_VERSION_TEXT", "").rpartition("-linux-gnu-")[2].split()
    name = kernel.version or kernel.release or kernel.name
    origin = kernel.origin.partition(" from ")[2] if kernel.version else kernel.origin
    compiler = (said or [""])[0]
    return Release(name, kernel.release, origin, kernel.image_sha256, compiler, kernel.arch)


def _tools_of(manifest: Manifest, arch: str) -> tuple[tuple[str, str], ...]:
    """Return the tools of one architecture; further ones of a run have its name behind theirs."""
    ends, end = tuple(f" ({name})" for name in ARCHES), f" ({arch})"
    shared = {name: value for name, value in manifest.tools if not name.endswith(ends)}
    own = {k.removesuffix(end): value for k, value in manifest.tools if k.endswith(end)}
    return tuple((shared | own).items())


def _graph(manifest: Manifest, item: Comparison, arch: str, cell: ManifestCell) -> Graph:
    place, benchmark, task = item.place, item.benchmark, find_task(cell.task.name)
    instrument = find_instrument(manifest.instrument)
    usual, said = vars(Conditions()), {**manifest.conditions.said}
    if said.get("icount_shift") == task.icount_shift:
        del said["icount_shift"]
    other: dict[str, object] = {k: said[k] for k in said if said[k] != usual.get(k)}
    if cell.task.monitor_ms:
        other["monitor_ms"] = cell.task.monitor_ms
    if cell.task.workload and cell.task.workload.client != Workload.client:
        other["client"] = cell.task.workload.client
    digest = hashlib.sha256(repr(sorted(other.items())).encode()).hexdigest()[:8] if other else ""
    return Graph(
        place.suite,
        benchmark.id,
        benchmark.operation,
        place.setup,
        item.baseline.setup,
        place.filesystem,
        place.user,
        place.copies,
        instrument.name,
        benchmark.metric.unit or instrument.unit,
        digest,
        arch,
    )


def make_site(points: Iterable[Point], problems: Iterable[Problem] = ()) -> Site:
    """Put points into lines, and find where they changed.

    Of two points of one build the one that was measured later counts, and hooks of the other are
    those of the numbers that are the same; where the two do not agree that is a problem.
    """
    said = list(dict.fromkeys(problems))
    kept: dict[tuple[Graph, Release], Point] = {}
    for measured in sorted(points, key=lambda item: item.origin.created):
        key, point = (measured.graph, measured.release), measured
        if (known := kept.get(key)) and point.graph.instrument == "exact":
            said += _disagreement(known, point)
            same = {k: v for k, v in known.hooks.items() if known.change(k) == point.change(k)}
            point = replace(point, hooks={**same, **point.hooks})
        kept[key] = point
    by_graph = grouped((graph, point) for (graph, _), point in kept.items())
    lines = tuple(
        Line(graph, tuple(sorted(found, key=lambda point: point.release.order)))
        for graph, found in by_graph.items()
    )
    releases = sorted({point.release for point in kept.values()}, key=lambda item: item.order)
    steps = [
        step
        for line in lines
        for index, after in enumerate(line.points)
        if (before := line.before(index)) and (step := find_step(before, after))
    ]
    steps.sort(key=lambda step: -abs(step.change.points.value))
    steps.sort(key=lambda step: step.after.release.order, reverse=True)
    updated = max((point.origin.created for point in kept.values()), default="")
    return Site(tuple(releases), lines, tuple(steps), tuple(said), updated)


def _disagreement(first: Point, then: Point) -> Iterator[Problem]:
    """Say that what a setup adds differs between two runs of a build, beyond the ranges of both."""
    old, new = first.change(Number.TYPICAL), then.change(Number.TYPICAL)
    if old is None or new is None or not _gap(old.low, old.high, new.low, new.high):
        return
    graph, release = then.graph, then.release
    title = f"{graph.benchmark}: {graph.setup} on {release.label}: two runs do not agree"
    runs = (f"{p.origin.run} has {c.difference:+,.0f}" for p, c in ((first, old), (then, new)))
    detail = f"{', '.join(runs)} {graph.unit}; the later is used"
    yield Problem(title, release.label, graph.setup, graph.benchmark, detail)


def find_step(before: Point, after: Point) -> Step | None:
    """Return how an overhead changed; None where it is not certain by more than the margin.

    The typical number says it, unless another changed by more than the margin beyond that.
    """
    margin = max(before.origin.margin, after.origin.margin)
    changes = [
        OverheadChange(after.found.place, after.found.benchmark, before.found, after.found, number)
        for number in Number
        if before.change(number) and after.change(number)
    ]
    certain = [item for item in changes if _is_beyond(item, margin)]
    if not certain:
        return None
    most = max(certain, key=_least)
    if _least(most) <= _least(certain[0]) + margin:
        most = certain[0]
    return Step(before, after, most, tuple(_beside(before, after)))


def _least(item: OverheadChange) -> float:
    """Return how far the intervals of an overhead lie apart; 0 where they do not.

    A site has thousands of pairs: 5 % of them differ by chance beyond the error of a difference.
    """
    first, then = item.sides
    return _gap(first.overhead_low, first.overhead_high, then.overhead_low, then.overhead_high)


def _is_beyond(item: OverheadChange, margin: float) -> bool:
    """Say whether an overhead changed by more than the margin; other than typical, in both units.

    An event in a few readings of the baseline makes its mean larger, and the same that a setup adds
    less of it in per cent.
    """
    first, then = item.sides
    added = _gap(first.low, first.high, then.low, then.high) > margin * first.baseline_value
    return _least(item) > margin and (added or item.number is Number.TYPICAL)


def _gap(low: float, high: float, then_low: float, then_high: float) -> float:
    return max(then_low - high, low - then_high, 0.0)


def _beside(before: Point, after: Point) -> Iterator[str]:
    """Say what differs beside the kernel."""
    old, new = before.release.compiler, after.release.compiler
    if old != new:
        yield f"compiler {old or 'unknown'} → {new or 'unknown'}"
    open_ones = (side for side in (before, after) if side.found.verdict is Verdict.INCONCLUSIVE)
    for side in open_ones:
        yield f"inconclusive on {side.release.label}"
    tools = dict(before.origin.tools)
    for name, value in after.origin.tools:
        if tools.get(name, value) != value:
            yield f"another {name}"
