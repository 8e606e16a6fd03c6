# SPDX-License-Identifier: GPL-2.0-or-later
"""Brings the views of each benchmark together: from a run, a source, counts and slopes; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lsmeter.hooks.agreement.benchmarks import bounds, components, least
from lsmeter.hooks.agreement.compare import compare
from lsmeter.hooks.agreement.model import (
    Agreement,
    CountedRuns,
    Place,
    Readings,
    SlopeReading,
)
from lsmeter.hooks.attribution.load import AttributedCell
from lsmeter.hooks.attribution.profile import INTERRUPT, Tree
from lsmeter.hooks.source.model import SourceAnalysis
from lsmeter.report.numbers import natural

_SERIES = re.compile(r"(?<![\d.])(\d+\.\d+)(?!\d)")


@dataclass(frozen=True)
class CountedBenchmark:
    """All hooks of one benchmark as counted at one place."""

    place: Place
    benchmark: str
    hooks: Mapping[str, CountedRuns]  # by name, with security_


@dataclass(frozen=True)
class SlopedBenchmark:
    """The slope of one benchmark at one place, whose setup is that of the slope."""

    place: Place
    benchmark: str
    reading: SlopeReading


@dataclass(frozen=True)
class Inputs:
    """All that may go in; what is empty or None was not measured.

    releases gives the release of kernels by name (`uname -r`), where it is known. problems are
    lines on what could not be measured.
    """

    cells: Sequence[AttributedCell] = ()
    counts: Sequence[CountedBenchmark] = ()
    slopes: Sequence[SlopedBenchmark] = ()
    source: SourceAnalysis | None = None
    releases: Mapping[str, str] | None = None
    problems: tuple[str, ...] = ()


def agree(inputs: Inputs) -> Agreement:
    """Compare all that went in: one table for each kernel and setup, in natural order."""
    tables = [compare(place, _readings(inputs, place)) for place in _places(inputs)]
    return Agreement(tuple(tables), tuple(_notes(inputs)))


def hook_runs(tree: Tree) -> dict[str, int]:
    """Return the runs of every hook in one operation, also of hooks that hooks call.

    Those in interrupts are left out: they are no part of the operation.
    """
    found: dict[str, int] = {}
    interrupted: list[bool] = []
    for node in tree.nodes:
        inside = interrupted[node.parent] if node.parent >= 0 else node.function.name == INTERRUPT
        interrupted.append(inside)
        if node.function.hook and not inside:
            name = node.function.name
            found[name] = found.get(name, 0) + node.calls
    return found


def _places(inputs: Inputs) -> Iterator[Place]:
    """Yield where hooks were attributed or counted; kernels with slopes alone come as well."""
    attributed = [
        Place(item.cell.kernel, item.cell.setup, item.cell.filesystem, item.cell.user)
        for item in inputs.cells
    ]
    counted = [item.place for item in inputs.counts]
    there = {_without_setup(place) for place in (*attributed, *counted)}
    sloped = [item.place for item in inputs.slopes if _without_setup(item.place) not in there]
    yield from dict.fromkeys((*attributed, *counted, *sloped))


def _without_setup(place: Place) -> Place:
    """Return the place that slopes stand beside: they were measured under a setup of their own."""
    return replace(place, setup="")


def _readings(inputs: Inputs, place: Place) -> Iterator[Readings]:
    trees = {
        name: tree
        for item in inputs.cells
        if Place(item.cell.kernel, item.cell.setup, item.cell.filesystem, item.cell.user) == place
        for name, tree in item.trees.items()
    }
    counts = {item.benchmark: item.hooks for item in inputs.counts if item.place == place}
    slopes: dict[str, SlopeReading] = {}
    for item in inputs.slopes:
        if _without_setup(item.place) == _without_setup(place):
            slopes.setdefault(item.benchmark, item.reading)
    source = inputs.source if _source_fits(inputs, place.kernel) else None
    for name in sorted({*trees, *counts, *slopes}, key=natural):
        yield Readings(
            benchmark=name,
            components=components(name),
            least=least(name),
            source=None if source is None else bounds(source, place.filesystem, name),
            counted=counts.get(name),
            attributed=hook_runs(trees[name]) if name in trees else None,
            slope=slopes.get(name),
        )


def _source_fits(inputs: Inputs, kernel: str) -> bool:
    """Say whether the source is of a kernel's series; a kernel that tells no series fits."""
    if inputs.source is None:
        return False
    told = f"{(inputs.releases or {}).get(kernel, '')} {kernel}"
    series = _SERIES.search(told)
    wanted = _SERIES.search(inputs.source.kernel_version)
    return series is None or wanted is None or series[1] == wanted[1]


def _notes(inputs: Inputs) -> Iterator[str]:
    for what, there, how in (
        ("source", inputs.source is not None, "--source TREE"),
        ("counting", bool(inputs.counts), "--counts FILE"),
        ("attribution", bool(inputs.cells), "--run RUN"),
        ("slopes", bool(inputs.slopes), "--slopes FILE"),
    ):
        if not there:
            yield f"{what}: not given ({how})"
    kernels = dict.fromkeys(place.kernel for place in _places(inputs))
    if inputs.source is not None:
        for kernel in kernels:
            if not _source_fits(inputs, kernel):
                yield f"the source is of Linux {inputs.source.kernel_version}, not of {kernel}"
    if inputs.slopes and (inputs.cells or inputs.counts):
        yield (
            "slopes were measured under the tunable module, the rest under the setup of each table"
        )
    yield from inputs.problems
    yield from _missing_attribution(inputs.cells)


def _missing_attribution(cells: Iterable[AttributedCell]) -> Iterator[str]:
    for item in cells:
        if item.missing:
            names = ", ".join(item.missing)
            yield f"{item.cell.setup} on {item.cell.kernel}: no attribution for {names}"
