# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.base.errors import InfrastructureError
from lsmeter.machines.journal import Change, changed, is_left, restore
from tests.conftest import DEADLINE_S


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LSMETER_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LSMETER_ROOT", str(tmp_path))
    boot = tmp_path / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text("first\n")
    return tmp_path


def settings(place: Path, *values: str) -> list[Change]:
    """Make one file for each value, and a change of it to "new"."""
    made = []
    for number, value in enumerate(values):
        path = place / f"setting{number}"
        path.write_text(value)
        made.append(Change(str(path), value.strip(), "new", f"setting {number}"))
    return made


@given(st.lists(st.from_regex(r"[a-z0-9]{1,8}\n?", fullmatch=True), max_size=5))
def test_all_is_put_back_however_the_block_ends(
    tmp_path_factory: pytest.TempPathFactory, values: list[str]
) -> None:
    place = tmp_path_factory.mktemp("place")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LSMETER_DATA", str(place / "data"))
        changes = settings(place, *values)
        with suppress(KeyError), changed(changes):
            assert all(Path(change.path).read_text() == "new" for change in changes)
            raise KeyError
        assert [Path(c.path).read_text().strip() for c in changes] == [v.strip() for v in values]
        assert not is_left()


def test_a_directory_goes_after_what_is_in_it(place: Path) -> None:
    group = place / "group"
    inside = group / "file"
    with changed([Change(str(group), "", "", "a group")]):
        assert group.is_dir()
    assert not group.exists()
    with changed([Change(str(group), "", "", "a group"), Change(str(inside), "", "1", "a file")]):
        inside.unlink()  # those of the kernel go with their directory
    assert not group.exists()


def test_what_cannot_be_changed_is_an_error_and_nothing_stays_changed(place: Path) -> None:
    (first,) = settings(place, "old")
    missing = Change(str(place / "no" / "such"), "old", "new", "a missing setting")
    with pytest.raises(InfrastructureError, match="a missing setting"), changed([first, missing]):
        pytest.fail("the block was entered")
    assert Path(first.path).read_text() == "old"
    with changed([first, missing], needed=False) as refused:
        assert Path(first.path).read_text() == "new"
        assert "a missing setting" in refused[0]
    assert Path(first.path).read_text() == "old"


_KILLED = """
import os, signal, sys
from lsmeter.machines.journal import Change, changed
with changed([Change(path, "old", "new", path) for path in sys.argv[1:]]):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(*paths: Path) -> None:
    """Have a process change settings and be killed."""
    words = [sys.executable, "-c", _KILLED, *map(str, paths)]
    done = subprocess.run(words, timeout=DEADLINE_S, check=False)
    assert done.returncode == -signal.SIGKILL


def test_what_a_killed_process_changed_is_put_back_once(place: Path) -> None:
    paths = [place / "one", place / "two"]
    for path in paths:
        path.write_text("old")
    killed(*paths)
    assert [path.read_text() for path in paths] == ["new", "new"]
    assert is_left()
    assert restore() == ([str(path) for path in paths], [])
    assert [path.read_text() for path in paths] == ["old", "old"]
    assert not is_left()
    assert restore() == ([], [])


def test_after_a_reboot_there_is_nothing_to_put_back(place: Path) -> None:
    path = place / "one"
    path.write_text("old")
    killed(path)
    path.write_text("of the new boot")
    (place / "proc/sys/kernel/random/boot_id").write_text("second\n")
    assert restore() == ([], [])
    assert (path.read_text(), is_left()) == ("of the new boot", False)


def test_what_a_living_process_changed_is_left_alone(place: Path) -> None:
    (change,) = settings(place, "old")
    with changed([change]):
        assert restore() == ([], [])
        assert Path(change.path).read_text() == "new"
    assert Path(change.path).read_text() == "old"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"boot": "first"}', '{"changes": [{"a": 1}]}'])
def test_a_journal_that_cannot_be_read_changes_nothing(place: Path, text: str) -> None:
    journal = place / "data/changed/1-1.json"
    journal.parent.mkdir(parents=True)
    journal.write_text(text)
    assert restore() == ([], [])
    assert not is_left()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_what_cannot_be_put_back_is_named_and_kept(place: Path) -> None:
    path = place / "one"
    path.write_text("old")
    killed(path)
    path.chmod(0o400)
    done, failed = restore()
    assert (done, len(failed), is_left()) == ([], 1, True)
