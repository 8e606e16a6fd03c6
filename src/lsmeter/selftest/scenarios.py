# SPDX-License-Identifier: GPL-2.0-or-later
"""What the selftest injects, and what each number has to say of it; pure.

A scenario is one benchmark under two setups that differ in injected costs and in nothing else.
The truth comes from the injection: from its definition (`Scenario.expected_insns`), and from what
the module counted while it was measured (`measured_insns`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import product

from lsmeter.conclusion import Verdict
from lsmeter.selftest.costs import (
    BLOB_SITE,
    SITES,
    Injection,
    Place,
    Site,
    clearing_insns,
    total_insns,
)
from lsmeter.selftest.injections import INJECTIONS

Numbers = Sequence[tuple[str, int]]  # a state of the module, as StateReading has it


class Part(Enum):
    """Which of a benchmark's numbers a truth is about."""

    IN_LINE = "in-line"  # the measured call alone
    WHOLE = "whole"  # the call, its undo, and all that both leave to be done


# How often each place is met: by the measured call, and by it and its undo together.
_IN_LINE: Mapping[str, Mapping[Place, int]] = {
    "stat": {Place.GETATTR: 1, Place.OUTSIDE: 1},
    "open": {Place.OPEN: 1},
    "rename": {Place.RENAME: 1},
    "chmod": {Place.SETATTR: 1, Place.TASK: 1},
    "mkdir": {Place.MKDIR: 1},
    "rmdir": {Place.RMDIR: 1, Place.INODE_FREE: 1},
    "creat": {Place.CREATE: 1, Place.OPEN: 1},
    "unlink": {Place.INODE_FREE: 1},
    "read": {Place.PERMISSION: 1},
    "write": {Place.PERMISSION: 1},
}
_OPEN_CLOSE = {Place.OPEN: 1, Place.FILE_FREE: 1, Place.RCU: 1}
_CREAT_UNLINK = {**_OPEN_CLOSE, Place.CREATE: 1, Place.INODE_FREE: 1}
_MKDIR_RMDIR = {Place.MKDIR: 1, Place.RMDIR: 1, Place.INODE_FREE: 1, Place.WORK: 1}
_WHOLE: Mapping[str, Mapping[Place, int]] = {
    **_IN_LINE,
    "open": _OPEN_CLOSE,
    "rename": {Place.RENAME: 2},
    "mkdir": _MKDIR_RMDIR,
    "rmdir": _MKDIR_RMDIR,
    "creat": _CREAT_UNLINK,
    "unlink": _CREAT_UNLINK,
}
_CALLS = {Part.IN_LINE: _IN_LINE, Part.WHOLE: _WHOLE}

# Operations that make an inode, in the measured call and with their undo.
_NEW_INODES = {
    Part.IN_LINE: {"mkdir": 1, "creat": 1},
    Part.WHOLE: {"mkdir": 1, "rmdir": 1, "creat": 1, "unlink": 1},
}


