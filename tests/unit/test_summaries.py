# SPDX-License-Identifier: GPL-2.0-or-later
"""A run of many boots, read by summaries, is the run that is read whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.core.model import BootId
from lsmeter.core.storage import cache_dir
from lsmeter.measure.results import directory, reading, summaries
from lsmeter.measure.results.boots import BOOT_FILE, FORMAT, SAMPLES_FILE, VERSION
from lsmeter.measure.results.directory import RunData, boot_folder, copy_boot, read_run
from lsmeter.measure.results.directory import write_manifest as write
from lsmeter.measure.results.documents import DamagedResultError, digest_of, sealed
from lsmeter.measure.results.reading import ReadBoot
from lsmeter.questions.cost.build import compare_runs, make_report
from lsmeter.questions.cost.document import report_document
from lsmeter.questions.cost.narrow import narrowed
from lsmeter.tables.model import Detail

MAIN = Path(__file__).parents[2] / "examples/main.lsmeter"


@pytest.fixture(scope="module")
def main() -> RunData:
    return read_run(MAIN)


@pytest.fixture
def run(main: RunData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunData:
    """Return a run read whole, whose summaries nobody has yet; from now on runs have many boots."""
    kept = tuple(boot for boot in main.boots if boot.cell_hash in _cells(main))
    ids = tuple(BootId(boot.cell_hash, boot.index, boot.seed) for boot in kept)
    packed = replace(main, boots=kept, manifest=replace(main.manifest, boots=ids))
    for boot in packed.boots:
        folder = packed.folder(boot)
        names = [path.name for path in folder.iterdir() if path.name != "boot.json"]
        copy_boot(folder, names, tmp_path / "run", boot)
    write(tmp_path / "run", packed.manifest)
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(directory, "MANY", 1)
    return RunData(tmp_path / "run", packed.manifest, packed.boots, once=packed.once)


def _cells(run: RunData) -> set[str]:
    """Return two cells, of which one is the baseline's."""
    cells = sorted(run.manifest.cells, key=lambda cell: cell.place.setup != "capability")
    return {cell.hash for cell in cells[:2]}


def reported(run: RunData) -> str:
    return json.dumps(report_document(make_report(run), Detail.DATA).data)


def never(*_: object) -> ReadBoot:
    raise AssertionError("a boot was read whole")


def test_a_packed_run_is_compared_by_its_own_name(main: RunData) -> None:
    """Not by that of the directory into which it is unpacked, which is another each time."""
    assert compare_runs(main, main).title == "main.lsmeter (baseline) against main.lsmeter"


def test_a_run_by_summaries_is_the_run_and_is_read_whole_once(
    run: RunData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "PARALLEL_FROM_BYTES", 0)
    first = read_run(run.path)
    assert first.boots == run.boots
    monkeypatch.setattr(summaries.Reader, "summaries", never)
    monkeypatch.setattr(summaries.Reader, "whole", never)
    second = read_run(run.path)
    assert reported(second) == reported(replace(run, notes=first.notes))
    assert second.once == first.once
    assert second.notes == first.notes


def test_summaries_that_are_damaged_are_made_anew(run: RunData) -> None:
    read_run(run.path)
    (kept,) = (cache_dir() / "summaries").iterdir()
    data = kept.read_bytes()
    half = len(data) // 2
    for damaged in (b"", data[:half], data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :]):
        kept.write_bytes(damaged)
        assert read_run(run.path).boots == run.boots


@pytest.mark.parametrize("name", ["samples.parquet", "results.zst", "console.log", "boot.json"])
def test_a_boot_that_is_damaged_is_named_though_its_summary_is_kept(
    run: RunData, name: str
) -> None:
    read_run(run.path)
    folder = boot_folder(run.path, run.boots[1])
    (folder / name).write_bytes((folder / name).read_bytes()[:-1] + b"\0")
    found = read_run(run.path)
    assert found.boots == (run.boots[0], *run.boots[2:])
    (problem,) = found.damaged
    assert str(folder / name) in problem.detail


