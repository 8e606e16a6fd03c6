# SPDX-License-Identifier: GPL-2.0-or-later
"""The parser of the plugin's output: strict, and safe against anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import GuestError
from lsmeter.measure.tasks.events import EVENTS as KINDS
from lsmeter.questions.attribution.profile import Function, Tree, parse_profile
from tests.unit.attribution.trees import any_tree, nodes_text

HEADER = "lsmeter-attribution 2\n"
REGION = """\
region 3 6 1 2 1
t 30 3
t 40 2
tree 40
n 1 0 0 40 [user]
tree 30
n 1 0 0 11 [user]
n 2 0 0 0 [interrupt]
n 3 0 1 4 entry_SYSCALL_64
n 4 3 2 15 avc_has_perm@selinux
end 3
"""
BULK = """\
region 16385 2 0 0 0
t 30 1
t 40 1
sum 70 2
n 1 0 0 50 [user]
n 2 0 0 20 [resumed]
end 16385
region 32769 1 0 0 0
t 9 1
sum 9 1
n 1 0 0 9 [user]
end 32769
"""
TAIL = "stray 1\nrefused 0\neof\n"
WHOLE = HEADER + REGION + TAIL


def test_reads_a_region() -> None:
    profile = parse_profile(WHOLE, where="out")
    assert profile.whole
    assert profile.stray_ends == 1
    (region,) = profile.regions
    assert (region.id, region.samples, region.uncounted) == (3, 6, 1)
    assert (region.damaged, region.aborted) == (2, 1)
    assert [tree.insns for tree in region.trees] == [30, 40]  # the most frequent first
    tree = region.trees[0]
    assert tree.nodes[3].function == Function("avc_has_perm", "selinux")
    assert (tree.nodes[3].parent, tree.nodes[3].calls, tree.nodes[3].self_insns) == (2, 2, 15)


def test_reads_bulk_windows() -> None:
    profile = parse_profile(HEADER + REGION + BULK + TAIL, where="out")
    windows, left, brief_left = profile.cycles(1)
    assert windows is not None
    assert windows.sum is not None
    assert (windows.samples, windows.summed, windows.sum.insns, windows.trees) == (2, 2, 70, ())
    assert left is None
    assert brief_left is not None
    assert brief_left.sum is not None
    assert brief_left.sum.insns == 9
    assert profile.cycles(0) == (None, None, None)


def test_reads_what_was_written_before_there_were_sums() -> None:
    assert parse_profile(WHOLE.replace("attribution 2", "attribution 1"), where="out").whole


@pytest.mark.parametrize(
    ("old", "new"),
    [("sum 70 2", "sum 71 2"), ("sum 70 2", "sum 70 3"), ("sum 70 2", "sum 70"), ("20 [r", "1 [r")],
)
def test_a_damaged_sum_is_refused(old: str, new: str) -> None:
    with pytest.raises(GuestError, match=r"^out:\d+: "):
        parse_profile((HEADER + BULK + TAIL).replace(old, new), where="out")


def test_the_last_block_of_a_region_counts() -> None:
    later = "region 3 1 0 0 0\nt 7 1\ntree 7\nn 1 0 0 7 [user]\nend 3\n"
    (region,) = parse_profile(HEADER + REGION + later + TAIL, where="out").regions
    assert region.samples == 1


@given(st.integers(0, len(WHOLE)))
def test_a_killed_guest_loses_only_its_last_block(length: int) -> None:
    text = WHOLE[:length]
    if length < len(HEADER):
        with pytest.raises(GuestError, match="does not begin"):
            parse_profile(text, where="out")
        return
    profile = parse_profile(text, where="out")
    assert profile.whole is (length == len(WHOLE))
    assert len(profile.regions) == (length >= len(HEADER + REGION))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("attribution 2", "attribution 4", 1),
        ("region 3 6 1 2 1", "region 3 7 1 2 1", 12),
        ("region 3 6 1 2 1", "region 3 x 1 2 1", 2),
        ("t 40 2", "t 40", 4),
        ("t 40 2", "x 40 2", 4),
        ("n 4 3 2 15", "n 4 3 2 16", 11),
        ("n 4 3 2 15", "n 4 4 2 15", 11),
        ("n 4 3 2 15", "n 5 3 2 15", 11),
        ("tree 30", "tree 31", 11),
        ("end 3", "end 4", 12),
        ("stray 1", "stray 1\nstray 1", 14),
        ("stray 1", "lost 1", 13),
        ("eof\n", "eof\nmore\n", 16),
        ("eof\n", "eof\nmore", 16),
    ],
)
def test_damage_is_refused_with_its_line(old: str, new: str, line: int) -> None:
    with pytest.raises(GuestError, match=r"^out:\d+: ") as caught:
        parse_profile(WHOLE.replace(old, new, 1), where="out")
    assert str(caught.value).startswith(f"out:{line}: "), str(caught.value)
    assert caught.value.hint


EVENTS = WHOLE.replace("attribution 2", "attribution 3").replace(
    "avc_has_perm@selinux\n", "avc_has_perm@selinux\ne 0:15 1:4 31:2\n"
)


def test_a_node_out_of_order_is_named_by_its_own_line() -> None:
    with pytest.raises(GuestError, match=r"^out:11: nodes out of order"):
        parse_profile(EVENTS.replace("\nn 4 ", "\nn 5 "), where="out")


def test_calls_that_no_stack_has_room_for_are_refused() -> None:
    def nested(calls: int) -> str:
        nodes = "".join(f"n {at} {at - 1} 1 0 f\n" for at in range(2, calls + 1))
        tree = f"t 0 1\ntree 0\nn 1 0 1 0 [user]\n{nodes}"
        return f"{HEADER}region 3 1 0 0 0\n{tree}end 3\n{TAIL}"

    assert len(parse_profile(nested(4096), where="out").regions[0].trees[0].nodes) == 4096
    with pytest.raises(GuestError, match="calls nested more than 4096 deep"):
        parse_profile(nested(4097), where="out")


def test_reads_events_of_a_node() -> None:
    (region,) = parse_profile(EVENTS, where="out").regions
    nodes = region.trees[0].nodes
    assert [node.events for node in nodes] == [(), (), (), ((0, 15), (1, 4), (31, 2))]


@pytest.mark.parametrize(
    "line",
    [
        *(f"e 0:15 {len(KINDS)}:1", "e 1:4 0:15", "e 0:1 0:1", "e 0:-1", "e 0:15  1:4"),
        *("e0:15", "e 0", "e 0:99999999999", "e 0:15\ne 1:4", "e 0:15 1:\u0664"),
    ],
)
def test_damaged_events_are_refused(line: str) -> None:
    with pytest.raises(GuestError, match=r"^out:1[123]: "):
        parse_profile(EVENTS.replace("e 0:15 1:4 31:2", line), where="out")


def _read_or_refuse(text: str) -> None:
    try:
        parse_profile(text, where="out")
    except GuestError as error:
        if not error.title.startswith("out:"):
            raise


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for candidate in (text, HEADER + text):
        _read_or_refuse(candidate)


@given(st.integers(0, len(WHOLE) - 1), st.characters())
def test_one_changed_character_is_read_or_refused(place: int, character: str) -> None:
    _read_or_refuse(WHOLE[:place] + character + WHOLE[place + 1 :])


@given(any_tree())
def test_what_is_written_is_read_back(tree: Tree) -> None:
    block = f"region 1 1 0 0 0\nt {tree.insns} 1\ntree {tree.insns}\n{nodes_text(tree)}end 1\n"
    profile = parse_profile(HEADER + block + TAIL, where="out")
    assert profile.regions[0].trees == (tree,)
