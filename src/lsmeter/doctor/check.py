# SPDX-License-Identifier: GPL-2.0-or-later
"""What a check of the machine answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a check went: what is missing stops lsmeter, what is limited only narrows it."""

    OK = "ok"
    LIMITED = "limited"
    MISSING = "missing"


@dataclass(frozen=True)
class Finding:
    """One line of doctor: what was looked at, how it is, and how to get what is missing."""

    name: str
    state: State
    text: str
    hint: str = ""
