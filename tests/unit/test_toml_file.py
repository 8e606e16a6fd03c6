# SPDX-License-Identifier: GPL-2.0-or-later
"""TOML files that cannot be used: one line that names the file, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.core.errors import UsageError
from lsmeter.core.toml_file import MAX_FILE_BYTES, read_toml


def said(path: Path, *, where: str = "", missing: str = "") -> str:
    with pytest.raises(UsageError) as caught:
        read_toml(path, "a list", hint="see x", where=where, missing=missing)
    assert caught.value.hint == "see x"
    assert "\n" not in caught.value.title
    return caught.value.title


def test_the_tables_are_returned(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"a = 1\n[b]\nc = '\xc3\xa9'\n")
    assert read_toml(tmp_path / "a.toml", "a list", hint="") == {"a": 1, "b": {"c": "é"}}


def test_what_is_no_toml_is_named_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("a = 1\nb = = 2\n")
    assert said(path, where="--list") == (
        f"{path}: not valid TOML: Invalid value (at line 2, column 5)"
    )


def test_what_is_no_text_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xff\xfe")
    assert said(path) == f"{path}: cannot read it: it is not UTF-8 text"


def test_what_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    assert said(path) == f"{path}: larger than {MAX_FILE_BYTES} bytes: not a list"


def test_what_is_not_there_is_said_with_the_word_that_named_it(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    assert said(path) == f"{path}: cannot read it: No such file or directory"
    assert said(path, where="--list", missing="no such list") == f"--list: {path}: no such list"
    assert said(tmp_path, missing="no such list") == f"{tmp_path}: cannot read it: Is a directory"
