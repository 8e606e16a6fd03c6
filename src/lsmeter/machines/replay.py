# SPDX-License-Identifier: GPL-2.0-or-later
"""Recorded captures, replayed along the same path as live ones: for tests and for debugging.

LSMETER_RECORD names the directory into which every boot is recorded, LSMETER_REPLAY the one from
which boots are replayed. Each boot has a folder SETUP/TASK-INDEX: `results` and `console` as they
came, `capture.json` with how the guest ended, and `NAME.zst` for each output of a plugin. A boot
without a recording is an error, not an empty capture.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import zstandard

from lsmeter.core.errors import UsageError
from lsmeter.core.limits import Limits
from lsmeter.core.model import Cell
from lsmeter.core.storage import write_atomic
from lsmeter.guest.capture import Capture, Ending
from lsmeter.machines import Machine, OnResults
from lsmeter.machines.description import guest_of
from lsmeter.measure.experiment.plan import PlannedBoot

RECORD = "LSMETER_RECORD"
REPLAY = "LSMETER_REPLAY"
_MAX_OUTPUT_BYTES = 512 << 20


class Replay(Machine):
    """Answers with what was recorded."""

    name = "replay"
    title = "recorded guests, replayed (for tests)"
    internal = True

    def identity(self, plugins: Iterable[str] = ()) -> Mapping[str, str]:
        """Name the recordings by their content."""
        digest = hashlib.sha256()
        for path in sorted(path for path in _directory().rglob("*") if path.is_file()):
            name = path.relative_to(_directory())
            digest.update(str(name).encode() + b"\0" + path.read_bytes())
        return dict.fromkeys(("recordings", *plugins), digest.hexdigest())

    def command(self, cell: Cell) -> tuple[str, ...]:
        """Return what stands in for a command."""
        return ("replay", cell.setup.name, cell.task.name, "-append", guest_of(cell).cmdline)

    async def run(self, planned: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Return the recording of this boot; UsageError where it is missing or damaged."""
        home = _folder(_directory(), planned)
        try:
            facts = json.loads((home / "capture.json").read_bytes())
            facts["ending"] = Ending(facts["ending"])
            capture = Capture(
                **facts,
                results=(home / "results").read_bytes()[: limits.results_bytes],
                console=(home / "console").read_bytes(),
                outputs={
                    path.stem: zstandard.decompress(path.read_bytes(), _MAX_OUTPUT_BYTES)
                    for path in home.glob("*.zst")
                },
            )
        except (OSError, ValueError, KeyError, TypeError, zstandard.ZstdError) as error:
            raise UsageError(
                f"{home}: no recording of this boot: {error}",
                hint=f"record one: {RECORD}=DIRECTORY lsmeter run ...",
            ) from None
        on_results(capture.results)
        return capture


def record(planned: PlannedBoot, capture: Capture) -> None:
    """Record a capture where LSMETER_RECORD asks for it; capture.json comes last."""
    if not (named := os.environ.get(RECORD)):
        return
    home = _folder(Path(named), planned)
    keys = ("ending", "exit_code", "wall_s", "stderr")
    facts = {key: getattr(capture, key) for key in keys}
    for name, data in capture.outputs.items():
        write_atomic(home / f"{name}.zst", zstandard.compress(data, level=19))
    write_atomic(home / "results", capture.results)
    write_atomic(home / "console", capture.console)
    write_atomic(home / "capture.json", (json.dumps(facts, indent=1) + "\n").encode())


def _folder(directory: Path, planned: PlannedBoot) -> Path:
    return directory / planned.cell.setup.name / f"{planned.cell.task.name}-{planned.index}"


def _directory() -> Path:
    named = os.environ.get(REPLAY)
    if not named or not Path(named).is_dir():
        raise UsageError(
            f"the machine 'replay' needs {REPLAY}: a directory of recordings",
            hint="for measuring, leave --machine out",
        )
    return Path(named)


MACHINE = Replay()
