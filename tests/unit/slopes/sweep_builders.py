# SPDX-License-Identifier: GPL-2.0-or-later
"""Sweeps with a known truth, and the recorded one of a real guest."""

from __future__ import annotations

from pathlib import Path

from lsmeter.guest.session import Session, parse_session
from lsmeter.model import Benchmark, BenchmarkStatus, Metric, ParamValue, Problem, Samples
from lsmeter.report.heading import Heading
from lsmeter.slopes.fit import Reading, fit_depths, fit_slopes, sweeps
from lsmeter.slopes.lookups import lookups
from lsmeter.slopes.model import LookUp, Slope, SlopesReport
from lsmeter.slopes.readings import readings
from lsmeter.slopes.reference import table6

DELAYS_NS = tuple(range(0, 110_001, 10_000))
NS_PER_INSN = 16

# What a guest with the tunable module in Linux 6.1 sent: 11 samples at each of 12 delays.
RECORDED = Path(__file__).parents[2] / "data" / "slopes" / "tunable-6.1.log"

# What a guest of Debian's 6.1 sent that counted the look-ups of SELinux without a policy.
LOOKUPS = RECORDED.with_name("selinux-lookups-6.1.log")


def benchmark(operation: str, **params: ParamValue) -> Benchmark:
    metric = Metric("latency", "insns")
    return Benchmark("file", operation, tuple(params.items()), metric, operation, "lsmeter")


def reading(
    item: Benchmark,
    delay_ns: int,
    *values: int,
    status: BenchmarkStatus = BenchmarkStatus.OK,
    detail: str = "",
) -> Reading:
    return Reading(delay_ns, delay_ns + 768.0, Samples(item.id, status, values, detail=detail))


def exact(item: Benchmark, calls: int, insns: int) -> list[Reading]:
    """Return readings that lie on a line, with a disturbed sample at each delay."""
    found = []
    for delay in DELAYS_NS:
        value = insns + calls * delay // NS_PER_INSN
        found.append(reading(item, delay, value, value, value + 999))
    return found


def recorded_session() -> tuple[Session, tuple[Benchmark, ...]]:
    items = (
        benchmark("getppid"),
        *(benchmark("open", depth=depth) for depth in range(1, 9)),
        benchmark("read", size=1),
        benchmark("rename", depth=2),
        *(benchmark("stat", depth=depth) for depth in range(1, 9)),
    )
    return parse_session(RECORDED.read_bytes(), tuple(item.id for item in items)), items


def recorded_slopes() -> tuple[Slope, ...]:
    session, items = recorded_session()
    found, problems = readings(session)
    assert problems == ()
    lines, missing = sweeps(found, items, DELAYS_NS, NS_PER_INSN)
    assert missing == ()
    return fit_slopes(lines, kernel="6.1", setup="tunable")


def lookups_session() -> tuple[Session, tuple[Benchmark, ...]]:
    items = (
        *(benchmark(name, depth=1) for name in ("creat", "open", "rename", "stat")),
        benchmark("getppid"),
        *(benchmark("read", size=size) for size in (0, 1, 1024, 2048, 4096)),
        benchmark("stat", depth=2),
    )
    return parse_session(LOOKUPS.read_bytes(), tuple(item.id for item in items)), items


def recorded_lookups() -> tuple[tuple[LookUp, ...], tuple[Problem, ...]]:
    session, items = lookups_session()
    return lookups(session, items, kernel="debian:6.1", setup="selinux")


def report(slopes: tuple[Slope, ...]) -> SlopesReport:
    return SlopesReport(
        heading=Heading(
            title="Calls of hooks",
            created="2026-01-01T00:00:00+00:00",
            lsmeter_version="0",
            command="lsmeter slopes",
            filesystem="tmpfs",
            user="root",
        ),
        delays_ns=DELAYS_NS,
        conditions=(("icount_shift", "4"),),
        slopes=slopes,
        depths=fit_depths(slopes),
        published=table6(),
        problems=(),
    )
