# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole costs: by context and hook, of windows and what they left; the parts always sum."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.questions.attribution.account import Explained
from lsmeter.questions.attribution.cost import Site, combined, whole_cost
from lsmeter.questions.attribution.explain import by_context as changes_by_context
from lsmeter.questions.attribution.explain import explain
from lsmeter.questions.attribution.profile import Context, Tree, contexts
from tests.unit.attribution.trees import Spec, any_tree, by_context, function, tree

TICK: Spec = ("asm_sysvec_apic_timer_interrupt", 10, 100, (("tick_sched_timer", 10, 400, ()),))


def _window(*, calls: int = 100, avc: int = 0, freed: int = 0, later: int = 0) -> Tree:
    """Build 100 operations: opened and closed in line, freed by RCU in a softirq."""
    hook: Spec = ("security_file_open", calls, 500, (("avc_has_perm", calls, avc, ()),))
    close: Spec = ("task_work_run", 100, 300, (("security_file_free", 100, freed, ()),))
    batch: Spec = (
        "rcu_do_batch",
        5,
        50,
        (
            ("file_free_rcu", 100, 200, ()),
            ("inode_free_by_rcu", 100, later, (("kmem_cache_free", 100, 7, ()),)),
        ),
    )
    softirq: Spec = ("handle_softirqs", 5, 30, (("rcu_core", 5, 20, (batch,)),))
    return tree(
        ("[user]", 0, 10_000, ()),
        ("[interrupt]", 0, 0, (TICK, softirq)),
        ("[resumed]", 0, 0, (("rcu_gp_kthread", 3, 40, ()),)),
        ("entry_SYSCALL_64", 200, 1000, (hook, close)),
    )


def test_contexts_are_told_by_who_runs_the_work() -> None:
    work: Spec = ("process_one_work", 1, 1, (("vmstat_update", 1, 1, ()),))
    found = tree(
        ("[user]", 0, 1, ()),
        ("[resumed]", 0, 1, (("worker_thread", 1, 1, (work,)),)),
        ("ret_from_fork", 1, 1, (("schedule_tail", 1, 1, ()), ("kthread", 1, 1, ()))),
        ("asm_exc_page_fault", 1, 1, (("__do_softirq", 1, 1, (("dput", 1, 1, ()),)),)),
    )
    assert list(contexts(found)) == [
        Context.USER,
        *(Context.THREAD, Context.THREAD, Context.WORKQUEUE, Context.WORKQUEUE),
        *(Context.CALL, Context.CALL, Context.THREAD),
        *(Context.CALL, Context.SOFTIRQ, Context.SOFTIRQ),
    ]


def test_callbacks_are_told_where_the_loop_over_them_is_inlined() -> None:
    own: Spec = ("rcu_segcblist_ready_cbs", 1, 1, ())
    called: Spec = ("file_free_rcu", 1, 1, (("kmem_cache_free", 1, 1, ()),))
    found = tree(("[interrupt]", 0, 0, (("rcu_core", 1, 1, (own, called)),)))
    assert list(contexts(found)) == [*[Context.INTERRUPT] * 3, Context.RCU, Context.RCU]


def test_cost_of_one_operation_by_context() -> None:
    cost = whole_cost([(_window(avc=700, freed=200, later=60), 1 / 100)])
    assert by_context(cost) == {
        Context.CALL: pytest.approx((1000 + 500 + 700) / 100),
        Context.TASK_WORK: pytest.approx((300 + 200) / 100),
        Context.INTERRUPT: pytest.approx(5.0),
        Context.SOFTIRQ: pytest.approx(0.5),
        Context.RCU: pytest.approx((50 + 200 + 60 + 7) / 100),
        Context.THREAD: pytest.approx(0.4),
    }
    assert cost.hook_calls == {
        (Context.CALL, "security_file_open"): 1.0,
        (Context.TASK_WORK, "security_file_free"): 1.0,
        # What the framework has done later is the hook's whose work it ends.
        (Context.RCU, "security_inode_free"): 1.0,
    }
    assert (
        cost.sites[Site(Context.RCU, "security_inode_free", function("kmem_cache_free"))].insns
        == 0.07
    )
    assert cost.insns == pytest.approx((_window(avc=700, freed=200, later=60).insns - 10_000) / 100)


