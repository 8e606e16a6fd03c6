# SPDX-License-Identifier: GPL-2.0-or-later
"""How long the rest of a run takes, by what was seen of it so far; the clock is given, not read."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lsmeter.measure.experiment.plan import PlannedBoot

_TELLING = 0.1  # of its benchmarks: what a guest must have finished to tell how long it takes
_MANY = 2000  # boots that wait: each look at all of them would take longer than it is worth
_OVERDUE = 0.1  # of the time that a guest has taken: what one may still need that is late


@dataclass
class _Guest:
    """A guest that runs: since when, how many benchmarks are finished, and those of the first word.

    Until the first word it starts its kernel, which says nothing of the pace of benchmarks.
    """

    since_s: float
    finished: int = 0
    first_s: float = 0.0
    first: int = 0

    def length_s(self, units: int, now_s: float) -> float | None:
        """Return how long it will have taken at its pace; None while that does not show."""
        done = self.finished - self.first
        if done <= _TELLING * units:
            return None
        start_s = self.first_s - self.since_s
        return start_s + (now_s - self.first_s) * (units - self.first) / done


class Pace:
    """The boots of a run, each waiting, running or over; known ones are taken from the store.

    before says how long such a boot took in other runs, which counts until this one tells.
    """

    def __init__(
        self,
        boots: Iterable[PlannedBoot],
        jobs: int,
        known: Collection[PlannedBoot] = (),
        before: Callable[[PlannedBoot], float | None] = lambda _: None,
    ) -> None:
        self._before = before
        known = {*known}
        self._waiting = dict.fromkeys(boot for boot in boots if boot not in known)
        # Of those that wait: how many are alike, with one of them.
        self._left = Counter(map(_likeness, self._waiting))
        self._alike = {_likeness(boot): boot for boot in self._waiting}
        self._jobs = max(1, jobs)
        self._running: dict[PlannedBoot, _Guest] = {}
        self._took_s: dict[str, tuple[float, int]] = {}  # by kind: their sum, and how many

    def started(self, boot: PlannedBoot, now_s: float) -> None:
        """Note a guest that was started."""
        self._take(boot)
        self._running[boot] = _Guest(now_s)
        # Boots that take turns run side by side, however many jobs there are.
        self._jobs = max(self._jobs, len(self._running))

    def advanced(self, boot: PlannedBoot, finished: int, now_s: float) -> None:
        """Note how many benchmarks a guest has finished."""
        guest = self._running[boot]
        if not guest.finished:
            guest.first_s, guest.first = now_s, finished
        guest.finished = finished

    def ended(self, boot: PlannedBoot, now_s: float) -> float:
        """Note a boot that is over, made now or taken from the store; return its start.

        That is the seconds until its first benchmark was finished; 0 where none was seen.
        """
        self._take(boot)
        guest = self._running.pop(boot, None)
        if guest is not None:
            # Its own kind first, then its task, then any: see _length_s.
            for kind in _kinds(boot):
                total_s, number = self._took_s.get(kind, (0.0, 0))
                self._took_s[kind] = total_s + now_s - guest.since_s, number + 1
        return max(guest.first_s - guest.since_s, 0.0) if guest else 0.0

    def _take(self, boot: PlannedBoot) -> None:
        if boot in self._waiting:
            del self._waiting[boot]
            self._left[_likeness(boot)] -= 1

    def left_s(self, now_s: float) -> float | None:
        """Return how long all that is not over takes; None as long as nothing tells.

        Guests that wait take the place of the first one that ends.
        """
        running = list(self._running.items())
        paces = [guest.length_s(boot.cell.units, now_s) for boot, guest in running]
        guessed = [length_s for length_s in paces if length_s is not None]
        if len(self._waiting) > _MANY:
            return self._about_left_s(guessed)
        places = [0.0] * self._jobs
        left_s = 0.0
        for boot, since_s in [
            *((boot, guest.since_s) for boot, guest in running),
            *((boot, now_s) for boot in list(self._waiting)),
        ]:
            length_s = self._length_s(boot, guessed)
            if length_s is None:
                return None
            gone_s = now_s - since_s
            # A guest takes the place that is free first.
            end_s = heapq.heappop(places) + max(length_s - gone_s, _OVERDUE * gone_s)
            heapq.heappush(places, end_s)
            left_s = max(left_s, end_s)
        return left_s

    def _about_left_s(self, guessed: Collection[float]) -> float | None:
        """Return how long so many boots take that how they fall into places does not matter."""
        total_s = 0.0
        for alike, number in self._left.items():
            if number:
                length_s = self._length_s(self._alike[alike], guessed)
                if length_s is None:
                    return None
                total_s += number * length_s
        return total_s / self._jobs

    def _length_s(self, boot: PlannedBoot, guessed: Collection[float]) -> float | None:
        """Guess how long a boot takes: as those of its kind did, or those that run will."""
        for kind in _kinds(boot):
            if kind in self._took_s:
                total_s, number = self._took_s[kind]
                return total_s / number
        return fmean(guessed) if guessed else self._before(boot)


def _likeness(boot: PlannedBoot) -> tuple[object, ...]:
    """Return what is equal for boots that take as long as each other."""
    cell = boot.cell
    return *_kinds(boot), cell.suite, cell.units, bool(cell.sampling.whole_ppm)


def _kinds(boot: PlannedBoot) -> tuple[str, str, str]:
    task, setup = boot.cell.task.name, boot.cell.setup.name
    return f"{task} {setup}", task, ""
