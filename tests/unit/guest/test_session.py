# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from lsmeter.guest.events import (
    Begin,
    Bye,
    Counts,
    End,
    ErrorLine,
    Event,
    Fact,
    Hello,
    IdleSpan,
    RoundDone,
    Ticked,
    Values,
    WholeEnd,
)
from lsmeter.guest.session import HookReadings, fold, parse_session
from lsmeter.model import BenchmarkStatus, Idle, Round, Samples, Whole

HELLO: list[Event] = [Hello(1, "p"), Fact("lsm", "capability")]


def run(index: int, benchmark: str, *values: int, sweep: str = "") -> list[Event]:
    return [
        Begin(index, benchmark, sweep),
        Values(index, values),
        End(index, BenchmarkStatus.OK, len(values), 0, 0, ""),
    ]


def test_a_whole_boot() -> None:
    session = fold(
        [*HELLO, *run(0, "empty", 5, 5), *run(1, "stat depth=1", 9), Bye(2)],
        ("empty", "stat depth=1"),
    )
    assert session.complete
    assert session.facts == (("lsm", "capability"),)
    assert session.samples == (
        Samples("empty", BenchmarkStatus.OK, (5, 5)),
        Samples("stat depth=1", BenchmarkStatus.OK, (9,)),
    )


def test_counts_are_put_together() -> None:
    begin, values, end = run(0, "open", 5, 5, 5)
    counts = [Counts(0, "file_open", (1, 1)), Counts(0, "capable", (2,) * 3)]
    events = [*HELLO, begin, values, *counts, Counts(0, "file_open", (0,)), end, Bye(1)]
    assert fold(events, ("open",)).counts == (
        HookReadings("open", "file_open", (1, 1, 0)),
        HookReadings("open", "capable", (2, 2, 2)),
    )


def test_a_failed_benchmark_has_no_counts() -> None:
    failed = End(0, BenchmarkStatus.FAILED, 1, 1, 13, "")
    events = [*HELLO, Begin(0, "a"), Values(0, (1,)), Counts(0, "capable", (1,)), failed, Bye(1)]
    assert fold(events, ("a",)).counts == ()


def test_a_failed_benchmark_gives_no_number() -> None:
    events = [
        *HELLO,
        Begin(0, "empty"),
        Values(0, (1, 2)),
        End(0, BenchmarkStatus.FAILED, 2, 7, 13, "call 2"),
        Bye(1),
    ]
    (samples,) = fold(events, ("empty",)).samples
    assert samples == Samples("empty", BenchmarkStatus.FAILED, (), 7, "EACCES: call 2")


def test_what_was_not_reached_is_named() -> None:
    events = [*HELLO, *run(0, "a", 1), Begin(1, "b"), Values(1, (3,))]
    session = fold(events, ("a", "b", "c"))
    assert not session.complete
    assert [(s.benchmark, s.status.value, s.detail) for s in session.samples[1:]] == [
        ("b", "crashed", "the guest ended while it ran"),
        ("c", "crashed", "the guest ended before it"),
    ]


def test_a_benchmark_nobody_asked_for_is_garbage() -> None:
    session = fold([*HELLO, *run(0, "evil", 1), Bye(1)], ())
    assert session.samples == ()
    assert session.garbage == ("a benchmark that nobody asked for",)


def test_goodbye_must_count_right() -> None:
    assert not fold([*HELLO, *run(0, "a", 1), Bye(2)], ("a",)).complete


def test_sweep_values_go_with_their_samples() -> None:
    events = [*HELLO, *run(0, "a", 1, sweep="0"), *run(1, "a", 2, sweep="10"), Bye(2)]
    assert fold(events, ("a",)).sweeps == ("0", "10")


def test_errors_are_kept_and_nothing_is_nothing() -> None:
    assert fold([*HELLO, ErrorLine("no disk")], ()).errors == ("no disk",)
    empty = parse_session(b"", ("a",))
    assert not empty.greeted
    assert empty.samples[0].status is BenchmarkStatus.CRASHED


def test_the_whole_cost_goes_with_its_benchmark() -> None:
    begin, values, end = run(0, "open", 5, 5, 9)
    one = Round(500, 1, 2, 3, 2)
    events = [
        *HELLO,
        IdleSpan(Idle(100, 1, 2)),
        begin,
        values,
        Ticked(0, (2,)),
        RoundDone(0, one),
        WholeEnd(0, BenchmarkStatus.OK, 0, ""),
        end,
        *run(1, "stat", 7),
        Bye(2),
    ]
    session = fold(events, ("open", "stat"))
    opened, stat = session.samples
    assert opened.ticked == (2,)
    assert opened.whole == Whole(BenchmarkStatus.OK, (one,))
    assert stat.whole is None
    assert stat.ticked == ()
    assert session.idle == (Idle(100, 1, 2),)


def test_a_whole_cost_that_failed_keeps_the_readings() -> None:
    begin, values, end = run(0, "creat", 5, 5)
    failed = WholeEnd(0, BenchmarkStatus.FAILED, 28, "system call 85, number 1 of the cycle")
    (samples,) = fold([*HELLO, begin, values, failed, end, Bye(1)], ("creat",)).samples
    assert samples.status is BenchmarkStatus.OK
    assert samples.values == (5, 5)
    assert samples.whole == Whole(
        BenchmarkStatus.FAILED, (), "ENOSPC: system call 85, number 1 of the cycle"
    )
