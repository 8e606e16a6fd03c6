# SPDX-License-Identifier: GPL-2.0-or-later
"""Root among places of other users: nothing is taken from them, and nothing is written there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.owners import leave_strangers, stranger_of
from lsmeter.core.storage import cache_dir, data_dir, write_atomic
from lsmeter.machines.workplace import WORK, find_base
from tests.conftest import Lsmeter

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="of root only")
BOB = 12345
SETTING = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return another user's home, with what would lead root elsewhere and what root would obey."""
    home = tmp_path / "bob"
    for data in (home / "data", home / ".local/share/lsmeter"):
        data.mkdir(parents=True)
        (data / "latest-run").symlink_to(tmp_path / "passwd")
        (data / "boots").symlink_to(tmp_path)
        journal = data / "changed/1-1.json"
        journal.parent.mkdir(mode=0o700)
        root = tmp_path / "root"
        changes = [{"path": str(root / SETTING), "before": "old", "after": "new", "title": "x"}]
        journal.write_text(json.dumps({"boot": "", "changes": changes}))
    for path in (home, *home.rglob("*")):
        os.chown(path, BOB, BOB, follow_symlinks=False)
    (tmp_path / "passwd").write_text("root")
    (tmp_path / "root" / SETTING).parent.mkdir(parents=True)
    (tmp_path / "root" / SETTING).write_text("new")
    return home


def left(top: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("name", "words"),
    [("LSMETER_DATA", ("list", "suites")), ("LSMETER_CACHE", ("kernel", "list"))],
)
@pytest.mark.parametrize("place", ["data", "new", "data/new"])
def test_a_strangers_directory_is_refused(
    lsmeter: Lsmeter, home: Path, name: str, words: tuple[str, ...], place: str
) -> None:
    before = left(lsmeter.home)
    root = {"LSMETER_ROOT": str(lsmeter.home / "root"), name: str(home / place)}
    done = lsmeter(*words, **root)
    assert done.code == 2
    assert f"root cannot use {home / place}: " in done.err.replace("\n", " ")
    assert "belongs to user 12345" in " ".join(done.err.split())
    assert len(done.err.splitlines()) <= 4
    assert left(lsmeter.home) == before


@pytest.mark.parametrize("name", ["HOME", "XDG_DATA_HOME"])
def test_a_strangers_home_is_left_alone(lsmeter: Lsmeter, home: Path, name: str) -> None:
    before = left(lsmeter.home)
    value = home if name == "HOME" else home / ".local/share"
    # Named so that the directory comes of the home.
    root = {"LSMETER_ROOT": str(lsmeter.home / "root"), name: str(value), "LSMETER_DATA": ""}
    done = lsmeter("list", "suites", **root)
    assert (done.code, "put back" in done.err) == (0, False)
    assert f"root does not use {name}: " in " ".join(done.err.split())
    assert left(lsmeter.home) == before


def test_what_root_starts_has_roots_own_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(home / name))
    said = leave_strangers()
    assert (len(said), os.environ["HOME"]) == (4, str(Path("~root").expanduser()))
    assert not {name for name in os.environ if name.startswith("XDG_")} & {
        *("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"),
    }
    assert leave_strangers() == []


def test_a_strangers_link_to_roots_own_directory_is_a_strangers(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (tmp_path / "link").symlink_to(own)
    assert stranger_of(tmp_path / "link") == ""
    os.chown(tmp_path / "link", BOB, -1, follow_symlinks=False)
    for path in (tmp_path / "link", home / "x", tmp_path / "link/x"):
        monkeypatch.setenv("LSMETER_DATA", str(path))
        with pytest.raises(UsageError, match="root cannot use"):
            write_atomic(data_dir() / "latest-run", b"x")
    own.chmod(0o1777)
    monkeypatch.setenv("LSMETER_CACHE", str(own))
    with pytest.raises(UsageError, match="can be written to by others"):
        cache_dir()
    # As /tmp is: what root makes there, nobody else moves.
    assert stranger_of(own / "new") == stranger_of(own, shared=True) == ""


def test_root_works_in_no_directory_of_a_stranger(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WORK, str(home))
    with pytest.raises(InfrastructureError, match=f"looked at {home} .*belongs to user {BOB}"):
        find_base("tmpfs")
