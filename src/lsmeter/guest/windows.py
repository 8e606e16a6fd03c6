# SPDX-License-Identifier: GPL-2.0-or-later
"""The windows of a benchmark's whole cost, held against how a probe makes them; pure."""

from __future__ import annotations

from lsmeter.core.model import BenchmarkStatus, Round, Whole
from lsmeter.guest.protocol import (
    MAX_CYCLES,
    MAX_ROUNDS,
    MAX_TICKS,
    BadLineError,
    ContradictionError,
)

EMPTY = "empty"  # the one operation without a cycle


class WindowReader:
    """Takes the windows of one benchmark in their order, then how its whole cost ended.

    asked: that it has a whole cost.
    """

    def __init__(self, benchmark: str, *, asked: bool) -> None:
        self.whole: Whole | None = None
        self._benchmark = benchmark
        self._asked = asked and benchmark.partition(" ")[0] != EMPTY
        self._rounds: list[Round] = []

    def take(self, cycles: int, loop: int, bulk: int, ticks: int, taken: list[int] | None) -> None:
        """Add a window; raise for one that cannot be, or cannot follow the last."""
        found = Round(cycles, loop, bulk, ticks, tuple(taken or ()))
        right = 0 < cycles <= MAX_CYCLES and max(loop, ticks) <= bulk
        if not right or len(found.taken) > 1 + MAX_TICKS:
            raise BadLineError("a window that cannot be")
        if len(self._rounds) == MAX_ROUNDS:
            raise BadLineError("too many windows")
        if not self._asked or self.whole:
            raise self._unasked("a window of whole cycles")
        if wrong := self._wrong(found):
            raise ContradictionError(f"{self._benchmark}: {wrong}")
        self._rounds.append(found)

    def _wrong(self, found: Round) -> str:
        """Say why a window is not the next.

        Pairs are seen through, of many cycles and of fewer, the same each time; a window between
        two of them is not. Then come windows that are not, of one number of cycles.
        """
        place = len(self._rounds)
        seen = [item for item in self._rounds if item.taken]
        if found.taken and seen and len(found.taken) != len(seen[-1].taken):
            return f"window {place} with other numbers of ticks"
        right = self._follows(found, seen) if found.taken else self._follows_unseen(found, seen)
        return "" if right else f"window {place} with another number of cycles"

    def _follows(self, found: Round, seen: list[Round]) -> bool:
        """Whether a window that is seen through is the next of the pairs."""
        if not any(item.taken for item in self._rounds[-2:]):
            return not self._rounds
        if len(seen) < 2:
            return found.operations < seen[0].operations
        return found.operations == seen[len(seen) % 2].operations

    def _follows_unseen(self, found: Round, seen: list[Round]) -> bool:
        """Whether a window that is not seen through may come after the others."""
        if not seen:
            return not self._rounds or found.operations == self._rounds[0].operations
        last, most = self._rounds[-1], seen[0].operations
        if last.taken:
            return len(seen) % 2 == 0 or found.operations >= most
        return found.operations == (most if last.operations < most else last.operations)

    def end(self, status: BenchmarkStatus, number: int, detail: str) -> None:
        """Note how the whole cost ended, with an errno and what is said of it."""
        if not self._asked or self.whole:
            raise self._unasked("a whole cost")
        seen = sum(bool(item.taken) for item in self._rounds)
        alone = f"{seen} windows that were seen through" if seen % 2 or not seen else ""
        if status is BenchmarkStatus.OK and (wrong := detail if number else alone):
            raise ContradictionError(f"{self._benchmark}: the whole cost is ok, with {wrong}")
        self.whole = Whole(status, tuple(self._rounds), detail)

    def missing(self, status: BenchmarkStatus) -> str:
        """Say what a benchmark lacks that ended so; "" for nothing."""
        lacking = not self.whole and (self._rounds or status is BenchmarkStatus.OK)
        return "its whole cost is missing" if self._asked and lacking else ""

    def _unasked(self, what: str) -> ContradictionError:
        return ContradictionError(f"{self._benchmark}: {what} that nobody asked for")
