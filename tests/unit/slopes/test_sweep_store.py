# SPDX-License-Identifier: GPL-2.0-or-later
"""A finished sweep is measured once: by a backend that counts its guests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.backend import Backend, Capture, Ending, OnResults
from lsmeter.limits import Limits
from lsmeter.model import Cell, Instrument, Kernel
from lsmeter.plan import PlannedBoot
from lsmeter.run.sweep import Settings, Swept, sweep_cells
from lsmeter.run.sweep_store import find_sweep, store_sweep, stored_path
from lsmeter.setup import parse_setup
from lsmeter.slopes.plan import plan_cells
from tests.unit.model_builders import cell, kernel
from tests.unit.slopes.sweep_builders import DELAYS_NS, RECORDED, recorded_session, recorded_slopes


class Recording(Backend):
    """Answers every guest with what one said, and counts them."""

    name = "recording"
    title = "a test"
    instrument = Instrument.EXACT

    def __init__(self, results: bytes, ending: Ending = Ending.EXITED, exit_code: int = 0) -> None:
        self.results = results
        self.ending = ending
        self.exit_code = exit_code if ending is Ending.EXITED else None
        self.guests = 0
        self.told: list[int | None] = []

    def identity(self) -> Mapping[str, str]:
        return {}

    def filesystems(self) -> tuple[str, ...]:
        return ("tmpfs",)

    def command(self, cell: Cell) -> tuple[str, ...]:
        return (cell.setup.name,)

    async def run(self, boot: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        assert boot.cell.sweep is not None
        assert len(self.results) < limits.results_bytes
        self.guests += 1
        self.told.append(on_results(self.results))
        return Capture(self.results, b"", self.ending, self.exit_code, 12.5)


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_DATA", str(tmp_path))


def swept_cell(image_sha256: str = "cd" * 32) -> Cell:
    has: Kernel = replace(
        kernel(SECURITY_TUNABLE="y"), release="6.1.192", image_sha256=image_sha256
    )
    _, items = recorded_session()
    template = replace(cell(parse_setup("capability")), benchmarks=tuple(item.id for item in items))
    cells, _ = plan_cells((has,), ("tunable",), DELAYS_NS, template)
    return cells[0]


def sweep(backend: Recording, one: Cell, *, fresh: bool = False, seed: int = 1) -> Swept:
    _, items = recorded_session()
    settings = Settings(jobs=1, fresh=fresh)
    (swept,) = asyncio.run(
        sweep_cells(
            [one], items, backend, seed=seed, settings=settings, on_finished=lambda *_: None
        )
    )
    return swept


def values(swept: Swept) -> list[float]:
    return [slope.regression.slope.value for slope in swept.slopes]


def test_what_is_known_is_not_measured_again() -> None:
    backend = Recording(RECORDED.read_bytes())
    first = sweep(backend, swept_cell())
    assert first.problems == ()
    assert values(first) == [slope.regression.slope.value for slope in recorded_slopes()]
    again = sweep(backend, swept_cell())
    assert backend.guests == 1
    assert (first.reused, again.reused) == (False, True)
    assert again.wall_s == first.wall_s
    assert values(again) == values(first)


def test_another_seed_another_kernel_and_fresh_are_measured() -> None:
    backend = Recording(RECORDED.read_bytes())
    sweep(backend, swept_cell())
    assert not sweep(backend, swept_cell(), seed=2).reused
    assert not sweep(backend, swept_cell(image_sha256="ef" * 32)).reused
    assert not sweep(backend, swept_cell(), fresh=True).reused
    assert backend.guests == 4


def test_a_backend_is_told_how_far_its_guest_is() -> None:
    backend = Recording(RECORDED.read_bytes())
    one = swept_cell()
    sweep(backend, one)
    assert backend.told == [one.units] == [19 * len(DELAYS_NS)]


@pytest.mark.parametrize("ending", [Ending.DEADLINE, Ending.SILENT])
def test_a_guest_that_is_stopped_in_the_middle_of_a_line_loses_no_whole_delay(
    ending: Ending,
) -> None:
    """Stopped within the seventh of twelve delays: six are complete, and some benchmarks more."""
    said = RECORDED.read_bytes()
    backend = Recording(said[: said.index(b"fact policy.60000") + 900], ending)
    assert not backend.results.endswith(b"\n")
    swept = sweep(backend, swept_cell())
    assert len(swept.slopes) == 19
    assert {len(slope.sweep.points) for slope in swept.slopes} == {6, 7}
    whole = {slope.benchmark.id: slope.hook_calls.value for slope in recorded_slopes()}
    assert {slope.benchmark.id: slope.hook_calls.value for slope in swept.slopes} == whole
    titles = [problem.title for problem in swept.problems]
    assert titles[0].startswith("partial: hang: ")
    assert titles[0].endswith("; it was at 'open depth=5'")
    assert any("slope over 6 of 12 delays" in title for title in titles)
    assert any("slope over 7 of 12 delays" in title for title in titles)
    assert not sweep(backend, swept_cell()).reused


def test_a_machine_that_is_killed_in_the_middle_loses_no_whole_delay_either() -> None:
    said = RECORDED.read_bytes()
    backend = Recording(said[: said.index(b"fact policy.60000") + 900], exit_code=-9)
    swept = sweep(backend, swept_cell())
    assert len(swept.slopes) == 19
    assert swept.problems[0].title == "partial: infrastructure: QEMU ended with status -9"


def test_a_guest_that_breaks_off_in_a_line_by_itself_is_not_believed() -> None:
    said = RECORDED.read_bytes()
    swept = sweep(Recording(said[: len(said) // 2]), swept_cell())
    assert swept.slopes == ()
    assert swept.problems[0].title.startswith("garbage: ")


def test_a_guest_that_failed_is_not_kept() -> None:
    lines = RECORDED.read_bytes().splitlines(keepends=True)
    backend = Recording(b"".join(lines[: len(lines) // 2]))
    assert sweep(backend, swept_cell()).problems
    assert sweep(backend, swept_cell()).problems
    assert backend.guests == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("sweep.json", b"{"),
        ("sweep.json", b"[]"),
        ("sweep.json", b'{"format": "lsmeter-sweep", "version": 1}'),
        ("results.zst", b"not packed"),
        ("results.zst", b""),
    ],
)
def test_a_damaged_entry_counts_as_not_measured(name: str, content: bytes) -> None:
    planned = PlannedBoot(swept_cell(), 0, 1)
    capture = Capture(RECORDED.read_bytes(), b"", Ending.EXITED, 0, 12.5)
    store_sweep(planned, capture)
    assert find_sweep(planned) == capture
    (stored_path(planned) / name).write_bytes(content)
    assert find_sweep(planned) is None
