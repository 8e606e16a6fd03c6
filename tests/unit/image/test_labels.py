# SPDX-License-Identifier: GPL-2.0-or-later
"""Labels that were looked up, paired with the files; nothing is left without an answer."""

from __future__ import annotations

import pytest

from lsmeter.errors import BuildError
from lsmeter.image.labels import for_nodes, listing, parse_lookup
from lsmeter.image.tree import Node

CONTEXT = "system_u:object_r:etc_t:s0"


def test_contexts_belong_to_paths_by_their_order() -> None:
    paths = b'/\0/a b\n"c\0/run\0'
    answer = f"{CONTEXT}\nsystem_u:object_r:x_t:s0:c0.c3\n<<none>>\n".encode()
    assert parse_lookup(paths, answer) == {
        "/": CONTEXT,
        '/a b\n"c': "system_u:object_r:x_t:s0:c0.c3",
    }


@pytest.mark.parametrize(
    ("paths", "answer"),
    [
        (b"/\0/a\0", f"{CONTEXT}\n".encode()),
        (b"/\0", f"{CONTEXT}\n{CONTEXT}\n".encode()),
        (b"", b""),
        (b"/\0", b"matchpathcon: error\n"),
        (b"/\0", b"system_u:object_r\n"),
    ],
)
def test_an_answer_that_does_not_fit_is_an_error(paths: bytes, answer: bytes) -> None:
    with pytest.raises(BuildError, match="labels: "):
        parse_lookup(paths, answer)


def test_a_file_that_was_never_asked_about_is_an_error() -> None:
    nodes = [Node("/", 0o40755), Node("/new", 0o100644)]
    with pytest.raises(BuildError, match="/new was never looked up"):
        for_nodes(nodes, {"/": CONTEXT}, frozenset({"/"}))


def test_files_that_the_policy_leaves_alone_have_no_label() -> None:
    nodes = [Node("/", 0o40755), Node("/run", 0o40755)]
    assert for_nodes(nodes, {"/": CONTEXT}, frozenset({"/", "/run"})) == {"/": CONTEXT}


def test_the_listing_is_sorted_text() -> None:
    assert listing({"/b": "u:r:t:s0", "/a": "u:r:t:s0"}) == b"u:r:t:s0\t/a\nu:r:t:s0\t/b\n"
