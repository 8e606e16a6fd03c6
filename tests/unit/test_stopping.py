# SPDX-License-Identifier: GPL-2.0-or-later
"""A signal ends a run at any moment, the making and the closing of the event loop included."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys

import pytest

from lsmeter.measure.run.stopping import stopped_early

_PROGRAM = """
import asyncio, os, signal
from lsmeter.measure.run.stopping import stopped_early
selector = asyncio.SelectorEventLoop
def signalled():
    if WHEN == "making":
        os.kill(os.getpid(), signal.SIGTERM)
    loop = selector()
    return loop
asyncio.DefaultEventLoopPolicy._loop_factory = staticmethod(signalled)
async def run():
    if WHEN == "running":
        os.kill(os.getpid(), signal.SIGTERM)
    try:
        await asyncio.sleep(0 if WHEN == "closing" else 60)
    finally:
        print("cleaned up")
close = selector.close
def closing(loop):
    if WHEN == "closing":
        os.kill(os.getpid(), signal.SIGTERM)
    close(loop)
selector.close = closing
print(stopped_early(run))
"""


@pytest.mark.parametrize("when", ["making", "running", "closing"])
def test_a_signal_stops_at_any_moment(when: str) -> None:
    program = _PROGRAM.replace("WHEN", repr(when))
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    cleaned = [] if when == "making" else ["cleaned up"]
    assert (ended.returncode, ended.stdout.split("\n")[:-1], ended.stderr) == (
        0,
        [*cleaned, "True"],
        "",
    )


def test_what_runs_to_its_end_is_not_stopped() -> None:
    async def run() -> None:
        await asyncio.sleep(0)

    before = signal.getsignal(signal.SIGTERM)
    try:
        assert not stopped_early(run)
    finally:
        signal.signal(signal.SIGTERM, before)
