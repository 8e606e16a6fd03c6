# SPDX-License-Identifier: GPL-2.0-or-later
"""What counting the hooks of a running kernel gives; no I/O here."""

from __future__ import annotations

from dataclasses import dataclass

from lsmeter.model import Benchmark, Problem
from lsmeter.report.heading import Heading


@dataclass(frozen=True)
class HookCount:
    """How often one hook runs in one operation, once everything it looks up is cached.

    hook is without the prefix security_. runs is the number of most readings; steady says that
    it was the number of every one of them. A hook that never ran in a benchmark has no count.
    """

    kernel: str
    setup: str
    benchmark: Benchmark
    hook: str
    runs: int
    steady: bool


@dataclass(frozen=True)
class CountReport:
    """All that a format of `lsmeter hooks count` shows.

    benchmarks are (kernel, setup, benchmark) of all that were counted, those that ran no hook
    included.
    """

    heading: Heading
    watched: tuple[tuple[str, str, int], ...]  # kernel, setup, how many functions
    benchmarks: tuple[tuple[str, str, Benchmark], ...]
    counts: tuple[HookCount, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