@dataclass(frozen=True)
class Scenario:
    """One benchmark under two setups; verdicts are those that may be given."""

    name: str
    title: str
    benchmark: str  # id
    baseline: str  # setup
    tested: str  # setup
    before: Injection
    after: Injection
    verdicts: tuple[Verdict, ...]

    @property
    def operation(self) -> str:
        """Name the benchmark's operation."""
        return self.benchmark.split(" ")[0]

    def expected_insns(self, part: Part) -> Fraction:
        """Return by how much the tested setup costs more in the mean, in instructions.

        Negative for a cost that was removed. For a blob it is the least (see is_least).
        """
        mean = self.injected_insns(self.after, part) - self.injected_insns(self.before, part)
        inodes = _NEW_INODES[part].get(self.operation, 0)
        return mean + inodes * clearing_insns(self._more_bytes)

    def injected_insns(self, injection: Injection, part: Part) -> Fraction:
        """Return what the costs of one of its sides amount to; a larger blob is none of them."""
        places = _CALLS[part][self.operation].items()
        return sum((count * _mean_at(injection, place) for place, count in places), Fraction(0))

    @property
    def is_least(self) -> bool:
        """Say whether the whole cost has a lower bound only: slabs of larger blobs cost more."""
        return bool(self._more_bytes and self.operation in _NEW_INODES[Part.WHOLE])

    @property
    def sites(self) -> tuple[Site, ...]:
        """Return the functions that attribution of the whole cost has to name."""
        return tuple(self.site_insns)

    @property
    def site_insns(self) -> Mapping[Site, Fraction]:
        """Return by how much each of these functions costs more in the mean, in instructions.

        0 where costs cancel; for a larger blob the least.
        """
        found = {
            SITES[place]: count * (_mean_at(self.after, place) - _mean_at(self.before, place))
            for place, count in _WHOLE[self.operation].items()
            if self.before.cost(place) != self.after.cost(place)
        }
        if self.is_least:
            inodes = _NEW_INODES[Part.WHOLE][self.operation]
            found[BLOB_SITE] = Fraction(inodes * clearing_insns(self._more_bytes))
        return found

    def site_cost(self, site: Site) -> Fraction:
        """Return what a function costs on the side on which it costs most, in instructions."""
        if site == BLOB_SITE:
            return self.site_insns[site]
        return max(
            count * _mean_at(side, place)
            for place, count in _WHOLE[self.operation].items()
            for side in (self.before, self.after)
            if SITES[place] == site
        )

    @property
    def is_control(self) -> bool:
        """Say whether no cost of this benchmark differs: an instrument has to find none."""
        return not self.sites

    def peaks(self, part: Part = Part.IN_LINE) -> tuple[Mapping[int, Fraction], ...]:
        """Return which costs single calls have, with their part of the calls: before and after.

        As if the places of one operation took no notice of each other.
        """
        return tuple(_peaks(side, self.operation, part) for side in (self.before, self.after))

    @property
    def _more_bytes(self) -> int:
        return (self.after.blob_bytes or 0) - (self.before.blob_bytes or 0)


def _mean_at(injection: Injection, place: Place) -> Fraction:
    cost = injection.cost(place)
    return Fraction(0) if cost is None else cost.mean_insns


def _peaks(injection: Injection, operation: str, part: Part) -> Mapping[int, Fraction]:
    found = {0: Fraction(1)}
    for place, count in _CALLS[part][operation].items():
        cost = injection.cost(place)
        for _ in range(count if cost else 0):
            assert cost is not None  # noqa: S101  (for the type checker)
            joined: dict[int, Fraction] = {}
            for (one, its), (other, of_it) in product(found.items(), cost.peaks.items()):
                joined[one + other] = joined.get(one + other, Fraction(0)) + its * of_it
            found = joined
    return dict(sorted(found.items()))


def measured_insns(before: Numbers, after: Numbers, operations: int) -> Fraction:
    """Return what was injected for each operation, by the module's counters.

    before, after: the counters around those operations and nothing else. The truth of one side;
    a scenario's is the difference of its two. Raises ValueError for no operations.
    """
    if operations <= 0:
        raise ValueError(f"{operations} operations")
    return Fraction(total_insns(after) - total_insns(before), operations)


def counted_insns(before: Numbers, after: Numbers, operation: str, part: Part) -> Fraction | None:
    """Return what an operation cost more in the mean, by the calls that the module counted.

    Here more than the operations may lie between before and after, as around a benchmark with all
    that prepares it; a period that is cut off at either end counts for as much as it was there.
    None where a place of the operation was named and never met.
    """
    first, last = dict(before), dict(after)
    total = Fraction(0)
    for place, count in _CALLS[part][operation].items():
        if f"{place}_calls" not in last:
            continue  # it was not named: it costs nothing
        calls = last[f"{place}_calls"] - first.get(f"{place}_calls", 0)
        insns = last[f"{place}_insns"] - first.get(f"{place}_insns", 0)
        if calls <= 0:
            return None
        total += count * Fraction(insns, calls)
    return total


