# SPDX-License-Identifier: GPL-2.0-or-later
"""The overhead of each setup over kernel versions, from a run on several; pure.

As Table 1 of ASIA CCS'21 does for Linux 2.4 to 5.3: a row for each operation, a column for each
kernel. An operation has the number and the verdict that a report gives it; all operations together
have the median of the typical overheads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from debian.debian_support import Version

from lsmeter.core.groups import grouped
from lsmeter.core.model.conclusion import Comparison, Number, Verdict
from lsmeter.core.releases import order_of
from lsmeter.measure.instruments import find_instrument
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import Manifest
from lsmeter.questions.cells.cells import cell_results, within_run, without_baseline
from lsmeter.questions.cells.covers import left_out
from lsmeter.questions.cells.frame import missing_note, problem_section, run_data, run_facts
from lsmeter.questions.cells.rows import PROBLEMS, RUN
from lsmeter.questions.cost import findings
from lsmeter.tables import look, numbers
from lsmeter.tables.fields import Contract, Each, Field, Row, flat_table, named
from lsmeter.tables.look import channel
from lsmeter.tables.model import Detail, Document, Kind, Section, Shown, Table, Value, columns
from lsmeter.tables.svg import figure
from lsmeter.tables.values import first_of, percent

ALL = "all operations"
_KERNELS = 4  # that a sentence names


@dataclass(frozen=True)
class Point:
    """A setup's overhead on one operation and one kernel (fractions; positive is worse).

    verdict, and decided_by where it is not the typical number, are empty for all operations.
    """

    kernel: str
    release: str
    setup: str
    operation: str  # ALL: the median over every benchmark but the controls
    median: float
    largest: float
    benchmarks: int
    verdict: str = ""
    decided_by: str = ""


def find_points(run: RunData) -> tuple[Point, ...]:
    """Gather what is said of every setup, operation and kernel of a run."""
    releases = {kernel.name: kernel.release for kernel in run.manifest.kernels}
    found = grouped(
        ((item.place.kernel, item.place.setup, operation), item)
        for item in findings.tested(within_run(run))
        for operation in (item.benchmark.operation, ALL)
    )
    return tuple(
        _point((kernel, releases[kernel], setup, operation), items, run.manifest.margin)
        for (kernel, setup, operation), items in found.items()
    )


def _point(where: tuple[str, str, str, str], items: Sequence[Comparison], margin: float) -> Point:
    largest = findings.most(items, margin).overhead
    if where[-1] == ALL:
        return Point(*where, findings.medians(items).typical or 0.0, largest, len(items))
    said = findings.operation(items)
    return Point(*where, said.overhead, largest, len(items), said.verdict.value, said.number.value)


def _cell(point: Point | None) -> Value:
    """Write an overhead with its verdict, as a report does."""
    if point is None:
        return None
    if not point.verdict:
        return Shown(point.median, f"{percent(point.median)}  ")
    verdict = Verdict(point.verdict)
    mark = numbers.VERDICT_MARKS[verdict]
    mark += numbers.DECIDED_MARKS[Number(point.decided_by)] or " "
    return Shown(point.median, f"{numbers.overhead(point.median, verdict)} %{mark}")


def _order(
    points: Sequence[Point], manifest: Manifest
) -> tuple[dict[str, str], list[str], list[str]]:
    """Return kernels with their releases (oldest first), setups and operations."""
    known = {kernel.name: kernel for kernel in manifest.kernels}

    def age(name: str) -> Version:
        return order_of(known[name].version or known[name].release)

    kernels = sorted(sorted({point.kernel for point in points}), key=age)
    operations = {point.operation for point in points} - {ALL}
    setups = dict.fromkeys(point.setup for point in points)
    releases = {name: known[name].release for name in kernels}
    return releases, list(setups), [ALL, *sorted(operations)]


_POINT = Row(
    (
        *map(named, ("kernel", "release", "setup", "operation")),
        *(Field("median"), Field("largest"), Field("benchmarks", of=int)),
        *map(named, ("verdict", "decided_by")),
    )
)
CONTRACT = Contract(
    "lsmeter-history",
    1,
    Row(
        (
            *(*RUN, named("baseline_setup"), named("unit"), Field("kernels", of=Each(str))),
            *(Field("points", of=Each(_POINT)), PROBLEMS),
        )
    ),
)


def document(run: RunData, detail: Detail = Detail.FULL) -> Document:
    """Return what `history` shows: for each setup a row per operation, a column per kernel."""
    points, manifest = find_points(run), run.manifest
    kernels, setups, _ = _order(points, manifest)
    results = cell_results(run)
    problems = (
        *manifest.problems,
        *(item for result in results for item in result.problems),
        *without_baseline(manifest, results),
    )
    data = {
        **run_data(run),
        "baseline_setup": manifest.baseline_setup,
        "unit": find_instrument(manifest.instrument).unit,
        "kernels": list(kernels),
        "points": points,
        "problems": problems,
    }
    entry = CONTRACT.row.entry(data)
    programs = flat_table("points", [*map(_POINT.flat, entry["points"])], _POINT.flat(None))
    tables = (programs,) if detail is Detail.DATA else _tables(manifest, points)
    caption = f"Typical overhead over {manifest.baseline_setup}, a line for each setup."
    return Document(
        CONTRACT.name,
        CONTRACT.version,
        manifest.title or "Overhead of security modules over kernel versions",
        answer=first_of(_answer(run, points, setups, list(kernels))),
        facts=run_facts(run),
        sections=(Section("", tables=tables), *problem_section(problems)),
        notes=(*_signs(run), *missing_note(run), *run.notes),
        data=entry,
        picture=figure("Overhead over kernels", caption, plot(run)) if points else None,
    )


def _tables(manifest: Manifest, points: Sequence[Point]) -> tuple[Table, ...]:
    kernels, setups, operations = _order(points, manifest)
    base = manifest.baseline_setup
    cells = {(point.setup, point.operation, point.kernel): _cell(point) for point in points}
    heads = (*columns(Kind.NAME, "operation"), *columns(Kind.PERCENT, *kernels))
    return tuple(
        Table(
            "points",
            f"{setup}: overhead over {base}, median of an operation's variants that have the "
            "sign; positive is worse",
            heads,
            tuple((name, *(cells.get((setup, name, k)) for k in kernels)) for name in operations),
        )
        for setup in setups
    )


def _answer(
    run: RunData, points: Sequence[Point], setups: Sequence[str], kernels: Sequence[str]
) -> Iterator[str]:
    """Say how each setup's overhead went from the oldest kernel to the newest."""
    base = run.manifest.baseline_setup
    if not points:
        yield f"Nothing was compared: no setup beside {base} has a number."
    unit = numbers.unit_word(find_instrument(run.manifest.instrument).unit)
    arches = {kernel.name: kernel.arch for kernel in run.manifest.kernels}
    every = [point for point in points if point.operation == ALL]
    by_line = grouped(((point.setup, arches[point.kernel]), point) for point in every)
    for (setup, _), mine in sorted(by_line.items(), key=lambda line: setups.index(line[0][0])):
        mine.sort(key=lambda point: kernels.index(point.kernel))
        shown = mine if len(mine) <= _KERNELS else [mine[0], mine[-1]]
        costs = ", ".join(f"{percent(point.median)} on {point.kernel}" for point in shown)
        ends = [percent(f(point.median for point in mine)) for f in (min, max)]
        left = len(mine) > len(shown)
        span = f"; {ends[0]} to {ends[1]} over {len(mine)} kernels" * left
        yield f"{setup}: median {costs}{span}, over {base} ({unit} a call)."


