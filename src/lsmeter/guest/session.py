# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts the lines of one boot together, and holds them against what was asked; pure.

A line that cannot stand where it does is garbage like one that cannot be read. One that can, and
says something else than what the guest was asked for, is a contradiction: nothing is taken after
the first.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass, field
from typing import Any

from lsmeter.core.model import BenchmarkStatus, HookReadings, Samples, StateReading
from lsmeter.core.model.boot import Moment
from lsmeter.core.printable import printable
from lsmeter.guest import protocol
from lsmeter.guest.moments import MomentReader
from lsmeter.guest.protocol import BadLineError, ContradictionError, LineReader
from lsmeter.guest.request import Request
from lsmeter.guest.windows import WindowReader

MAX_FACTS = 1000
MAX_ERRORS = 1000
MAX_NUMBERS = 64
_LINE = re.compile(r"([A-Za-z][A-Za-z0-9 _-]{0,40}):\s*([0-9]{1,18})(?:/([0-9]{1,18}))?")
_HEAD = re.compile(r"[a-z_]{1,32}(?: [a-z_]{1,32})+")
_ALONE = re.compile(r"[0-9]{1,18}")
_ROW = re.compile(r"[0-9]{1,18}(?: [0-9]{1,18})*")
# What a guest reports of itself; every other kind of line belongs to the benchmark that has begun.
_OF_GUEST = frozenset({"hello", "fact", "begin", "error", "bye"})

Numbers = tuple[tuple[str, int], ...]  # by name


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
    contradiction: str = ""  # the first of what was said against what was asked, or said before
    moments: tuple[Moment, ...] = ()  # of a monitored guest


def parse_session(results: bytes, asked: Request) -> Session:
    """Read all that came over the result channel of a guest that was asked for `asked`."""
    reader = SessionReader(asked)
    reader.feed(results)
    return reader.close()


@dataclass
class _Running:
    """The benchmark that has begun, as far as it was reported."""

    index: int
    benchmark: str
    delay_ns: int | None
    windows: WindowReader
    values: list[int] = field(default_factory=list)
    ticked: list[int] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    counts: dict[str, list[int]] = field(default_factory=dict)
    states: dict[tuple[str, str], Numbers] = field(default_factory=dict)  # by name and moment


