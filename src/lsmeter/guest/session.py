# SPDX-License-Identifier: GPL-2.0-or-later
"""Folds the events of one boot into facts and samples; pure."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from dataclasses import dataclass

from lsmeter.guest.events import (
    Begin,
    Bye,
    Counts,
    End,
    ErrorLine,
    Event,
    Fact,
    GarbageError,
    Hello,
    IdleSpan,
    Part,
    RoundDone,
    State,
    Ticked,
    Values,
    WholeEnd,
)
from lsmeter.guest.protocol import Parser
from lsmeter.guest.state import parse_numbers
from lsmeter.model import BenchmarkStatus, Idle, Round, Samples, Whole
from lsmeter.policy import StateReading

MAX_FACTS = 1000
MAX_IDLE = 16


@dataclass(frozen=True)
class HookReadings:
    """How often one hook (without security_) ran in each reading of one benchmark."""

    benchmark: str
    hook: str
    runs: tuple[int, ...]


@dataclass(frozen=True)
class Session:
    """What a guest said from beginning to end.

    sweeps goes with samples: the value of the sweep that each belongs to, "" outside one.
    benchmarks that were asked for and never reported are in samples too, as crashed.
    counts are those of benchmarks that ended well, where counting was asked for.
    errors and garbage are one line each. complete says that the guest said goodbye; running is
    the benchmark that had begun and not ended when the last words came.
    """

    facts: tuple[tuple[str, str], ...]
    samples: tuple[Samples, ...]
    sweeps: tuple[str, ...]
    errors: tuple[str, ...]
    garbage: tuple[str, ...]
    greeted: bool
    complete: bool
    counts: tuple[HookReadings, ...] = ()
    states: tuple[StateReading, ...] = ()
    running: str = ""
    idle: tuple[Idle, ...] = ()


def parse_session(results: bytes, asked: tuple[str, ...]) -> Session:
    """Read all that came over the result channel; asked are the ids that were requested."""
    parser = Parser()
    return fold((*parser.feed(results), *parser.close()), asked)


def fold(events: Iterable[Event], asked: tuple[str, ...]) -> Session:
    """Put the events of one boot together. Benchmarks nobody asked for are garbage."""
    folding = _Folding(asked)
    for event in events:
        folding.take(event)
    return folding.conclude()


class _Folding:
    """The session as far as it is known."""

    def __init__(self, asked: tuple[str, ...]) -> None:
        self.asked = asked
        self.facts: dict[str, str] = {}
        self.samples: list[Samples] = []
        self.sweeps: list[str] = []
        self.errors: list[str] = []
        self.garbage: list[str] = []
        self.greeted = False
        self.begun = 0
        self.bye: int | None = None
        self.current: Begin | None = None
        self.values: list[int] = []
        self.counts: list[HookReadings] = []
        self.current_counts: dict[str, tuple[int, ...]] = {}
        self.states: list[StateReading] = []
        self.before: dict[str, tuple[tuple[str, int], ...]] = {}
        self.idle: list[Idle] = []
        self.ticked: list[int] = []
        self.rounds: list[Round] = []
        self.whole: Whole | None = None

    def take(self, event: Event) -> None:
        """Add one event."""
        match event:
            case Hello():
                self.greeted = True
            case Fact() | IdleSpan():
                self._of_guest(event)
            case Begin():
                self._begin(event)
            case End():
                self._end(event)
            case ErrorLine(text):
                self.errors.append(text)
            case Bye(benchmarks):
                self.bye = benchmarks
            case GarbageError(offset, reason, excerpt):
                self.garbage.append(f"byte {offset}: {reason}: {excerpt}")
            case _:
                self._add(event)

    def _of_guest(self, event: Fact | IdleSpan) -> None:
        if isinstance(event, IdleSpan):
            if len(self.idle) < MAX_IDLE:
                self.idle.append(event.idle)
        elif len(self.facts) < MAX_FACTS:
            self.facts[event.key] = event.value

    def _begin(self, event: Begin) -> None:
        self.current, self.values, self.current_counts = event, [], {}
        self.ticked, self.rounds, self.whole = [], [], None
        self.begun += 1

    def _add(self, event: Part) -> None:
        match event:
            case State():
                self._state(event)
            case Values():
                self.values += event.values
            case Ticked():
                self.ticked += event.places
            case RoundDone():
                self.rounds.append(event.round)
            case WholeEnd():
                rounds = tuple(self.rounds)
                self.whole = Whole(event.status, rounds, _detail(event.errno, event.detail))
            case Counts():
                known = self.current_counts.get(event.hook, ())
                self.current_counts[event.hook] = known + event.runs

    def _state(self, event: State) -> None:
        numbers = parse_numbers(event.text)
        if event.moment == "before":
            self.before[event.name] = numbers
        elif self.current is not None:
            before = self.before.pop(event.name, ())
            reading = StateReading(self.current.benchmark, event.name, before, numbers)
            self.states.append(reading)

    def _end(self, event: End) -> None:
        current, self.current = self.current, None
        if current is None or current.benchmark not in self.asked:
            self.garbage.append("a benchmark that nobody asked for")
            return
        good = event.status is BenchmarkStatus.OK
        self.samples.append(
            Samples(
                benchmark=current.benchmark,
                status=event.status,
                values=tuple(self.values) if good else (),
                failures=event.failures,
                detail=_detail(event.errno, event.detail),
                ticked=tuple(self.ticked) if good else (),
                whole=self.whole if good else None,
            )
        )
        self.sweeps.append(current.sweep)
        if good:
            self.counts += [
                HookReadings(current.benchmark, hook, runs)
                for hook, runs in self.current_counts.items()
            ]

    def conclude(self) -> Session:
        """Return the session, with the benchmarks that were never reported."""
        reported = {samples.benchmark for samples in self.samples}
        for benchmark in self.asked:
            if benchmark in reported:
                continue
            running = self.current is not None and self.current.benchmark == benchmark
            detail = "the guest ended while it ran" if running else "the guest ended before it"
            self.samples.append(Samples(benchmark, BenchmarkStatus.CRASHED, detail=detail))
            self.sweeps.append("")
        return Session(
            facts=tuple(sorted(self.facts.items())),
            samples=tuple(self.samples),
            sweeps=tuple(self.sweeps),
            errors=tuple(self.errors),
            garbage=tuple(self.garbage),
            greeted=self.greeted,
            complete=self.bye is not None and self.bye == self.begun and self.current is None,
            counts=tuple(self.counts),
            states=tuple(self.states),
            running=self.current.benchmark if self.current else "",
            idle=tuple(self.idle),
        )


def _detail(number: int, detail: str) -> str:
    if not number:
        return detail
    name = errno.errorcode.get(number, str(number))
    return f"{name}: {detail}" if detail else name
