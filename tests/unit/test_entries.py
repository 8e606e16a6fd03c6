# SPDX-License-Identifier: GPL-2.0-or-later
"""Entries of the cache: read back as they were written, damaged ones are none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from lsmeter.core.entries import Entries


@dataclass(frozen=True)
class Facts:
    """What an entry of this test says."""

    name: str
    packages: tuple[tuple[str, str], ...] = ()


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Entries[Facts]:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path))
    return Entries("things", "thing.json", Facts)


def test_what_is_written_is_read_and_listed_by_name(entries: Entries[Facts]) -> None:
    assert entries.all() == ()
    for name in ("b", "a", ".partial"):
        entries.write(entries.home / name, Facts(name, (("x", "1"),)))
    assert entries.read(entries.home / "a") == Facts("a", (("x", "1"),))
    assert [facts.name for facts in entries.all()] == ["a", "b"]


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff", b'{"name": 3}'])
def test_damaged_facts_do_not_count(entries: Entries[Facts], text: bytes) -> None:
    entries.write(entries.home / "a", Facts("a"))
    (entries.home / "a" / "thing.json").write_bytes(text)
    assert entries.read(entries.home / "a") is None
    assert entries.all() == ()
