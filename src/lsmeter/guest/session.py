# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts the lines of one boot together: facts, samples, counts; pure.

A line that cannot stand where it does is garbage like one that cannot be read.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass, field, replace
from typing import Any

from lsmeter.guest import protocol
from lsmeter.guest.protocol import BadLineError, LineReader
from lsmeter.model import BenchmarkStatus, HookReadings, Idle, Round, Samples, StateReading, Whole

MAX_FACTS = 1000
MAX_IDLE = 16
MAX_NUMBERS = 64
_LINE = re.compile(r"([A-Za-z][A-Za-z0-9 _-]{0,40}):\s*([0-9]{1,18})(?:/([0-9]{1,18}))?")
_HEAD = re.compile(r"[a-z_]{1,32}(?: [a-z_]{1,32})+")
_ALONE = re.compile(r"[0-9]{1,18}")
_ROW = re.compile(r"[0-9]{1,18}(?: [0-9]{1,18})*")
# What a guest reports of itself; every other kind of line belongs to the benchmark that has begun.
_OF_GUEST = frozenset({"hello", "fact", "idle", "begin", "error", "bye"})


@dataclass(frozen=True)
class Session:
    """What a guest reported from beginning to end."""

    facts: tuple[tuple[str, str], ...]
    samples: tuple[Samples, ...]  # as crashed where a benchmark was never reported
    errors: tuple[str, ...]  # one line each, and so is garbage
    garbage: tuple[str, ...]
    greeted: bool
    complete: bool  # the last line came
    counts: tuple[HookReadings, ...] = ()  # of benchmarks that ended well
    states: tuple[StateReading, ...] = ()
    unfinished: str = ""  # the benchmark that was running, else the first that was not reached
    idle: tuple[Idle, ...] = ()


def parse_session(results: bytes, asked: tuple[str, ...]) -> Session:
    """Read all that came over the result channel; asked are the ids that were requested."""
    reader = SessionReader(asked)
    reader.feed(results)
    return reader.close()


@dataclass
class _Running:
    """The benchmark that has begun, as far as it was reported."""

    index: int
    benchmark: str
    delay_ns: int | None
    values: list[int] = field(default_factory=list)
    ticked: list[int] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    whole: Whole | None = None
    counts: dict[str, list[int]] = field(default_factory=dict)
    before: dict[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)


