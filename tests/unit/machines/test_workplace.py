# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.machines.workplace import find_base, relocated, type_of, workplace
from tests.conftest import DEADLINE_S


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LSMETER_WORK", str(tmp_path))
    return tmp_path


def test_a_directory_is_there_for_as_long_as_the_block(base: Path) -> None:
    filesystem = type_of(base)
    with suppress(KeyError), workplace(filesystem) as top:
        (top / "data").mkdir()
        assert [path.parent for path in (top, top / "data")] == [base, top]
        raise KeyError
    assert list(base.iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next(base: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from lsmeter.machines.workplace import workplace\n"
        "with workplace(sys.argv[1]):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    filesystem = type_of(base)
    words = [sys.executable, "-c", code, filesystem]
    done = subprocess.run(words, timeout=DEADLINE_S, check=False)
    assert (done.returncode, len(list(base.iterdir()))) == (-signal.SIGKILL, 1)
    with workplace(filesystem) as first, workplace(filesystem) as second:
        # The one that was left is gone, those that live are not.
        assert sorted(base.iterdir()) == sorted((first, second))


@pytest.mark.skipif(os.geteuid() == 0, reason="root mounts a tmpfs of its own")
def test_another_file_system_than_was_asked_for_is_refused(base: Path) -> None:
    with pytest.raises(InfrastructureError, match="no directory on xfs"):
        find_base("xfs" if type_of(base) != "xfs" else "btrfs")


def test_a_directory_that_is_not_there_is_named(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LSMETER_WORK", str(base / "none"))
    with pytest.raises(UsageError, match="no such directory"):
        find_base("ext4")


def test_a_setups_places_stand_beneath_the_directory_and_nothing_else_moves() -> None:
    setup = parse_setup("landlock")
    moved = relocated(setup, Path("/top"))
    paths = {check.name: check.path for check in moved.checks}
    assert paths == {
        "read-outside": "/proc/version",
        "create-outside": "/top/outside",
        "read-inside": "/top/data/inside",
        "write-inside": "/top/data/inside",
    }
    assert [step.words for step in moved.steps if step.words] == [("/top/data/inside", "x")]
    assert (moved.expect, moved.guest) == (setup.expect, setup.guest)
