# SPDX-License-Identifier: GPL-2.0-or-later
"""From what a guest counted to counts of hooks; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from lsmeter.guest.session import Session
from lsmeter.hooks.attribution import modules
from lsmeter.hooks.count.model import HookCount
from lsmeter.model import Benchmark, BenchmarkStatus, Problem

WATCHED = "count.hooks"  # the fact: how many functions were counted
REFUSED = "count.refused"  # the fact: which functions could not be


def hook_counts(
    session: Session, benchmarks: Iterable[Benchmark], *, kernel: str, setup: str
) -> tuple[tuple[HookCount, ...], tuple[Problem, ...]]:
    """Return the counts of every benchmark that ended well, and what could not be counted.

    A hook that most readings did not run, and some did, is counted 0 and not steady. SELinux's own
    functions that are called like hooks are left out.
    """
    known = {benchmark.id: benchmark for benchmark in benchmarks}
    counts = tuple(
        HookCount(kernel, setup, known[item.benchmark], item.hook, most, len(times) == 1)
        for item in session.counts
        if item.benchmark in known and _is_hook(item.hook)
        for times in [Counter(item.runs)]
        for most in [_most(times)]
    )
    return counts, (*_failures(session), *_refusals(dict(session.facts)), *_unsteady(counts))


def watched(session: Session) -> int:
    """Return how many functions the guest counted; 0 when it did not say."""
    said = dict(session.facts).get(WATCHED, "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 6 else 0


def _is_hook(name: str) -> bool:
    return modules.is_hook(f"security_{name}")


def _most(times: Mapping[int, int]) -> int:
    """Return the number that stands most often; the smallest of several."""
    return min(times, key=lambda runs: (-times[runs], runs))


def _failures(session: Session) -> Iterable[Problem]:
    for samples in session.samples:
        if samples.status is not BenchmarkStatus.OK:
            title = f"{samples.benchmark} was not counted: {samples.status}"
            yield Problem(title, benchmark=samples.benchmark, detail=samples.detail)


def _refusals(facts: Mapping[str, str]) -> Iterable[Problem]:
    names = [name for name in facts.get(REFUSED, "").split(",") if name and _is_hook(name)]
    if names:
        yield Problem(
            "the kernel lets no BPF program count these hooks; they are in no benchmark's counts",
            detail=", ".join(names),
        )


def _unsteady(counts: Sequence[HookCount]) -> Iterable[Problem]:
    for count in counts:
        if not count.steady:
            yield Problem(
                f"{count.benchmark.id}: {count.hook} did not run equally often in all readings; "
                f"{count.runs} is the number of most of them",
                benchmark=count.benchmark.id,
            )
