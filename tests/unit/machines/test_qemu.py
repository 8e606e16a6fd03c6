# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest says reaches whoever decides how long it may take: by a program that is no QEMU."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lsmeter.core.limits import Limits
from lsmeter.core.model import BootProtocol
from lsmeter.core.model.arch import X86_64
from lsmeter.guest.capture import Capture, Ending
from lsmeter.machines import OnResults, qemu
from lsmeter.machines.description import Description, Plugin

pytestmark = pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs util-linux")

LINES = 3


class Impatient:
    """Waits until it has heard of so many benchmarks, then has the guest killed."""

    made: list[Impatient]

    def __init__(self, limits: Limits, units: int, now: float) -> None:
        del now
        self.limits, self.units = limits, units
        self.told: list[int | None] = []
        Impatient.made.append(self)

    def heard(self, finished: int | None = None) -> None:
        self.told.append(finished)

    def look(self, now: float, waited_s: float) -> Ending | None:
        del now
        self.waited_s = waited_s
        return Ending.DEADLINE if LINES in self.told else None


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    Impatient.made = []
    monkeypatch.setattr(qemu, "Patience", Impatient)
    monkeypatch.setattr(qemu, "LOOK_S", 0.01)
    monkeypatch.setattr(qemu, "qemu_command", words)


def words(guest: Description) -> tuple[str, ...]:
    folder = guest.plugin.folder if guest.plugin else ""
    return ("sh", "-c", guest.kernel, "sh", guest.results, guest.console, folder)


def ran(
    script: str,
    on_results: OnResults,
    plugin: Plugin | None = None,
    limits: Limits | None = None,
) -> Capture:
    guest = Description(X86_64, BootProtocol.PVH, kernel=script, cmdline="", plugin=plugin)
    return asyncio.run(qemu.run_guest(guest, b"", limits or Limits(), on_results, units=7))


def counted() -> Callable[[bytes], int]:
    """Return what counts the lines so far."""
    seen = bytearray()

    def count(data: bytes) -> int:
        seen.extend(data)
        return seen.count(b"\n")

    return count


def test_progress_is_passed_on_and_an_end_of_patience_kills() -> None:
    script = f'for i in $(seq {LINES}); do echo line >> "$1"; done; printf half >> "$1"; sleep 600'
    capture = ran(script, counted())
    (patience,) = Impatient.made
    assert patience.units == 7
    assert patience.told[-1] == LINES
    assert (capture.ending, capture.exit_code) == (Ending.DEADLINE, None)
    assert capture.complete_lines == b"line\n" * LINES


def test_patience_is_told_what_the_guest_waits_for_a_processor() -> None:
    """Two loops of one processor, as on a busy host: one of them is the guest."""
    pin = f"taskset -c {min(os.sched_getaffinity(0))}"
    other = subprocess.Popen(["sh", "-c", f"exec {pin} sh -c 'while :; do :; done'"])
    try:
        lines = (
            f'for i in $(seq {LINES}); do for j in $(seq 300000); do :; done; echo >> "$0"; done'
        )
        capture = ran(f"exec {pin} sh -c '{lines}; sleep 600' \"$1\"", counted())
    finally:
        other.kill()
        other.wait()
    (patience,) = Impatient.made
    assert capture.ending is Ending.DEADLINE
    assert patience.waited_s > 0.05


def test_a_guest_that_stands_still_waits_for_nothing() -> None:
    capture = ran(
        f'for i in $(seq {LINES}); do echo >> "$1"; sleep 0.5; done; sleep 600', counted()
    )
    (patience,) = Impatient.made
    assert capture.ending is Ending.DEADLINE
    assert patience.waited_s < capture.wall_s / 2


def test_words_on_the_console_are_heard_and_no_progress() -> None:
    capture = ran('echo kernel >> "$2"', lambda _: None)
    (patience,) = Impatient.made
    assert capture.console == b"kernel\n"
    assert patience.told == [None]


def test_what_a_guest_says_that_ends_by_itself_is_whole() -> None:
    capture = ran('printf half >> "$1"', lambda _: 0)
    assert (capture.ending, capture.exit_code) == (Ending.EXITED, 0)
    assert capture.complete_lines == capture.results == b"half"


