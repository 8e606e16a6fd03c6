# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs: what is missing is named with its package, what fails says why, all of it ends."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from lsmeter.base import process
from lsmeter.base.errors import BuildError, InfrastructureError


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "find", lambda name: None if "fs" in name else "/x")
    with pytest.raises(InfrastructureError, match="mke2fs, debugfs not found: why") as caught:
        process.need(("mke2fs", "debugfs", "apt-get"), "why")
    assert caught.value.hint == "install: apt-get install e2fsprogs"
    with pytest.raises(InfrastructureError, match="no-such-program not found"):
        process.run(["no-such-program"])
    with (
        pytest.raises(InfrastructureError, match="no-such-program not found"),
        process.started(["no-such-program"], env={}),
    ):
        pass


def test_output_is_text_in_english_whatever_the_bytes() -> None:
    done = process.run(["sh", "-c", "printf '\\377'; cat; echo $LC_ALL >&2; exit 3"], stdin="in")
    assert (done.stdout, done.stderr, done.returncode) == ("\ufffdin", "C.UTF-8\n", 3)


def test_a_failure_says_its_last_words() -> None:
    with pytest.raises(BuildError, match="sh failed with status 1: no") as caught:
        process.output(["sh", "-c", "echo first >&2; echo no >&2; exit 1"])
    assert caught.value.log_tail == ("first", "no")
    with pytest.raises(BuildError, match="status 2: status 2"):
        process.output(["sh", "-c", "exit 2"])


def test_a_program_that_does_not_end_is_stopped() -> None:
    with pytest.raises(InfrastructureError, match="did not end within 0 s"):
        process.run(["sleep", "60"], deadline_s=0.1)


def test_the_whole_group_ends_with_the_block(tmp_path: Path) -> None:
    # The shell does not hear the polite signal, so its group is killed.
    script = "trap '' TERM; sleep 600 & echo $!; wait"
    with process.started(["sh", "-c", script], env=dict(os.environ), grace_s=0.2) as child:
        assert child.stdout is not None
        sleeper = int(child.stdout.readline())
    assert child.returncode == -9
    stat = Path(f"/proc/{sleeper}/stat")
    for _ in range(100):
        if not stat.exists() or stat.read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("a process of the group is left")
