# SPDX-License-Identifier: GPL-2.0-or-later
"""Decides when a guest has taken too long, by what it has done so far; has no clock of its own."""

from __future__ import annotations

from lsmeter.backend import Ending
from lsmeter.limits import Limits

# A look is taken so often. What passes between two looks counts as no more than twice that: the
# rest is time in which lsmeter was stopped, or had no processor, and so could not have listened.
LOOK_S = 1.0
_MOST_S = 2 * LOOK_S

# What is left of a guest's work may take so many times as long as what it has done suggests:
# benchmarks are of unequal length, and the machine may have got busier.
SLACK = 4.0


class Patience:
    """Says when to stop waiting for one guest, from what was heard of it and when.

    units are the benchmarks that it is to finish, 0 where that is not known; now is a monotonic
    time in seconds, as in look().
    """

    def __init__(self, limits: Limits, units: int, now: float) -> None:
        self._limits = limits
        self._units = units
        self._now = now
        self._awake_s = 0.0
        self._paused = False
        self._words = False
        self._heard_s = 0.0
        self._told = 0  # benchmarks that heard() was told of
        self._finished = 0  # of them, those of which the time is known
        self._finished_s = 0.0  # when the last of them was

    def heard(self, finished: int | None = None) -> None:
        """Note that the guest said something; finished: how many benchmarks it is done with."""
        self._words = True
        if finished is not None:
            self._told = max(self._told, min(finished, self._units))

    def look(self, now: float) -> Ending | None:
        """Return why the guest is to be killed now, None as long as it is not.

        To be called every LOOK_S. The first look after a pause of lsmeter's own kills nothing:
        what the guest said in the pause is heard after it.
        """
        passed_s = now - self._now
        self._now = now
        self._awake_s += min(passed_s, _MOST_S)
        if self._words:
            self._words, self._heard_s = False, self._awake_s
        if self._told > self._finished:
            self._finished, self._finished_s = self._told, self._awake_s
        paused, self._paused = self._paused, passed_s > _MOST_S
        if self._paused and not paused:
            return None
        if self._awake_s >= self._end_s():
            return Ending.DEADLINE
        if self._awake_s >= self._heard_s + self._limits.quiet_s:
            return Ending.SILENT
        return None

    def _end_s(self) -> float:
        """Return when the guest has had enough time, by what it has finished so far."""
        limits = self._limits
        if not self._finished:
            return limits.boot_s
        left = self._units - self._finished
        rest_s = SLACK * left * self._finished_s / self._finished
        # At least until silence would end it: else the last, long benchmark could not end.
        end_s = self._finished_s + max(rest_s, limits.quiet_s)
        return min(max(limits.boot_s, end_s), limits.most_s)
