# SPDX-License-Identifier: GPL-2.0-or-later
"""Explanations of typical calls sum to the last instruction, whatever the trees."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lsmeter.questions.attribution.account import Explained
from lsmeter.questions.attribution.cost import typical_cost
from lsmeter.questions.attribution.explain import Explanation, explain
from lsmeter.questions.attribution.flame import Side, merge
from lsmeter.questions.attribution.profile import Context, Tree
from tests.unit.attribution.trees import any_tree, by_context, tree


def _open(*, avc: int, dput: int = 0, interrupt: int = 0) -> Tree:
    below = (("avc_has_perm", 2, avc, (("security_inode_permission", 1, 7, ()),)),)
    return tree(
        ("[user]", 0, 11, ()),
        ("[interrupt]", 0, 0, (("vfs_open", 1, interrupt, (("security_file_open", 1, 0, ()),)),)),
        ("vfs_open", 1, 100, (("security_file_open", 2, 20, below), ("dput", 1, dput, ()))),
    )


def _explained(baseline: Tree, tested: Tree, reported: int | None = None) -> Explanation:
    return explain(typical_cost(baseline), typical_cost(tested), reported=reported)


def _operations(baseline: dict[str, Tree], tested: dict[str, Tree]) -> Explained:
    before = {name: typical_cost(item) for name, item in baseline.items()}
    after = {name: typical_cost(item) for name, item in tested.items()}
    names = before.keys() & after.keys()
    return Explained({name: explain(before[name], after[name]) for name in names})


def test_hooks_non_hook_cost_and_interrupts_are_told_apart() -> None:
    found = _explained(_open(avc=0, dput=10), _open(avc=200, dput=14, interrupt=30))
    assert found.difference_insns == 234
    assert (found.hook_inline_insns, found.outside_inline_insns, found.outside_deferred_insns) == (
        200,
        4,
        30,
    )
    assert [(item.function, item.difference_insns) for item in found.outside] == [
        ("[interrupt]", 30),
        ("dput", 4),
    ]
    (hook,) = found.hooks
    assert (hook.hook, hook.difference_insns, hook.difference_per_call) == (
        "security_file_open",
        200,
        100.0,
    )
    assert hook.modules == (("selinux", 200), ("framework", 0))
    assert [(item.function, item.difference_per_call) for item in hook.functions] == [
        ("avc_has_perm", 100.0)
    ]
    assert not found.exact


def test_a_hook_below_a_hook_is_part_of_it() -> None:
    cost = typical_cost(_open(avc=200))
    assert cost.hook_calls == {(Context.CALL, "security_file_open"): 2}
    assert sum(item.insns for site, item in cost.sites.items() if site.hook) == 227


def test_what_the_clock_counted_and_the_plugin_did_not_is_named() -> None:
    found = _explained(_open(avc=0), _open(avc=50), 60)
    assert (found.clock_insns, found.hook_inline_insns, found.unseen_insns) == (60, 50, 10)
    assert not found.exact
    assert _explained(_open(avc=0), _open(avc=50), 50).exact


def test_what_is_doubtful_is_not_exact() -> None:
    found = replace(_explained(_open(avc=0), _open(avc=50)), doubt="not known to repeat: selinux")
    assert found.difference_insns == found.hook_inline_insns == 50
    assert not found.exact


@given(any_tree(), any_tree(), st.integers(-50, 50))
def test_parts_always_sum(baseline: Tree, tested: Tree, unseen: int) -> None:
    found = _explained(baseline, tested, tested.insns - baseline.insns + unseen)
    parts = (
        found.hook_inline_insns,
        found.outside_inline_insns,
        found.outside_deferred_insns,
        unseen,
    )
    assert found.hook_deferred_insns == 0
    assert sum(parts) == found.clock_insns
    assert found.unseen_insns == unseen
    for hook in found.hooks:
        assert sum(item.difference_insns for item in hook.functions) == hook.difference_insns
        assert sum(insns for _, insns in hook.modules) == hook.difference_insns
        assert hook.tested_insns - hook.baseline_insns == hook.difference_insns


@given(any_tree())
def test_costs_are_integers_that_sum_to_the_tree(one: Tree) -> None:
    cost = typical_cost(one)
    assert cost.insns == one.insns == sum(by_context(cost).values())
    assert all(isinstance(number, int) for item in cost.sites.values() for number in item)


@given(any_tree())
def test_equal_trees_have_nothing_to_explain(one: Tree) -> None:
    found = _operations({"open": one}, {"open": one})
    assert found.total.exact
    assert (found.total.difference_insns, found.total.outside, found.total.functions) == (0, (), ())
    assert found.total.changed_hooks == []


@given(any_tree(), any_tree())
def test_every_changed_function_is_named(before: Tree, after: Tree) -> None:
    found = _operations({"open": before, "old": before}, {"open": after, "new": after})
    assert set(found.benchmarks) == {"open"}
    interrupts = found.benchmarks["open"].outside_deferred_insns
    assert sum(item.difference_insns for item in found.total.functions) + interrupts == (
        after.insns - before.insns
    )
    assert found.benchmarks["open"].functions == found.total.functions


def test_shares_over_operations() -> None:
    baseline = {"open": _open(avc=0), "stat": _open(avc=0)}
    tested = {"open": _open(avc=60), "stat": _open(avc=100, dput=40), "other": _open(avc=9)}
    found = _operations(baseline, tested)
    (hook,) = found.total.hooks
    assert found.total.share(hook) == 160 / 200
    assert found.callers(hook.hook) == ["open", "stat"]
    assert (hook.tested_calls, hook.tested_insns) == (4, 2 * 27 + 160)


def test_recursion_is_counted_once_in_inclusive_costs() -> None:
    inner = ("avc_has_perm", 1, 10, (("dput", 1, 3, (("avc_has_perm", 1, 20, ()),)),))
    root = merge("all", {}, {"a": tree(inner), "b": tree(("avc_has_perm", 1, 1, ()))})
    assert root.functions("selinux") == [("avc_has_perm", Side(31, 34, 3))]
    assert dict(root.functions(""))["dput"].inclusive == 23


@given(any_tree())
def test_own_costs_sum_to_the_total(one: Tree) -> None:
    root = merge("all", {}, {"a": one})
    modules = {node.function.module for node in one.nodes}
    sides = [side for module in modules for _, side in root.functions(module)]
    assert sum(side.own for side in sides) == one.insns
    assert sum(side.calls for side in sides) == sum(node.calls for node in one.nodes)
