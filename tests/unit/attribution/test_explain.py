# SPDX-License-Identifier: GPL-2.0-or-later
"""Explanations sum to the last instruction, whatever the trees."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lsmeter.hooks.attribution.explain import Cost, explain_difference, take_apart
from lsmeter.hooks.attribution.profile import Tree
from lsmeter.hooks.attribution.summary import diff, function_costs, hook_shares, module_functions
from tests.unit.attribution.trees import any_tree, function, tree


def _open(*, avc: int, dput: int = 0, interrupt: int = 0) -> Tree:
    below = (("avc_has_perm", 2, avc, (("security_inode_permission", 1, 7, ()),)),)
    return tree(
        ("[user]", 0, 11, ()),
        ("[interrupt]", 0, 0, (("vfs_open", 1, interrupt, ()),)),
        ("vfs_open", 1, 100, (("security_file_open", 2, 20, below), ("dput", 1, dput, ()))),
    )


def test_hooks_residue_and_interrupts_are_told_apart() -> None:
    found = explain_difference(_open(avc=0, dput=10), _open(avc=200, dput=14, interrupt=30))
    assert found.difference == 234
    assert (found.hook_insns, found.residue_insns, found.interrupt_insns) == (200, 4, 30)
    assert [(item.function.name, item.difference) for item in found.residue] == [("dput", 4)]
    (hook,) = found.hooks
    assert (hook.hook, hook.difference, hook.per_call) == ("security_file_open", 200, 100.0)
    assert hook.modules == (("selinux", 200), ("framework", 0))
    assert [(item.function.name, item.per_call) for item in hook.functions] == [
        ("avc_has_perm", 100.0)
    ]
    assert not found.exact


def test_a_hook_below_a_hook_is_part_of_it() -> None:
    parts = take_apart(_open(avc=200))
    assert set(parts.hooks) == {"security_file_open"}
    assert parts.hooks["security_file_open"].calls == 2
    assert parts.hooks["security_file_open"].insns == 227


def test_what_the_clock_saw_and_the_plugin_did_not_is_named() -> None:
    found = explain_difference(_open(avc=0), _open(avc=50), difference=60)
    assert (found.difference, found.hook_insns, found.unseen_insns) == (60, 50, 10)
    assert not found.exact
    assert explain_difference(_open(avc=0), _open(avc=50), difference=50).exact


def test_what_is_doubtful_is_not_exact() -> None:
    found = explain_difference(_open(avc=0), _open(avc=50), doubt="not known to repeat: selinux")
    assert found.difference == found.hook_insns == 50
    assert not found.exact


@given(any_tree(), any_tree(), st.integers(-50, 50))
def test_parts_always_sum(baseline: Tree, tested: Tree, unseen: int) -> None:
    found = explain_difference(
        baseline,
        tested,
        difference=tested.insns - baseline.insns + unseen,
    )
    parts = found.hook_insns + found.residue_insns + found.interrupt_insns + found.unseen_insns
    assert parts == found.difference
    assert found.unseen_insns == unseen
    for hook in found.hooks:
        assert sum(item.difference for item in hook.functions) == hook.difference
        assert sum(insns for _, insns in hook.modules) == hook.difference


@given(any_tree())
def test_equal_trees_have_nothing_to_explain(one: Tree) -> None:
    found = explain_difference(one, one)
    assert found.exact
    assert found.difference == 0
    assert found.residue == ()
    assert not any(hook.difference or hook.functions for hook in found.hooks)
    same = diff({"open": one}, {"open": one})
    assert (same.hooks, same.functions) == ((), ())


@given(any_tree(), any_tree())
def test_diff_names_every_changed_function(before: Tree, after: Tree) -> None:
    found = diff({"open": before, "old": before}, {"open": after, "new": after})
    assert (found.only_a, found.only_b) == (("old",), ("new",))
    (operation,) = found.operations
    interrupts = take_apart(after).interrupt_insns - take_apart(before).interrupt_insns
    assert sum(item.difference for item in operation.functions) + interrupts == (
        after.insns - before.insns
    )
    assert found.functions == operation.functions


def test_shares_over_operations() -> None:
    baseline = {"open": _open(avc=0), "stat": _open(avc=0)}
    tested = {"open": _open(avc=60), "stat": _open(avc=100, dput=40), "other": _open(avc=9)}
    (share,) = hook_shares(baseline, tested)
    assert share.share == 160 / 200
    assert share.operations == ("open", "stat")
    assert share.change.tested_calls == 4
    assert share.insns_per_call == (2 * 27 + 160) / 4


def test_recursion_is_counted_once_in_inclusive_costs() -> None:
    inner = ("avc_has_perm", 1, 10, (("dput", 1, 3, (("avc_has_perm", 1, 20, ()),)),))
    costs = function_costs([tree(inner), tree(("avc_has_perm", 1, 1, ()))])
    found = {cost.function.name: cost for cost in costs}
    assert found["avc_has_perm"].calls == 3
    assert found["avc_has_perm"].self_insns == 31
    assert found["avc_has_perm"].inclusive_insns == 34
    assert found["dput"].inclusive_insns == 23
    assert [cost.function for cost in module_functions([tree(inner)], "selinux")] == [
        function("avc_has_perm")
    ]


@given(any_tree())
def test_own_costs_sum_to_the_total(one: Tree) -> None:
    costs = function_costs([one])
    assert sum(cost.self_insns for cost in costs) == one.insns
    assert sum((Cost(cost.calls) for cost in costs), Cost()).calls == sum(
        node.calls for node in one.nodes
    )
