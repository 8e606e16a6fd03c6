# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import InfrastructureError
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


SETTING = "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"


def setting(place: Path, number: int, value: str = "old") -> Path:
    """Make a setting of the kind that lsmeter changes."""
    path = place / f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor"
    path.parent.mkdir(parents=True)
    path.write_text(value)
    return path


def settings(place: Path, *values: str) -> list[Change]:
    """Make one file for each value, and a change of it to "new"."""
    return [
        Change(str(setting(place, number, value)), value.strip(), "new", f"setting {number}")
        for number, value in enumerate(values)
    ]


@given(st.lists(st.from_regex(r"[a-z0-9]{1,8}\n?", fullmatch=True), max_size=5))
def test_all_is_put_back_however_the_block_ends(
    tmp_path_factory: pytest.TempPathFactory, values: list[str]
) -> None:
    place = tmp_path_factory.mktemp("place")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LSMETER_DATA", str(place / "data"))
        patch.setenv("LSMETER_ROOT", str(place))
        changes = settings(place, *values)
        with suppress(KeyError), changed(changes):
            assert all(Path(change.path).read_text() == "new" for change in changes)
            raise KeyError
        assert [Path(c.path).read_text().strip() for c in changes] == [v.strip() for v in values]
        assert not is_left()


def test_a_directory_goes_after_what_is_in_it(place: Path) -> None:
    group = place / "sys/fs/cgroup/lsmeter-1"
    inside = group / "cpuset.cpus"
    group.parent.mkdir(parents=True)
    with changed([Change(str(group), "", "", "a group")]):
        assert group.is_dir()
    assert not group.exists()
    with changed([Change(str(group), "", "", "a group"), Change(str(inside), "", "1", "a file")]):
        inside.unlink()  # those of the kernel go with their directory
    assert not group.exists()


def test_what_cannot_be_changed_is_an_error_and_nothing_stays_changed(place: Path) -> None:
    (first,) = settings(place, "old")
    missing = Change(str(place / "sys/fs/selinux/enforce"), "1", "0", "a missing setting")
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
    paths = [setting(place, number) for number in (1, 2)]
    killed(*paths)
    assert [path.read_text() for path in paths] == ["new", "new"]
    assert is_left()
    assert restore() == ([str(path) for path in paths], [])
    assert [path.read_text() for path in paths] == ["old", "old"]
    assert not is_left()
    assert restore() == ([], [])


def test_after_a_reboot_there_is_nothing_to_put_back(place: Path) -> None:
    path = setting(place, 1)
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
    path = setting(place, 1)
    killed(path)
    path.chmod(0o400)
    done, failed = restore()
    assert (done, len(failed), is_left()) == ([], 1, True)


def journal_of(place: Path, **change: str) -> Path:
    """Write a journal such as a killed process leaves, of one change."""
    journal = place / "data/changed/1-1.json"
    journal.parent.mkdir(parents=True)
    journal.parent.chmod(0o700)
    default = {"path": str(setting(place, 1, "new")), "before": "old", "after": "new"}
    said = {**default, "title": "a setting", "profile": "", **change}
    journal.write_text(json.dumps({"boot": "first", "changes": [said]}))
    journal.chmod(0o600)
    return journal


def test_a_journal_of_the_callers_own_is_obeyed(place: Path) -> None:
    journal_of(place)
    assert restore() == (["a setting"], [])


def _linked(journal: Path) -> None:
    journal.rename(journal.with_name("elsewhere"))
    journal.symlink_to("elsewhere")


def _linked_folder(journal: Path) -> None:
    home = journal.parent
    home.rename(home.with_name("elsewhere"))
    home.symlink_to("elsewhere")


STRANGERS: dict[str, Callable[[Path], object]] = {
    "written by all": lambda journal: journal.chmod(0o666),
    "written by a group": lambda journal: journal.chmod(0o660),
    "two names": lambda journal: journal.with_name("other").hardlink_to(journal),
    "a link": _linked,
    "a FIFO": lambda journal: (journal.unlink(), os.mkfifo(journal, 0o600)),
    "a directory of all": lambda journal: journal.parent.chmod(0o777),
    "a directory that is a link": _linked_folder,
}
if os.geteuid() == 0:
    STRANGERS["of another user"] = lambda journal: os.chown(journal, 1234, -1)
    STRANGERS["in another's directory"] = lambda journal: os.chown(journal.parent, 1234, -1)


@pytest.mark.parametrize("kind", STRANGERS)
def test_a_journal_that_others_may_have_written_is_not_obeyed(place: Path, kind: str) -> None:
    journal = journal_of(place)
    STRANGERS[kind](journal)
    before = sorted(place.rglob("*"))
    done, failed = restore()
    assert (done, len(failed)) == ([], 1)
    assert f"{journal} is not trusted: " in failed[0]
    assert (place / SETTING).read_text() == "new"
    assert sorted(place.rglob("*")) == before


@pytest.mark.parametrize(
    "change",
    [
        {"path": "{place}/etc/passwd"},
        {"path": "{place}-outside"},
        {"path": "{place}/sys/fs/selinux/../../etc/passwd"},
        {"before": "two words"},
        {"before": "old\n"},
        {"after": "", "path": "{place}/etc"},
        {"profile": "lsmeter-here-enforce"},
        {"profile": "bash", "path": "{place}/sys/kernel/security/apparmor"},
    ],
)
def test_what_lsmeter_never_changes_is_refused(place: Path, change: dict[str, str]) -> None:
    # Nothing of this machine is named: a guard that is broken must not reach it.
    outside = Path(f"{place}-outside")
    (place / "etc").mkdir()
    for path in (place / "etc/passwd", outside):
        path.write_text("root")
    journal = journal_of(place, **{k: v.replace("{place}", str(place)) for k, v in change.items()})
    done, failed = restore()
    assert (done, len(failed), journal.exists()) == ([], 1, True)
    assert "lsmeter never changes" in failed[0]
    assert (place / "etc/passwd").read_text() == outside.read_text() == "root"


def test_no_change_is_made_that_would_not_be_put_back(place: Path) -> None:
    change = Change(str(place / "etc"), "", "1", "a setting of another program")
    with pytest.raises(ValueError, match="could not be put back"), changed([change]):
        pytest.fail("the block was entered")
    assert not is_left()


def test_journals_are_kept_where_nobody_else_writes(place: Path) -> None:
    home = place / "data/changed"
    home.mkdir(parents=True)
    home.chmod(0o777)
    with changed(settings(place, "old")):
        assert home.stat().st_mode & 0o777 == 0o700
        assert [path.stat().st_mode & 0o777 for path in home.iterdir()] == [0o600]
    if os.geteuid() == 0:
        os.chown(home, 1234, -1)
        change = Change(str(place / SETTING), "old", "new", "a setting")
        with pytest.raises(InfrastructureError, match="others may write"), changed([change]):
            pytest.fail("the block was entered")


def test_a_profile_of_another_lsmeter_stays(place: Path) -> None:
    control = place / "sys/kernel/security/apparmor"
    (control / ".load").mkdir(parents=True)  # cannot be written, as where the profile is there
    (control / ".remove").write_text("")
    (control / "profiles").write_text("lsmeter-here-complain (complain)\n")
    change = Change(str(control), "", str(place / "profile"), "a profile", "lsmeter-here-complain")
    (place / "profile").write_text("profile")
    with pytest.raises(InfrastructureError, match="cannot change a profile"), changed([change]):
        pytest.fail("the block was entered")
    assert (control / ".remove").read_text() == ""
    assert not is_left()