def test_an_output_that_is_mended_is_damaged_no_more(
    run: RunData, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(folder: Path, _: object) -> list[DamagedResultError]:
        return [DamagedResultError(folder / "attribution.zst", "the file is missing")]

    with monkeypatch.context() as once:
        once.setattr(reading, "damaged_outputs", damaged)
        assert read_run(run.path).damaged
    assert not read_run(run.path).damaged


@pytest.mark.parametrize("from_bytes", [0, summaries.PARALLEL_FROM_BYTES])
def test_readings_that_cannot_be_read_cost_their_boot_alone(
    run: RunData, from_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether this process has them read, or others that read them themselves."""
    folder = boot_folder(run.path, run.boots[1])
    (folder / SAMPLES_FILE).write_bytes(b"PAR1")
    document = json.loads((folder / BOOT_FILE).read_bytes())
    document["files"][SAMPLES_FILE] = digest_of(b"PAR1")
    for key in ("format", "version", "sha256"):
        del document[key]
    (folder / BOOT_FILE).write_bytes(sealed(FORMAT, VERSION, document))
    monkeypatch.setattr(summaries, "PARALLEL_FROM_BYTES", from_bytes)
    for _ in range(2):
        found = read_run(run.path)
        assert found.boots == (run.boots[0], *run.boots[2:])
        (problem,) = found.damaged
        assert str(folder / SAMPLES_FILE) in problem.detail


def test_what_another_program_puts_in_the_place_of_a_boot_is_read(run: RunData) -> None:
    """A summary is of the boot that it was made of, not of whatever stands where that stood."""
    read_run(run.path)
    one = run.boots[0]
    two = next(boot for boot in run.boots if boot.cell_hash != one.cell_hash)
    for path in boot_folder(run.path, two).iterdir():
        (boot_folder(run.path, one) / path.name).write_bytes(path.read_bytes())
    found = read_run(run.path)
    assert found.boots == run.boots[1:]
    assert "it is of another boot" in found.damaged[0].detail


def test_what_is_not_asked_for_is_not_read(run: RunData, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report of two setups of 101,000 boots read all of them, for ten minutes."""
    one, *others = sorted(_cells(run))
    mine = tuple(boot for boot in run.boots if boot.cell_hash == one)
    assert others
    assert 0 < len(mine) < len(run.boots)
    for boot in run.boots:
        if boot.cell_hash != one:
            (boot_folder(run.path, boot) / "boot.json").write_bytes(b"{}")
    part = read_run(run.path, lambda _: {one})
    assert (part.boots, part.damaged) == (mine, ())
    monkeypatch.setattr(summaries.Reader, "whole", never)
    assert reported(read_run(run.path, lambda _: {one})) == reported(part)


def test_a_part_is_read_by_the_summaries_of_the_whole(
    run: RunData, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read_run(run.path)
    one = min(_cells(run))
    with monkeypatch.context() as patch:
        patch.setattr(summaries.Reader, "whole", never)
        part = read_run(run.path, lambda _: {one})
    assert part.boots == tuple(boot for boot in run.boots if boot.cell_hash == one)
    (kept,) = (cache_dir() / "summaries").iterdir()
    # What is wrong with that of the whole is found by a reader of a part, and made anew.
    data = kept.read_bytes()
    kept.write_bytes(data[: len(data) // 4])
    assert read_run(run.path, lambda _: {one}).boots == part.boots
    assert read_run(run.path).boots == whole.boots


def test_a_setup_that_shares_its_cells_with_another_is_left_out(main: RunData) -> None:
    """Two setups of one definition have cells of one hash, and are two all the same."""
    cells = main.manifest.cells
    twin = next(cell for cell in cells if cell.place.setup == "selinux")
    other = replace(twin, place=replace(twin.place, setup="mine"))
    both = replace(main, manifest=replace(main.manifest, cells=(*cells, other)))
    found = narrowed(both, ["selinux"], (), None).manifest.cells
    assert {cell.place.setup for cell in found} == {"capability", "selinux"}


def test_a_stored_boot_is_copied_where_the_run_lacks_it_or_has_other_bytes(
    main: RunData, tmp_path: Path
) -> None:
    boot = main.boots[0]
    stored, home = main.folder(boot), boot_folder(tmp_path, boot)
    names = [path.name for path in stored.iterdir() if path.name != BOOT_FILE]

    def copied() -> list[tuple[str, int]]:
        copy_boot(stored, names, tmp_path, boot)
        assert all((home / name).read_bytes() == (stored / name).read_bytes() for name in names)
        return sorted((path.name, path.stat().st_ino) for path in home.iterdir())

    first = copied()
    assert copied() == first  # not written again
    (home / BOOT_FILE).write_bytes(b"{}")
    copied()
    assert (home / BOOT_FILE).read_bytes() == (stored / BOOT_FILE).read_bytes()
    (home / names[0]).unlink()
    copied()
    (home / names[0]).unlink()
    (home / names[0]).symlink_to(stored / names[0])
    copied()
    assert not (home / names[0]).is_symlink()
