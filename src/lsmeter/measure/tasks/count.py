# SPDX-License-Identifier: GPL-2.0-or-later
"""Counting, in the running kernel, how often each hook runs in one operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lsmeter.core.model import Benchmark, BenchmarkStatus, Boot, Cell, Place, Problem, Sampling
from lsmeter.measure.tasks import TaskKind
from lsmeter.sources.kernels.functions import is_hook
from lsmeter.statistics.estimate import mode

WATCHED = "count.hooks"  # the fact: how many functions were counted
WATCHED_NAMES = "count.watched."  # facts, numbered from 1: which functions were counted
REFUSED = "count.refused"  # the fact: which functions could not be


def counting(cell: Cell) -> Mapping[str, Any]:
    """Ask for counts; what earlier readings left to be freed would be counted as well."""
    counters = cell.setup.counters if cell.task.name == "lookups" else ()
    return {"count": True, "quiet": True, "counters": counters}


# DEBUG_INFO_BTF is the kernel's own type information; function tracing leaves the place at a
# function's entry where a program can be put. A hook runs equally often each time, or not: more
# readings would say nothing new. Attaching some 300 programs takes a kernel seconds in which it
# prints nothing, and a minute where other work leaves QEMU a tenth of a core.
TASK = TaskKind(
    "count",
    "counts of hooks",
    counting,
    needs=("BPF_SYSCALL", "BPF_JIT", "DEBUG_INFO_BTF", "FUNCTION_TRACER", "DYNAMIC_FTRACE"),
    sampling=Sampling(samples=8, warmup=3),
    silence_s=240.0,
)


@dataclass(frozen=True)
class Count:
    """How often one hook runs in one operation, or how far a module's own counter goes.

    name is the hook's without the prefix security_, or the counter's: avc.lookups. runs is the
    number of most readings; steady says that it was the number of every one of them. A hook that
    never ran in a benchmark has no count. readings are all numbers, in their order.
    """

    place: Place
    benchmark: Benchmark
    name: str
    runs: int
    steady: bool
    readings: tuple[int, ...] = field(default=(), compare=False)


def count_of(place: Place, benchmark: Benchmark, name: str, runs: tuple[int, ...]) -> Count:
    """Return the count that readings give; there is at least one."""
    return Count(place, benchmark, name, mode(Counter(runs)), len(set(runs)) == 1, runs)


def hook_counts(
    boot: Boot, benchmarks: Iterable[Benchmark], place: Place
) -> tuple[tuple[Count, ...], tuple[Problem, ...]]:
    """Return the counts of every benchmark that ended well, and what could not be counted.

    A hook that most readings did not run, and some did, is counted 0 and not steady. SELinux's own
    functions that are called like hooks are left out.
    """
    known = {benchmark.id: benchmark for benchmark in benchmarks}
    counts = tuple(
        count_of(place, known[item.benchmark], item.hook, item.runs)
        for item in boot.counts
        if item.benchmark in known and is_hook(f"security_{item.hook}")
    )
    return counts, (
        *failures(boot, known.values(), " was not counted"),
        *_refusals(boot),
        *_unsteady(counts),
    )


def watched(boot: Boot) -> int:
    """Return how many functions the guest counted; 0 when it did not say."""
    said = dict(boot.facts).get(WATCHED, "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 6 else 0


def failures(boot: Boot, benchmarks: Iterable[Benchmark], what: str) -> Iterable[Problem]:
    """Name the benchmarks that did not end well; `what` says what they lack."""
    asked = {benchmark.id for benchmark in benchmarks}
    for samples in boot.samples:
        if samples.benchmark in asked and samples.status is not BenchmarkStatus.OK:
            title = f"{samples.benchmark}{what}: {samples.status}"
            yield Problem(title, benchmark=samples.benchmark, detail=samples.detail)


def _refusals(boot: Boot) -> Iterable[Problem]:
    refused = dict(boot.facts).get(REFUSED, "").split(",")
    names = [name for name in refused if name and is_hook(f"security_{name}")]
    if names:
        yield Problem(
            "the kernel lets no BPF program count these hooks; they are in no benchmark's counts",
            detail=", ".join(names),
        )


def _unsteady(counts: Sequence[Count]) -> Iterable[Problem]:
    for count in counts:
        if not count.steady:
            yield Problem(
                f"{count.benchmark.id}: {count.name} did not run equally often in all readings; "
                f"{count.runs} is the number of most of them",
                benchmark=count.benchmark.id,
            )


def spread(runs: Iterable[int]) -> str:
    """Write readings that differ: 3 in 7, 4 in 1."""
    return ", ".join(f"{number} in {times}" for number, times in Counter(runs).most_common())
