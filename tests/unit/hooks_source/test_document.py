# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of docs/concepts/hooks-from-source.md, as far as they need no kernel's source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from bench.hook_tables import DOCUMENT, document_with, markdown_table, published_table, tables

from lsmeter.questions.hooks.source.analysis import analyse
from tests.unit.hooks_source.conftest import ALPHA_C

Writer = Callable[..., Path]


def test_the_published_table_is_that_of_the_reference_data() -> None:
    assert markdown_table(*published_table()) in DOCUMENT.read_text()


def test_every_table_has_its_place_in_the_document(tree: Writer) -> None:
    ext4 = {"fs/ext4/file.c": ALPHA_C}
    found = [
        analyse(tree(version, **ext4), cache=False, filesystems=("ext4",))
        for version in ((6, 1), (7, 2))
    ]
    made = tables(found)
    document = document_with(DOCUMENT.read_text(), made)
    assert all(table in document for table in made.values())
    assert "| demo | \u2013 | \u2013 | \u2013 | \u2013 | 4 | 3 |" in made["modules"]
    assert document_with(document, made) == document, "again changes nothing"


def test_a_table_without_a_place_and_a_place_without_a_table_are_errors() -> None:
    with pytest.raises(ValueError, match=r"without a place: \['b'\]"):
        document_with("<!-- table a -->\nx\n<!-- end -->\n", {"a": "y\n", "b": "z\n"})
    with pytest.raises(ValueError, match=r"nobody makes: \['a'\]"):
        document_with("<!-- table a -->\nx\n<!-- end -->\n", {})
