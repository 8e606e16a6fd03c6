# SPDX-License-Identifier: GPL-2.0-or-later
"""What came out of one guest, as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

_END_BYTES = 4096


class Ending(StrEnum):
    """How the run of a guest came to its end, seen from outside."""

    EXITED = "exited"  # QEMU ended by itself; exit_code tells how
    DEADLINE = "deadline"  # killed: it took too long for what it had done
    SILENT = "silent"  # killed: nothing was reported for too long
    FLOODED = "flooded"  # killed: it printed more than any honest guest does
    LOST = "lost"  # the connection to its host broke, or was never there
    REFUSED = "refused"  # killed: what it said can give no numbers any more


@dataclass(frozen=True)
class Capture:
    """All that came out of one guest."""

    results: bytes
    console: bytes
    ending: Ending
    exit_code: int | None
    wall_s: float
    stderr: str = ""  # what QEMU itself complained of
    outputs: Mapping[str, bytes] = field(default_factory=dict)  # of a plugin, by name
    facts: Mapping[str, str] = field(default_factory=dict)  # that its machine adds to the guest's

    @property
    def console_end(self) -> str:
        """The last 4 KiB of the console, as text."""
        return self.console[-_END_BYTES:].decode(errors="replace")

    @property
    def complete_lines(self) -> bytes:
        """The results, without the line in the middle of which QEMU failed or was killed.

        What a guest was killed for is part of them.
        """
        if self.ending is Ending.REFUSED or (self.ending is Ending.EXITED and not self.exit_code):
            return self.results
        return self.results[: self.results.rfind(b"\n") + 1]
