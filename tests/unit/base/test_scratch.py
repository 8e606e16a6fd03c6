# SPDX-License-Identifier: GPL-2.0-or-later
"""Directories that a killed process left, here and on a host, and those that are no such."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from lsmeter.core.scratch import scratch, sweep
from lsmeter.machines.ssh import _SWEEP
from tests.conftest import DEADLINE_S


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="session")
def dead() -> int:
    """Return the number of a process that has ended."""
    with subprocess.Popen(["true"]) as ended:
        return ended.pid


def test_a_directory_is_there_for_as_long_as_the_block(base: Path) -> None:
    with suppress(KeyError), scratch("outputs") as top:
        (top / "file").write_text("x")
        assert (top.parent, top.name.startswith(f"lsmeter-outputs-{os.getpid()}-")) == (base, True)
        raise KeyError
    assert list(base.iterdir()) == []


@pytest.mark.parametrize("kind", ["outputs", "link", "ssh"])
def test_what_a_killed_process_left_goes_with_the_next_of_any_kind(base: Path, kind: str) -> None:
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from lsmeter.core.scratch import scratch\n"
        "with scratch(sys.argv[1], Path(sys.argv[2])):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    words = [sys.executable, "-c", code, kind, str(base)]
    done = subprocess.run(words, timeout=DEADLINE_S, check=False)
    assert (done.returncode, len(list(base.iterdir()))) == (-signal.SIGKILL, 1)
    with scratch("outputs") as first, scratch("kvm") as second:
        assert sorted(base.iterdir()) == sorted((first, second))


def others(base: Path, dead: int) -> list[Path]:
    """Make what is nobody's to remove: of the living, of others, of no such name, links."""
    target = base / "elsewhere"
    (target / "inner").mkdir(parents=True)
    (base / f"lsmeter-outputs-{dead}-link").symlink_to(target)
    (base / f"lsmeter-{dead}-link").symlink_to(target)
    names = [f"lsmeter-outputs-{os.getpid()}-abc", f"lsmeter-{os.getpid()}-abc", "lsmeter-x-abc"]
    names += ["lsmeter-outputs-mine", "lsmeter-mine", "lsmeter-results"]
    for name in names:
        (base / name).mkdir()
    if os.geteuid() == 0:
        for name in (f"lsmeter-outputs-{dead}-bob", f"lsmeter-{dead}-bob"):
            (base / name).mkdir()
            os.chown(base / name, 12345, -1)
    (base / f"lsmeter-outputs-{dead}-file").write_text("x")
    return sorted(base.rglob("*"))


def test_nothing_else_is_removed(base: Path, dead: int) -> None:
    kept = others(base, dead)
    sweep(base)
    assert sorted(base.rglob("*")) == kept
    (base / f"lsmeter-outputs-{dead}-abc").mkdir()
    sweep(base)
    assert sorted(base.rglob("*")) == kept


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_on_a_host_nothing_else_is_removed(base: Path, dead: int, shell: str) -> None:
    kept = others(base, dead)
    left = base / f"lsmeter-{dead}-abcdefgh"
    (left / "inner").mkdir(parents=True)
    (left / "probe").write_bytes(Path("/bin/sleep").read_bytes())
    (left / "probe").chmod(0o755)
    words = [*shell.split(), "-c", _SWEEP.format(base=str(base)) + "echo done"]
    with subprocess.Popen([left / "probe", "3600"]) as running:
        done = subprocess.run(words, timeout=DEADLINE_S, check=True, capture_output=True, text=True)
        running.wait(DEADLINE_S)
    assert (done.stdout, running.returncode) == ("done\n", -signal.SIGKILL)
    assert sorted(base.rglob("*")) == kept
