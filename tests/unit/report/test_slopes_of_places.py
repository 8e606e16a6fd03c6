# SPDX-License-Identifier: GPL-2.0-or-later
"""Slopes of several file systems and boots: each place has its own numbers, and one table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lsmeter.core.model import BenchmarkStatus, Boot, HookReadings, Samples
from lsmeter.measure.experiment.plan import PlannedBoot, merge_plans
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.slopes.document import document
from lsmeter.questions.slopes.figures import find_slopes
from tests.unit.model_builders import benchmark, kernel
from tests.unit.run_builders import ended, plan_of, stored
from tests.unit.tasks.sweep_builders import WAIT_NS

DELAYS_NS = (0, 1000, 2000)
CREAT = benchmark("creat", depth=1)
CALLS, LOOKED_UP = {"tmpfs": 3, "ext4": 5}, {"tmpfs": 4, "ext4": 9}


def _boot(planned: PlannedBoot) -> Boot:
    calls, looked_up = (of[planned.cell.filesystem] for of in (CALLS, LOOKED_UP))
    if planned.cell.task.name == "lookups":
        counts = (HookReadings(CREAT.id, "avc.lookups", (looked_up,) * 3),)
        samples = Samples(CREAT.id, BenchmarkStatus.OK, (1000,) * 3)
        return ended(planned, [samples], facts=(("counter.1", "avc.lookups"),), counts=counts)
    # A boot is slower than the one before it, by what no slope has.
    start = 1000 + 8 * planned.id.index
    samples_at = (
        Samples(CREAT.id, BenchmarkStatus.OK, (start + calls * delay // 8,) * 3, delay_ns=delay)
        for delay in DELAYS_NS
    )
    waits = ((f"policy.{delay}", f"{delay + WAIT_NS} {delay + WAIT_NS}") for delay in DELAYS_NS)
    return ended(planned, samples_at, facts=tuple(waits))


def _run(path: Path, *filesystems: str, boots: int = 1) -> RunData:
    both = {"filesystems": list(filesystems), "conditions": {"icount_shift": 3}, "boots": boots}
    sweep = {"setups": ["tunable"], "task": "sweep", "delays_ns": list(DELAYS_NS), **both}
    looked = {"setups": ["selinux"], "task": "lookups", **both}
    on = [kernel(SECURITY_TUNABLE="y", EXT4_FS="y", BLK_DEV_RAM="y")]
    on = [replace(item, release="6.1") for item in on]
    plan = merge_plans([plan_of(on, [CREAT], words) for words in (sweep, looked)])
    return stored(plan, path, lambda planned: (_boot(planned), {}))


def test_look_ups_stand_beside_the_slopes_of_their_own_place(tmp_path: Path) -> None:
    run = _run(tmp_path / "run", "tmpfs", "ext4")
    tables = document(run).sections[0].tables
    assert [table.title for table in tables] == [
        f"tunable on debian:6.1, file, {filesystem}, root" for filesystem in CALLS
    ]
    for table, filesystem in zip(tables, CALLS, strict=True):
        (row,) = table.rows
        cells = dict(zip((column.key for column in table.columns), row, strict=True))
        assert [getattr(cells[key], "value", None) for key in ("hook_calls", "avc_lookups")] == [
            CALLS[filesystem],
            LOOKED_UP[filesystem],
        ]


def test_boots_of_one_place_are_one_sweep(tmp_path: Path) -> None:
    found = find_slopes(_run(tmp_path / "run", "tmpfs", boots=2))
    (slope,), (looked,) = found.slopes, found.lookups
    assert [point.delay_ns for point in slope.points] == [0, 0, 1000, 1000, 2000, 2000]
    assert slope.hook_calls.value == 3
    # Between the two boots, of which one is slower by 8 instructions of 8 ns.
    assert round(slope.regression.intercept.value) == 8 * (1000 + 4) - 3 * WAIT_NS
    assert looked.readings == (4,) * 6
