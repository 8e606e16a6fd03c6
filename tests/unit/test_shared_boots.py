# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots of the store, which runs share, and of a run, which its cells share."""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest

from lsmeter.core import storage
from lsmeter.core.errors import InfrastructureError
from lsmeter.core.model import Boot, Cell
from lsmeter.core.storage import hold, make_dir, write_atomic
from lsmeter.measure.experiment.plan import Plan
from lsmeter.measure.results import boots
from lsmeter.measure.results.directory import read_run
from lsmeter.measure.run.execute import Settings, execute, stored_path
from tests.unit.run_builders import Scripted, Watching, begun, carry_out, plan_of, run_of
from tests.unit.tasks.sweep_builders import (
    DELAYS_NS,
    READINGS,
    SWEPT,
    recorded_sweep,
    sweep_plan,
    tunable_kernel,
)


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_DATA", str(tmp_path / "data"))


def test_runs_that_write_the_same_boot_at_once_leave_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = storage._fill

    def slow(file: BinaryIO, data: bytes, mode: int | None, *, lasting: bool) -> None:
        fill(file, data, mode, lasting=lasting)
        time.sleep(random.Random(str(file.name).encode() + data).random() / 20)

    monkeypatch.setattr(storage, "_fill", slow)
    names = ("samples.parquet", "console.log", "boot.json")
    home = tmp_path / "boot"

    def store(files: dict[str, bytes]) -> None:
        boots.share_files(home, files)

    with ThreadPoolExecutor(4) as pool:
        files = [dict.fromkeys(names, b"%d" % number) for number in range(12)]
        list(pool.map(store, files))
    assert len({(home / name).read_bytes() for name in names}) == 1
    assert {path.name for path in tmp_path.iterdir()} <= {"boot", boots.LOCK_FILE}


def test_what_a_kill_left_of_a_boot_is_removed_when_it_is_written_again(tmp_path: Path) -> None:
    home, left = tmp_path / "boot", tmp_path / ".lsmeter-boot.partial"
    for name in ("samples.parquet", "old.zst"):
        write_atomic(left / name, b"half of")
    boots.share_files(home, {"samples.parquet": b"all", "boot.json": b"of it"})
    assert {path.name: path.read_bytes() for path in home.iterdir()} == {
        "samples.parquet": b"all",
        "boot.json": b"of it",
    }
    assert not left.exists()


def test_a_boot_that_another_run_never_finishes_is_not_written_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boots, "MAX_WAIT_S", 0.1)
    machine = Scripted(lambda _: recorded_sweep())
    (planned,) = sweep_plan().boots
    home = stored_path(planned)
    write_atomic(home / "console.log", b"what it has written so far")
    with (
        hold(make_dir(home.parent) / boots.LOCK_FILE, "it", 0),
        pytest.raises(InfrastructureError, match=rf"process {os.getpid()} .* has held {home}"),
    ):
        carry_out(sweep_plan(), tmp_path / "a", machine)
    assert [path.name for path in home.iterdir()] == ["console.log"]
    carry_out(sweep_plan(), tmp_path / "a", machine)
    assert (home / boots.BOOT_FILE).exists()


def test_the_next_guest_starts_while_a_boot_is_stored(tmp_path: Path) -> None:
    second = threading.Event()

    class Waiting(Scripted):
        def command(self, cell: Cell) -> tuple[str, ...]:  # asked for where a boot is stored
            assert second.wait(20)
            return super().command(cell)

    def answer(_: Cell) -> bytes:
        if len(machine.booted) == 2:
            second.set()
        return recorded_sweep()

    machine = Waiting(answer)
    words = {"setups": ["tunable"], "task": "sweep", "delays_ns": list(DELAYS_NS), **READINGS}
    plan = plan_of([tunable_kernel()], SWEPT, {**words, "boots": 2})
    watching = carry_out(plan, tmp_path / "a", machine)
    assert [boot.index for boot, _ in watching.ends] == [0, 1]


def test_no_boot_is_stored_while_another_one_is_timed(tmp_path: Path) -> None:
    done: list[str] = []

    class Noting(Scripted):
        def command(self, cell: Cell) -> tuple[str, ...]:
            time.sleep(0.05)  # in which the next one would begin
            done.append("stored")
            return super().command(cell)

    def answer(_: Cell) -> bytes:
        done.append("booted")
        return recorded_sweep()

    words = {"setups": ["tunable"], "task": "sweep", "delays_ns": list(DELAYS_NS), **READINGS}
    plan = plan_of([tunable_kernel()], SWEPT, {**words, "boots": 3})
    begun(plan, tmp_path / "a", "scripted")
    settings = Settings(1, store=False)
    asyncio.run(execute(plan, tmp_path / "a", Noting(answer), settings, Watching()))
    assert done == ["booted", "stored"] * 3


def test_a_boot_that_waits_for_the_disk_is_not_lost_by_a_stop(tmp_path: Path) -> None:
    stopped = threading.Event()

    class Waiting(Scripted):
        def command(self, cell: Cell) -> tuple[str, ...]:
            assert stopped.wait(20)
            return super().command(cell)

    async def stop(plan: Plan) -> None:
        run = asyncio.create_task(execute(plan, path, machine, Settings(1), Watching()))
        while len(machine.booted) < 2:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)  # the second one waits for the first
        run.cancel()
        asyncio.get_running_loop().call_soon(stopped.set)
        with suppress(asyncio.CancelledError):
            await run

    machine, path = Waiting(lambda _: recorded_sweep()), tmp_path / "a"
    words = {"setups": ["tunable"], "task": "sweep", "delays_ns": list(DELAYS_NS), **READINGS}
    plan = plan_of([tunable_kernel()], SWEPT, {**words, "boots": 2})
    begun(plan, path, "scripted")
    asyncio.run(stop(plan))
    assert [boot.index for boot in read_run(path).boots] == [0, 1]


def test_the_boots_of_all_cells_are_found_in_one_pass(tmp_path: Path) -> None:
    class Counted(tuple[Boot, ...]):
        __slots__ = ()
        passes = 0

        def __iter__(self) -> Iterator[Boot]:
            type(self).passes += 1
            return super().__iter__()

    run = run_of(sweep_plan(), tmp_path / "a", lambda _: recorded_sweep())
    ((cell,), (boot,)) = run.manifest.cells, run.boots
    cells = [replace(cell, hash=f"{number}") for number in range(100)]
    mixed = [replace(boot, cell_hash=f"{n * 7 % 50}", index=n) for n in range(500)]
    many = replace(run, boots=Counted(mixed))
    for item in cells:
        assert many.boots_of(item) == tuple(b for b in mixed if b.cell_hash == item.hash)
    assert Counted.passes == 1
    assert replace(many, boots=(boot,)).boots_of(cell) == (boot,)
