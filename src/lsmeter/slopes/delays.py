# SPDX-License-Identifier: GPL-2.0-or-later
"""The delays of a sweep, from the words of a user; pure."""

from __future__ import annotations

import re

from lsmeter.errors import UsageError

# What the kernel module and the BPF programs accept (TUNABLE_LIMIT_NS there).
LIMIT_NS = 10_000_000
MOST = 512
LEAST = 3  # two points make a line, and no judgement of it
DEFAULT = "0:110000:10000"  # the study's: 0 to 110 us

_RANGE = re.compile(r"([0-9]{1,9}):([0-9]{1,9}):([0-9]{1,9})")
_LIST = re.compile(r"[0-9]{1,9}(,[0-9]{1,9})*")
_HINT = f"FIRST:LAST:STEP in nanoseconds, as {DEFAULT}, or a list, as 0,5000,50000"


def parse_delays(text: str, *, where: str = "--delays") -> tuple[int, ...]:
    """Return the delays in nanoseconds that `text` names, ascending and without repetition.

    `0:110000:10000` is a range with its last value included; `0,5000,50000` is a list. Raises
    UsageError for anything else, and for delays that the module would not accept.
    """
    if match := _RANGE.fullmatch(text):
        first, last, step = (int(word) for word in match.groups())
        if step == 0 or last < first:
            raise UsageError(f"{where}: '{text}' is an empty range", hint=_HINT)
        # Counted before it is made: a step of 1 would fill the memory.
        if (last - first) // step + 1 > MOST:
            raise UsageError(f"{where}: '{text}' has more than {MOST} delays", hint=_HINT)
        delays = set(range(first, last + 1, step))
    elif _LIST.fullmatch(text):
        delays = {int(word) for word in text.split(",")}
    else:
        raise UsageError(f"{where}: '{text[:80]}' is no range and no list of delays", hint=_HINT)
    if not LEAST <= len(delays) <= MOST:
        raise UsageError(
            f"{where}: {len(delays)} delays; a line needs {LEAST} to {MOST}", hint=_HINT
        )
    if max(delays) > LIMIT_NS:
        raise UsageError(
            f"{where}: {max(delays)} ns is more than the {LIMIT_NS} ns that a hook may wait",
            hint=_HINT,
        )
    return tuple(sorted(delays))
