# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of trees: of the same peak, so that no artefact of sampling is charged to a function."""

from __future__ import annotations

from lsmeter.questions.attribution.account import Pair, choose_pair
from lsmeter.questions.attribution.cost import Kept
from lsmeter.questions.attribution.explain import Explanation, explain
from lsmeter.questions.attribution.profile import Tree
from tests.unit.attribution.trees import tree


def _copy(*, place: int = 0, hook: int = 0) -> Tree:
    """Build a read whose copying depends on where the buffer lies in its page."""
    return tree(
        ("vfs_read", 1, 100, (("_copy_to_iter", 1, 60 + place, ()),)),
        ("security_file_permission", 1, 10 + hook, ()),
    )


def _kept(*trees: tuple[Tree, int]) -> list[Kept]:
    return [Kept(item, samples) for item, samples in trees]


def _explained(pair: Pair, reported: int | None = None) -> Explanation:
    return explain(pair.baseline.cost, pair.tested.cost, reported=reported, doubt=pair.doubt)


# TOMOYO's peaks are those of the baseline; only which of them is the highest is chance.
BASELINE = _kept((_copy(place=33), 90), (_copy(), 80), (_copy(place=50), 3))
TESTED = _kept((_copy(), 92), (_copy(place=33), 78), (_copy(place=50), 2))


def test_trees_of_two_peaks_are_not_held_against_each_other() -> None:
    chosen = choose_pair(BASELINE, TESTED)
    assert chosen.doubt == ""
    assert chosen.tested.tree.insns == chosen.baseline.tree.insns
    explained = _explained(chosen)
    assert (explained.difference_insns, explained.outside) == (0, ())


def test_the_paired_difference_chooses() -> None:
    selinux = _kept((_copy(hook=152), 92), (_copy(place=33, hook=152), 78))
    chosen = choose_pair(BASELINE, selinux, 152)
    assert chosen.doubt == ""
    found = _explained(chosen, 152)
    assert found.exact
    assert (found.hook_inline_insns, found.outside) == (152, ())
    # The highest peaks differ by this much; no function is charged for it.
    chosen = choose_pair(BASELINE, selinux, 152 - 33)
    assert chosen.doubt == ""  # a pair has it
    assert chosen.tested.tree.insns - chosen.baseline.tree.insns == 119


def test_without_such_a_pair_it_is_doubtful() -> None:
    chosen = choose_pair(BASELINE, TESTED, 7)
    assert chosen.doubt == "no two trees that were kept differ by +7"
    assert chosen.tested.tree.insns == chosen.baseline.tree.insns
    found = _explained(chosen, 7)
    assert not found.exact
    assert (found.unseen_insns, found.outside) == (7, ())


def test_frequent_trees_come_first() -> None:
    rare = _copy(place=50)
    chosen = choose_pair(_kept((rare, 1), (_copy(), 90)), _kept((rare, 1), (_copy(hook=5), 90)))
    assert (chosen.baseline.tree, chosen.tested.tree) == (_copy(), _copy(hook=5))
    # A rare pair is taken where no frequent one has the difference.
    chosen = choose_pair(_kept((rare, 1), (_copy(), 90)), _kept((rare, 1), (_copy(hook=5), 90)), 0)
    assert (chosen.baseline.tree, chosen.tested.tree) == (rare, rare)
