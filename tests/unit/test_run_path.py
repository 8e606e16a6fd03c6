# SPDX-License-Identifier: GPL-2.0-or-later
"""Plan, execute, store, read: every task goes this way, and nothing is measured twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.analysis.slopes import find_slopes
from lsmeter.base.errors import InfrastructureError
from lsmeter.guest import conclude as concluding
from lsmeter.guest.capture import Capture, Ending
from lsmeter.results import boots, directory
from lsmeter.results.directory import RunData, read_run
from lsmeter.run.execute import stored_path
from tests.unit.run_builders import Scripted, carry_out, run_of
from tests.unit.tasks.sweep_builders import DELAYS_NS, RECORDED, sweep_plan, tunable_kernel

ALL = {f"open depth={depth}": depth + 1 for depth in range(1, 9)}


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_DATA", str(tmp_path / "data"))


def calls(run: RunData) -> dict[str, int | None]:
    return {slope.benchmark.id: slope.hook_calls.value for slope in find_slopes(run).slopes}


def titles(run: RunData) -> list[str]:
    return [problem.title for problem in find_slopes(run).problems]


def cut(length: int = 900) -> bytes:
    """Return what a guest said that was stopped in the middle of a line, in the seventh delay."""
    said = RECORDED.read_bytes()
    found = said[: said.index(b"fact policy.60000") + length]
    assert not found.endswith(b"\n")
    return found


def test_what_is_known_is_not_measured_again(tmp_path: Path) -> None:
    machine = Scripted(lambda _: RECORDED.read_bytes())
    first = carry_out(sweep_plan(), tmp_path / "a", machine)
    again = carry_out(sweep_plan(), tmp_path / "b", machine)
    assert len(machine.booted) == 1
    assert [reused for _, reused in (*first.ends, *again.ends)] == [False, True]
    one, two = read_run(tmp_path / "a"), read_run(tmp_path / "b")
    assert one.boots == two.boots
    assert one.boots[0].wall_s == 12.5
    assert calls(one).items() >= ALL.items()
    assert titles(one) == []


def test_another_seed_another_kernel_and_fresh_are_measured(tmp_path: Path) -> None:
    machine = Scripted(lambda _: RECORDED.read_bytes())
    carry_out(sweep_plan(), tmp_path / "a", machine)
    other = sweep_plan()
    other = replace(other, boots=tuple(replace(boot, seed=2) for boot in other.boots))
    carry_out(other, tmp_path / "b", machine)
    kernel = replace(tunable_kernel(), image_sha256="ef" * 32)
    carry_out(sweep_plan(on=kernel), tmp_path / "c", machine)
    carry_out(sweep_plan(), tmp_path / "a", machine, fresh=True)
    assert len(machine.booted) == 4


def test_a_machine_is_told_how_far_its_guest_is(tmp_path: Path) -> None:
    machine = Scripted(lambda _: RECORDED.read_bytes())
    plan = sweep_plan()
    carry_out(plan, tmp_path / "a", machine)
    assert machine.finished == [plan.cells[0].units] == [19 * len(DELAYS_NS)]


@pytest.mark.parametrize("ending", [Ending.DEADLINE, Ending.SILENT])
def test_a_guest_that_is_stopped_in_the_middle_of_a_line_loses_no_whole_delay(
    tmp_path: Path, ending: Ending
) -> None:
    """Stopped within the seventh of twelve delays: six are complete, and some benchmarks more."""
    plan = sweep_plan()
    run = run_of(plan, tmp_path / "a", lambda _: Capture(cut(), b"", ending, None, 1.0))
    slopes = find_slopes(run).slopes
    assert {len(slope.points) for slope in slopes} == {6, 7}
    assert len(slopes) == 19
    assert calls(run).items() >= ALL.items()
    assert titles(run)[0] == "tunable on debian:6.1: boot 0: partial"
    assert find_slopes(run).problems[0].detail.endswith(" in 'open depth=5'")
    assert any("slope over 6 of 12 delays" in title for title in titles(run))
    assert any("slope over 7 of 12 delays" in title for title in titles(run))
    assert not stored_path(plan.boots[0]).exists()


def test_a_machine_that_is_killed_in_the_middle_loses_no_whole_delay_either(tmp_path: Path) -> None:
    killed = Capture(cut(), b"", Ending.EXITED, -9, 1.0)
    run = run_of(sweep_plan(), tmp_path / "a", lambda _: killed)
    assert len(find_slopes(run).slopes) == 19
    assert "QEMU ended with status -9" in find_slopes(run).problems[0].detail


def test_a_guest_that_breaks_off_in_a_line_by_itself_is_not_believed(tmp_path: Path) -> None:
    said = RECORDED.read_bytes()
    run = run_of(sweep_plan(), tmp_path / "a", lambda _: said[: len(said) // 2])
    assert find_slopes(run).slopes == ()
    assert run.boots[0].status.value == "garbage"


def test_a_guest_that_failed_is_measured_again(tmp_path: Path) -> None:
    lines = RECORDED.read_bytes().splitlines(keepends=True)
    machine = Scripted(lambda _: b"".join(lines[: len(lines) // 2]))
    ((boot, _),) = carry_out(sweep_plan(), tmp_path / "a", machine).ends
    assert boot.status.value != "ok"
    ((boot, _),) = carry_out(sweep_plan(), tmp_path / "b", machine).ends
    assert boot.status.value != "ok"
    assert len(machine.booted) == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("boot.json", b"{"),
        ("boot.json", b"[]"),
        ("boot.json", b'{"format": "lsmeter-boot", "version": 2}'),
        ("results.zst", b"not packed"),
        ("results.zst", b""),
        ("samples.parquet", b"PAR1"),
        ("console.log", None),
    ],
)
def test_a_damaged_entry_of_the_store_counts_as_not_measured(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    machine = Scripted(lambda _: RECORDED.read_bytes())
    plan = sweep_plan()
    carry_out(plan, tmp_path / "a", machine)
    path = stored_path(plan.boots[0]) / name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    carry_out(plan, tmp_path / "b", machine)
    assert len(machine.booted) == 2


def test_a_later_parser_reads_the_raw_results_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(sweep_plan(), tmp_path / "a", lambda _: RECORDED.read_bytes())
    assert run.notes == ()
    # A boot that an earlier parser had read wrongly.
    path = run.folder(run.boots[0]) / "boot.json"
    document = json.loads(path.read_bytes())
    document["boot"]["status"] = "garbage"
    path.write_text(json.dumps(document))
    assert read_run(tmp_path / "a").boots[0].status.value == "garbage"
    for module in (concluding, directory, boots):
        monkeypatch.setattr(module, "PARSER", concluding.PARSER + 1)
    again = read_run(tmp_path / "a")
    assert again.boots == run.boots
    (note,) = again.notes
    assert note.startswith("1 of 1 boots were measured by lsmeter ")
    assert "read again" in note


def test_raw_results_that_were_changed_are_refused(tmp_path: Path) -> None:
    run = run_of(sweep_plan(), tmp_path / "a", lambda _: RECORDED.read_bytes())
    path = run.folder(run.boots[0]) / "boot.json"
    path.write_text(path.read_text().replace('"results_sha256": "', '"results_sha256": "0'))
    with pytest.raises(InfrastructureError, match=r"results\.zst: .* not what was written"):
        read_run(tmp_path / "a")
