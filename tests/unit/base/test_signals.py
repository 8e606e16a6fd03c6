# SPDX-License-Identifier: GPL-2.0-or-later
"""An interrupt arrives, wherever it comes."""

from __future__ import annotations

import subprocess
import sys

_SWALLOWED = """
import os, signal, time
from lsmeter.core.signals import heed_signals

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

heed_signals()
try:
    Finalized()
    for _ in range(360_000):
        time.sleep(0.01)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_that_python_drops_comes_again() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SWALLOWED], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")
