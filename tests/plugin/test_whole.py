# SPDX-License-Identifier: GPL-2.0-or-later
"""Bulk windows of Debian's kernel: whole to the last instruction, with all deferred work named."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.limits import Limits
from lsmeter.core.model import Conditions, Kernel
from lsmeter.guest.initramfs import base
from lsmeter.machines.description import kernel_cmdline
from lsmeter.machines.emulation import make_plugin
from lsmeter.measure.tasks.attribute import ATTRIBUTION, MARKER_INSNS
from lsmeter.questions.attribution.cost import Cost, whole_cost
from lsmeter.questions.attribution.explain import explain
from lsmeter.questions.attribution.profile import (
    RESUMED,
    Context,
    Profile,
    Tree,
    contexts,
    parse_profile,
)
from tests.guest_programs import compiled, said

pytestmark = pytest.mark.guest

SOURCE = Path(__file__).with_name("bulk.c")
# The order in which bulk.c has them.
CREAT, OPEN, MKDIR, STAT, FORK, TURN = range(6)


@dataclass(frozen=True)
class Guest:
    """What the clock counted of each region, and what the plugin saw."""

    operations: dict[int, int]
    insns: dict[int, int]
    profile: Profile

    def tree(self, place: int) -> Tree:
        region, _, _ = self.profile.cycles(place)
        assert region is not None
        assert region.sum is not None
        return region.sum

    def cost(self, place: int) -> Cost:
        operations = self.operations[0x4000 + place]
        return whole_cost([(self.tree(place), 1 / operations)])


def boot(kernel: Kernel, setup: str, place: Path) -> Guest:
    (place / "initrd").write_bytes(base(compiled(SOURCE, place)))
    cmdline = kernel_cmdline(parse_setup(setup), Conditions())
    plugin = asyncio.run(make_plugin(ATTRIBUTION, kernel, Limits(), memory_mib=256))
    plugin = replace(plugin, folder=str(place))
    lines = said(kernel, cmdline, place, plugin=plugin)
    numbers = [tuple(map(int, line)) for line in lines]
    return Guest(
        {region: operations for region, operations, _ in numbers},
        {region: insns for region, _, insns in numbers},
        parse_profile((place / ATTRIBUTION).read_text(), where=setup),
    )


@pytest.fixture(scope="module")
def guest(debian_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Guest:
    return boot(debian_kernel, "capability", tmp_path_factory.mktemp("capability"))


def calls(tree: Tree) -> Counter[tuple[Context, str]]:
    """Count the calls of each function in each context."""
    found: Counter[tuple[Context, str]] = Counter()
    for node, context in zip(tree.nodes, contexts(tree), strict=True):
        found[context, node.function.name] += node.calls
    return found


def test_every_window_agrees_with_the_clock(guest: Guest) -> None:
    """Also with interrupts, switches of tasks, new tasks and page faults in it."""
    assert guest.profile.whole
    assert len(guest.insns) == 6
    for number, insns in guest.insns.items():
        region = guest.profile.region(number)
        assert region is not None
        assert (region.samples, region.damaged, region.aborted) == (1, 0, 0)
        assert region.totals == ((insns + MARKER_INSNS, 1),), number


def test_tasks_in_the_kernel_are_named(guest: Guest) -> None:
    for place in range(6):
        tree = guest.tree(place)
        (unnamed,) = (node for node in tree.nodes if node.function.name == RESUMED)
        assert unnamed.self_insns < 100, place
        assert not [node for node in tree.nodes if node.self_insns < 0]


def test_deferred_work_is_all_there_and_in_its_context(guest: Guest) -> None:
    count = guest.operations[0x4000 + CREAT]
    found = calls(guest.tree(CREAT))
    for function in ("i_callback", "__d_free", "file_free_rcu"):
        assert found[Context.RCU, function] == count
    assert found[Context.TASK_WORK, "____fput"] == count
    assert found[Context.CALL, "__x64_sys_openat"] == count
    assert {name for _, name in found} >= {"rcu_gp_kthread", "run_ksoftirqd"}


def test_no_frame_is_lost_in_faults_and_new_tasks(guest: Guest) -> None:
    tree, count = guest.tree(FORK), guest.operations[0x4000 + FORK]
    found: Counter[str] = Counter()
    callers: Counter[tuple[str, str]] = Counter()
    for node in tree.nodes:
        found[node.function.name] += node.calls
        caller = tree.nodes[node.parent].function.name if node.parent >= 0 else ""
        callers[caller, node.function.name] += node.calls
    assert found["asm_exc_page_fault"] >= 5 * count
    assert found["exc_page_fault"] == found["asm_exc_page_fault"]
    below = {function for caller, function in callers if caller == "asm_exc_page_fault"}
    assert below == {"error_entry", "exc_page_fault"}
    assert callers["", "ret_from_fork"] == found["ret_from_fork"] == count


def test_selinux_in_line_and_deferred(guest: Guest, debian_kernel: Kernel, tmp_path: Path) -> None:
    tested = boot(debian_kernel, "selinux", tmp_path)
    found = explain(guest.cost(CREAT), tested.cost(CREAT))
    hooks = {(item.context, item.hook): item for item in found.hooks}
    later = hooks[Context.RCU, "security_inode_free"]
    assert (later.baseline_calls, later.tested_calls) == (0.0, 1.0)
    assert later.difference_insns == pytest.approx(found.hook_deferred_insns)
    assert later.difference_insns > 50
    assert hooks[Context.TASK_WORK, "security_file_free"].difference_insns > 50
    assert hooks[Context.CALL, "security_inode_free"].difference_insns > 50
    assert found.hook_inline_insns > 10 * found.hook_deferred_insns
    assert "RCU has more callbacks to run" in {cause.words for cause in found.causes}
    stat = explain(guest.cost(STAT), tested.cost(STAT))
    # Where a path name lies in its slab is worth three.
    assert stat.outside_inline_insns == pytest.approx(0.0, abs=3.1)
    assert stat.hook_deferred_insns == 0.0
