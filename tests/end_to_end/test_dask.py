# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots on workers of this machine: the same digits, also when one is killed in the middle."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import Lsmeter, Wait

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

WORDS = ("run", "-s", "landlock", "-b", "getppid", "--quick", "--samples", "5", "--boots", "2")


def children(pid: int) -> Iterator[tuple[int, str]]:
    """Yield every process below one, with its command."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(path.name))
    for child in parents.get(pid, ()):
        with suppress(OSError):
            yield child, Path(f"/proc/{child}/cmdline").read_text().replace("\0", " ")
        yield from children(child)


def working(pid: int) -> int:
    """Return a Dask worker below a process whose guest runs (not QEMU asked for its version)."""
    for worker, command in children(pid):
        if "distributed.cli.dask_worker" in command and any(
            "qemu-system" in guest and " -kernel " in guest for _, guest in children(worker)
        ):
            return worker
    return 0


def lives(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def readings(home: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(home.glob("boots/*/samples.parquet"))]


def test_a_killed_worker_changes_no_digit_and_nothing_is_left(
    lsmeter: Lsmeter, tmp_path: Path, wait_for: Wait[int]
) -> None:
    with lsmeter.start(*WORDS, "--machine", "dask:local:2", "--run-dir", "spread") as run:
        killed = wait_for(lambda: working(run.pid))
        started = [pid for pid, _ in children(run.pid)]
        os.kill(killed, signal.SIGKILL)
        out, err = run.communicate()
    assert run.returncode == 0, err
    assert "is gone" in err and "Traceback" not in err
    assert "landlock" in out
    assert wait_for(lambda: not any(map(lives, started)))
    done = lsmeter(*WORDS, "--run-dir", "here", "--fresh")
    assert done.code == 0, done.err
    assert readings(tmp_path / "spread") == readings(tmp_path / "here") != []


def test_an_interrupt_ends_the_boots_of_workers(lsmeter: Lsmeter, wait_for: Wait[int]) -> None:
    with lsmeter.start(*WORDS, "--machine", "dask:local:1", "--run-dir", "run") as run:
        wait_for(lambda: working(run.pid))
        started = [pid for pid, _ in children(run.pid)]
        run.send_signal(signal.SIGINT)
        _, err = run.communicate()
    assert run.returncode == 130, err
    assert "stopped; what was measured is kept" in err and "Traceback" not in err
    assert len(started) >= 4 and wait_for(lambda: not any(map(lives, started)))