def counted_slack(
    injection: Injection, before: Numbers, after: Numbers, operation: str, part: Part
) -> Fraction:
    """Return what one cost more or less is worth in what was counted, in instructions."""
    first, last = dict(before), dict(after)
    total = Fraction(0)
    for place, count in _CALLS[part][operation].items():
        cost = injection.cost(place)
        calls = last.get(f"{place}_calls", 0) - first.get(f"{place}_calls", 0)
        if cost is not None and calls > 0:
            total += count * Fraction(max(cost.peaks) - min(cost.peaks), calls)
    return total


def lost(numbers: Numbers) -> int:
    """Return how many costs the module could not put off: the truth is not known if any."""
    return dict(numbers).get("lost", 0)


_SLOWER = (Verdict.SLOWER,)
_FASTER = (Verdict.FASTER,)
_MOVED = (Verdict.SLOWER, Verdict.FASTER, Verdict.INCONCLUSIVE)
_SAME = (Verdict.EQUIVALENT,)

# Places that put work off, and the copy of the inode operations, cost something by themselves: the
# baseline has all of that, and no instruction.
_WITH_MACHINERY = ("rows", "elsewhere", "blob")


def _setup(name: str) -> str:
    return "inject" if name == "none" else f"inject:cost={name}"


def _injected(injection: str, *rows: tuple[str, str, str]) -> tuple[Scenario, ...]:
    """Make scenarios of one injection: name, benchmark, title."""
    after = INJECTIONS[injection]
    machinery = injection in _WITH_MACHINERY
    before = after.unburnt if machinery else INJECTIONS["none"]
    baseline = f"{_setup(injection)},burn=no" if machinery else "inject"
    return tuple(
        Scenario(name, title, benchmark, baseline, _setup(injection), before, after, _SLOWER)
        for name, benchmark, title in rows
    )


def _between(
    before: str,
    after: str,
    verdicts: tuple[Verdict, ...],
    *rows: tuple[str, str, str],
) -> tuple[Scenario, ...]:
    """Make scenarios of two injections: name, benchmark, title."""
    sides = (_setup(before), _setup(after), INJECTIONS[before], INJECTIONS[after])
    return tuple(
        Scenario(name, title, benchmark, *sides, verdicts) for name, benchmark, title in rows
    )


