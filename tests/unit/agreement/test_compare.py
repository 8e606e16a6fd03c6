# SPDX-License-Identifier: GPL-2.0-or-later
"""Views with known differences: what agrees, what has evidence and which, what stays open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.model import Place
from lsmeter.measure.tasks.sweep import Point, Sweep
from lsmeter.questions.attribution.profile import Tree
from lsmeter.questions.hooks.agreement.compare import (
    BenchmarkAgreement,
    KernelFacts,
    Outcome,
    Readings,
    Source,
    View,
    compare,
    hook_runs,
    kernel_facts,
    other_process,
    rcu_walks_left,
    source_of,
)
from lsmeter.questions.slopes.figures import Slope, fit_slope
from tests.unit.attribution.trees import Spec, any_tree, tree
from tests.unit.model_builders import benchmark

INODE, FILE = "security_inode_permission", "security_file_permission"
STAT = replace(benchmark("stat", depth=2), calls="newstat", components=2)


def syscall(*below: Spec, name: str = "newstat") -> Spec:
    return ("entry_SYSCALL_64", 1, 1, ((f"__x64_sys_{name}", 1, 1, below),))


def runs(hook: str, times: int, caller: str = "inode_permission") -> Spec:
    return (caller, times, 1, ((hook, times, 1, ()),) if times else ())


IRQ: Spec = ("[interrupt]", 0, 0, (runs(FILE, 1),))


def slope(calls: float, setup: str = "tunable") -> Slope:
    points = tuple(Point(d, d, 1000 + calls * d + d % 3) for d in range(0, 100_001, 10_000))
    place = Place("k", setup, "file", "tmpfs", "root")
    return fit_slope(Sweep(STAT, points), place)


def judged(
    counted: Mapping[str, tuple[int, ...] | int] | None = None,
    seen: Tree | None = None,
    facts: KernelFacts | None = None,
    source: Source | None = None,
    **more: object,
) -> BenchmarkAgreement:
    each = {k: (v,) * 8 if isinstance(v, int) else v for k, v in (counted or {}).items()}
    of = Readings(STAT, counted=None if counted is None else each, tree=seen)
    if source is not None:
        of = replace(of, reachable=source.hooks(STAT.syscalls))
    return compare(replace(of, **more), facts or KernelFacts(), source)  # type: ignore[arg-type]


def only(found: BenchmarkAgreement) -> tuple[str, str, str]:
    (finding,) = found.findings
    return finding.hook, finding.reason, finding.evidence


def test_views_that_say_the_same_agree() -> None:
    found = judged({INODE: 2}, tree(syscall(runs(INODE, 2))), slope=slope(2))
    assert (found.checks, found.total, found.findings) == (Outcome.AGREE, Outcome.AGREE, ())
    assert found.source is Outcome.NOT_MEASURED


def test_what_is_alone_is_not_measured_and_stays_visible() -> None:
    found = judged(seen=tree(syscall(runs(INODE, 2))))
    assert (found.checks, found.total) == (Outcome.NOT_MEASURED, Outcome.NOT_MEASURED)
    assert found.readings.total(View.ATTRIBUTION) == 2
    assert found.readings.total(View.COUNTING) is found.readings.checks(View.SLOPE) is None


def test_a_hook_that_did_not_run_ran_0_times() -> None:
    found = judged({}, tree(syscall()))
    assert found.readings.total(View.COUNTING) == found.readings.checks(View.ATTRIBUTION) == 0
    assert found.total is Outcome.AGREE


def test_totals_that_are_equal_hide_no_hook() -> None:
    seen = tree(syscall(runs(INODE, 2), runs(FILE, 1)))
    found = judged({INODE: 1, FILE: 2}, seen)
    assert found.readings.total(View.COUNTING) == found.readings.total(View.ATTRIBUTION)
    assert (found.total, found.checks) == (Outcome.OPEN, Outcome.OPEN)


@pytest.mark.parametrize(
    ("counted", "seen", "reason", "said"),
    [
        (1, (syscall(runs(FILE, 1)), syscall(runs(FILE, 1), name="read")), "another process",
         "1 of 2 below __x64_sys_read"),
        (0, (syscall(("do_exit", 1, 1, (runs(FILE, 2),))),), "another process",
         "2 of 2 below do_exit"),
        # The same tree, and a count that it does not account for.
        (1, (syscall(("do_exit", 1, 1, (runs(FILE, 2),))),), "", "no run"),
        (3, (syscall(runs(FILE, 2)), IRQ), "interrupt", "1 more"),
        (4, (syscall(runs(FILE, 2)), IRQ), "", "no run"),
        ((1, 1, 2), (syscall(runs(FILE, 2)),), "not steady", "1 of 3 readings counted 2"),
        ((1, 1, 3), (syscall(runs(FILE, 2)),), "", "no run"),
    ],
)  # fmt: skip
def test_counting_against_attribution(
    counted: tuple[int, ...] | int, seen: tuple[Spec, ...], reason: str, said: str
) -> None:
    found = judged({FILE: counted}, tree(*seen))
    hook, why, evidence = only(found)
    assert (hook, why) == (FILE, reason)
    assert said in evidence
    assert found.total is (Outcome.EXPLAINED if reason else Outcome.OPEN)


def test_a_hook_that_bpf_may_not_count() -> None:
    facts = KernelFacts(refused=frozenset({FILE}))
    assert only(judged({}, tree(syscall(runs(FILE, 2))), facts))[1] == "not countable"
    assert only(judged({FILE: 1}, tree(syscall(runs(FILE, 2))), facts))[1] == ""


def test_a_look_up_that_left_the_rcu_walk_asks_again() -> None:
    walk: Spec = ("link_path_walk", 1, 1, (runs(INODE, 3), ("try_to_unlazy", 1, 1, ())))
    seen = tree(syscall(walk))
    assert rcu_walks_left(seen) == 1
    assert only(judged(seen=seen, slope=slope(2)))[1] == "RCU walk left"
    assert only(judged(seen=seen, slope=slope(1)))[1] == ""
    # complete_walk() leaves it too, and asks nothing.
    done: Spec = ("complete_walk", 1, 1, (("try_to_unlazy", 1, 1, ()),))
    assert only(judged(seen=tree(syscall(runs(INODE, 3), done)), slope=slope(2)))[1] == ""


def test_slopes_are_held_against_attribution_and_see_two_hooks_together() -> None:
    seen = tree(syscall(runs(INODE, 2), runs(FILE, 1), runs("security_x", 7)))
    assert judged(seen=seen, slope=slope(3)).checks is Outcome.AGREE
    assert judged({INODE: 3}, slope=slope(3)).checks is Outcome.AGREE
    hook, reason, evidence = only(judged(seen=seen, slope=slope(2.5)))
    assert (hook, reason) == ("inode_permission + file_permission", "")
    assert "whole number" in evidence


WAYS = Source(
    {"newstat": frozenset({INODE, "security_inode_getattr"}), "getppid": frozenset()},
    {"newstat": "__do_sys_newstat"},
    nx.DiGraph(
        [
            ("__do_sys_newstat", "inlined"),
            ("inlined", "vfs_getattr"),
            ("inlined", "path_lookupat"),
            ("vfs_getattr", "security_inode_getattr"),
            ("path_lookupat", "may_lookup"),
            ("may_lookup", INODE),
            ("of_another_call", INODE),
        ]
    ),
)
LOOKED = tree(syscall(("path_lookupat", 1, 1, (runs(INODE, 1, "may_lookup"),))))


def test_a_caller_that_a_tree_would_show_was_not_reached() -> None:
    elsewhere = tree(("vfs_getattr", 1, 1, ()))
    facts = kernel_facts([("stat depth=1", elsewhere)])
    hook, reason, evidence = only(judged(seen=LOOKED, facts=facts, source=WAYS))
    assert (hook, reason) == ("security_inode_getattr", "caller not reached")
    assert "vfs_getattr" in evidence
    symbols = kernel_facts([], ["vfs_getattr.isra.0", "security_inode_getattr"])
    assert only(judged(seen=LOOKED, facts=symbols, source=WAYS))[1] == "caller not reached"
    # A function that no tree would show may be inlined: into the system call, which ran.
    hook, reason, evidence = only(judged(seen=LOOKED, source=WAYS))
    assert (hook, reason) == ("security_inode_getattr", "")
    assert "__do_sys_newstat ran and did not call it" in evidence


def test_a_caller_that_ran_needs_a_tree_that_shows_the_call() -> None:
    seen = tree(syscall(("path_lookupat", 1, 1, ()), runs("security_inode_getattr", 1)))
    control = tree(("path_lookupat", 1, 1, ((INODE, 1, 1, ()),)))
    facts = kernel_facts([("stat link=soft", control)])
    hook, reason, evidence = only(judged(seen=seen, facts=facts, source=WAYS))
    assert (hook, reason) == (INODE, "branch not taken")
    assert "path_lookupat does in stat link=soft" in evidence
    assert only(judged(seen=seen, facts=kernel_facts([("x", seen)]), source=WAYS))[1] == ""


def test_a_caller_that_is_inlined_here_and_a_symbol_there_is_no_evidence() -> None:
    """vfs_getattr is a function of its own, and stat.c has it inlined where it calls the hook."""
    shown = tree(("vfs_statx", 1, 1, (("security_inode_getattr", 1, 1, ()),)))
    facts = kernel_facts([("stat depth=1", shown)], ["vfs_getattr", "security_inode_getattr"])
    failed = tree(syscall(("vfs_statx", 1, 1, (runs(INODE, 1, "may_lookup"),))))
    ways = replace(WAYS, graph=nx.relabel_nodes(WAYS.graph, {"inlined": "vfs_statx"}))
    hook, reason, evidence = only(judged(seen=failed, facts=facts, source=ways))
    assert (hook, reason) == ("security_inode_getattr", "branch not taken")
    assert "vfs_statx does in stat depth=1" in evidence


def test_a_hook_that_the_kernel_does_not_have() -> None:
    facts = kernel_facts([], [INODE, "path_lookupat"])
    assert only(judged(seen=LOOKED, facts=facts, source=WAYS))[1] == "not compiled in"


def test_a_count_without_a_tree_explains_no_hook_of_the_source() -> None:
    found = judged({INODE: 1}, source=WAYS)
    assert (only(found)[1], found.source) == ("", Outcome.OPEN)
    assert judged({INODE: 1, "security_inode_getattr": 1}, source=WAYS).source is Outcome.AGREE


def test_a_hook_that_the_source_cannot_reach_is_open_but_for_queued_work() -> None:
    known = {INODE: 1, "security_inode_getattr": 1, "security_file_free": 1}
    queued: Spec = ("task_work_run", 1, 1, (runs("security_file_free", 1, "__fput"),))
    both = syscall(runs(INODE, 1), runs("security_inode_getattr", 1))
    assert only(judged(known, tree(both, queued), source=WAYS))[1] == "task work"
    at_once = tree(both, syscall(runs("security_file_free", 1, "__fput")))
    assert only(judged(known, at_once, source=WAYS))[1:] == ("", "called by __fput")


def test_a_call_that_was_not_analysed_is_not_measured() -> None:
    other = replace(STAT, calls="newstat+fork")
    assert WAYS.hooks(other.syscalls) is None
    assert WAYS.hooks(()) == frozenset()
    assert judged({INODE: 1}, source=WAYS, reachable=None).source is Outcome.NOT_MEASURED


def test_the_graph_of_an_analysis_is_that_of_one_file_system() -> None:
    def edge(caller: str, callee: str) -> SimpleNamespace:
        return SimpleNamespace(caller=caller, callee=callee)

    def use(*names: str) -> SimpleNamespace:
        return SimpleNamespace(interface=names[-1], chain=names)

    ways = (use("__do_sys_close", "ima_file_free"), use("__do_sys_close", FILE))
    analysis = SimpleNamespace(
        edges={
            "tmpfs": (edge("__do_sys_close", FILE), edge("__do_sys_close", "ima_file_free")),
            "ext4": (edge("ext4_x", INODE),),
        },
        syscalls=(
            SimpleNamespace(syscall="close", filesystem="tmpfs", hooks=ways),
            SimpleNamespace(syscall="read", filesystem="ext4", hooks=()),
        ),
    )
    found = source_of(analysis, "tmpfs")  # type: ignore[arg-type]
    assert found.reached == {"close": {FILE}}
    assert found.roots == {"close": "__do_sys_close"}
    assert set(found.graph.successors("__do_sys_close")) == {FILE, "ima_file_free"}
    assert INODE not in found.graph


def test_hooks_of_hooks_count_and_interrupts_do_not() -> None:
    opened: Spec = ("security_file_open", 1, 5, ((INODE, 2, 3, ()),))
    seen = tree(
        ("vfs_open", 1, 10, (opened, (INODE, 1, 3, ()))),
        ("[interrupt]", 1, 50, (("security_file_free", 4, 3, ()),)),
    )
    assert hook_runs(seen) == {"security_file_open": 1, INODE: 3}


def test_what_the_measuring_process_cannot_have_run() -> None:
    assert not other_process(("do_syscall_64", "__x64_sys_newstat", "vfs_x"), ("newstat",))
    assert other_process(("__arm64_sys_read", "vfs_read"), ("newstat",)) == "__arm64_sys_read"
    assert other_process(("__x64_sys_newstat", "do_exit"), ("newstat",)) == "do_exit"


@given(any_tree())
def test_no_tree_gives_more_runs_than_its_nodes_have(one: Tree) -> None:
    for hook, count in hook_runs(one).items():
        assert count <= sum(node.calls for node in one.nodes if node.function.name == hook)


@given(st.dictionaries(st.sampled_from([INODE, FILE, "security_x"]), st.integers(0, 4)), any_tree())
def test_agreement_is_that_of_every_hook(counted: dict[str, int], seen: Tree) -> None:
    found = judged(counted, seen, source=WAYS)
    attributed = hook_runs(seen)
    same = all(counted.get(hook, 0) == attributed[hook] for hook in counted.keys() | attributed)
    assert (found.total is Outcome.AGREE) == same
    assert all(finding.evidence for finding in found.findings)
