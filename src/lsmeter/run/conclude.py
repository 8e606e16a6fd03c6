# SPDX-License-Identifier: GPL-2.0-or-later
"""From what came out of a guest to a Boot; pure.

This is where a setup that is not what was asked for loses its numbers.
"""

from __future__ import annotations

from dataclasses import replace

from lsmeter.backend import Capture
from lsmeter.guest.console import clean_lines, diagnose, tail
from lsmeter.guest.session import parse_session
from lsmeter.model import Boot, BootStatus
from lsmeter.plan import PlannedBoot
from lsmeter.verify import verify

_GIVE_NUMBERS = (BootStatus.OK, BootStatus.PARTIAL)


def conclude(planned: PlannedBoot, capture: Capture) -> Boot:
    """Parse, diagnose and verify one boot."""
    cell = planned.cell
    session = parse_session(capture.complete_lines, cell.benchmarks)
    found = diagnose(capture.console, session, capture.ending, capture.exit_code, capture.stderr)
    boot = Boot(
        cell_hash=cell.hash,
        index=planned.index,
        seed=planned.seed,
        status=found.status,
        facts=session.facts,
        samples=session.samples if found.status in _GIVE_NUMBERS else (),
        detail=found.detail,
        console_tail=found.tail,
        wall_s=round(capture.wall_s, 3),
        states=session.states if found.status in _GIVE_NUMBERS else (),
        idle=session.idle,
    )
    if found.status not in _GIVE_NUMBERS:
        return boot
    mismatches = verify(cell.setup, cell.kernel, dict(session.facts))
    if not mismatches:
        return boot
    return replace(
        boot,
        status=BootStatus.WRONG_SETUP,
        samples=(),
        states=(),
        detail="; ".join(mismatches),
        console_tail=tail(clean_lines(capture.console)),
    )