SCENARIOS: tuple[Scenario, ...] = (
    *_injected(
        "rows",
        ("row-stat", "stat depth=1", "+500 in 40 % of calls"),
        (
            "row-open",
            "open depth=1",
            "+500 in 55 %; +1,000 on release of the file, +5,000 in its RCU callback",
        ),
        ("row-rename", "rename depth=1", "+5,000 in 45 %"),
        ("row-chmod", "chmod depth=1", "+32,000 in every 64th call"),
        ("row-rmdir", "rmdir depth=1", "+500 in 60 %"),
        ("row-ten", "read size=1", "ten costs, evenly spread"),
    ),
    *_injected(
        "even",
        ("always", "stat depth=1", "+500 always"),
        ("share-10", "chmod depth=1", "+500 in 10 %"),
        ("share-40", "creat depth=1", "+500 in 40 %"),
        ("share-55", "mkdir depth=1", "+500 in 55 %"),
        ("share-60", "rename depth=1", "+500 in 60 %"),
        ("share-90", "read size=1", "+500 in 90 %"),
    ),
    *_injected(
        "random",
        ("random-10", "stat depth=1", "+500 in 10 %, in no period"),
        ("random-40", "chmod depth=1", "+500 in 40 %, in no period"),
        ("random-55", "creat depth=1", "+500 in 55 %, in no period"),
        ("random-60", "mkdir depth=1", "+500 in 60 %, in no period"),
        ("random-90", "rename depth=1", "+500 in 90 %, in no period"),
    ),
    *_injected(
        "rare",
        ("every-8", "stat depth=1", "+2,000 in every 8th call"),
        ("every-64", "chmod depth=1", "+16,000 in every 64th call"),
        ("every-1000", "read size=1", "+200,000 in every 1,000th call"),
    ),
    *_injected(
        "free",
        ("free-file", "open depth=1", "+1,000 on release of the file"),
        ("free-unlink", "unlink depth=1", "+1,000 on release of the file, +700 of the inode"),
        ("free-rmdir", "rmdir depth=1", "+700 on release of the inode"),
    ),
    *_injected(
        "elsewhere",
        ("rcu", "open depth=1", "+5,000 in an RCU callback"),
        ("task-work", "chmod depth=1", "+500 in task work"),
        ("worker", "mkdir depth=1", "+2,000 in a kernel thread, a tick later"),
        ("outside", "stat depth=1", "+500 outside of hooks"),
    ),
    *_injected(
        "blob",
        ("blob-creat", "creat depth=1", "1,000 bytes more for each inode"),
        ("blob-mkdir", "mkdir depth=1", "1,000 bytes more for each inode"),
    ),
    *_between(
        *("even", "none", _FASTER),
        ("removed-always", "stat depth=1", "500 always, removed"),
        ("removed-10", "chmod depth=1", "500 in 10 %, removed"),
        ("removed-90", "read size=1", "500 in 90 %, removed"),
    ),
    *_between(
        *("free", "none", _FASTER),
        ("removed-free", "open depth=1", "1,000 on release of the file, removed"),
    ),
    *_between(
        *("flat", "cancel", _MOVED),
        ("cancel-turns", "stat depth=1", "500 always, then 0 and 1,000 in turn"),
        ("cancel-even", "chmod depth=1", "500 always, then 1,000 in half of the calls"),
        ("cancel-rename", "rename depth=1", "500 always, then 1,000 in half, in no period"),
        ("cancel-read", "read size=1", "500 always, then 1,000 in half, in no period"),
    ),
    # Without these, an instrument that calls everything slower would pass.
    *_between(
        *("none", "free", _SAME),
        ("control-stat", "stat depth=1", "nothing"),
        ("control-rename", "rename depth=1", "nothing"),
        ("control-chmod", "chmod depth=1", "nothing"),
        ("control-read", "read size=1", "nothing"),
    ),
    *_between(
        *("none", "rare", _SAME),
        ("control-open", "open depth=1", "nothing"),
    ),
)

# In the order in which they are first needed.
SETUPS: tuple[str, ...] = tuple(
    dict.fromkeys(setup for item in SCENARIOS for setup in (item.baseline, item.tested))
)
BENCHMARKS: tuple[str, ...] = tuple(dict.fromkeys(item.benchmark for item in SCENARIOS))


def _bystanders() -> tuple[Scenario, ...]:
    """Return all else that setups without machinery have in common with the one without a cost."""
    known = {(item.baseline, item.tested, item.benchmark) for item in SCENARIOS}
    after = {item.tested: item.after for item in SCENARIOS if item.baseline == "inject"}
    every = (
        Scenario(
            f"{tested} {benchmark}",
            "nothing",
            benchmark,
            "inject",
            tested,
            INJECTIONS["none"],
            injection,
            (Verdict.EQUIVALENT, Verdict.INCONCLUSIVE),
        )
        for tested, injection in {**after, **_OTHERS}.items()
        for benchmark in BENCHMARKS
    )
    return tuple(
        item
        for item in every
        if item.is_control and (item.baseline, item.tested, item.benchmark) not in known
    )


_OTHERS: Mapping[str, Injection] = {
    **{_setup(name): INJECTIONS[name] for name in ("flat", "cancel")},
    "inject:cost=blob,burn=no": INJECTIONS["blob"].unburnt,
}

# Of these an instrument must not say that anything costs more or less.
BYSTANDERS: tuple[Scenario, ...] = _bystanders()
