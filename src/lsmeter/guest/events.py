# SPDX-License-Identifier: GPL-2.0-or-later
"""What the probe says, line by line, as frozen types; docs/protocol.md has the grammar."""

from __future__ import annotations

from dataclasses import dataclass

from lsmeter.model import BenchmarkStatus, Idle, Round


@dataclass(frozen=True)
class Hello:
    """The first line: which version of the protocol, and who speaks."""

    version: int
    probe: str


@dataclass(frozen=True)
class Fact:
    """One thing that the guest says of itself."""

    key: str
    value: str


@dataclass(frozen=True)
class Begin:
    """A benchmark begins. sweep is the value that was set before it, "" outside a sweep."""

    index: int
    benchmark: str
    sweep: str = ""


@dataclass(frozen=True)
class Values:
    """Readings of the benchmark that has begun, in the order they were taken."""

    index: int
    values: tuple[int, ...]


@dataclass(frozen=True)
class Counts:
    """How often each reading of the benchmark that has begun ran one hook (without security_)."""

    index: int
    hook: str
    runs: tuple[int, ...]


@dataclass(frozen=True)
class Ticked:
    """Places of the readings of the benchmark that has begun into which a timer tick fell."""

    index: int
    places: tuple[int, ...]


@dataclass(frozen=True)
class RoundDone:
    """A round of whole cycles of the benchmark that has begun."""

    index: int
    round: Round


@dataclass(frozen=True)
class WholeEnd:
    """How the whole cost of the benchmark that has begun ended. errno as in End."""

    index: int
    status: BenchmarkStatus
    errno: int
    detail: str


@dataclass(frozen=True)
class IdleSpan:
    """A while in which the guest did nothing."""

    idle: Idle


@dataclass(frozen=True)
class State:
    """What a security module said of itself before or after the benchmark that has begun."""

    index: int
    name: str
    moment: str  # before or after
    text: str


@dataclass(frozen=True)
class End:
    """A benchmark has ended. errno is that of the first failed call, 0 if there is none."""

    index: int
    status: BenchmarkStatus
    count: int
    failures: int
    errno: int
    detail: str


@dataclass(frozen=True)
class ErrorLine:
    """The probe could not do what it was asked."""

    text: str


@dataclass(frozen=True)
class Bye:
    """The last line: everything was done; so many benchmarks were begun."""

    benchmarks: int


@dataclass(frozen=True)
class GarbageError:
    """Bytes that are not the protocol: where they begin, what is wrong, what they look like."""

    offset: int
    reason: str
    excerpt: str


# What belongs to the benchmark that has begun, apart from its end.
Part = Values | Ticked | Counts | State | RoundDone | WholeEnd
Event = Hello | Fact | Begin | Part | End | IdleSpan | ErrorLine | Bye | GarbageError