class SessionReader:
    """A session as far as it is known; finished counts the benchmarks that have ended.

    feed takes more bytes of the result channel, and never raises for what they hold.
    """

    def __init__(self, asked: tuple[str, ...]) -> None:
        self.finished = 0
        self._asked = asked
        self._lines = LineReader(self._take)
        self.feed = self._lines.feed
        self._greeted = False
        self._begun = 0
        self._bye: int | None = None
        self._running: _Running | None = None
        self._total_values = 0
        self._facts: dict[str, str] = {}
        self._samples: list[Samples] = []
        self._counts: list[HookReadings] = []
        self._states: list[StateReading] = []
        self._idle: list[Idle] = []
        self._errors: list[str] = []

    def close(self) -> Session:
        """Return the session, with the benchmarks that were never reported."""
        self._lines.close()
        reported = {samples.benchmark for samples in self._samples}
        running = self._running.benchmark if self._running else ""
        missing = [benchmark for benchmark in self._asked if benchmark not in reported]
        crashed = (
            Samples(
                benchmark,
                BenchmarkStatus.CRASHED,
                detail=f"the guest ended {'while it ran' if benchmark == running else 'before it'}",
            )
            for benchmark in missing
        )
        return Session(
            facts=tuple(sorted(self._facts.items())),
            samples=(*self._samples, *crashed),
            errors=tuple(self._errors),
            garbage=tuple(self._lines.garbage),
            greeted=self._greeted,
            complete=self._bye == self._begun and self._running is None,
            counts=tuple(self._counts),
            states=tuple(self._states),
            unfinished=running or next(iter(missing), ""),
            idle=tuple(self._idle),
        )

    def _take(self, kind: str, values: list[Any]) -> None:
        """Add one line, or raise BadLineError."""
        if self._bye is not None:
            raise BadLineError("a line after the last one")
        if (kind == "hello") == self._greeted:
            raise BadLineError("hello must come first, and once")
        if kind in _OF_GUEST:
            getattr(self, f"_on_{kind}")(*values)
            return
        running, index = self._running, values[0]
        if running is None or running.index != index:
            raise BadLineError("readings of a benchmark that has not begun")
        getattr(self, f"_on_{kind}")(running, *values[1:])

    def _on_hello(self, version: int, _probe: str) -> None:
        if version != protocol.VERSION:
            raise BadLineError(f"version {version} of the protocol, not {protocol.VERSION}")
        self._greeted = True

    def _on_fact(self, key: str, value: str) -> None:
        if len(self._facts) < MAX_FACTS:
            self._facts[key] = value

    def _on_idle(self, elapsed: int, taken: int, ticks: int) -> None:
        if not elapsed or taken > elapsed:
            raise BadLineError("an idle span that cannot be")
        if len(self._idle) < MAX_IDLE:
            self._idle.append(Idle(elapsed, taken, ticks))

    def _on_error(self, text: str) -> None:
        self._errors.append(text)

    def _on_bye(self, benchmarks: int) -> None:
        self._bye = benchmarks

    def _on_begin(self, index: int, benchmark: str, delay_ns: int | None) -> None:
        if self._running is not None:
            raise BadLineError("a benchmark begins inside another")
        self._running = _Running(index, benchmark, delay_ns)
        self._begun += 1

    def _room_for(self, values: list[int], known: int, most: int, what: str) -> None:
        self._total_values += len(values)
        if known + len(values) > most or self._total_values > protocol.MAX_TOTAL_VALUES:
            raise BadLineError(what)

    def _on_samples(self, running: _Running, values: list[int]) -> None:
        self._room_for(values, len(running.values), protocol.MAX_VALUES, "too many readings")
        running.values += values

    def _on_ticked(self, running: _Running, places: list[int]) -> None:
        if any(place >= len(running.values) for place in places):
            raise BadLineError("a tick in a reading that was not taken")
        self._room_for(places, len(running.ticked), len(running.values), "more ticks than readings")
        running.ticked += places

    def _on_round(self, running: _Running, *numbers: int) -> None:
        found = Round(*numbers)
        if not found.operations or found.taken > found.settle:
            raise BadLineError("a round that cannot be")
        if len(running.rounds) == protocol.MAX_ROUNDS:
            raise BadLineError("too many rounds")
        running.rounds.append(found)

    def _on_whole(self, running: _Running, status: BenchmarkStatus, number: int, why: str) -> None:
        running.whole = Whole(status, tuple(running.rounds), _detail(number, why))

    def _on_counts(self, running: _Running, hook: str, runs: list[int]) -> None:
        known = running.counts.setdefault(hook, [])
        self._room_for(runs, len(known), len(running.values), "more counts than readings")
        if len(running.counts) > protocol.MAX_HOOKS:
            raise BadLineError("too many hooks")
        known += runs

    def _on_state(self, running: _Running, name: str, moment: str, text: str) -> None:
        numbers = parse_numbers(text)
        if moment == "before":
            running.before[name] = numbers
        else:
            before = running.before.pop(name, ())
            self._states.append(StateReading(running.benchmark, name, before, numbers))

    def _on_end(
        self,
        running: _Running,
        status: BenchmarkStatus,
        count: int,
        failures: int,
        number: int,
        why: str,
    ) -> None:
        self._running = None
        self.finished += 1
        if count != len(running.values):
            raise BadLineError(f"{count} readings were announced, {len(running.values)} came")
        if any(len(runs) != count for runs in running.counts.values()):
            raise BadLineError("hooks were not counted in every reading")
        name, detail = running.benchmark, _detail(number, why)
        if name not in self._asked:
            raise BadLineError("a benchmark that nobody asked for")
        samples = Samples(name, status, (), failures, detail, delay_ns=running.delay_ns)
        if status is BenchmarkStatus.OK:
            values, ticked = tuple(running.values), tuple(running.ticked)
            samples = replace(samples, values=values, ticked=ticked, whole=running.whole)
            self._counts += [
                HookReadings(name, hook, tuple(runs)) for hook, runs in running.counts.items()
            ]
        self._samples.append(samples)


def _detail(number: int, text: str) -> str:
    name = errno.errorcode.get(number, str(number)) if number else ""
    return ": ".join(filter(None, (name, text)))


def parse_numbers(text: str) -> tuple[tuple[str, int], ...]:
    """Return the numbers by name that a security module says of itself; never raises.

    Three forms are known: a table with a head, whose rows (one for each CPU) are added up, as in
    SELinux's avc/cache_stats; lines of `name: number`, or `name: number/number`, as in
    avc/hash_stats (security/selinux/selinuxfs.c and avc.c, Linux 6.1); and a number alone, which is
    called `count`, as in ima/violations. What is no number is left out.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and _ALONE.fullmatch(lines[0]):
        return (("count", int(lines[0])),)
    if lines and _HEAD.fullmatch(lines[0]):
        return _table(lines)
    found: list[tuple[str, int]] = []
    for match in filter(None, map(_LINE.fullmatch, lines)):
        name = match[1].strip().replace(" ", "_")
        found.append((name, int(match[2])))
        if match[3] is not None:
            found.append((f"{name}_of", int(match[3])))
    return tuple(found[:MAX_NUMBERS])


def _table(lines: list[str]) -> tuple[tuple[str, int], ...]:
    names = lines[0].split(" ")[:MAX_NUMBERS]
    rows = [line.split(" ") for line in lines[1:] if _ROW.fullmatch(line)]
    whole = [row for row in rows if len(row) >= len(names)]
    return tuple((name, sum(int(row[at]) for row in whole)) for at, name in enumerate(names))
