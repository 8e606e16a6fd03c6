# SPDX-License-Identifier: GPL-2.0-or-later
"""The series that a kernel is of: 6.12 of 6.12.43-1~bpo12+1."""

from __future__ import annotations

import re
from typing import NamedTuple

_BEGIN = re.compile(r"([0-9]{1,3})\.([0-9]{1,4})")


class Series(NamedTuple):
    """The two numbers that a version begins with; later series are greater."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


def series_of(version: str) -> Series | None:
    """Return the series of a version or a release; None for what is none."""
    found = _BEGIN.match(version)
    return Series(int(found[1]), int(found[2])) if found else None
