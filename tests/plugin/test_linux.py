# SPDX-License-Identifier: GPL-2.0-or-later
"""Attribution on Debian's kernel: it changes no count, and hooks and residue explain all."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

import pytest

from lsmeter.backend import Ending, Limits, find_backend
from lsmeter.guest.session import parse_session
from lsmeter.hooks.attribution.explain import explain_difference
from lsmeter.hooks.attribution.load import MARKER_INSNS
from lsmeter.hooks.attribution.parse import parse_profile
from lsmeter.hooks.attribution.profile import Profile, Tree
from lsmeter.model import BenchmarkStatus, Cell, Conditions, Instrument, Kernel, Sampling
from lsmeter.plan import PlannedBoot
from lsmeter.setup import parse_setup

pytestmark = pytest.mark.guest

BENCHMARKS = ("creat depth=1", "getppid", "open depth=2", "rename depth=1", "stat depth=4")


@dataclass(frozen=True)
class Guest:
    """What one guest measured, and what its plugin saw (None without a plugin)."""

    values: dict[str, tuple[int, ...]]  # in the order in which they were measured
    profile: Profile | None

    def mode(self, benchmark: str) -> int:
        counts = Counter(self.values[benchmark])
        return min(counts, key=lambda value: (-counts[value], value))

    def tree(self, benchmark: str) -> Tree:
        assert self.profile is not None
        region = self.profile.region(list(self.values).index(benchmark))
        assert region is not None
        tree = region.tree(self.mode(benchmark) + MARKER_INSNS)
        assert tree is not None, (benchmark, self.mode(benchmark), region.totals)
        return tree


def boot(kernel: Kernel, setup: str, backend: str) -> Guest:
    cell = Cell(
        kernel=kernel,
        setup=parse_setup(setup),
        suite="file",
        filesystem="tmpfs",
        user="root",
        instrument=Instrument.EXACT,
        conditions=Conditions(),
        sampling=Sampling(samples=20, warmup=10),
        benchmarks=BENCHMARKS,
    )
    planned = PlannedBoot(cell, index=0, seed=42)
    capture = asyncio.run(find_backend(backend).run(planned, Limits(), lambda _: None))
    assert capture.ending is Ending.EXITED, (capture.stderr, capture.console[-500:])
    session = parse_session(capture.results, BENCHMARKS)
    assert all(item.status is BenchmarkStatus.OK for item in session.samples)
    text = capture.attribution.decode()
    return Guest(
        {item.benchmark: item.values for item in session.samples},
        parse_profile(text, where=setup) if text else None,
    )


@pytest.fixture(scope="module")
def baseline(debian_kernel: Kernel) -> Guest:
    return boot(debian_kernel, "capability", "attributed")


def test_attribution_changes_no_count(baseline: Guest, debian_kernel: Kernel) -> None:
    plain = boot(debian_kernel, "capability", "exact")
    assert plain.profile is None
    assert plain.values == baseline.values


def test_every_reading_is_a_total_that_the_plugin_saw(baseline: Guest) -> None:
    assert baseline.profile is not None
    assert baseline.profile.whole
    for index, name in enumerate(baseline.values):
        region = baseline.profile.region(index)
        assert region is not None
        assert (region.samples, region.damaged, region.aborted) == (30, 0, 0)
        assert {value + MARKER_INSNS for value in baseline.values[name]} <= dict(
            region.totals
        ).keys()


@pytest.mark.parametrize("setup", ["selinux", "apparmor", "tomoyo"])
def test_hooks_and_residue_explain_everything(
    baseline: Guest, debian_kernel: Kernel, setup: str
) -> None:
    tested = boot(debian_kernel, setup, "attributed")
    for name in BENCHMARKS:
        found = explain_difference(
            baseline.tree(name),
            tested.tree(name),
            difference=tested.mode(name) - baseline.mode(name),
        )
        assert found.exact, (name, found)
        assert found.difference == found.hook_insns + found.residue_insns
        if name != "getppid":
            assert found.hook_insns > 0
