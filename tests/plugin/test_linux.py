# SPDX-License-Identifier: GPL-2.0-or-later
"""Attribution on Debian's kernel: it changes no count, and hooks and residue explain all."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.limits import Limits
from lsmeter.core.model import BenchmarkStatus, Cell, Conditions, Kernel, Sampling, Task
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.capture import Ending
from lsmeter.guest.session import parse_session
from lsmeter.machines.emulation import MACHINE
from lsmeter.measure.experiment.plan import PlannedBoot
from lsmeter.measure.tasks.attribute import ATTRIBUTION, MARKER_INSNS
from lsmeter.measure.tasks.events import BY_ADDRESS, EVENTS, EVENTS_OUTPUT, parse_events
from lsmeter.questions.attribution.cost import typical_cost
from lsmeter.questions.attribution.explain import explain
from lsmeter.questions.attribution.profile import Profile, Tree, parse_profile

pytestmark = pytest.mark.guest

BENCHMARKS = ("creat depth=1", "getppid", "open depth=2", "rename depth=1", "stat depth=4")


@dataclass(frozen=True)
class Guest:
    """What one guest measured, and what its plugin saw (None without a plugin)."""

    values: dict[str, tuple[int, ...]]  # in the order in which they were measured
    profile: Profile | None
    events: str = ""

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


def boot(kernel: Kernel, setup: str, *, task: str = "attribute", seed: int = 42) -> Guest:
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
        task=Task(task),
    )
    planned = PlannedBoot(cell, index=0, seed=seed)
    capture = asyncio.run(MACHINE.run(planned, Limits(), lambda _: None))
    assert capture.ending is Ending.EXITED, (capture.stderr, capture.console[-500:])
    session = parse_session(capture.results, make_request(planned.cell, planned.seed))
    assert all(item.status is BenchmarkStatus.OK for item in session.samples)
    text = capture.outputs.get(ATTRIBUTION, b"").decode()
    return Guest(
        {item.benchmark: tuple(item.values) for item in session.samples},
        parse_profile(text, where=setup) if text else None,
        capture.outputs.get(EVENTS_OUTPUT, b"").decode(),
    )


@pytest.fixture(scope="module")
def baseline(debian_kernel: Kernel) -> Guest:
    return boot(debian_kernel, "capability")


def test_attribution_changes_no_count(baseline: Guest, debian_kernel: Kernel) -> None:
    plain = boot(debian_kernel, "capability", task="readings")
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


def typical(guest: Guest, benchmark: str) -> dict[str, int]:
    """Return the median of each event over the readings, without those to warm up."""
    region = parse_events(guest.events)[list(guest.values).index(benchmark)]
    readings = [vector for vector in region.readings[-20:] if vector]
    return {
        name: sorted(column)[(len(column) - 1) // 2]
        for name, column in zip(EVENTS, zip(*readings, strict=True), strict=True)
    }


@pytest.fixture(scope="module")
def counted(debian_kernel: Kernel) -> Guest:
    return boot(debian_kernel, "selinux", task="events")


def test_events_change_no_count_and_are_of_each_reading(
    counted: Guest, debian_kernel: Kernel
) -> None:
    plain = boot(debian_kernel, "selinux", task="readings")
    assert plain.values == counted.values
    regions = parse_events(counted.events)
    for place, values in enumerate(counted.values.values()):
        readings = regions[place].readings
        assert len(readings) == 30
        assert [vector and vector[0] - MARKER_INSNS for vector in readings[-20:]] == [*values]


def test_events_of_a_seed_repeat_and_classes_of_another_do(
    counted: Guest, debian_kernel: Kernel
) -> None:
    assert boot(debian_kernel, "selinux", task="events").events == counted.events
    other = boot(debian_kernel, "selinux", task="events", seed=7)
    for name in ("getppid", "open depth=2", "stat depth=4"):
        one, two = typical(counted, name), typical(other, name)
        assert {key: one[key] for key in one.keys() - BY_ADDRESS} == {
            key: two[key] for key in two.keys() - BY_ADDRESS
        }
        for key in BY_ADDRESS:  # of eight pages that fall into one set, all or none may stay
            assert abs(one[key] - two[key]) <= max(8, 0.1 * one[key]), (name, key)


def test_events_are_plausible(baseline: Guest, counted: Guest) -> None:
    """Hooks of SELinux are called through pointers on this kernel: one more for each component."""
    found = typical(counted, "stat depth=4")
    assert found["returns"] == found["direct_calls"] + found["indirect_calls"]
    assert found["indirect_calls"] == 5
    assert found["mode_switches"] == found["swapgs"] == 2
    assert found["popf"] == 0
    assert found["code_pages"] < found["code_lines"] < found["insns"]
    assert found["taken"] < found["branches"]
    assert baseline.events == ""
    for name in counted.values:
        tree = counted.tree(name)
        assert sum(dict(node.events).get(0, 0) for node in tree.nodes) == tree.insns
