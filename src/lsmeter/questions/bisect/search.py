# SPDX-License-Identifier: GPL-2.0-or-later
"""Which commit to try next, and when the search has ended; pure, as git bisect does it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lsmeter.questions.bisect.history import Candidate


class Ruling(StrEnum):
    """What a step says of its commit."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"  # not built, not booted, not to be judged


@dataclass(frozen=True)
class Step:
    """A commit that was tried: what came of it, why, and how long it took."""

    commit: str
    ruling: Ruling
    detail: str = ""
    build_s: float = 0.0
    run_s: float = 0.0


@dataclass(frozen=True)
class Ended:
    """The search is over: suspects is the first bad commit alone, or all that it may be."""

    suspects: tuple[str, ...]


def next_step(candidates: Sequence[Candidate], rulings: Mapping[str, Ruling]) -> str | Ended:
    """Return the commit to try next, or the end.

    candidates are those that may be the first bad commit, the last bad one among them; rulings
    those that are known. After a skip, the next try is away from the middle: neighbours of what
    does not build often do not build either.
    """
    bad = [item.commit for item in candidates if rulings.get(item.commit) is Ruling.BAD]
    skipped = [item.commit for item in candidates if rulings.get(item.commit) is Ruling.SKIP]
    left = [item.commit for item in candidates if item.commit not in rulings]
    if not left:
        return Ended((*bad, *skipped))
    return left[len(left) // 3 if skipped else 0]


def steps_left(candidates: int) -> int:
    """Return about how many steps a search among so many commits takes."""
    return max(0, math.ceil(math.log2(max(1, candidates))))
