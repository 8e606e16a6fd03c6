# SPDX-License-Identifier: GPL-2.0-or-later
"""How often each operation calls each hook, and that as a document; pure.

`lsmeter help hooks-counting` describes its JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lsmeter.core.groups import grouped
from lsmeter.core.model import Benchmark, Boot, Place, Problem
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import ManifestCell
from lsmeter.measure.tasks.count import Count, count_of, hook_counts, watched
from lsmeter.questions.cells.cells import read_boots
from lsmeter.questions.cells.frame import placed, run_document
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Document, Kind, Section, Shown, Table
from lsmeter.tables.values import count, first_of, many, spanned


@dataclass(frozen=True)
class Counts:
    """All counts of a run.

    watched is how many functions the kernel let be counted; benchmarks are those that ended well,
    those that ran no hook included.
    """

    watched: tuple[tuple[Place, int], ...]
    benchmarks: tuple[tuple[Place, Benchmark], ...]
    counts: tuple[Count, ...]
    problems: tuple[Problem, ...]

    def of(self, place: Place, benchmark: Benchmark) -> tuple[Count, ...]:
        """Return the counts of one benchmark, the most frequent hook first."""
        found = self._by_benchmark.get((place, benchmark), ())
        return tuple(sorted(found, key=lambda count: (-count.runs, count.name)))

    @cached_property
    def _by_benchmark(self) -> Mapping[tuple[Place, Benchmark], list[Count]]:
        return grouped(((count.place, count.benchmark), count) for count in self.counts)


def find_counts(run: RunData) -> Counts:
    """Gather the counts of all cells of a run that counted."""
    seen: list[tuple[Place, int]] = []
    benchmarks: list[tuple[Place, Benchmark]] = []
    counts: list[Count] = []

    def read(cell: ManifestCell, boot: Boot, asked: Sequence[Benchmark]) -> tuple[Problem, ...]:
        found, problems = hook_counts(boot, asked, cell.place)
        done = {item.benchmark for item in boot.samples if item.values}
        counts.extend(found)
        benchmarks.extend((cell.place, item) for item in asked if item.id in done)
        seen.append((cell.place, watched(boot)))
        return problems

    problems = read_boots(run, {"count": read})
    boots = Counter(benchmarks)
    places = tuple(dict.fromkeys(seen))
    return Counts(places, tuple(boots), tuple(_joined(counts, boots)), problems)


def _joined(
    counts: Sequence[Count], boots: Mapping[tuple[Place, Benchmark], int]
) -> Iterator[Count]:
    """Yield each hook's count in a benchmark once, of the readings of all boots.

    boots says in how many the benchmark ended well: a hook that one lacks did not run there.
    """
    by_hook = grouped(((item.place, item.benchmark, item.name), item) for item in counts)
    for (place, benchmark, name), found in by_hook.items():
        lacking = boots.get((place, benchmark), 0) - len(found)
        readings = [runs for item in found for runs in item.readings]
        readings += [0] * (lacking * len(found[0].readings))
        yield count_of(place, benchmark, name, tuple(readings))


def guest_facts(run: RunData, kernel: str) -> Iterator[tuple[str, str]]:
    """Yield the facts that all guests of a kernel said."""
    cells = {cell.hash for cell in run.manifest.cells if cell.place.kernel == kernel}
    return (fact for boot in run.boots if boot.cell_hash in cells for fact in boot.facts)


def document(run: RunData) -> Document:
    """Return what `hooks count` shows: for each place a row per benchmark."""
    found = find_counts(run)
    places = dict.fromkeys(place for place, _ in found.benchmarks)
    section = Section("", tables=tuple(_table(found, place) for place in places))
    title = "Runs of each hook in one operation, counted in the running kernel"
    name, problems = "lsmeter-hook-counts", found.problems
    made = run_document(run, name, title, (section,), problems, _data(found))
    return replace(made, answer=first_of(_sentence(found, place) for place in places))


def _sentence(found: Counts, place: Place) -> str:
    """Say how many hooks an operation runs, and which hook runs most often."""
    runs: Counter[str] = Counter()
    totals: dict[str, int] = {}
    for where, benchmark in found.benchmarks:
        if where == place:
            mine = {item.name: item.runs for item in found.of(place, benchmark)}
            runs.update(mine)
            totals[benchmark.id] = sum(mine.values())
    text = f"{place.label}: {spanned(totals)} hooks run in one operation"
    if not runs.total():
        return f"{text}."
    name, most = runs.most_common(1)[0]
    of = f"{count(most)} of all {count(runs.total())} runs in {many(len(totals), 'benchmark')}"
    return f"{text}; most often {name}: {of}."


def _table(found: Counts, place: Place) -> Table:
    def which(benchmark: Benchmark) -> Shown:
        counts = found.of(place, benchmark)
        text = ", ".join(f"{c.name} {c.runs}{'' if c.steady else '?'}" for c in counts)
        return Shown(text, text or "none")

    fields = (
        named("benchmark", "id", "operation"),
        Field("runs", "hooks run", lambda item: sum(c.runs for c in found.of(place, item))),
        Field("hooks", "which, and how often", which, Kind.PROSE),
    )
    functions = dict(found.watched).get(place, 0)
    more = () if all(item.steady for item in found.counts) else ("?: not in all readings",)
    title = f"{place.label}: {functions} functions security_* watched"
    here = (benchmark for where, benchmark in found.benchmarks if where == place)
    return tabled("counts", title, fields, here, more=more)


def _data(found: Counts) -> dict[str, Any]:
    return {
        "watched": [
            {"kernel": place.kernel, "setup": place.setup, "functions": functions}
            for place, functions in found.watched
        ],
        "benchmarks": [
            {**placed(place, item), "runs": sum(count.runs for count in found.of(place, item))}
            for place, item in found.benchmarks
        ],
        "counts": [
            placed(item.place, item.benchmark)
            | {"hook": item.name, "runs": item.runs, "steady": item.steady}
            for item in found.counts
        ],
    }
