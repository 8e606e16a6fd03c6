# SPDX-License-Identifier: GPL-2.0-or-later
"""Labels that were looked up, paired with the files; nothing is left without an answer."""

from __future__ import annotations

import pytest

from lsmeter.core.errors import BuildError
from lsmeter.sources.images.ext4 import Node, labels_of, listing

CONTEXT = "system_u:object_r:etc_t:s0"


def nodes(*paths: str) -> list[Node]:
    return [Node(path, 0o100644) for path in paths]


def test_contexts_belong_to_paths_by_their_order_and_what_the_policy_leaves_alone_has_none() -> (
    None
):
    paths = b'/\0/a b\n"c\0/run\0/more\0'
    answer = f"{CONTEXT}\nsystem_u:object_r:x_t:s0:c0.c3\n<<none>>\n{CONTEXT}\n".encode()
    assert labels_of(nodes("/", '/a b\n"c', "/run"), paths, answer) == {
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
        labels_of(nodes("/"), paths, answer)


def test_a_file_that_was_never_asked_about_is_an_error() -> None:
    with pytest.raises(BuildError, match="/new was never looked up"):
        labels_of(nodes("/", "/new"), b"/\0", f"{CONTEXT}\n".encode())


def test_the_listing_is_sorted_text() -> None:
    assert listing({"/b": "u:r:t:s0", "/a": "u:r:t:s0"}) == b"u:r:t:s0\t/a\nu:r:t:s0\t/b\n"
