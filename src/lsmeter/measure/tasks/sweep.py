# SPDX-License-Identifier: GPL-2.0-or-later
"""Readings at several policy latencies: hooks that consult the policy wait so long."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from lsmeter.core.errors import UsageError
from lsmeter.core.groups import grouped
from lsmeter.core.model import Benchmark, BenchmarkStatus, Boot, Cell, Problem
from lsmeter.measure.tasks import TaskKind

LEAST = 3  # two points make a line, and no judgement of it
# What the kernel module and the BPF programs accept (TUNABLE_LIMIT_NS there).
LIMIT_NS = 10_000_000
MOST = 512
DEFAULT = "0:110000:10000"  # the study's: 0 to 110 us

_RANGE = re.compile(r"([0-9]{1,9}):([0-9]{1,9}):([0-9]{1,9})")
_LIST = re.compile(r"[0-9]{1,9}(,[0-9]{1,9})*")
_HINT = f"FIRST:LAST:STEP in nanoseconds, as {DEFAULT}, or a list, as 0,5000,50000"
_WAITS = re.compile(r"([0-9]{1,12}) ([0-9]{1,12})")
# Both kinds of checks wait in the same code, so that one number stands for both.
_MAX_DIFFERENCE = 0.02


@dataclass(frozen=True)
class Point:
    """One operation at one delay.

    delay_ns was asked of the module; policy_ns is what one call then waited, which is longer by
    less than the time between two readings of the clock. latency_ns is the most frequent reading
    of the operation.
    """

    delay_ns: int
    policy_ns: float
    latency_ns: float


@dataclass(frozen=True)
class Sweep:
    """One operation at the delays at which it was measured, in ascending order.

    Of several boots a delay has a point of each.
    """

    benchmark: Benchmark
    points: tuple[Point, ...]


def _request(cell: Cell) -> Mapping[str, Any]:
    return {"sweep_control": cell.task.control, "sweep_values_ns": cell.task.delays_ns}


# The better setup first: it needs no interpreter between the hook and the wait, and it labels.
TASK = TaskKind(
    "sweep",
    "readings at several policy latencies",
    _request,
    setups=("tunable", "tunable-bpf"),
)


def parse_delays(text: str) -> tuple[int, ...]:
    """Return the delays in nanoseconds that `text` names, ascending and without repetition.

    `0:110000:10000` is a range with its last value included; `0,5000,50000` is a list. Raises
    UsageError for anything else, and for delays that the module would not accept.
    """
    delays: Collection[int] = ()
    wrong = f"'{text[:80]}' is no range and no list of delays"
    if match := _RANGE.fullmatch(text):
        first, last, step = (int(word) for word in match.groups())
        delays = range(first, last + 1, step) if step else ()
        wrong = f"'{text}' is an empty range"
    elif _LIST.fullmatch(text):
        delays = {int(word) for word in text.split(",")}
    if delays and not LEAST <= len(delays) <= MOST:
        wrong = f"{len(delays)} delays; a line needs {LEAST} to {MOST}"
    elif delays and max(delays) > LIMIT_NS:
        wrong = f"{max(delays)} ns is more than the {LIMIT_NS} ns that a hook may wait"
    elif delays:
        return tuple(sorted(delays))
    raise UsageError(f"--delays: {wrong}", hint=_HINT)


def sweeps(
    boot: Boot, benchmarks: Sequence[Benchmark], delays_ns: Sequence[int], ns_per_insn: int
) -> tuple[tuple[Sweep, ...], tuple[Problem, ...]]:
    """Return the sweep of each benchmark, with its delays ascending, and what is missing.

    A sweep has the delays at which its benchmark gave samples, and there is none of a benchmark
    that did so at fewer than LEAST, or whose calls waited equally long at all of them. Delays that
    are missing give a Problem, which says how many there are.
    """
    from lsmeter.statistics.estimate import mode

    waits, problems = _waits(boot)
    swept = [(item.delay_ns, item) for item in boot.samples if item.delay_ns is not None]
    lost = sorted({ns for ns, _ in swept} - waits.keys())
    problems += [Problem(f"no wait was measured at a delay of {ns} ns") for ns in lost]
    by_id = grouped((item.benchmark, (ns, item)) for ns, item in swept if ns in waits)
    found: list[Sweep] = []
    unreached: dict[int, list[Benchmark]] = {}
    for benchmark in benchmarks:
        reported = sorted(by_id.get(benchmark.id, ()), key=itemgetter(0))
        good = [(ns, item) for ns, item in reported if item.status is BenchmarkStatus.OK]
        if len(good) < len(reported):
            ns, first = next(of for of in reported if of[1].status is not BenchmarkStatus.OK)
            why = f"{first.status} at a delay of {ns} ns"
            problems.append(_incomplete([benchmark], len(good), len(delays_ns), why, first.detail))
        elif len(good) < len(delays_ns):
            unreached.setdefault(len(good), []).append(benchmark)
        if len(good) >= LEAST:
            points = (
                Point(ns, waits[ns], mode(Counter(item.values)) * ns_per_insn) for ns, item in good
            )
            found.append(Sweep(benchmark, tuple(points)))
    why = "the guest did not reach the others"
    problems += [_incomplete(of, count, len(delays_ns), why) for count, of in unreached.items()]
    flat = [line for line in found if len({point.policy_ns for point in line.points}) < 2]
    return tuple(line for line in found if line not in flat), (*problems, *_waiting_alike(flat))


def _waits(boot: Boot) -> tuple[dict[int, float], list[Problem]]:
    """Return what one call waited at each delay: the guest's facts `policy.<delay>`.

    They are nanoseconds of an inode check and of a file check.
    """
    waits: dict[int, float] = {}
    problems: list[Problem] = []
    for key, value in boot.facts:
        delay = key.removeprefix("policy.")
        if delay == key or not (delay.isascii() and delay.isdigit() and len(delay) < 10):
            continue
        match = _WAITS.fullmatch(value)
        if match is None:
            problems.append(Problem(f"the guest's fact {key} is not two numbers: {value[:60]}"))
            continue
        inode_ns, file_ns = int(match[1]), int(match[2])
        if abs(inode_ns - file_ns) > _MAX_DIFFERENCE * max(inode_ns, file_ns):
            said = f"at a delay of {delay} ns an inode check took {inode_ns} ns and a file check "
            said += f"{file_ns} ns: slopes of operations with both are not whole"
            problems.append(Problem(said))
        waits[int(delay)] = (inode_ns + file_ns) / 2
    return waits, problems


def _waiting_alike(lines: Sequence[Sweep]) -> Iterator[Problem]:
    if lines:
        names = ", ".join(line.benchmark.id for line in lines)
        yield Problem("no slope: calls waited equally long at all delays", detail=names)


def _incomplete(
    benchmarks: Sequence[Benchmark], reached: int, delays: int, why: str, detail: str = ""
) -> Problem:
    """Say over how many delays the slopes of benchmarks are, or that there is none, and why."""
    single = len(benchmarks) == 1
    which = benchmarks[0].id if single else f"{len(benchmarks)} benchmarks"
    names = "" if single else ", ".join(benchmark.id for benchmark in benchmarks)
    extent = f"slope over {reached} of {delays} delays"
    if reached < LEAST:
        extent = f"no slope: measured at {reached} of {delays} delays"
    title = f"{which}: {extent}: {why}"
    return Problem(title, benchmark=which if single else "", detail=detail or names)
