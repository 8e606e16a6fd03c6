# SPDX-License-Identifier: GPL-2.0-or-later
"""Brings together what run directories and a source say of the same places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Sized

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Benchmark, Kernel, Place
from lsmeter.machines.plugin import listed_symbols
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks.count import REFUSED
from lsmeter.questions.attribution.load import run_cells
from lsmeter.questions.hooks.agreement.compare import (
    Agreement,
    BenchmarkAgreement,
    Readings,
    compare,
    kernel_facts,
    source_of,
)
from lsmeter.questions.hooks.count import Counts, find_counts, guest_facts
from lsmeter.questions.hooks.source.model import SourceAnalysis
from lsmeter.questions.hooks.source.rules import least_needed
from lsmeter.questions.slopes.figures import find_slopes

_SERIES = re.compile(r"(?<![\d.])(\d+\.\d+)(?!\d)")
_MAX_SYMBOLS_BYTES = 64 << 20


def symbols_of(kernel: Kernel) -> frozenset[str]:
    """Return the functions of a kernel that was attributed on this machine, else none."""
    path = listed_symbols(kernel)
    if not path.is_file():
        return frozenset()
    with path.open(encoding="ascii", errors="replace") as file:
        lines = (line.split() for line in file.read(_MAX_SYMBOLS_BYTES).splitlines())
        return frozenset(words[2] for words in lines if len(words) > 2 and words[1] in "tTwW")


def agree(runs: Sequence[RunData], source: SourceAnalysis | None = None) -> Agreement:
    """Compare what runs and a source say, at each place where hooks were attributed or counted.

    Slopes stand beside every setup of their kernel; where nothing else was measured, they make a
    place. UsageError when one name stands for two kernels.
    """
    kernels = _kernels(runs)
    read = [(run_cells(run), find_counts(run), find_slopes(run)) for run in runs]
    cells = (item for (attributed, _), _, _ in read for item in attributed)
    trees = {item.cell.place: item.trees for item in cells if item.kept}
    counted = _counted(counts for _, counts, _ in read)
    sloped = {(s.place, s.benchmark.id): s for _, _, found in read for s in found.slopes}
    there = dict.fromkeys((*trees, *(place for place, _ in counted)))
    beside = {place.beside for place in there}
    slopes = {(place.beside, name): found for (place, name), found in reversed(sloped.items())}
    facts = {}
    for name, kernel in kernels.items():
        pairs = [pair for at, of in trees.items() if at.kernel == name for pair in of.items()]
        symbols = symbols_of(kernel) if pairs else ()
        facts[name] = kernel_facts(pairs, symbols, _refused(runs, name))
    benchmarks = {(b.suite, b.id): b for run in runs for b in run.manifest.benchmarks}
    others = [one.name for one in kernels.values() if source and not _fits(source, one)]

    def at(place: Place) -> Iterator[BenchmarkAgreement]:
        read = source if place.kernel not in others else None
        ways = source_of(read, place.filesystem) if read else None
        for (suite, name), benchmark in benchmarks.items():
            tree = trees.get(place, {}).get(name)
            views = counted.get((place, name)), tree, slopes.get((place.beside, name))
            if suite == place.suite and any(view is not None for view in views):
                reachable = ways.hooks(benchmark.syscalls) if ways else None
                readings = Readings(benchmark, least(benchmark), reachable, *views)
                yield compare(readings, facts[place.kernel], ways)

    alone = dict.fromkeys(place for place, _ in sloped if place.beside not in beside)
    problems = [problem for (_, damaged), _, _ in read for problem in damaged]
    problems += [p for _, one, other in read for p in (*one.problems, *other.problems)]
    views: dict[str, Sized] = {"counting": counted, "attribution": trees, "slopes": sloped}
    notes = [] if source else ["source: not given (--source TREE)"]
    notes += [f"{name}: in none of the runs" for name, found in views.items() if not found]
    if source:
        of = f"the source is of Linux {source.kernel_version}"
        notes += [f"{of}, not of {name}" for name in others]
    if sloped and there:
        notes.append(
            "slopes were measured under the tunable module, the rest under each place's setup"
        )
    return Agreement(
        {place: tuple(at(place)) for place in (*there, *alone)},
        (*notes, *(note for run in runs for note in run.notes)),
        tuple(dict.fromkeys(problems)),
    )


def least(benchmark: Benchmark) -> int | None:
    """Return the access checks that POSIX needs (the study's Min Hook), None if not known."""
    if benchmark.control:
        return 0
    depth, needed = benchmark.components, least_needed()
    found = [needed.get(call) for call in benchmark.syscalls]
    # Runs that are older than the catalogue's components have paths of length 0.
    known = [c for c in found if c is not None and (depth or not c.per_component)]
    total = sum(count.constant + count.per_component * depth for count in known)
    return total if found and known == found else None


def _kernels(runs: Iterable[RunData]) -> dict[str, Kernel]:
    found: dict[str, Kernel] = {}
    for run in runs:
        for kernel in run.manifest.kernels:
            if found.setdefault(kernel.name, kernel).image_sha256 != kernel.image_sha256:
                raise UsageError(
                    f"{run.title}: {kernel.name} is another image than in the runs before it",
                    hint="compare runs of the same kernel image",
                )
    return found


def _counted(every: Iterable[Counts]) -> dict[tuple[Place, str], dict[str, tuple[int, ...]]]:
    """Return all readings of each hook; a benchmark that ran none has no hooks."""
    found: dict[tuple[Place, str], dict[str, tuple[int, ...]]] = {}
    for counts in every:
        found |= {(place, benchmark.id): {} for place, benchmark in counts.benchmarks}
        for item in counts.counts:
            if (hooks := found.get((item.place, item.benchmark.id))) is not None:
                hooks[f"security_{item.name}"] = item.readings
    return found


def _refused(runs: Iterable[RunData], kernel: str) -> Iterator[str]:
    for key, names in (fact for run in runs for fact in guest_facts(run, kernel)):
        if key == REFUSED:
            yield from (f"security_{name}" for name in names.split(",") if name)


def _fits(source: SourceAnalysis, kernel: Kernel) -> bool:
    """Say whether a source is of a kernel's series; a kernel that names no series fits."""
    series = _SERIES.findall(f"{kernel.release} {kernel.name}")
    return not series or series[:1] == _SERIES.findall(source.kernel_version)[:1]
