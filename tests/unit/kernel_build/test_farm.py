# SPDX-License-Identifier: GPL-2.0-or-later
"""The farm of links: exactly what was planned, touching nothing that did not change."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lsmeter.sources.kernels.build.make import plan, sync

names = st.sampled_from(["a", "b", "c/d", "c/e", "f/g/h", "f/i"])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    top = tmp_path / "source"
    for name in ("Makefile", "security/Kconfig", "security/yama/x.c", "mm/y.c", ".git/config"):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"source {name}")
    return top


def content(farm: Path) -> dict[str, str]:
    return {
        path.relative_to(farm).as_posix(): path.read_text()
        for path in farm.rglob("*")
        if path.is_file()
    }


def test_only_directories_on_the_way_to_an_own_file_are_real(source: Path, tmp_path: Path) -> None:
    own = {"security/Kconfig": b"own", "security/mine/m.c": b"m"}
    farm = tmp_path / "farm"
    sync(farm, plan(source, None, own))
    assert not (farm / "security").is_symlink()
    assert (farm / "security" / "yama").is_symlink()
    assert (farm / "mm").is_symlink()
    assert (farm / "security" / "Kconfig").read_text() == "own"
    assert (farm / "security" / "mine" / "m.c").read_text() == "m"
    assert not (farm / ".git").exists()
    assert (source / "security" / "Kconfig").read_text() == "source security/Kconfig"


def test_a_file_of_ours_is_written_only_when_its_content_changes(
    source: Path, tmp_path: Path
) -> None:
    farm = tmp_path / "farm"
    path = farm / "security" / "Kconfig"
    sync(farm, plan(source, None, {"security/Kconfig": b"one"}))
    first = path.stat().st_mtime_ns
    sync(farm, plan(source, None, {"security/Kconfig": b"one"}))
    assert path.stat().st_mtime_ns == first
    sync(farm, plan(source, None, {"security/Kconfig": b"two"}))
    assert path.read_text() == "two"
    sync(farm, plan(source, None, {}))
    assert (farm / "security").is_symlink()
    assert (source / "security" / "Kconfig").read_text() == "source security/Kconfig"


def test_a_farm_of_chosen_files_has_nothing_else(source: Path, tmp_path: Path) -> None:
    farm = tmp_path / "farm"
    sync(farm, plan(source, ["Makefile", "mm/y.c"], {"mm/y.c": b"own"}))
    assert content(farm) == {"Makefile": "source Makefile", "mm/y.c": "own"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.lists(st.dictionaries(names, st.binary(max_size=4)), min_size=1, max_size=4))
def test_any_series_of_plans_ends_in_the_last_one(
    tmp_path_factory: pytest.TempPathFactory, plans: list[dict[str, bytes]]
) -> None:
    farm = tmp_path_factory.mktemp("farm")
    for entries in plans:
        sync(farm, entries)
        found = {
            path.relative_to(farm).as_posix(): path.read_bytes()
            for path in farm.rglob("*")
            if path.is_file()
        }
        assert found == entries
