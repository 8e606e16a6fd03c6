# SPDX-License-Identifier: GPL-2.0-or-later
"""Folded stacks and flame graphs."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given

from lsmeter.questions.attribution.account import Account, Pair, run_accounts
from lsmeter.questions.attribution.cost import Kept
from lsmeter.questions.attribution.flame import changed, folded, folded_difference
from lsmeter.questions.attribution.load import load_run
from lsmeter.questions.attribution.profile import Function, Node, Tree
from lsmeter.tables.model import Figure
from tests.unit.attribution.recorded import write_run
from tests.unit.attribution.trees import Spec, any_tree, tree
from tests.unit.report.test_html import Page

OPEN = tree(
    ("[user]", 0, 11, ()),
    ("vfs_open", 1, 100, (("security_file_open", 1, 20, (("avc_has_perm", 2, 69, ()),)),)),
)
MORE = tree(
    ("[user]", 0, 11, ()),
    ("vfs_open", 1, 100, (("security_file_open", 1, 20, (("avc_has_perm", 2, 99, ()),)),)),
    ("dput", 1, 30, ()),
)


def test_folded_stacks() -> None:
    assert folded({"open depth=1": OPEN}) == (
        "open_depth=1;[user] 11\n"
        "open_depth=1;vfs_open 100\n"
        "open_depth=1;vfs_open;security_file_open 20\n"
        "open_depth=1;vfs_open;security_file_open;avc_has_perm 69\n"
    )


def test_folded_differences_have_two_numbers() -> None:
    assert folded_difference({"open": OPEN, "gone": OPEN}, {"open": MORE}) == (
        "open;[user] 11 11\n"
        "open;dput 0 30\n"
        "open;vfs_open 100 100\n"
        "open;vfs_open;security_file_open 20 20\n"
        "open;vfs_open;security_file_open;avc_has_perm 69 99\n"
    )


@given(any_tree())
def test_folded_stacks_sum_to_the_tree(one: Tree) -> None:
    positive = Tree(0, tuple(node for node in one.nodes if node.self_insns >= 0))
    if len(positive.nodes) != len(one.nodes):
        return
    numbers = [int(line.rsplit(" ", 1)[1]) for line in folded({"x": one}).splitlines()]
    assert sum(numbers) == one.insns


def _drawn(figure: Figure) -> Page:
    return Page(figure.draw("plot-1"))


def _titles(figure: Figure) -> list[str]:
    return [words["title"] for tag, words in _drawn(figure).elements if tag == "a"]


def _account(account: Account, before: list[Tree], after: list[Tree]) -> Account:
    pairs = {
        str(place): Pair(Kept(old, 1), Kept(new, 1))
        for place, (old, new) in enumerate(zip(before, after, strict=True))
    }
    return replace(account, pairs=pairs)


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Account:
    run, cells, _ = load_run(write_run(tmp_path_factory.mktemp("graphs") / "run", "before"))
    return run_accounts(cells, run.manifest.baseline_setup)[0]


def test_a_difference_graph_says_what_changed(account: Account) -> None:
    figure = changed(_account(account, [OPEN], [MORE]))
    titles = _titles(figure)
    assert (
        "avc_has_perm [selinux]: 69 to 99 instructions (+30, +30 its own), 2 to 2 calls" in titles
    )
    assert "dput: 0 to 30 instructions (+30, +30 its own), 0 to 1 calls" in titles
    assert "vfs_open: 189 to 219 instructions (+30, +0 its own), 1 to 1 calls" in titles
    classes = {a["title"].split(":")[0]: a["class"] for t, a in _drawn(figure).elements if t == "a"}
    assert (classes["dput"], classes["vfs_open"]) == ("heat-10", "heat-5")
    less = changed(_account(account, [MORE], [OPEN]))
    assert "dput: 30 to 0 instructions (-30, -30 its own), 1 to 0 calls" in _titles(less)


@given(any_tree(), any_tree())
def test_frames_lie_inside_of_their_callers_and_lead_to_themselves(
    account: Account, before: Tree, after: Tree
) -> None:
    figure = changed(_account(account, [before], [after]))
    page = _drawn(figure)
    keys = [a["id"] for tag, a in page.elements if "id" in a]
    assert len(keys) == len(set(keys))
    assert [a["href"] for tag, a in page.elements if tag == "a"] == [f"#{key}" for key in keys]
    # The widths of what a frame calls, which lie side by side.
    around: list[float] = []
    for line in figure.draw("x").splitlines():
        if width := re.search(r"width:([\d.]+)%", line):
            if around:
                around[-1] += float(width[1])
                assert around[-1] <= 100.01
            around.append(0)
        elif line == "</div></div>":
            around.pop()


def test_names_cannot_break_the_drawing(account: Account) -> None:
    evil = Tree(9, (Node(-1, Function('<script>"&\x1b\u202e'), 1, 9),))
    text = changed(_account(account, [evil], [evil])).draw("x")
    assert text.isprintable() or set(text) - {"\n"} == {c for c in text if c.isprintable()}
    assert "<script" not in text
    assert any(
        '<script>"&' in title for title in _titles(changed(_account(account, [evil], [evil])))
    )


def test_narrow_frames_are_left_out_and_their_share_is_said(account: Account) -> None:
    wide = tree(("vfs_open", 1, 99_990, ()), *((f"f{place}", 1, 2, ()) for place in range(5)))
    text = changed(_account(account, [wide], [wide])).draw("x")
    assert "5 frames are too narrow to be drawn: with what they call, 0.01 % of the width" in text
    assert "f0" not in text


def test_deep_stacks_are_cut_where_browsers_would_flatten_them(account: Account) -> None:
    deep: Spec = ("bottom", 1, 1000, ())
    for _ in range(400):
        deep = ("vfs_open", 1, 1, (deep,))
    text = changed(_account(account, [tree(deep)], [tree(deep)])).draw("x")
    assert text.count('class="frame"') == 200
    assert " % of the width" in text


def test_no_trees_give_an_empty_drawing(account: Account) -> None:
    assert _titles(changed(_account(account, [], []))) == []