def _signs(run: RunData) -> tuple[str, ...]:
    """Explain the signs, and what those of equality leave out."""
    words = find_instrument(run.manifest.instrument).words
    marks = [f"{mark} {kind}" for kind, mark in numbers.VERDICT_MARKS.items()]
    marks += [
        f"{mark} decided by the {kind}" for kind, mark in numbers.DECIDED_MARKS.items() if mark
    ]
    hidden = left_out(within_run(run), words)
    return (", ".join(marks), *([f"equivalent leaves out {hidden}"] if hidden else ()))


def plot(run: RunData) -> dict[str, Any]:
    """Return a Vega-Lite plot: overhead over kernels, a line for each setup, by operation."""
    points, manifest = find_points(run), run.manifest
    kernels, setups, operations = _order(points, manifest)
    unit = find_instrument(manifest.instrument).unit
    # All of Debian's 6.1 say 6.1.0 of themselves.
    known = {kernel.name: kernel.version for kernel in manifest.kernels}
    short = {
        name: known[name] or release.partition("-")[0] or name for name, release in kernels.items()
    }
    # Two architectures have the same releases, and are two lines.
    several = len({kernel.arch for kernel in manifest.kernels}) > 1
    of = {kernel.name: f" ({kernel.arch})" * several for kernel in manifest.kernels}
    rows = [
        {
            **vars(point),
            "kernel": short[point.kernel],
            "setup": f"{point.setup}{of[point.kernel]}",
            "overhead": point.median * 100,
        }
        for point in points
    ]
    lines = list(dict.fromkeys(f"{setup}{arch}" for arch in of.values() for setup in setups))
    order = list(dict.fromkeys(short.values()))
    title = f"typical overhead over {manifest.baseline_setup}, % of {unit}"
    encoding = {
        "x": channel("kernel:O", sort=order, title="kernel"),
        "y": channel("overhead:Q", title=title),
        "color": channel("setup:N", sort=lines, title=None),
    }
    spec = {"mark": {"type": "line", "point": True}, "encoding": encoding, **look.PANEL}
    panels = look.facets(rows, spec, "operation", 3, sort=operations)
    title = f"{manifest.title} ({manifest.instrument} instrument)"
    return {"$schema": look.SCHEMA, **panels, "title": title}
