# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of docs/concepts/agreement.md is made from agreements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench import agreement_table


def place(kernel: str, setup: str, *outcomes: tuple[str, str, str]) -> dict[str, Any]:
    names = ("checks_outcome", "total_outcome", "source_outcome")
    benchmarks = [dict(zip(names, found, strict=True)) for found in outcomes]
    return {"kernel": kernel, "setup": setup, "benchmarks": benchmarks}


AGREED = {
    "places": [
        place("debian:6.1", "selinux", ("agree", "explained", "agree"), ("agree",) * 3),
        place("debian:7.2", "smack", ("open", "explained", "open"), ("agree", "agree", "open")),
    ]
}


def test_a_row_counts_benchmarks_by_outcome() -> None:
    assert list(agreement_table.rows(AGREED).values()) == [
        "| debian:6.1 | selinux | 2 agree | 1 agree, 1 explained | 2 agree | 0 |",
        "| debian:7.2 | smack | 1 agree, 1 open | 1 agree, 1 explained | 2 open | 2 |",
    ]


def test_the_document_gets_its_rows_and_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = tmp_path / "agreement.md"
    document.write_text("before\n<!-- table agreement -->\nold\n<!-- end -->\nafter\n")
    monkeypatch.setattr(agreement_table, "DOCUMENT", document)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(AGREED))
    assert agreement_table.main([str(path), "--check"]) == 1
    assert agreement_table.main([str(path)]) == 0
    assert agreement_table.main([str(path), "--check"]) == 0
    assert agreement_table.printed(document.read_text()) == agreement_table.rows(AGREED)
    assert document.read_text().startswith("before\n<!-- table agreement -->\n| kernel | setup |")
    assert document.read_text().endswith("| 2 |\n<!-- end -->\nafter\n")


def test_the_real_document_has_a_table_with_rows() -> None:
    assert agreement_table.printed(agreement_table.DOCUMENT.read_text())
    with pytest.raises(ValueError, match="no place"):
        agreement_table.printed("nothing")
