# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads what security modules say of themselves as numbers by name; pure, and never raises.

Three forms are known: a table with a head, whose rows (one for each CPU) are added up, as in
SELinux's avc/cache_stats; lines of `name: number`, or `name: number/number`, as in
avc/hash_stats (security/selinux/selinuxfs.c and avc.c, Linux 6.1); and a number alone, which is
called `count`, as in ima/violations.
"""

from __future__ import annotations

import re

MAX_NUMBERS = 64
_LINE = re.compile(r"([A-Za-z][A-Za-z0-9 _-]{0,40}):\s*([0-9]{1,18})(?:/([0-9]{1,18}))?")
_HEAD = re.compile(r"[a-z_]{1,32}(?: [a-z_]{1,32})+")
_ALONE = re.compile(r"[0-9]{1,18}")
_ROW = re.compile(r"[0-9]{1,18}(?: [0-9]{1,18})*")


def parse_numbers(text: str) -> tuple[tuple[str, int], ...]:
    """Return the numbers that `text` holds, in its order; what is no number is left out."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and _ALONE.fullmatch(lines[0]):
        return (("count", int(lines[0])),)
    if lines and _HEAD.fullmatch(lines[0]):
        return _table(lines)
    found: list[tuple[str, int]] = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        name = match[1].strip().replace(" ", "_")
        found.append((name, int(match[2])))
        if match[3] is not None:
            found.append((f"{name}_of", int(match[3])))
    return tuple(found[:MAX_NUMBERS])


def _table(lines: list[str]) -> tuple[tuple[str, int], ...]:
    names = lines[0].split(" ")[:MAX_NUMBERS]
    totals = [0] * len(names)
    for line in lines[1:]:
        cells = line.split(" ")
        if not _ROW.fullmatch(line) or len(cells) < len(names):
            continue
        totals = [total + int(cell) for total, cell in zip(totals, cells, strict=False)]
    return tuple(zip(names, totals, strict=True))
