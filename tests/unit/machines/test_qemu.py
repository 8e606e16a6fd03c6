# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest says reaches whoever decides how long it may take: by a program that is no QEMU."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable

import pytest

from lsmeter.base.limits import Limits
from lsmeter.guest.capture import Capture, Ending
from lsmeter.machines import qemu
from lsmeter.machines.arch import GUEST
from lsmeter.machines.description import Description, Plugin
from lsmeter.model import BootProtocol

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

    def look(self, now: float) -> Ending | None:
        del now
        return Ending.DEADLINE if LINES in self.told else None


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    Impatient.made = []
    monkeypatch.setattr(qemu, "Patience", Impatient)
    monkeypatch.setattr(qemu, "LOOK_S", 0.01)
    monkeypatch.setattr(qemu, "qemu_words", words)


def words(guest: Description) -> tuple[str, ...]:
    folder = guest.plugin.folder if guest.plugin else ""
    return ("sh", "-c", guest.kernel, "sh", guest.results, guest.console, folder)


def ran(
    script: str, on_results: Callable[[bytes], int | None], plugin: Plugin | None = None
) -> Capture:
    guest = Description(GUEST, BootProtocol.PVH, kernel=script, cmdline="", plugin=plugin)
    return asyncio.run(qemu.run_guest(guest, b"", Limits(), on_results, units=7))


def test_progress_is_passed_on_and_an_end_of_patience_kills() -> None:
    seen = bytearray()

    def count(data: bytes) -> int:
        seen.extend(data)
        return seen.count(b"\n")

    script = f'for i in $(seq {LINES}); do echo line >> "$1"; done; printf half >> "$1"; sleep 600'
    capture = ran(script, count)
    (patience,) = Impatient.made
    assert patience.units == 7
    assert patience.told[-1] == LINES
    assert (capture.ending, capture.exit_code) == (Ending.DEADLINE, None)
    assert capture.complete_lines == b"line\n" * LINES


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


def test_what_a_plugin_writes_is_kept_by_name() -> None:
    plugin = Plugin("p", outputs=(("trees", "out"), ("never", "log")))
    capture = ran('printf tree > "$3/trees"', lambda _: 0, plugin)
    assert capture.outputs == {"trees": b"tree"}
