# SPDX-License-Identifier: GPL-2.0-or-later
"""Causes of non-hook cost: stated where the trees prove them, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.questions.attribution.account import run_accounts
from lsmeter.questions.attribution.cost import FunctionChange
from lsmeter.questions.attribution.explain import Explanation, find_causes
from lsmeter.questions.attribution.load import load_run
from lsmeter.questions.attribution.profile import Context
from tests.unit.attribution.recorded import write_run


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Explanation]]:
    run, cells, _ = load_run(write_run(tmp_path_factory.mktemp("causes") / "run", "before"))
    accounts = run_accounts(cells, run.manifest.baseline_setup)
    return {item.place.setup: dict(item.typical.benchmarks) for item in accounts}


def delta(name: str, calls: float, insns: float, *, inside: bool = False) -> FunctionChange:
    """Change a function by so many calls and instructions."""
    hook = "security_any" if inside else ""
    return FunctionChange(Context.CALL, hook, 0, 0, calls, insns, name, "")


def test_smack_makes_the_path_walk_leave_rcu_mode(
    explained: dict[str, dict[str, Explanation]],
) -> None:
    for name in ("stat depth=2", "rename depth=1"):
        found = explained["smack"][name]
        (cause,) = found.causes
        assert cause.words == (
            "the path walk leaves RCU mode (smack_inode_permission refuses MAY_NOT_BLOCK)"
        )
        assert 0 < cause.insns <= found.outside_inline_insns
        assert sum(insns for _, insns in cause.functions) == pytest.approx(cause.insns)
    # Nearly all that Smack costs outside of its hooks.
    stat = explained["smack"]["stat depth=2"]
    assert stat.causes[0].insns > 0.9 * stat.outside_inline_insns
    assert dict(stat.causes[0].evidence)["__d_lookup"] == 2


def test_what_did_not_change_has_no_cause(explained: dict[str, dict[str, Explanation]]) -> None:
    assert not any(item.causes for item in explained["selinux"].values())
    assert explained["smack"]["getppid"].causes == ()


@pytest.mark.parametrize(
    ("changes", "words", "insns"),
    [
        ((delta("memset_erms", 1, 40.0),), "larger or more objects are cleared", 40.0),
        (
            (delta("___slab_alloc", 0.1, 30.0), delta("get_page_from_freelist", 0.02, 9.0)),
            "larger or more objects: slabs are refilled and given back more often",
            39.0,
        ),
        (
            (delta("simple_xattr_alloc", 1, 50.0, inside=True), delta("kfree", 2, 90.0)),
            "extended attributes are made with new files, and freed with them",
            90.0,
        ),
        (
            (
                delta("call_rcu", 1, 94.0, inside=True),
                delta("rcu_do_batch", 0.1, 31.0),
                delta("rcu_cblist_dequeue", 1.0, 10.0),
            ),
            "RCU has more callbacks to run",
            41.0,
        ),
        (
            (delta("try_to_wake_up", 0.1, 6.0), delta("dequeue_task_fair", 0.1, 5.0)),
            "kernel threads are woken more often",
            11.0,
        ),
    ],
)
def test_each_cause(changes: tuple[FunctionChange, ...], words: str, insns: float) -> None:
    (cause,) = find_causes([*changes, delta("vfs_open", 0, 500.0)])
    assert (cause.words, cause.insns) == (words, pytest.approx(insns))


@pytest.mark.parametrize(
    "changes",
    [
        (delta("dput", 3, 80.0),),  # it costs more, but nothing tells why
        (delta("try_to_unlazy", 1, 10.0), delta("__d_lookup_rcu", -1, -50.0)),  # cheaper in all
        (delta("memset_erms", -1, 10.0),),
        (delta("call_rcu", 1, 94.0, inside=True),),  # its cost is the hook's
        (),
    ],
)
def test_no_cause_without_evidence_and_cost(changes: tuple[FunctionChange, ...]) -> None:
    assert find_causes(changes) == ()


def test_who_refuses_is_named_only_where_one_can_be() -> None:
    walk = (delta("try_to_unlazy", 1, 30.0), delta("smack_inode_permission", 1, 90.0, inside=True))
    other = delta("selinux_inode_permission", 1, 90.0, inside=True)
    assert "smack_inode_permission" in find_causes(walk)[0].words
    assert find_causes((*walk, other))[0].words == "the path walk leaves RCU mode"


_NAMES = ("dput", "try_to_unlazy", "memset", "___slab_alloc", "call_rcu", "rcu_core", "vfs_open")


@given(
    st.lists(
        st.builds(
            delta,
            st.sampled_from(_NAMES),
            st.floats(-9, 9),
            st.floats(-99, 99),
            inside=st.booleans(),
        )
    )
)
def test_no_instruction_has_two_causes(changes: list[FunctionChange]) -> None:
    found = find_causes(changes)
    names = [name for cause in found for name, _ in cause.functions]
    assert len(names) == len(set(names))
    outside = {item.function for item in changes if not item.hook}
    assert set(names) <= outside