def test_what_is_the_same_after_half_a_window_is_no_cost() -> None:
    parts = [(_window(), 1 / 100), (_window(later=60), 1 / 50), (_window(), -1 / 50)]
    alone = by_context(whole_cost(parts[:1]))
    alone[Context.RCU] += 60 / 50
    assert by_context(whole_cost(parts)) == pytest.approx(alone)


def test_work_of_others_below_a_hook_is_not_the_hooks() -> None:
    softirq: Spec = ("__do_softirq", 1, 30, (("net_rx_action", 1, 50, ()),))
    opened = tree(("security_file_open", 1, 5, (("dput", 1, 7, (softirq,)),)))
    found = whole_cost([(opened, 1)])
    explained = explain(whole_cost([(tree(("dput", 0, 0, ())), 1)]), found)
    assert (explained.hook_inline_insns, explained.outside_deferred_insns) == (12.0, 80.0)


def test_a_difference_is_made_up_of_four_parts() -> None:
    base = whole_cost([(_window(), 1 / 100)])
    tested = whole_cost([(_window(avc=700, freed=200, later=60), 1 / 100)])
    found = explain(base, tested, reported=10.0)
    assert found.hook_inline_insns == pytest.approx(7.0 + 2.0)
    assert found.hook_deferred_insns == pytest.approx(0.6)
    assert changes_by_context(found.outside) == {}
    assert found.difference_insns == pytest.approx(9.6)
    assert found.unseen_insns == pytest.approx(0.4)
    later = next(item for item in found.hooks if not item.context.inline)
    assert (later.hook, later.context) == ("security_inode_free", Context.RCU)
    assert [item.function for item in later.functions] == ["inode_free_by_rcu"]
    assert explain(base, tested).unseen_insns is None


@given(any_tree(), any_tree(), any_tree(), st.integers(1, 50), st.integers(1, 50))
def test_parts_always_sum(before: Tree, after: Tree, left: Tree, old: int, new: int) -> None:
    base = whole_cost([(before, 1 / old), (left, -1 / old)])
    tested = whole_cost([(after, 1 / new), (left, 1 / new)])
    found = explain(base, tested)
    assert found.difference_insns == pytest.approx(tested.insns - base.insns, abs=1e-6)
    parts = (
        found.hook_inline_insns
        + found.hook_deferred_insns
        + found.outside_inline_insns
        + found.outside_deferred_insns
    )
    assert found.difference_insns == pytest.approx(parts, abs=1e-6)
    parts_of = (changes_by_context(found.hooks), changes_by_context(found.outside))
    contexts_too = sum(sum(part.values()) for part in parts_of)
    assert found.difference_insns == pytest.approx(contexts_too, abs=1e-6)
    assert sum(by_context(base).values()) == pytest.approx(base.insns, abs=1e-6)
    assert explain(base, base).difference_insns == 0


@given(any_tree())
def test_only_user_space_is_left_out(one: Tree) -> None:
    left_out = sum(
        node.self_insns
        for node, context in zip(one.nodes, contexts(one), strict=True)
        if context is Context.USER
    )
    assert whole_cost([(one, 1)]).insns == one.insns - left_out


def test_boots_and_operations_add_up() -> None:
    one, other = (whole_cost([(_window(avc=avc), 1 / 100)]) for avc in (100, 300))
    mean = combined((cost, 1 / 2) for cost in (one, other))
    assert mean.insns == pytest.approx((one.insns + other.insns) / 2)
    base = {"open": one, "close": one}
    operations = {name: explain(cost, other, reported=2.5) for name, cost in base.items()}
    total = Explained(operations).total
    assert total.difference_insns == pytest.approx(4.0)
    assert total.reported_insns == 5.0
    assert Explained({}).total.difference_insns == 0
