# SPDX-License-Identifier: GPL-2.0-or-later
"""Attribution on Debian's kernel: it changes no count, and hooks and residue explain all."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

import pytest

from lsmeter.attribution.cost import typical_cost
from lsmeter.attribution.explain import explain
from lsmeter.attribution.profile import Profile, Tree, parse_profile
from lsmeter.base.limits import Limits
from lsmeter.experiment.plan import PlannedBoot
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.capture import Ending
from lsmeter.guest.session import parse_session
from lsmeter.machines.emulation import MACHINE
from lsmeter.model import BenchmarkStatus, Cell, Conditions, Kernel, Sampling, Task
from lsmeter.setups import parse_setup
from lsmeter.tasks.attribute import ATTRIBUTION, MARKER_INSNS

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
        trees = {tree.insns: tree for tree in region.trees}
        assert self.mode(benchmark) + MARKER_INSNS in trees, (benchmark, region.totals)
        return trees[self.mode(benchmark) + MARKER_INSNS]


def boot(kernel: Kernel, setup: str, *, attribute: bool = True) -> Guest:
    cell = Cell(
        kernel=kernel,
        setup=parse_setup(setup),
        suite="file",
        filesystem="tmpfs",
        user="root",
        instrument="exact",
        conditions=Conditions(),
        sampling=Sampling(samples=20, warmup=10),
        benchmarks=BENCHMARKS,
        task=Task("attribute" if attribute else "readings"),
    )
    planned = PlannedBoot(cell, index=0, seed=42)
    capture = asyncio.run(MACHINE.run(planned, Limits(), lambda _: None))
    assert capture.ending is Ending.EXITED, (capture.stderr, capture.console[-500:])
    session = parse_session(capture.results, make_request(planned.cell, planned.seed))
    assert all(item.status is BenchmarkStatus.OK for item in session.samples)
    text = capture.outputs.get(ATTRIBUTION, b"").decode()
    return Guest(
        {item.benchmark: item.values for item in session.samples},
        parse_profile(text, where=setup) if text else None,
    )


@pytest.fixture(scope="module")
def baseline(debian_kernel: Kernel) -> Guest:
    return boot(debian_kernel, "capability")


def test_attribution_changes_no_count(baseline: Guest, debian_kernel: Kernel) -> None:
    plain = boot(debian_kernel, "capability", attribute=False)
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
    tested = boot(debian_kernel, setup)
    for name in BENCHMARKS:
        found = explain(
            typical_cost(baseline.tree(name)),
            typical_cost(tested.tree(name)),
            reported=tested.mode(name) - baseline.mode(name),
        )
        assert found.exact, (name, found)
        if name != "getppid":
            assert found.hook_inline_insns > 0
