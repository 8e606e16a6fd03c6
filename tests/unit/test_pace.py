# SPDX-License-Identifier: GPL-2.0-or-later
"""The time that a run still takes: unknown before anything tells, then what guests have left."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from lsmeter.catalogue.setups import parse_setup
from lsmeter.cli.live import LiveRun, LiveTasks
from lsmeter.core.model import BenchmarkStatus, Boot, BootStatus, Samples, Sampling, Task, Whole
from lsmeter.core.model.workload import Workload
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import Plan, PlannedBoot
from lsmeter.measure.run import took
from lsmeter.measure.run.pace import Pace
from tests.unit.model_builders import cell


def boots(number: int, setup: str = "capability") -> list[PlannedBoot]:
    kind = replace(cell(parse_setup(setup)), benchmarks=tuple(f"b{n}" for n in range(10)))
    return [PlannedBoot(kind, index, index) for index in range(number)]


def test_nothing_is_said_before_anything_tells() -> None:
    planned = boots(4)
    pace = Pace(planned, 2)
    assert pace.left_s(0.0) is None
    pace.started(planned[0], 0.0)
    assert pace.left_s(7.0) is None
    pace.advanced(planned[0], 1, 7.0)  # the first word: until then its kernel started
    assert pace.left_s(7.5) is None
    pace.advanced(planned[0], 3, 8.0)
    # 7 s and half a second for each of the 9 others: 11.5 s; two boots follow each other.
    assert pace.left_s(8.0) == pytest.approx(11.5 * 2)


def test_the_time_of_very_many_boots_is_about_that_of_each() -> None:
    planned = [*boots(3000), *boots(1000, "landlock")]
    pace = Pace(planned, 4, before=lambda boot: 8.0 if boot.cell.setup.name[0] == "l" else 4.0)
    assert pace.left_s(0.0) == pytest.approx((3000 * 4 + 1000 * 8) / 4)
    for boot in planned[:4]:
        pace.started(boot, 0.0)
        pace.ended(boot, 2.0)
    # Those of a task that has no boot of its own setup yet take as long as the others did.
    assert pace.left_s(2.0) == pytest.approx((2996 * 2 + 1000 * 2) / 4)


def test_known_boots_take_no_time() -> None:
    planned = boots(4)
    pace = Pace(planned, 1, known=planned[2:])
    pace.started(planned[0], 0.0)
    pace.ended(planned[0], 10.0)
    assert pace.left_s(10.0) == pytest.approx(10)
    pace.ended(planned[2], 10.0)
    pace.started(planned[1], 10.0)
    assert pace.left_s(14.0) == pytest.approx(6)


def test_other_runs_tell_before_this_one_does() -> None:
    planned = boots(4)
    pace = Pace(planned, 2, known=planned[3:], before=lambda _: 5.0)
    assert pace.left_s(0.0) == pytest.approx(10)  # three boots, two at a time
    assert Pace(planned, 2, before=lambda _: None).left_s(0.0) is None
    pace.started(planned[0], 0.0)
    pace.ended(planned[0], 30.0)
    assert pace.left_s(30.0) == pytest.approx(30)


def test_what_boots_took_is_remembered_by_what_they_did(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path))
    one, other = boots(1)[0], replace(boots(1)[0], index=1)
    own = replace(one, cell=replace(one.cell, suite="mine"))
    assert took.length_s(took.read(), "emulation", own) is None
    took.keep("emulation", [(own, 20.0, 4.0), (replace(own, index=1), 40.0, 6.0)])
    assert took.length_s(took.read(), "emulation", own) == pytest.approx(30)
    # The start is the same for few benchmarks; one alone does not tell it from its own time.
    long = replace(own, cell=replace(own.cell, benchmarks=own.cell.benchmarks * 2))
    assert took.length_s(took.read(), "emulation", long) == pytest.approx(5 + 2 * 25)
    alone = replace(own, cell=replace(own.cell, suite="alone", benchmarks=("b0",)))
    took.keep("emulation", [(alone, 105.0, 104.0)])
    assert took.length_s(took.read(), "emulation", own) == pytest.approx(30)
    assert took.length_s(took.read(), "emulation", alone) == pytest.approx(105)
    assert took.length_s(took.read(), "kvm", own) is None
    known = took.length_s(took.read(), "emulation", other)
    assert known == pytest.approx(5 + 10 * took.read()["emulation readings file whole"])
    for text in ("", "[]", "{", '{"emulation readings mine whole": "x"}', '{"a": 1e999}'):
        (tmp_path / "took.json").write_text(text)
        assert took.length_s(took.read(), "emulation", own) is None


def test_a_boot_of_a_service_takes_as_long_as_its_batches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path))
    web = Workload("web", "request", "servers", 512, 40, (), (), (), ())
    short = replace(
        boots(1)[0].cell,
        benchmarks=("static",),
        sampling=Sampling(samples=1, warmup=1),
        task=Task("workload", workload=web),
    )
    longer = replace(short, sampling=Sampling(samples=4, warmup=1))
    started = took.read()["emulation start"]
    took.keep("emulation", [(PlannedBoot(short, 0, 0), started + 20, 0.0)])
    for asked, length_s in ((short, 20), (longer, 50)):
        found = took.length_s(took.read(), "emulation", PlannedBoot(asked, 0, 0))
        assert found == pytest.approx(started + length_s)


def test_a_guest_that_is_late_is_never_said_to_end_at_once() -> None:
    planned = boots(2)
    pace = Pace(planned, 1)
    pace.started(planned[0], 0.0)
    pace.ended(planned[0], 10.0)
    pace.started(planned[1], 10.0)
    assert pace.left_s(110.0) == pytest.approx(10)


def test_boots_of_other_setups_stand_in_until_their_own_are_known() -> None:
    fast, slow = boots(2), boots(2, "selinux")
    pace = Pace([*fast, *slow], 1)
    pace.started(fast[0], 0.0)
    pace.ended(fast[0], 10.0)
    assert pace.left_s(10.0) == pytest.approx(30)
    pace.started(slow[0], 10.0)
    pace.ended(slow[0], 60.0)
    assert pace.left_s(60.0) == pytest.approx(10 + 50)


@given(st.integers(1, 12), st.integers(1, 4), st.floats(1.0, 100.0))
def test_guests_of_one_length_end_when_it_is_said(number: int, jobs: int, length_s: float) -> None:
    planned = boots(number)
    pace = Pace(planned, jobs)
    for first in range(0, number, jobs):
        now_s, batch = first / jobs * length_s, planned[first : first + jobs]
        for boot in batch:
            pace.started(boot, now_s)
        for boot in batch:
            pace.ended(boot, now_s + length_s)
        rest = number - first - len(batch)
        rounds = -(-rest // jobs)
        assert pace.left_s(now_s + length_s) == pytest.approx(rounds * length_s)


def live(
    number: int, *, terminal: bool, **words: list[str]
) -> tuple[LiveRun, list[PlannedBoot], io.StringIO]:
    out = io.StringIO()
    planned = boots(number)
    plan = Plan(build_experiment(words, where="x"), (), tuple(planned), (), ())
    console = Console(file=out, width=80, force_terminal=terminal)
    return LiveRun(console, plan, 1), planned, out


def ended(boot: PlannedBoot, **more: Any) -> Boot:
    return Boot(**vars(boot.id), status=BootStatus.OK, wall_s=1.0, **more)


@pytest.mark.parametrize(
    ("words", "status", "failed"),
    [
        ({}, BenchmarkStatus.SKIPPED, False),
        ({"benchmarks": ["label"]}, BenchmarkStatus.SKIPPED, True),
        ({}, BenchmarkStatus.FAILED, True),
        ({}, BenchmarkStatus.TIMEOUT, True),
        ({}, BenchmarkStatus.OK, False),
    ],
)
def test_what_cannot_be_measured_here_fails_no_run_that_did_not_name_it(
    words: dict[str, list[str]],
    status: BenchmarkStatus,
    failed: bool,  # noqa: FBT001  (a row of the table)
) -> None:
    run, (boot,), _ = live(1, terminal=False, **words)
    with run:
        run.ended(boot, ended(boot, samples=(Samples("label", status),)), reused=False)
    assert run.failed == failed
    whole = Samples("b0", BenchmarkStatus.OK, (1,), whole=Whole(status))
    run, (boot,), _ = live(1, terminal=False, **words)
    with run:
        run.ended(boot, ended(boot, samples=(whole,)), reused=False)
    assert run.failed == failed


def test_boots_that_run_side_by_side_take_the_time_of_one() -> None:
    planned = boots(9)
    pace = Pace(planned, 1)
    for block in (planned[:3], planned[3:6]):
        for boot in block:
            pace.started(boot, 0.0)
        for boot in block:
            pace.ended(boot, 6.0)
    assert pace.left_s(6.0) == pytest.approx(6.0)


def test_both_times_are_labelled_where_there_is_no_terminal() -> None:
    run, planned, out = live(3, terminal=False)
    with run:
        for boot in planned[:2]:
            run.started(boot)
            run.ended(boot, ended(boot), reused=False)
    first, second = out.getvalue().splitlines()
    began = "boot 1/3: debian:6.1 capability file tmpfs boot 0: 1.0 s; 0:00 elapsed, "
    assert first.startswith(began)
    assert second.endswith("left")


def test_both_times_are_labelled_on_a_terminal() -> None:
    run, planned, out = live(3, terminal=True)
    with run:
        run.started(planned[0])
        assert "elapsed, time left not known yet" in run.times()
        run.ended(planned[0], ended(planned[0]), reused=False)
        assert run.times().endswith("left")
        run._bars.refresh()
    assert "elapsed" in out.getvalue()


def test_what_a_guest_says_reaches_the_terminal_as_text() -> None:
    run, planned, out = live(1, terminal=False)
    bad = Boot(**vars(planned[0].id), status=BootStatus.PANIC, detail="\x1b[2J\u202e[bold]x")
    with run:
        run.started(planned[0])
        run.ended(planned[0], bad, reused=False)
    assert "\x1b[2J" not in out.getvalue()
    assert r"\x1b[2J\u202e[bold]x" in out.getvalue()


def test_a_download_says_what_its_time_is() -> None:
    out = io.StringIO()
    with LiveTasks(Console(file=out, width=80, force_terminal=True)) as tasks:
        tasks.update("kernel", 1e6, 4e6, unit="B")
        tasks._bars.refresh()
    assert "1 of 4 MB" in out.getvalue()
