# SPDX-License-Identifier: GPL-2.0-or-later
"""Feeds recorded captures through the same path as live ones: for tests and for debugging.

LSMETER_REPLAY names a directory of recordings: SETUP-INDEX.results and SETUP-INDEX.console,
with SETUP as in the setup's name and INDEX the boot's. A boot without a recording is an error,
not an empty capture.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from lsmeter.backend import Backend, Capture, Ending, OnResults
from lsmeter.errors import UsageError
from lsmeter.limits import Limits
from lsmeter.model import Cell, Instrument
from lsmeter.plan import PlannedBoot

VARIABLE = "LSMETER_REPLAY"


class ReplayBackend(Backend):
    """Answers with what was recorded."""

    name = "replay"
    title = "recorded guests, given again (for tests)"
    instrument = Instrument.EXACT
    internal = True

    def identity(self) -> Mapping[str, str]:
        """Name the recordings by their content."""
        digest = hashlib.sha256()
        for path in sorted(_directory().iterdir()):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return {"recordings": digest.hexdigest()}

    def filesystems(self) -> tuple[str, ...]:
        """Name what recordings may have been made on."""
        return ("tmpfs", "ext4")

    def command(self, cell: Cell) -> tuple[str, ...]:
        """Return what stands in for a command."""
        return ("replay", cell.setup.name)

    async def run(self, boot: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Return the recording of this boot."""
        stem = f"{boot.cell.setup.name}-{boot.index}"
        results = _directory() / f"{stem}.results"
        if not results.is_file():
            raise UsageError(f"{VARIABLE}: {results} is not there: this boot was never recorded")
        data = results.read_bytes()[: limits.results_bytes]
        console = _directory() / f"{stem}.console"
        on_results(data)
        return Capture(
            results=data,
            console=console.read_bytes() if console.is_file() else b"",
            ending=Ending.EXITED,
            exit_code=0,
            wall_s=0.0,
        )


def _directory() -> Path:
    named = os.environ.get(VARIABLE)
    if not named or not Path(named).is_dir():
        raise UsageError(
            f"the backend 'replay' needs {VARIABLE}: a directory of recordings",
            hint="for measuring, leave --backend out",
        )
    return Path(named)


BACKEND = ReplayBackend()
