# SPDX-License-Identifier: GPL-2.0-or-later
"""Folded stacks and flame graphs."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from hypothesis import given

from lsmeter.attribution.flame import difference_flame_graph, flame_graph, folded, folded_difference
from lsmeter.attribution.profile import Function, Node, Tree
from tests.unit.attribution.trees import any_tree, tree

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


def _titles(svg: str) -> list[str]:
    root = ET.fromstring(svg)  # noqa: S314  (written here)
    return [item.text or "" for item in root.iter("{http://www.w3.org/2000/svg}title")]


def test_flame_graph_says_what_it_shows() -> None:
    svg = flame_graph([OPEN], title="open <&> close")
    titles = _titles(svg)
    assert titles[0] == "open <&> close"
    assert "all: 200 instructions (100.0%), 0 calls" in titles
    assert "avc_has_perm [selinux]: 69 instructions (34.5%), 2 calls" in titles
    assert ">security_file_open</text>" in svg
    assert ">selinux</text>" in svg  # the legend


def test_difference_flame_graph_says_what_changed() -> None:
    svg = difference_flame_graph([OPEN], [MORE], title="more")
    titles = _titles(svg)
    assert (
        "avc_has_perm [selinux]: 69 to 99 instructions (+30, +30 its own), 2 to 2 calls" in titles
    )
    assert "dput: 0 to 30 instructions (+30, +30 its own), 0 to 1 calls" in titles
    assert "vfs_open: 189 to 219 instructions (+30, +0 its own), 1 to 1 calls" in titles
    gone = _titles(difference_flame_graph([MORE], [OPEN], title="less"))
    assert "dput: 30 to 0 instructions (-30, -30 its own), 1 to 0 calls" in gone


@given(any_tree(), any_tree())
def test_graphs_are_self_contained_xml(before: Tree, after: Tree) -> None:
    for svg in (
        flame_graph([before, after], title="t"),
        difference_flame_graph([before], [after], title="t"),
    ):
        ET.fromstring(svg)  # noqa: S314  (written here)
        assert not re.search(r"href|url\(|<script|<image", svg)
        frames = re.findall(r'<g>.*?<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg)
        assert all(float(x) + float(width) <= 1110 for x, width in frames)


def test_names_cannot_break_the_drawing() -> None:
    evil = Tree(9, (Node(-1, Function('<script>"&\x00'), 1, 9),))
    titles = _titles(flame_graph([evil], title="t"))
    assert any(title.startswith('<script>"&\ufffd: 9 instructions') for title in titles)


def test_narrow_frames_are_left_out_and_counted() -> None:
    wide = tree(("vfs_open", 1, 10_000_000, ()), ("dput", 1, 1, ()))
    svg = flame_graph([wide], title="t")
    assert "1 frames are too narrow to be drawn" in svg
    assert "dput" not in svg


def test_no_trees_give_an_empty_drawing() -> None:
    assert _titles(flame_graph([], title="nothing")) == ["nothing"]


def test_a_label_is_no_wider_than_its_frame_and_says_something() -> None:
    wide = tree(
        ("mmmmmmmmmm", 1, 50, ()), ("vfs_open", 1, 100_000, ()), ("mm_lookup_of", 1, 9_000, ())
    )
    texts = re.findall(
        r"<text x=\"[\d.]+\" y=\"[\d.]+\" fill=\"#111111\">([^<]*)<", flame_graph([wide], title="x")
    )
    assert texts == ["all", "vfs_open", "mm_lookup_of"], "the narrow one has a title only"
    narrow = tree(("vfs_open", 1, 100_000, ()), ("mm_lookup_of_a_name", 1, 6_000, ()))
    svg = flame_graph([narrow], title="x")
    assert "mm_look\N{HORIZONTAL ELLIPSIS}" not in svg
    assert re.search(r">mm_l\w*\N{HORIZONTAL ELLIPSIS}<", svg)
