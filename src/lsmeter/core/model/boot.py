# SPDX-License-Identifier: GPL-2.0-or-later
"""One start of a guest, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

BEGIN, WITHIN, END = "begin", "within", "end"  # of a batch
UNREAD = 2**32 - 1  # in counts: a counter was not read, or went back (probe/observe/counter.h)


class BootStatus(StrEnum):
    """How a boot ended. Only OK and PARTIAL boots give numbers."""

    OK = "ok"
    PARTIAL = "partial"  # ended badly after some benchmarks were finished; those are kept
    PANIC = "panic"
    OOPS = "oops"
    HANG = "hang"
    EARLY_EXIT = "early-exit"
    WRONG_SETUP = "wrong-setup"
    GARBAGE = "garbage"
    CONTRADICTION = "contradiction"  # it says what it was not asked, or what it denied before
    INFRASTRUCTURE = "infrastructure"

    @property
    def usable(self) -> bool:
        """Whether a boot that ended so gives numbers."""
        return self in (BootStatus.OK, BootStatus.PARTIAL)


class BenchmarkStatus(StrEnum):
    """How one benchmark ended in the guest. Only OK gives numbers."""

    OK = "ok"
    FAILED = "failed"  # an operation failed, or succeeded where it had to fail
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    SKIPPED = "skipped"  # this kernel or file system cannot do it; the reason is in detail


@dataclass(frozen=True, slots=True)
class Round:
    """A window of cycles back to back, and what the guest did after it; in instructions."""

    operations: int  # cycles
    loop: int  # what the loop itself took in user space
    bulk: int  # from the first cycle to the last
    ticks: int  # that fell into the window
    taken: tuple[int, ...] = ()  # after it, if seen: by writing back, then by each timer tick


@dataclass(frozen=True, slots=True)
class Whole:
    """The whole cost of one benchmark's cycle in one boot, round by round."""

    status: BenchmarkStatus
    rounds: Sequence[Round] = ()
    detail: str = ""  # why it is not ok


@dataclass(frozen=True, slots=True)
class Samples:
    """All readings of one benchmark in one boot, in the order they were taken."""

    benchmark: str  # id
    status: BenchmarkStatus
    values: Sequence[int] = ()
    failures: int = 0
    detail: str = ""  # why it is not ok, with the errno's name
    ticked: tuple[int, ...] = ()  # places of the readings into which a timer tick fell
    whole: Whole | None = None  # where the whole cost was asked for
    delay_ns: int | None = None  # of the sweep that it belongs to
    said: tuple[str, ...] = ()  # by the client of each batch at last; text from outside

    @property
    def usable(self) -> bool:
        """Whether its readings may become numbers."""
        return self.status is BenchmarkStatus.OK and bool(self.values)


@dataclass(frozen=True)
class HookReadings:
    """How often one hook (without security_) ran in each reading of one benchmark."""

    benchmark: str
    hook: str
    runs: tuple[int, ...]


@dataclass(frozen=True)
class StateReading:
    """The numbers of one state file around one benchmark."""

    benchmark: str
    state: str
    before: tuple[tuple[str, int], ...]
    after: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Moment:
    """One moment of a batch (warm-up included, from 0): texts by source, as the probe cut them.

    lost is how many moments before it the guest had no room for.
    """

    benchmark: str
    batch: int
    when: str
    time_ns: int  # of the guest's clock since it was started
    lost: int = 0
    texts: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class BootId:
    """Which boot of which cell, and the seed of its random numbers."""

    cell_hash: str
    index: int
    seed: int

    @property
    def folder(self) -> str:
        """Name the folder under boots/ that holds it once done."""
        return f"{self.cell_hash}-{self.index}"


@dataclass(frozen=True)
class Boot(BootId):
    """One start of a guest: what it said of itself, and what it measured."""

    status: BootStatus
    facts: tuple[tuple[str, str], ...] = ()
    samples: tuple[Samples, ...] = ()
    detail: str = ""  # one line: why the status is not ok
    console_tail: tuple[str, ...] = ()
    wall_s: float = 0.0
    states: tuple[StateReading, ...] = ()
    counts: tuple[HookReadings, ...] = ()


@dataclass(frozen=True)
class Problem:
    """Something that went wrong or could not be measured; always shown, never dropped."""

    title: str  # one line
    kernel: str = ""
    setup: str = ""
    benchmark: str = ""
    detail: str = ""
    log_tail: tuple[str, ...] = ()
    suite: str = ""
