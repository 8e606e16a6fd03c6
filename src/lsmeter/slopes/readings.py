# SPDX-License-Identifier: GPL-2.0-or-later
"""From what a guest said in a sweep to readings; pure."""

from __future__ import annotations

import re

from lsmeter.guest.session import Session
from lsmeter.model import Problem
from lsmeter.slopes.fit import Reading

_WAITS = re.compile(r"([0-9]{1,12}) ([0-9]{1,12})")
# Both kinds of checks wait in the same code, so that one number stands for both.
_MAX_DIFFERENCE = 0.02


def readings(session: Session) -> tuple[tuple[Reading, ...], tuple[Problem, ...]]:
    """Join every benchmark of a sweep with what a hook's call waited while it ran.

    The guest measures that at each delay, as the facts `policy.<delay>`: nanoseconds of an
    inode check and of a file check. Readings without it give a Problem, and so do waits of the
    two kinds that differ.
    """
    waits: dict[str, float] = {}
    problems: list[Problem] = []
    for key, value in session.facts:
        delay = key.removeprefix("policy.")
        if delay == key or not delay.isdigit():
            continue
        match = _WAITS.fullmatch(value)
        if match is None:
            problems.append(Problem(f"the guest's fact {key} is not two numbers: {value[:60]}"))
            continue
        inode_ns, file_ns = int(match[1]), int(match[2])
        if abs(inode_ns - file_ns) > _MAX_DIFFERENCE * max(inode_ns, file_ns):
            problems.append(
                Problem(
                    f"at a delay of {delay} ns an inode check took {inode_ns} ns and a file "
                    f"check {file_ns} ns: slopes of operations with both are not whole"
                )
            )
        waits[delay] = (inode_ns + file_ns) / 2
    found = tuple(
        Reading(int(sweep), waits[sweep], samples)
        for sweep, samples in zip(session.sweeps, session.samples, strict=True)
        if sweep in waits
    )
    lost = sorted({sweep for sweep in session.sweeps if sweep and sweep not in waits})
    problems += [Problem(f"the guest did not say what a delay of {name} ns took") for name in lost]
    return found, tuple(problems)