class SessionReader:
    """A session as far as it is known; finished counts the benchmarks that have ended.

    feed takes more bytes of the result channel, and never raises for what they hold. Once it is
    over, nothing that the guest may still say can give the boot numbers.
    """

    def __init__(self, asked: Request) -> None:
        self.finished = 0
        self._asked = asked
        self._lines = LineReader(self._take)
        self.feed = self._lines.feed
        self._greeted = False
        self._begun = 0
        self._done = False
        self._running: _Running | None = None
        self._total_values = 0
        self._contradiction = ""
        self._facts: dict[str, str] = {}
        self._samples: list[Samples] = []
        self._counts: list[HookReadings] = []
        self._states: list[StateReading] = []
        self._moments = MomentReader(asked)
        self._errors: list[str] = []

    @property
    def over(self) -> bool:
        """Whether the guest can be ended: it contradicts, or floods with garbage."""
        return self._lines.over

    def close(self) -> Session:
        """Return the session, with the benchmarks that were never reported."""
        self._lines.close()
        reported = {samples.benchmark for samples in self._samples}
        running = self._running.benchmark if self._running else ""
        missing = [benchmark for benchmark in self._asked.benchmarks if benchmark not in reported]
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
            complete=self._done,
            counts=tuple(self._counts),
            states=tuple(self._states),
            unfinished=running or next(iter(missing), ""),
            contradiction=self._contradiction,
            moments=tuple(self._moments.moments),
        )

    def _take(self, kind: str, values: list[Any]) -> None:
        """Add one line, or raise BadLineError."""
        if self._done:
            raise BadLineError("a line after the last one")
        if (kind == "hello") == self._greeted:
            raise BadLineError("hello must come first, and once")
        if kind not in _OF_GUEST:
            if self._running is None or self._running.index != values[0]:
                raise BadLineError("readings of a benchmark that has not begun")
            values = [self._running, *values[1:]]
        try:
            getattr(self, f"_on_{kind}")(*values)
        except ContradictionError as error:
            if self._lines.garbage:  # which is its cause, as like as not
                raise BadLineError(str(error)) from None
            self._contradiction, self._lines.over = str(error), True

    def _on_hello(self, version: int, _probe: str) -> None:
        if version != protocol.VERSION:
            raise BadLineError(f"version {version} of the protocol, not {protocol.VERSION}")
        self._greeted = True

    def _on_fact(self, key: str, value: str) -> None:
        if key in self._facts:
            first = f"'{self._facts[key][:60]}', then '{value[:60]}'"
            raise ContradictionError(f"the fact {key[:60]} twice: {first}")
        if len(self._facts) == MAX_FACTS:
            raise ContradictionError(f"more than {MAX_FACTS} facts")
        self._facts[key] = value

    def _on_error(self, text: str) -> None:
        if len(self._errors) == MAX_ERRORS:
            raise ContradictionError(f"more than {MAX_ERRORS} errors")
        self._errors.append(text)

    def _on_bye(self, benchmarks: int) -> None:
        self._done = True
        asked = self._asked.units
        if self._running or benchmarks != self._begun:
            ran = f"{self._begun} began, {self.finished} ended"
            raise ContradictionError(f"{benchmarks} benchmarks were announced, {ran}")
        if self._begun < asked and not self._errors:
            raise ContradictionError(f"{self._begun} benchmarks, and {asked} were asked for")

    def _on_begin(self, index: int, benchmark: str, delay_ns: int | None) -> None:
        if self._running is not None:
            raise BadLineError("a benchmark begins inside another")
        more = self._begun < self._asked.units
        asked = _unit(*self._asked.unit(self._begun)) if more else "nothing more"
        said = _unit(benchmark, delay_ns)
        if index != self._begun or said != asked:
            raise ContradictionError(f"{index}: {said}; asked for: {self._begun}: {asked}")
        windows = WindowReader(benchmark, asked=bool(self._asked.whole_ppm))
        self._running = _Running(index, benchmark, delay_ns, windows)
        self._begun += 1

    def _room_for(self, values: list[int], known: int, most: int, what: str) -> None:
        self._total_values += len(values)
        if known + len(values) > most or self._total_values > protocol.MAX_TOTAL_VALUES:
            raise BadLineError(what)

    def _on_samples(self, running: _Running, values: list[int]) -> None:
        self._room_for(values, len(running.values), protocol.MAX_VALUES, "too many readings")
        if len(running.values) + len(values) > self._asked.samples:
            most = f"more readings than the {self._asked.samples} that were asked for"
            raise ContradictionError(f"{running.benchmark}: {most}")
        running.values += values

    def _on_said(self, running: _Running, text: str) -> None:
        if not self._asked.clients or len(running.said) == self._asked.samples:
            raise ContradictionError(_unasked(running, "what a client said"))
        running.said.append(text[: protocol.MAX_SAID])

    def _on_moment(self, running: _Running, *said: Any) -> None:  # noqa: ANN401
        self._moments.take(running.benchmark, *said)

    def _on_seen(self, running: _Running, source: str, text: str) -> None:
        self._moments.see(running.benchmark, source, text)

    def _on_ticked(self, running: _Running, places: list[int]) -> None:
        if any(place >= len(running.values) for place in places):
            raise BadLineError("a tick in a reading that was not taken")
        running.ticked += places
        if sorted(set(running.ticked)) != running.ticked:
            raise ContradictionError(f"{running.benchmark}: two ticks in one reading")

    def _on_window(self, running: _Running, *numbers: Any) -> None:  # noqa: ANN401
        running.windows.take(*numbers)

    def _on_whole(self, running: _Running, status: BenchmarkStatus, number: int, why: str) -> None:
        running.windows.end(status, number, _detail(number, why))

    def _on_counts(self, running: _Running, hook: str, runs: list[int]) -> None:
        counters = (name for key, name in self._facts.items() if key.startswith("counter."))
        if not self._asked.count or (self._asked.counters and hook not in counters):
            raise ContradictionError(_unasked(running, f"counts of {hook}"))
        known = running.counts.setdefault(hook, [])
        self._room_for(runs, len(known), len(running.values), "more counts than readings")
        if len(running.counts) > protocol.MAX_HOOKS:
            raise BadLineError("too many hooks")
        known += runs

    def _on_state(self, running: _Running, name: str, moment: str, text: str) -> None:
        asked = {state.name for state in self._asked.setup.states}
        if name not in asked or (name, moment) in running.states:
            raise ContradictionError(_unasked(running, f"the state '{name[:60]}' {moment} it"))
        numbers = running.states[name, moment] = parse_numbers(text)
        if moment == "after":
            before = running.states.get((name, "before"), ())
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
        if missing := self._missing(running, status):
            raise ContradictionError(f"{name} is {status}, and {missing}")
        if status is not BenchmarkStatus.OK:
            said = Samples(name, status, (), failures, detail, delay_ns=running.delay_ns)
            self._samples.append(said)
            return
        if failures or number:
            raise ContradictionError(f"{name} is ok, with {failures} failures, {detail or '0'}")
        if count != self._asked.samples:
            raise ContradictionError(
                f"{name} is ok, with {count} readings; asked for: {self._asked.samples}"
            )
        if self._asked.clients and len(running.said) != count:
            heard = f"clients of {len(running.said)} batches said something"
            raise ContradictionError(f"{name} is ok, with {count} readings, and {heard}")
        self._samples.append(
            Samples(
                name,
                status,
                tuple(running.values),
                0,
                detail,
                tuple(running.ticked),
                running.windows.whole,
                running.delay_ns,
                tuple(running.said),
            )
        )
        self._counts += [
            HookReadings(name, hook, tuple(runs)) for hook, runs in running.counts.items()
        ]

    def _missing(self, running: _Running, status: BenchmarkStatus) -> str:
        """Say what was asked for beside readings, and did not come; "" for nothing."""
        missing = running.windows.missing(status)
        if missing or status is not BenchmarkStatus.OK:
            return missing
        names = [state.name for state in self._asked.setup.states]
        if len(running.states) < 2 * len(names) and not self._errors:  # an error says which
            return f"what {', '.join(names)} said before it or after it is missing"
        return self._moments.missing(running.benchmark)


def _unit(benchmark: str, delay_ns: int | None) -> str:
    return f"'{benchmark[:80]}'" + ("" if delay_ns is None else f" at a delay of {delay_ns} ns")


def _unasked(running: _Running, what: str) -> str:
    return f"{running.benchmark}: {what} that nobody asked for"


def _detail(number: int, text: str) -> str:
    name = errno.errorcode.get(number, str(number)) if number else ""
    return printable(": ".join(filter(None, (name, text))))


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
