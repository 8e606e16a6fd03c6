# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs: what is missing is named with its package, what fails says why, all of it ends."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from lsmeter.core import process
from lsmeter.core.errors import BuildError, InfrastructureError


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


def test_the_whole_group_ends_with_the_block() -> None:
    # The shell does not hear the polite signal, so its group is killed.
    script = "trap '' TERM; sleep 600 & echo $!; wait"
    with process.started(["sh", "-c", script], env=dict(os.environ), grace_s=0.2) as child:
        assert child.stdout is not None
        sleeper = int(child.stdout.readline())
    assert child.returncode == -9
    assert ends(sleeper)


def ends(number: int) -> bool:
    """Say whether a process of this number ends soon."""
    stat = Path(f"/proc/{number}/stat")
    for _ in range(1200):
        if not stat.exists() or stat.read_text().split()[2] == "Z":
            return True
        time.sleep(0.05)
    return False


def shell(script: str, silence_s: float = 60.0) -> tuple[bytes, int | None]:
    with process.started(["sh", "-c", script], env=dict(os.environ), grace_s=0.2) as child:
        data = process.output_of(child, silence_s).read()
        return data, child.returncode


def test_all_output_is_read_and_then_the_program_has_ended() -> None:
    data, code = shell("head -c 300000 /dev/zero; echo oops >&2; sleep 0.3; exit 3")
    assert (len(data), data[-5:], code) == (300005, b"oops\n", 3)


@pytest.mark.parametrize("apart", ["", "setsid "])
def test_what_holds_the_pipe_of_a_program_that_has_ended_is_not_waited_for(apart: str) -> None:
    data, code = shell(f"{apart}sleep 600 & echo $!; echo data")
    sleeper, *rest = data.decode().split()
    assert (rest, code) == (["data"], 0)
    if apart:  # its own group; nothing of ours knows of it
        os.kill(int(sleeper), 9)
    assert ends(int(sleeper))


@pytest.mark.parametrize("script", ["echo first; sleep 600", "exec >&- 2>&-; sleep 600"])
def test_a_silent_program_has_a_deadline(script: str) -> None:
    with pytest.raises(InfrastructureError, match="sh did nothing for 1 s"):
        shell(script, silence_s=1.0)


def test_a_second_interrupt_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_child: object, _seconds: float | None = None) -> int:
        monkeypatch.undo()
        raise KeyboardInterrupt

    script = "trap '' TERM; sleep 600 & echo $!; wait"
    sleepers: list[int] = []

    def interrupted_twice() -> None:
        with process.started(["sh", "-c", script], env=dict(os.environ)) as child:
            assert child.stdout is not None
            sleepers.append(int(child.stdout.readline()))
            monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted_twice()
    assert ends(sleepers[0])