def test_a_guest_that_somebody_killed_is_cut_like_one_that_lsmeter_did() -> None:
    capture = ran('printf "one\\nhalf" >> "$1"; kill -KILL $$', lambda _: 0)
    assert capture.ending is Ending.EXITED
    assert capture.complete_lines == b"one\n"


def test_a_flood_on_stderr_neither_stops_a_guest_nor_fills_the_memory() -> None:
    """More than a pipe holds, before the results and after them."""
    flood = "head -c 3000000 /dev/zero | tr '\\0' x >&2"
    capture = ran(f'{flood}; echo all >> "$1"; {flood}', lambda _: 0)
    assert (capture.ending, capture.exit_code) == (Ending.EXITED, 0)
    assert capture.results == b"all\n"
    assert 0 < len(capture.stderr) <= 1 << 16


def test_an_endless_flood_on_stderr_is_cut_and_ends_the_guest() -> None:
    capture = ran('echo all >> "$1"; exec yes >&2', lambda _: 0)
    assert capture.ending is Ending.FLOODED
    assert capture.results == b"all\n"
    assert 0 < len(capture.stderr) <= 1 << 16


def test_a_child_that_holds_the_pipes_holds_nothing_up(
    wait_for: Callable[[Callable[[], bool]], None],
) -> None:
    capture = ran('sleep 600 & echo all >> "$1"; echo $! >> "$2"', lambda _: 0)
    assert (capture.ending, capture.results) == (Ending.EXITED, b"all\n")
    process = Path(f"/proc/{int(capture.console)}/stat")
    wait_for(lambda: not process.exists() or process.read_text().split()[2] == "Z")


@pytest.mark.parametrize("channel", [1, 2])
def test_a_flood_on_a_channel_is_cut_and_ends_the_guest(channel: int) -> None:
    limits = Limits(results_bytes=100_000, console_bytes=100_000)
    capture = ran(f'exec cat /dev/zero >> "${channel}"', lambda _: 0, limits=limits)
    assert capture.ending is Ending.FLOODED
    assert len(capture.results) + len(capture.console) == 100_000


def test_a_guest_whose_words_are_refused_is_killed_and_they_are_kept() -> None:
    def refuse(data: bytes) -> int | Ending:
        return Ending.REFUSED if b"lie" in data else 0

    script = 'printf "word\\nlie" >> "$1"; while :; do printf more >> "$1"; sleep 0.1; done'
    capture = ran(script, refuse)
    assert (capture.ending, capture.exit_code) == (Ending.REFUSED, None)
    assert capture.complete_lines.startswith(b"word\nlie")
    capture = ran('printf lie >> "$1"; yes >> "$1"', refuse, limits=Limits(results_bytes=100_000))
    assert capture.ending is Ending.REFUSED, "the first reason counts"


def test_what_had_arrived_is_heard_before_patience_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after a pause: the loop has not come to reading when the look is due."""
    monkeypatch.setattr(asyncio.SelectorEventLoop, "add_reader", lambda *_: None)
    monkeypatch.setattr(asyncio.SelectorEventLoop, "remove_reader", lambda *_: None)
    script = f'for i in $(seq {LINES}); do echo line >> "$1"; done; exec sleep 600'
    capture = ran(script, counted())
    assert capture.ending is Ending.DEADLINE
    assert capture.results == b"line\n" * LINES


def test_a_guest_is_killed_when_its_caller_is_cancelled(tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    async def cancelled() -> None:
        guest = Description(
            X86_64, BootProtocol.PVH, kernel=f"echo $$ > {pid}; exec sleep 600", cmdline=""
        )
        task = asyncio.create_task(qemu.run_guest(guest, b"", Limits()))
        while not pid.exists() or not pid.read_text().endswith("\n"):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not Path(f"/proc/{int(pid.read_text())}").exists()


def test_nothing_stays_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        ran("true", lambda _: 0)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_what_a_plugin_writes_is_kept_by_name() -> None:
    plugin = Plugin("p", outputs=(("trees", "out"), ("never", "log")))
    capture = ran('printf tree > "$3/trees"', lambda _: 0, plugin)
    assert capture.outputs == {"trees": b"tree"}
