# SPDX-License-Identifier: GPL-2.0-or-later
"""A system-call profile of a service as frozen types; no I/O."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

from lsmeter.core.groups import grouped


@dataclass(frozen=True)
class Calls:
    """How often one system call was made, how many of these failed, how long all took."""

    name: str  # as strace has it: newfstatat
    calls: float
    errors: float = 0.0
    time_s: float | None = None


@dataclass(frozen=True)
class Profile:
    """All system calls of a service in some time, or for one unit of its work.

    source says who counted, clock which time a call's is ("" where calls have none). unit is what
    the numbers are of: profile (the whole of it), or request where lsmeter counted a workload.
    errors_unknown are calls of which it does not say how many failed. made_on: what calls
    were made on, as shares by the call's usual name and the kind of thing, where it was seen.
    """

    source: str
    calls: tuple[Calls, ...]  # each name once
    clock: str = ""
    seconds: float | None = None  # it was watched for so long
    tables: int = 1  # threads, or kinds of programs, that were added up
    unit: str = "profile"
    errors_unknown: frozenset[str] = frozenset()
    made_on: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    units: float | None = None  # it covers so many units of the service's work

    @property
    def per(self) -> tuple[float, str]:
        """What all numbers are multiplied by, and what they are of then."""
        if self.unit != "profile":
            return 1.0, f"a {self.unit}"
        if self.units:
            return 1 / self.units, "a unit"
        return (1 / self.seconds, "a second") if self.seconds else (1.0, "in all")

    @property
    def total(self) -> float:
        """How many calls there are in all."""
        return math.fsum(item.calls for item in self.calls)

    @property
    def time_s(self) -> float | None:
        """How long all calls took together; None where that is not known."""
        if not self.clock:
            return None
        return math.fsum(item.time_s or 0.0 for item in self.calls)


def added(found: Iterable[Calls]) -> tuple[Calls, ...]:
    """Add up what several tables say of a call; those of most calls come first."""
    by_name = grouped((item.name, item) for item in found)
    summed = (reduce(_sum, items) for items in by_name.values())
    return tuple(sorted(summed, key=lambda item: (-item.calls, item.name)))


def _sum(one: Calls, other: Calls) -> Calls:
    time_s = None
    if one.time_s is not None and other.time_s is not None:
        time_s = one.time_s + other.time_s
    return Calls(one.name, one.calls + other.calls, one.errors + other.errors, time_s)
