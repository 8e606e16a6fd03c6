# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents in a terminal: every one fits, and nothing is cut."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from lsmeter.cli.manual import documents
from lsmeter.cli.pages import print_document


def laid_out(text: str, width: int) -> str:
    found = io.StringIO()
    print_document(text, Console(file=found, width=width))
    return found.getvalue()


@pytest.mark.parametrize("name", [*documents()])
def test_every_document_fits_a_terminal(name: str) -> None:
    text = documents()[name].read_text("utf-8")
    lines = laid_out(text, 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert laid_out(text, 40)


def test_a_long_word_of_a_table_is_broken_and_not_cut() -> None:
    word = "x" * 90
    text = laid_out(f"| key | meaning |\n|---|---|\n| `{word}` | a {word} |\n", 60)
    assert text.count("x") == 180
    assert "…" not in text
