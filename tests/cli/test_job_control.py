# SPDX-License-Identifier: GPL-2.0-or-later
"""A run that is stopped with Ctrl-Z on a terminal, and goes on with `fg`."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import CAPTURES
from tests.cli.test_replay import FINE
from tests.conftest import Lsmeter, Wait
from tests.terminal import Terminal, install, terminal
from tests.unit.kernels.synthetic import bzimage, elf

_STOP = "\x1a"
_HOW = ("--jobs", "1", "--run-dir", "run")


def _stopped_and_continued(
    lsmeter: Lsmeter,
    words: tuple[str, ...],
    ready: Callable[[], object],
    go_on: Callable[[], object],
) -> Terminal:
    """Type a command, stop it once it is ready, and let it go on; it has to end with 0."""
    install(lsmeter.home / "bin")
    with terminal(lsmeter.home, lsmeter.environment(), lsmeter.home / "bin") as shown:
        shown.command(shlex.join(("lsmeter", *words)))
        ready()
        shown.type(_STOP)
        shown.until(r"Stopped +lsmeter run")
        shown.command("jobs -s")
        shown.until(r"Stopped +lsmeter run")
        shown.command("fg")
        shown.until(r"\nlsmeter run ")
        go_on()
        shown.command('echo "code=$?"')
        assert shown.until(r"\ncode=\d+") == "\ncode=0", shown.said
    return shown


def _report(lsmeter: Lsmeter, run: str) -> dict[str, Any]:
    done = lsmeter("report", run, "--format", "json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    assert found["problems"] == []
    return found


def test_a_run_is_stopped_with_the_keyboard_and_goes_on(
    lsmeter: Lsmeter, monkeypatch: pytest.MonkeyPatch, wait_for: Wait[int]
) -> None:
    """A recording is a FIFO, so that the run waits in the middle."""
    (lsmeter.home / "kernel").write_bytes(bzimage(elf(), release="6.1.0-56-cloud-amd64"))
    recorded = lsmeter.home / "recorded"
    shutil.copytree(CAPTURES, recorded)
    monkeypatch.setenv("LSMETER_REPLAY", str(recorded))
    results = recorded / "selinux/readings-1/results"
    content = results.read_bytes()
    results.unlink()
    os.mkfifo(results)
    held: list[int] = []

    def waits() -> int:
        """Say whether the run reads the recording: only then a FIFO is opened so."""
        try:
            held.append(os.open(results, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return 0
        return 1

    def go_on() -> None:
        os.set_blocking(held[0], True)
        with os.fdopen(held[0], "wb") as pipe:
            pipe.write(content)

    words = (*FINE, "--kernel", "./kernel", "--machine", "replay", *_HOW)
    _stopped_and_continued(lsmeter, words, lambda: wait_for(waits), go_on)
    assert stat.S_ISFIFO(results.stat().st_mode)
    monkeypatch.setenv("LSMETER_REPLAY", str(CAPTURES))
    assert lsmeter(*words[:-1], "other").code == 0
    found, whole = _report(lsmeter, "run"), _report(lsmeter, "other")
    for part in ("estimates", "comparisons"):
        assert found[part] == whole[part]


@pytest.mark.guest
def test_a_guest_that_is_stopped_with_the_run_is_not_silent(
    lsmeter: Lsmeter, wait_for: Wait[list[Path]]
) -> None:
    few = ("--benchmark", "open depth=1", "--boots", "2", "--samples", "20", "--quick")
    words = ("run", "--setup", "selinux", *few, *_HOW)
    boots = lsmeter.home / "run" / "boots"
    ready = lambda: wait_for(lambda: list(boots.glob("*/boot.json")))  # noqa: E731
    _stopped_and_continued(lsmeter, words, ready, lambda: None)
    found = _report(lsmeter, "run")
    assert {(item["setup"], item["boots"]) for item in found["estimates"]} == {
        ("capability", 2),
        ("selinux", 2),
    }
