# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest counted, as counts of hooks: which number stands, and what is said of the rest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.model import BenchmarkStatus, Boot, BootStatus, HookReadings, Problem, Samples
from lsmeter.measure.tasks.count import Count, hook_counts, watched
from tests.unit.model_builders import benchmark
from tests.unit.tasks.sweep_builders import PLACE

OPEN = benchmark("open", depth=4)


def boot(*counts: HookReadings, status: str = "ok", **facts: str) -> Boot:
    return Boot(
        "00",
        0,
        1,
        BootStatus.OK,
        facts=tuple((key.replace("_", "."), value) for key, value in facts.items()),
        samples=(Samples(OPEN.id, BenchmarkStatus(status), (7, 7, 7), detail="why"),),
        counts=counts,
    )


def counted(said: Boot) -> tuple[tuple[Count, ...], tuple[Problem, ...]]:
    return hook_counts(said, [OPEN], PLACE)


def test_equal_readings_are_one_steady_count() -> None:
    counts, problems = counted(boot(HookReadings(OPEN.id, "inode_permission", (5, 5, 5))))
    assert counts == (Count(PLACE, OPEN, "inode_permission", 5, steady=True),)
    assert problems == ()


def test_an_odd_reading_is_a_problem_and_not_the_count() -> None:
    counts, problems = counted(boot(HookReadings(OPEN.id, "task_free", (0, 1, 0))))
    assert counts == (Count(PLACE, OPEN, "task_free", 0, steady=False),)
    (problem,) = problems
    assert "task_free did not run equally often" in problem.title
    assert problem.benchmark == OPEN.id


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20))
def test_the_count_is_one_that_no_other_exceeds(runs: list[int]) -> None:
    (count,), _ = counted(boot(HookReadings(OPEN.id, "capable", tuple(runs))))
    assert all(runs.count(count.runs) >= runs.count(other) for other in runs)
    assert count.steady == (len(set(runs)) == 1)


def test_functions_of_selinux_that_are_called_like_hooks_are_none() -> None:
    names = ("compute_av", "sid_to_context", "initcall_early", "capable")
    counts, _ = counted(boot(*(HookReadings(OPEN.id, name, (1, 1, 1)) for name in names)))
    assert [count.name for count in counts] == ["capable"]


def test_hooks_that_could_not_be_watched_are_named() -> None:
    said = boot(count_refused="initcall_core,add_hooks,file_open,key_alloc")
    (problem,) = counted(said)[1]
    assert problem.detail == "file_open, key_alloc"
    assert counted(boot(count_refused="", count_hooks="289"))[1] == ()


def test_a_benchmark_that_failed_is_named() -> None:
    (problem,) = counted(boot(status="failed"))[1]
    assert problem.title == "open depth=4 was not counted: failed"
    assert problem.detail == "why"


def test_a_count_of_functions_that_is_none_is_not_believed() -> None:
    assert watched(boot(count_hooks="289")) == 289
    for nonsense in ("", "-1", "1e9", "9999999", "٣"):
        assert watched(boot(count_hooks=nonsense)) == 0
