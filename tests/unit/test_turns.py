# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks whose processes take turns: run side by side, made whole, and compared with their own."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from lsmeter.core.errors import InfrastructureError
from lsmeter.core.limits import Limits
from lsmeter.core.model import Boot, BootStatus
from lsmeter.guest.capture import Capture, Ending
from lsmeter.machines import Machine, OnResults, TakesTurns
from lsmeter.machines.here import MACHINE as HERE
from lsmeter.machines.here import blank, seats
from lsmeter.measure.experiment.plan import Plan, PlannedBoot
from lsmeter.measure.instruments import timed
from lsmeter.measure.results.directory import boot_folder
from lsmeter.measure.run.execute import Settings, execute
from lsmeter.statistics.blocks import Block, paired
from lsmeter.statistics.estimate import BootReadings
from tests.unit.model_builders import kernel
from tests.unit.run_builders import Watching, begun, plan_of
from tests.unit.timed_builders import EMPTY, GETPPID, STAT, Clocked

NOTHING = Capture(b"", b"", Ending.EXITED, 1, 0.1)


@dataclass
class Turning(Clocked, TakesTurns):
    """Runs a block's processes side by side: each waits until all of them have come."""

    groups: list[int] = field(default_factory=list)
    waiting: list[asyncio.Event] = field(default_factory=list)
    broken: str = ""  # the setup whose processes give nothing
    fails: str = ""  # the setup whose process cannot be started

    def turn_group(self, planned: PlannedBoot) -> Hashable:
        return None if planned.cell.setup.name == "selinux" else planned.cell.user

    @contextmanager
    def in_turns(self, count: int) -> Iterator[Sequence[Machine]]:
        self.groups.append(count)
        self.waiting = []
        yield [self] * count

    async def run(self, boot: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        name = boot.cell.setup.name
        if name == self.fails:
            raise InfrastructureError("cannot start it")
        if self.turn_group(boot) and self.groups:
            self.waiting.append(asyncio.Event())
            if len(self.waiting) == self.groups[-1]:
                for event in self.waiting:
                    event.set()
            await self.waiting[-1].wait()
        return NOTHING if name == self.broken else await super().run(boot, limits, on_results)


def planned(*setups: str, boots: int = 2) -> Plan:
    words = {"setups": [*setups], "instrument": "timed", "boots": boots}
    built = kernel("vmlinux", SECCOMP_FILTER="y", SECURITY_SELINUX="y")
    return plan_of([built], (EMPTY, GETPPID, STAT), words)


def carried_out(plan: Plan, path: Path, machine: Machine, *, kept: bool = False) -> Watching:
    begun(plan, path, "turning")
    watching = Watching()
    asyncio.run(execute(plan, path, machine, Settings(1, fresh=True, kept=kept), watching))
    return watching


def test_a_block_runs_side_by_side_and_what_cannot_by_itself(tmp_path: Path) -> None:
    machine = Turning({})
    plan = planned("capability", "seccomp", "selinux")
    carried_out(plan, tmp_path / "r", machine)
    assert machine.groups == [3, 3]  # capability, the same again, seccomp
    assert sorted(machine.booted) == sorted((b.cell.setup.name, b.index) for b in plan.boots)


def test_a_block_that_was_broken_off_is_made_again_whole(tmp_path: Path) -> None:
    plan = planned("capability", "seccomp")
    carried_out(plan, tmp_path / "r", Turning({}))
    lost = next(boot for boot in plan.boots if boot.index == 1)
    shutil.rmtree(boot_folder(tmp_path / "r", lost.id))
    machine = Turning({})
    watching = carried_out(plan, tmp_path / "r", machine, kept=True)
    assert machine.groups == [3]
    assert {index for _, index in machine.booted} == {1}
    assert sum(reused for _, reused in watching.ends) == 3


def test_one_that_failed_is_tried_again_and_the_others_are_kept(tmp_path: Path) -> None:
    plan = planned("capability", "seccomp", boots=1)
    first = carried_out(plan, tmp_path / "r", Turning({}, broken="seccomp"))
    assert sum(boot.status is BootStatus.OK for boot, _ in first.ends) == 2
    machine = Turning({})
    carried_out(plan, tmp_path / "r", machine, kept=True)
    assert (machine.groups, machine.booted) == ([1], [("seccomp", 0)])


def test_one_that_cannot_be_started_ends_the_run_with_one_line(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="cannot start it"):
        carried_out(planned("capability", "seccomp"), tmp_path / "r", Turning({}, fails="seccomp"))


def test_here_lets_those_take_turns_for_whom_nothing_is_changed() -> None:
    plan = planned("capability", "running-selinux:mode=permissive")
    groups = {boot.cell.setup.name: HERE.turn_group(boot) for boot in plan.boots}
    assert groups.pop("running-selinux:mode=permissive", None) is None
    assert len(set(groups.values())) == 1


def test_a_page_has_a_name_of_its_own_and_places(tmp_path: Path) -> None:
    with seats(2) as (first, second):
        assert first[0] == second[0]
        assert (first[1], second[1]) == ("0", "1")
        page = Path(first[0]).read_bytes()
    assert not Path(first[0]).exists() or Path(first[0]).read_bytes() != page
    assert page[:4] == (2).to_bytes(4, "little")
    assert blank(2)[4:20] != blank(2)[4:20]


def side(*facts: dict[str, str]) -> list[Block]:
    """Read a block for each set of facts."""
    found = {STAT.id: BootReadings(1, np.full(4, 100))}
    said = {"timing.hz": "1e9"}
    return [
        timed.blocks(Boot("", at, 1, BootStatus.OK, facts=tuple({**said, **fact}.items())), found)[
            STAT.id
        ]
        for at, fact in enumerate(facts)
    ]


def test_only_what_took_turns_together_is_a_pair() -> None:
    ring = [{"turns.ring": name} for name in "abcdef"]
    lost = {"turns.lost": "the others went on without this one"}
    before = side(*ring[:3], lost, ring[4], {})
    after = side(ring[0], {"turns.ring": "z"}, lost, ring[3], {}, {})
    first, then = paired(before, after)
    assert [block.index for block in first] == [block.index for block in then] == [0, 4, 5]


def test_blocks_that_are_no_pairs_give_no_verdict() -> None:
    lost = [{"turns.lost": "alone"}] * 8
    found = timed.compare(side(*lost), side(*lost), 0.01)
    assert found.tests is not None
    assert (found.tests.blocks, found.tests.p) == (0, 1.0)
