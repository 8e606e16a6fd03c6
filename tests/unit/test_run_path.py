# SPDX-License-Identifier: GPL-2.0-or-later
"""Plan, execute, store, read: every task goes this way, and nothing is measured twice."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import InfrastructureError, LsmeterError, UsageError
from lsmeter.guest import conclude as concluding
from lsmeter.guest.capture import Capture, Ending
from lsmeter.measure.experiment.plan import delay_order
from lsmeter.measure.results import boots, reading, samples
from lsmeter.measure.results.directory import RunData, read_manifest, read_run, write_manifest
from lsmeter.measure.results.documents import DamagedResultError, read_document, sealed
from lsmeter.measure.run.execute import stored_path
from lsmeter.questions.slopes.figures import find_slopes
from tests.unit.run_builders import Scripted, carry_out, rewrite, run_of
from tests.unit.tasks.sweep_builders import DELAYS_NS, recorded_sweep, sweep_plan, tunable_kernel

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
    said = recorded_sweep()
    seventh = f"fact policy.{delay_order(DELAYS_NS, 1)[6]}".encode()
    found = said[: said.index(seventh + b" ") + length]
    assert not found.endswith(b"\n")
    return found


def test_what_is_known_is_not_measured_again(tmp_path: Path) -> None:
    machine = Scripted(lambda _: recorded_sweep())
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
    machine = Scripted(lambda _: recorded_sweep())
    carry_out(sweep_plan(), tmp_path / "a", machine)
    other = sweep_plan()
    other = replace(other, boots=tuple(replace(boot, seed=2) for boot in other.boots))
    carry_out(other, tmp_path / "b", machine)
    kernel = replace(tunable_kernel(), image_sha256="ef" * 32)
    carry_out(sweep_plan(on=kernel), tmp_path / "c", machine)
    carry_out(sweep_plan(), tmp_path / "a", machine, fresh=True)
    assert len(machine.booted) == 4


def test_a_machine_is_told_how_far_its_guest_is(tmp_path: Path) -> None:
    machine = Scripted(lambda _: recorded_sweep())
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
    assert " in 'open depth=5'; ended after 1 s;" in find_slopes(run).problems[0].detail
    assert any("slope over 6 of 12 delays" in title for title in titles(run))
    assert any("slope over 7 of 12 delays" in title for title in titles(run))
    assert not stored_path(plan.boots[0]).exists()


def test_a_machine_that_is_killed_in_the_middle_loses_no_whole_delay_either(tmp_path: Path) -> None:
    killed = Capture(cut(), b"", Ending.EXITED, -9, 1.0)
    run = run_of(sweep_plan(), tmp_path / "a", lambda _: killed)
    assert len(find_slopes(run).slopes) == 19
    assert "QEMU was killed by SIGKILL, not by lsmeter" in find_slopes(run).problems[0].detail


def test_a_guest_that_failed_leaves_what_qemu_said_until_it_is_measured(tmp_path: Path) -> None:
    killed = Capture(cut(), b"Linux\n", Ending.EXITED, -9, 1.0, stderr="no space left")
    run = run_of(sweep_plan(), tmp_path / "a", lambda _: killed)
    (boot,) = run.boots
    home = run.path / "boots" / boot.folder
    assert boot.detail.endswith(f"; see console.log and qemu.log in {home}")
    assert (home / "qemu.log").read_text() == "no space left"
    assert (home / "console.log").read_text() == "Linux\n"
    again = run_of(sweep_plan(), tmp_path / "a", lambda _: recorded_sweep())
    assert again.boots[0].status.value == "ok"
    assert not (home / "qemu.log").exists()


def test_a_guest_that_breaks_off_in_a_line_by_itself_is_not_believed(tmp_path: Path) -> None:
    said = recorded_sweep()
    run = run_of(sweep_plan(), tmp_path / "a", lambda _: said[: len(said) // 2])
    assert find_slopes(run).slopes == ()
    assert run.boots[0].status.value == "garbage"


def test_a_guest_that_failed_is_measured_again(tmp_path: Path) -> None:
    lines = recorded_sweep().splitlines(keepends=True)
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
    machine = Scripted(lambda _: recorded_sweep())
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
    run = run_of(sweep_plan(), tmp_path / "a", lambda _: recorded_sweep())
    assert run.notes == ()
    # A boot that an earlier parser had read wrongly.
    path = run.folder(run.boots[0]) / "boot.json"
    rewrite(path, lambda document: document["boot"].update(status="garbage"))
    assert read_run(tmp_path / "a").boots[0].status.value == "garbage"
    for module in (concluding, reading, boots):
        monkeypatch.setattr(module, "PARSER", concluding.PARSER + 1)
    again = read_run(tmp_path / "a")
    assert again.boots == run.boots
    (note,) = again.notes
    assert note.startswith("1 of 1 boots were measured by lsmeter ")
    assert "read again" in note


@pytest.mark.parametrize("version", [3, 99])
def test_a_boot_of_another_format_is_refused_in_one_line(tmp_path: Path, version: int) -> None:
    run = run_of(sweep_plan(), tmp_path / "a", lambda _: recorded_sweep())
    rewrite(run.folder(run.boots[0]) / "boot.json", lambda _: None, version=version)
    with pytest.raises(InfrastructureError, match=f"format version {version}; .* reads") as caught:
        read_run(tmp_path / "a")
    assert "measure again" in caught.value.hint


def test_a_run_of_an_earlier_format_is_refused_in_one_line(tmp_path: Path) -> None:
    run_of(sweep_plan(), tmp_path / "a", lambda _: recorded_sweep())
    path = tmp_path / "a" / "manifest.json"
    document = json.loads(path.read_bytes())
    del document["sha256"]  # up to version 2 there was none
    path.write_text(json.dumps({**document, "version": 2}))
    with pytest.raises(InfrastructureError, match="format version 2; this lsmeter reads version 3"):
        read_run(tmp_path / "a")


@pytest.mark.parametrize("part", ["capture", "request"])
def test_a_boot_that_lacks_a_part_is_damaged(tmp_path: Path, part: str) -> None:
    run = run_of(sweep_plan(), tmp_path / "a", lambda _: recorded_sweep())
    path = run.folder(run.boots[0]) / "boot.json"
    rewrite(path, lambda document: document.pop(part))
    (problem,) = read_run(tmp_path / "a").damaged
    assert f"{part}: it does not say" in problem.detail


def test_a_reader_that_ends_its_process_costs_that_boot_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_of(sweep_plan(), tmp_path / "a", lambda _: recorded_sweep())
    ended = subprocess.Popen(["true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    monkeypatch.setattr(samples, "start_reader", cache(lambda: ended))
    (problem,) = read_run(tmp_path / "a").damaged
    assert "the process that reads it ends" in problem.detail
    monkeypatch.undo()
    assert read_run(tmp_path / "a").damaged == ()


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "gone": lambda _: None,
    "empty": lambda _: b"",
    "cut": lambda data: data[:-1],
    "longer": lambda data: data + b"\0",
    "one bit": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["samples.parquet", "results.zst", "console.log", "boot.json"])
def test_what_is_damaged_is_no_result_is_named_and_is_measured_again(
    tmp_path: Path, name: str, damage: str
) -> None:
    machine = Scripted(lambda _: Capture(recorded_sweep(), b"said\n", Ending.EXITED, 0, 1.0))
    plan = sweep_plan()
    carry_out(plan, tmp_path / "a", machine)
    run = read_run(tmp_path / "a")
    stored = stored_path(plan.boots[0])
    for folder in (run.folder(run.boots[0]), stored):
        data = DAMAGES[damage]((folder / name).read_bytes())
        if data is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(data)
    read = read_run(tmp_path / "a")
    assert read.boots == ()
    if (name, damage) == ("boot.json", "gone"):
        assert read.missing == run.manifest.boots
    else:
        (problem,) = read.damaged
        assert name in problem.detail
        assert read.manifest.problems == read.damaged
    watching = carry_out(plan, tmp_path / "a", machine)
    assert [str(stored / name) in why for _, why in watching.damages] == [True] * len(read.damaged)
    assert len(machine.booted) == 2
    assert read_run(tmp_path / "a").boots == run.boots


def test_an_output_that_is_damaged_costs_itself_only_and_the_boot_is_measured_again(
    tmp_path: Path,
) -> None:
    outputs = {"attribution": b"tree"}
    capture = Capture(recorded_sweep(), b"", Ending.EXITED, 0, 1.0, outputs=outputs)
    machine = Scripted(lambda _: capture)
    plan = sweep_plan()
    carry_out(plan, tmp_path / "a", machine)
    before = read_run(tmp_path / "a")
    folder, stored = before.folder(before.boots[0]), stored_path(plan.boots[0])
    assert boots.read_output(folder, "attribution") == b"tree"
    assert boots.read_output(folder, "other") is None
    for path in (folder / "attribution.zst", stored / "attribution.zst"):
        path.write_bytes(path.read_bytes()[::-1])
    read = read_run(tmp_path / "a")
    assert read.boots == before.boots
    assert "attribution.zst: damaged" in read.damaged[0].detail
    assert boots.read_output(folder, "attribution") is None
    assert len(carry_out(plan, tmp_path / "a", machine).damages) == 1
    assert len(machine.booted) == 2
    assert boots.read_output(folder, "attribution") == b"tree"


def test_a_stored_boot_of_an_earlier_format_is_measured_again(tmp_path: Path) -> None:
    machine = Scripted(lambda _: recorded_sweep())
    plan = sweep_plan()
    carry_out(plan, tmp_path / "a", machine)
    stored = stored_path(plan.boots[0]) / "boot.json"
    rewrite(stored, lambda _: None, version=3)
    assert carry_out(plan, tmp_path / "b", machine).damages == []
    assert len(machine.booted) == 2


@pytest.mark.parametrize("what", ["a file", "a directory", "a link"])
def test_what_is_in_the_way_of_a_boot_gives_way(tmp_path: Path, what: str) -> None:
    machine = Scripted(lambda _: recorded_sweep())
    carry_out(sweep_plan(), tmp_path / "a", machine)
    before = read_run(tmp_path / "a")
    folder = before.folder(before.boots[0])
    kept = tmp_path / "kept"
    kept.write_text("of the user")
    if what == "a file":
        shutil.rmtree(folder)
        folder.touch()
    else:
        (folder / "samples.parquet").unlink()
        if what == "a link":
            (folder / "samples.parquet").symlink_to(kept)
        else:
            (folder / "samples.parquet" / "more").mkdir(parents=True)
    assert read_run(tmp_path / "a").boots == ()
    carry_out(sweep_plan(), tmp_path / "a", machine)
    assert read_run(tmp_path / "a").boots == before.boots
    assert kept.read_text() == "of the user"


@pytest.mark.parametrize(
    "name", ["samples.parquet", "results.zst", "console.log", "boot.json", "manifest.json"]
)
def test_no_bit_of_a_run_may_change(tmp_path: Path, name: str) -> None:
    capture = Capture(recorded_sweep(), b"said\n", Ending.EXITED, 0, 1.0)
    run = run_of(sweep_plan(), tmp_path / "a", lambda _: capture)
    path = next(run.path.rglob(name))
    whole = path.read_bytes()
    draw = random.Random(1)
    for place in (0, len(whole) - 1, *(draw.randrange(len(whole)) for _ in range(30))):
        changed = bytearray(whole)
        changed[place] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        if name == "manifest.json":
            with pytest.raises(DamagedResultError):
                read_run(run.path)
        else:
            read = read_run(run.path)
            assert (read.boots, len(read.damaged)) == ((), 1)


def test_boots_in_each_other_s_place_are_no_results(tmp_path: Path) -> None:
    one, two = sweep_plan().boots[0], replace(sweep_plan().boots[0], index=1, seed=9)
    plan = replace(sweep_plan(), boots=(one, two))
    run = run_of(plan, tmp_path / "a", lambda _: recorded_sweep())
    places = [run.folder(boot) for boot in run.boots]
    places[0].rename(tmp_path / "aside")
    places[1].rename(places[0])
    (tmp_path / "aside").rename(places[1])
    read = read_run(tmp_path / "a")
    assert read.boots == ()
    assert all("it is of another boot" in problem.detail for problem in read.damaged)


def test_a_boot_of_the_store_has_the_index_of_the_run_that_takes_it(tmp_path: Path) -> None:
    machine = Scripted(lambda _: recorded_sweep())
    (first,) = sweep_plan().boots
    carry_out(sweep_plan(), tmp_path / "a", machine)
    plan = replace(sweep_plan(), boots=(replace(first, index=0, seed=8), replace(first, index=1)))
    carry_out(plan, tmp_path / "b", machine)
    assert len(machine.booted) == 2
    assert [(boot.index, boot.seed) for boot in read_run(tmp_path / "b").boots] == [(0, 8), (1, 1)]


def test_a_boot_listed_twice_counts_once(tmp_path: Path) -> None:
    run = run_of(sweep_plan(), tmp_path / "a", lambda _: recorded_sweep())
    rewrite(
        run.path / "manifest.json", lambda told: told["run"]["boots"].extend(told["run"]["boots"])
    )
    assert read_run(tmp_path / "a").boots == run.boots


@pytest.mark.parametrize("damage", [*DAMAGES, "another directory"])
def test_a_manifest_that_is_damaged_is_written_anew(tmp_path: Path, damage: str) -> None:
    machine = Scripted(lambda _: recorded_sweep())
    carry_out(sweep_plan(), tmp_path / "a", machine)
    before = read_run(tmp_path / "a")
    path = tmp_path / "a" / "manifest.json"
    data = DAMAGES.get(damage, lambda _: None)(path.read_bytes())
    path.unlink()
    if damage == "another directory":
        path.mkdir()
    elif data is not None:
        path.write_bytes(data)
    with pytest.raises(LsmeterError, match=r"manifest\.json"):
        read_run(tmp_path / "a")
    carry_out(sweep_plan(), tmp_path / "a", machine)
    assert vars(replace(read_run(tmp_path / "a"))) == vars(replace(before))
    assert len(machine.booted) == 1
    assert (tmp_path / "a" / "manifest.damaged.json").exists() == (damage != "gone")


def test_what_is_no_run_and_what_is_of_a_later_lsmeter_is_not_written_over(tmp_path: Path) -> None:
    machine = Scripted(lambda _: recorded_sweep())
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "thesis.tex").touch()
    with pytest.raises(UsageError, match="is not a run directory"):
        carry_out(sweep_plan(), tmp_path / "a", machine)
    carry_out(sweep_plan(), tmp_path / "b", machine)
    path = tmp_path / "b" / "manifest.json"
    rewrite(path, lambda _: None, version=99)
    later = path.read_bytes()
    with pytest.raises(InfrastructureError, match="format version 99"):
        carry_out(sweep_plan(), tmp_path / "b", machine)
    assert path.read_bytes() == later


@pytest.mark.parametrize("shift", [-1, 10**17])
def test_a_clock_that_no_guest_has_is_refused(tmp_path: Path, shift: int) -> None:
    manifest = run_of(sweep_plan(), tmp_path / "a", lambda _: recorded_sweep()).manifest
    conditions = replace(manifest.conditions, icount_shift=shift)
    (cell,) = manifest.cells
    for wrong in (
        replace(manifest, conditions=conditions),
        replace(manifest, cells=(replace(cell, conditions=conditions),)),
    ):
        write_manifest(tmp_path / "a", wrong)
        with pytest.raises(DamagedResultError, match=f"icount_shift: {shift} is none"):
            read_manifest(tmp_path / "a")


@given(st.data())
def test_every_bit_of_a_document_counts(data: st.DataObject) -> None:
    with TemporaryDirectory() as home:
        path = Path(home) / "x.json"
        path.write_bytes(sealed("lsmeter-run", 3, {"run": {"margin": 0.02, "title": "a b"}}))
        whole = bytearray(path.read_bytes())
        assert read_document(path, "lsmeter-run", (3,))["run"]["margin"] == 0.02
        bit = data.draw(st.integers(0, len(whole) * 8 - 1))
        whole[bit // 8] ^= 1 << bit % 8
        path.write_bytes(whole)
        with pytest.raises(DamagedResultError):
            read_document(path, "lsmeter-run", (3,))


def test_raw_results_of_another_digest_are_no_results(tmp_path: Path) -> None:
    run = run_of(sweep_plan(), tmp_path / "a", lambda _: recorded_sweep())
    path = run.folder(run.boots[0]) / "boot.json"
    rewrite(path, lambda told: told["capture"].update(results_sha256="0" * 64))
    (problem,) = read_run(tmp_path / "a").damaged
    assert "results.zst: damaged" in problem.detail
