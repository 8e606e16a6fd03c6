# SPDX-License-Identifier: GPL-2.0-or-later
"""What a module looked up, from what a guest counted: a real one, and odd ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lsmeter.core.model import BenchmarkStatus, Boot, HookReadings
from lsmeter.core.model.boot import UNREAD
from lsmeter.measure.tasks.count import Count
from lsmeter.measure.tasks.lookups import lookups
from tests.unit.tasks.sweep_builders import LOOKED_UP, PLACE, lookups_boot

COUNTER = "avc.lookups"


def found(boot: Boot) -> tuple[dict[str, Count], list[str]]:
    looked, problems = lookups(boot, LOOKED_UP, PLACE)
    return (
        {item.benchmark.id: item for item in looked if item.name == COUNTER},
        [problem.title for problem in problems],
    )


def with_counts(benchmark: str, runs: tuple[int, ...]) -> Boot:
    boot = lookups_boot()
    kept = [item for item in boot.counts if (item.benchmark, item.hook) != (benchmark, COUNTER)]
    return replace(boot, counts=(*kept, HookReadings(benchmark, COUNTER, runs)))


def test_a_real_guest_looks_up_more_than_it_calls_hooks() -> None:
    looked, problems = lookups(lookups_boot(), LOOKED_UP, PLACE)
    assert problems == ()
    assert all(item.steady for item in looked)
    values = {item.benchmark.id: item.runs for item in looked if item.name == COUNTER}
    assert values == {
        "stat depth=1": 2,
        "stat depth=2": 3,
        "open depth=1": 3,
        "creat depth=1": 6,
        "rename depth=1": 7,
        "getppid": 0,
        **{f"read size={size}": 0 for size in (0, 1, 1024, 2048, 4096)},
    }
    # Everything was in the cache.
    assert {item.runs for item in looked if item.name == "avc.misses"} == {0}


def test_readings_that_differ_are_reported_and_most_of_them_count() -> None:
    looked, problems = found(with_counts("stat depth=1", (2, 2, 5, 2, 2, 2, 2, 3)))
    assert (looked["stat depth=1"].runs, looked["stat depth=1"].steady) == (2, False)
    assert problems == [
        "stat depth=1: avc.lookups differs between readings: 2 in 6, 5 in 1, 3 in 1"
    ]


def test_a_reading_that_could_not_be_taken_leaves_no_number() -> None:
    looked, problems = found(with_counts("stat depth=1", (2,) * 7 + (UNREAD,)))
    assert "stat depth=1" not in looked
    assert problems == ["stat depth=1: avc.lookups could not be read around each reading"]


def test_a_benchmark_that_failed_has_no_known_look_ups() -> None:
    boot = lookups_boot()
    samples = tuple(
        replace(item, status=BenchmarkStatus.FAILED, values=(), detail="EACCES")
        if item.benchmark == "stat depth=1"
        else item
        for item in boot.samples
    )
    looked, problems = found(replace(boot, samples=samples))
    assert "stat depth=1" not in looked
    assert len(looked) == 10
    assert problems == ["stat depth=1: no look-ups: failed"]


@pytest.mark.parametrize("name", ["", "avc lookups\x1b[2J", "x" * 64])
def test_names_are_what_the_probe_may_say_or_nothing(name: str) -> None:
    boot = lookups_boot()
    facts = [(key, value) for key, value in boot.facts if not key.startswith("counter.")]
    looked, problems = found(replace(boot, facts=(*facts, ("counter.1", name))))
    assert looked == {}
    assert problems == ["the guest named no counters"]
