# SPDX-License-Identifier: GPL-2.0-or-later
"""What a monitored guest says of itself, moment by moment, held against what was asked; pure.

The texts of a moment are kept as they came; lsmeter.questions.monitor makes numbers of them.
"""

from __future__ import annotations

from lsmeter.core.model.boot import BEGIN, END, WITHIN, Moment
from lsmeter.guest.protocol import MAX_MOMENTS, BadLineError, ContradictionError
from lsmeter.guest.request import Request


class MomentReader:
    """Takes the moments of a session in their order."""

    def __init__(self, asked: Request) -> None:
        self.moments: list[Moment] = []
        self._batches = asked.warmup + asked.samples
        self._asked = bool(asked.monitor_ms)
        self._of_batch = 0
        self._texts: dict[str, str] = {}

    def take(self, benchmark: str, batch: int, when: str, time_ns: int, lost: int) -> None:
        """Begin a moment; raise for one that cannot follow the last."""
        last = self.moments[-1] if self.moments else None
        before = last if last and last.benchmark == benchmark else None
        if not self._asked:
            raise ContradictionError(f"{benchmark}: a moment that nobody asked for")
        follows = (batch, when) in _following(before)
        if not follows or batch >= self._batches or (lost and when == BEGIN):
            raise ContradictionError(f"{benchmark}: the {when} of batch {batch} out of its order")
        if last and time_ns <= last.time_ns:
            raise ContradictionError(f"{benchmark}: a moment that is no later than the last")
        self._of_batch = 1 if when == BEGIN else self._of_batch + 1
        if self._of_batch > MAX_MOMENTS:
            raise ContradictionError(f"{benchmark}: more than {MAX_MOMENTS} moments of a batch")
        self._texts = {}
        self.moments.append(Moment(benchmark, batch, when, time_ns, lost, self._texts))

    def see(self, benchmark: str, source: str, text: str) -> None:
        """Add what a source said at the last moment."""
        if not self.moments or self.moments[-1].benchmark != benchmark:
            raise BadLineError("what was seen at no moment")
        if source in self._texts:
            raise ContradictionError(f"{benchmark}: {source} twice at one moment")
        self._texts[source] = text

    def missing(self, benchmark: str) -> str:
        """Say what a benchmark lacks that ended well; "" for nothing."""
        last = self.moments[-1] if self.moments else None
        whole = last and (last.benchmark, last.batch) == (benchmark, self._batches - 1)
        done = whole and last and last.when == END
        return "" if done or not self._asked else "moments of its last batch are missing"


def _following(last: Moment | None) -> tuple[tuple[int, str], ...]:
    """Return which batch and which of its moments may come next."""
    if last is None:
        return ((0, BEGIN),)
    if last.when == END:
        return ((last.batch + 1, BEGIN),)
    return (last.batch, WITHIN), (last.batch, END)
