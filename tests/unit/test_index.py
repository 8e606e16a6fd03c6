# SPDX-License-Identifier: GPL-2.0-or-later
"""The index of a suite: a geometric mean against a reference, lower is slower."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Better
from lsmeter.core.model.conclusion import Estimate
from lsmeter.measure.instruments.timed import index as timed_index
from lsmeter.measure.results.directory import MANIFEST_FILE, RunData, read_run, write_manifest
from lsmeter.measure.results.manifest import Circumstances
from lsmeter.questions.importing import find_format
from lsmeter.questions.importing.run import add, read_source
from lsmeter.questions.index.command import index as index_command
from lsmeter.questions.index.document import index_document
from lsmeter.questions.index.figures import indices, run_indices
from lsmeter.statistics.blocks import Block
from lsmeter.tables.render import Files, rendered
from tests.unit.model_builders import benchmark
from tests.unit.report.builders import KERNELS, estimate
from tests.unit.timed_builders import READ, STAT, run

LOWER = [Better.LOWER]
COSTS = st.lists(st.floats(1, 1e9), min_size=1, max_size=20)


def side(setup: str, costs: list[float], kernel: str = KERNELS[0]) -> list[Estimate]:
    return [
        replace(
            estimate(benchmark("open", depth=i + 1), setup, value, kernel=kernel),
            low=value,
            high=value,
        )
        for i, value in enumerate(costs)
    ]


@given(COSTS)
def test_the_reference_itself_is_a_hundred(costs: list[float]) -> None:
    (own,) = indices(side("capability", costs), side("capability", costs), "capability")
    assert own.typical.value == pytest.approx(100)
    assert own.typical.low == pytest.approx(100)
    assert own.typical.high == pytest.approx(100)
    assert own.benchmarks == len(costs)


@given(COSTS, st.integers(0, 19), st.floats(1.01, 100))
def test_what_is_slower_has_the_lower_index(costs: list[float], at: int, factor: float) -> None:
    slow = [cost * (factor if i == at % len(costs) else 1) for i, cost in enumerate(costs)]
    (index,) = indices(side("selinux", slow), side("capability", costs), "capability")
    assert index.typical.value < 100
    assert index.typical.value == pytest.approx(100 * factor ** (-1 / len(costs)))


def test_twice_the_cost_of_one_in_two() -> None:
    reference = side("capability", [100, 200])
    (index,) = indices(side("selinux", [200, 200]), reference, "capability")
    assert index.typical.value == pytest.approx(70.7107, abs=0.001)


def test_the_interval_holds_what_each_benchmark_may_be() -> None:
    own = [replace(side("selinux", [200])[0], low=190, high=220)]
    reference = [replace(side("capability", [100])[0], low=95, high=110)]
    (index,) = indices(own, reference, "capability")
    assert (index.typical.value, index.typical.low, index.typical.high) == (
        pytest.approx(50),
        pytest.approx(100 * 95 / 220),
        pytest.approx(100 * 110 / 190),
    )


def test_what_only_one_side_has_is_named_and_counts_for_nothing() -> None:
    own = side("selinux", [100, 100, 100])[:2]
    reference = side("capability", [100, 100, 100])[1:]
    (index,) = indices(own, reference, "capability")
    assert index.benchmarks == 1
    assert index.missing == ("open depth=1", "open depth=3")
    assert index.typical.value == pytest.approx(100)


def test_a_control_counts_for_nothing() -> None:
    control = replace(benchmark("getppid"), control=True)
    own = [*side("selinux", [200]), estimate(control, "selinux", 900)]
    reference = [*side("capability", [100]), estimate(control, "capability", 300)]
    (index,) = indices(own, reference, "capability")
    assert (index.benchmarks, index.typical.value) == (1, pytest.approx(50))


def test_the_whole_cost_has_its_own_and_only_where_all_have_one() -> None:
    own, reference = side("selinux", [200]), side("capability", [100])
    (index,) = indices(own, reference, "capability")
    assert index.whole is not None
    assert own[0].whole is not None
    unknown = replace(own[0].whole, low=-1.0)  # it may be nothing, or less
    for whole in (None, unknown):
        (none,) = indices([replace(own[0], whole=whole)], reference, "capability")
        assert none.whole is None


def test_another_kernel_is_compared_with_the_only_one_of_the_reference() -> None:
    own = side("selinux", [200], KERNELS[1])
    (index,) = indices(own, side("capability", [100]), "capability")
    assert (index.place.kernel, index.reference.kernel) == (KERNELS[1], KERNELS[0])
    assert indices(own, side("capability", [100]), "smack") == ()


def test_a_kernel_that_is_not_alike_is_no_reference() -> None:
    own = side("selinux", [200], KERNELS[1])
    reference = [*side("capability", [100]), *side("capability", [50], "third")]
    assert indices(own, reference, "capability") == ()  # which of both?
    (index,) = indices(own, reference, "capability", alike=lambda _, name: name == "third")
    assert (index.reference.kernel, index.typical.value) == ("third", pytest.approx(25))
    assert indices(own, reference[:1], "capability", alike=lambda *_: False) == ()


@pytest.mark.parametrize("key", ["arch", "version"])
def test_a_run_without_the_baseline_of_a_kernel_has_no_index_of_it(
    key: str, tmp_path: Path
) -> None:
    """Neither another architecture nor, in one run, another version stands in for it."""
    data = run(tmp_path / "run", {})
    cells = data.manifest.cells
    moved = [
        replace(cell, place=replace(cell.place, kernel="other"))
        if cell.place.setup == "landlock"
        else cell
        for cell in cells
    ]
    (kernel,) = data.manifest.kernels
    third = replace(kernel, name="other", **{key: "arm64" if key == "arch" else "6.12.1-1"})  # type: ignore[arg-type]
    manifest = replace(data.manifest, cells=tuple(moved), kernels=(kernel, third))
    found = run_indices(replace(data, manifest=manifest), data, "capability")
    wanted = {"other"} if key == "version" else set()
    assert {item.place.kernel for item in found if item.place.setup == "landlock"} == wanted
    for item in found:
        sentence, *_ = index_document(data, [item], "capability of r").answer
        is_other = item.place.kernel == "other"
        assert sentence.endswith("of r on vmlinux is 100." if is_other else "of r is 100.")
    alone = replace(data, manifest=manifest)
    assert not [i for i in run_indices(alone, alone, "capability") if i.place.kernel == "other"]


def test_what_has_no_ratio_is_named_and_what_one_replicate_tells_has_no_bounds() -> None:
    own, reference = side("selinux", [200, 100]), side("capability", [100, 100])
    own[1] = replace(own[1], centre=-1.0, low=-2.0, high=0.5)
    (index,) = indices(own, reference, "capability")
    assert (index.benchmarks, index.missing) == (1, ("open depth=2",))
    single = [replace(item, low=-np.inf, high=np.inf) for item in side("selinux", [200])]
    (index,) = indices(single, reference[:1], "capability")
    assert (index.typical.value, index.typical.low) == (pytest.approx(50), 0)
    assert index.typical.high == np.inf


def test_places_with_other_copies_are_apart() -> None:
    def copies(side: list[Estimate], count: int) -> list[Estimate]:
        return [replace(item, place=replace(item.place, copies=count)) for item in side]

    one, two = side("capability", [100]), copies(side("capability", [150]), 2)
    own = [*side("selinux", [200]), *copies(side("selinux", [200]), 2)]
    found = indices(own, [*one, *two], "capability")
    assert {item.place.copies: item.typical.value for item in found} == {
        1: pytest.approx(50),
        2: pytest.approx(75),
    }


def blocks(draw: np.random.Generator, shared: np.ndarray, factor: float) -> list[Block]:
    """Give blocks of one benchmark; `shared` is what a block has in common with the other side."""
    own = np.exp(draw.normal(0, 0.01, shared.size)) * shared * factor
    return [Block(at, np.array([ns, ns])) for at, ns in enumerate(own)]


@pytest.mark.parametrize("together", [True, False])
def test_the_interval_of_times_covers_the_truth_as_often_as_it_says(*, together: bool) -> None:
    """What all benchmarks of a block share, a host that slowed down, is in the interval once."""
    factors = [1.0, 1.1, 1.5, 1.02]
    truth = float(np.log(factors).mean())
    held = [0, 0]
    for seed in range(400):
        draw = np.random.default_rng(seed)
        host = np.exp(draw.normal(0, 0.05, 20))
        other = host if together else np.exp(draw.normal(0, 0.05, 20))
        sides = [
            (blocks(draw, host * 100, 1.0), blocks(draw, other * 100, factor)) for factor in factors
        ]
        for at, found in enumerate(timed_index(sides, LOWER * 4, together=together)):
            held[at] += found.low <= truth <= found.high
            assert not together or found.high - found.low < 0.02
    assert all(0.92 <= hits / 400 <= 0.98 for hits in held)


def test_a_block_that_lacks_a_benchmark_is_in_no_index_of_times() -> None:
    draw = np.random.default_rng(1)
    ones = np.full(8, 100.0)
    full = (blocks(draw, ones, 1.0), blocks(draw, ones, 2.0))
    wild = [*blocks(draw, ones, 2.0)[:7], Block(7, np.array([1e9, 1e9]))]
    typical, _ = timed_index([full, (blocks(draw, ones, 1.0), wild[:7])], LOWER * 2, together=True)
    assert typical.value == pytest.approx(np.log(2), abs=0.02)
    few, _ = timed_index([([], []), full], LOWER * 2, together=True)
    assert not np.isfinite(few.low)


@pytest.mark.parametrize("together", [True, False])
def test_what_is_better_when_it_is_higher_is_turned(*, together: bool) -> None:
    """A throughput of 0.8 is as slow as a latency of 1.25, also beside one."""
    draw = np.random.default_rng(1)
    ones = np.full(12, 100.0)
    latency = (blocks(draw, ones, 1.0), blocks(draw, ones, 1.25))
    throughput = (blocks(draw, ones, 1.0), blocks(draw, ones, 0.8))
    better = [Better.LOWER, Better.HIGHER]
    for found in timed_index([latency, throughput], better, together=together):
        assert found.low < np.log(1.25) < found.high
        assert found.high - found.low < 0.05


UNIXBENCH = Path(__file__).parents[1] / "data" / "imported" / "unixbench-1"


def imported(home: Path, factors: dict[str, float], *, files: int = 8) -> RunData:
    """Import reports of UnixBench whose numbers are so many times those of a stored one."""
    form, text = find_format("unixbench"), UNIXBENCH.read_text()
    made = Circumstances("1", "2026-01-01T00:00:00+00:00", "a test", "imported", (), ())
    for setup, factor in factors.items():
        sources = []
        for at in range(files):
            path = home.with_name(f"{setup}-{at}")
            path.write_text(scaled(text, factor * (1 + at / 1000)))
            sources.append(read_source(path, form, ""))
        add(home, form, setup, sources, made)
    return read_run(home)


def scaled(text: str, factor: float) -> str:
    """Multiply the results of a report, and leave its own index as it is."""
    return re.sub(
        r"([0-9.]+)( \S+\s+\([0-9.]+ s, )", lambda m: f"{float(m[1]) * factor:.1f}{m[2]}", text
    )


def test_less_throughput_of_another_program_is_a_lower_index(tmp_path: Path) -> None:
    """UnixBench's own index is made of the same numbers, and counts for nothing."""
    data = imported(tmp_path / "run", {"off": 1.0, "on": 0.8})
    found = {item.place.setup: item for item in run_indices(data, data, "off")}
    assert found["on"].typical.value == pytest.approx(80, abs=0.1)
    assert found["on"].mean is not None
    assert found["on"].mean.value == pytest.approx(80, abs=0.1)
    stored = {item.id for item in data.manifest.benchmarks}
    assert found["on"].benchmarks == len(stored) - 1


def test_files_are_never_taken_for_pairs(tmp_path: Path) -> None:
    """A file more on one side counts too."""
    data = imported(tmp_path / "run", {"off": 1.0, "on": 0.8})
    few = tuple(
        boot
        for boot in data.boots
        if boot.index >= 4 or data.manifest.cells[0].hash != boot.cell_hash
    )
    found = run_indices(replace(data, boots=few), replace(data, boots=few), "off")
    (index,) = (item for item in found if item.place.setup == "on")
    assert index.typical.value == pytest.approx(80 * 1.0035 / 1.0055, abs=0.05)


@pytest.mark.parametrize("count", [1, 2])
def test_files_that_share_no_benchmark_have_an_index_all_the_same(
    count: int, tmp_path: Path
) -> None:
    data = imported(tmp_path / "run", {"off": 1.0, "on": 0.8}, files=2 * count)
    halves = tuple(
        replace(boot, samples=boot.samples[:3] if boot.index % 2 else boot.samples[3:])
        for boot in data.boots
    )
    data = replace(data, boots=halves)
    (index,) = (i for i in run_indices(data, data, "off") if i.place.setup == "on")
    assert index.typical.value == pytest.approx(80, abs=0.1)
    assert index.mean is None
    assert np.isfinite(index.typical.high) == (count > 1)


def test_a_run_of_times_has_an_index_with_its_interval(tmp_path: Path) -> None:
    data = run(tmp_path / "run", {("landlock", STAT.id): 1.4, ("landlock", READ.id): 1.1})
    found = {item.place.setup: item for item in run_indices(data, data, "capability")}
    index = found["landlock"]
    truth = 100 / np.sqrt(1.4 * 1.1)
    assert index.whole is None
    assert index.mean is not None
    for each in (index.typical, index.mean):
        assert each.low < truth < each.high
        assert each.high - each.low < 2
    first, *rest = index_document(data, tuple(found.values()), "capability of this run").answer
    assert first == "capability: index 100.00 of suite file; capability of this run is 100."
    own = index.typical
    span = f"index {own.value:.2f} ({own.low:.2f} to {own.high:.2f}) of suite file"
    assert any(text.startswith(f"landlock: {span}") for text in rest)
    (empty,) = index_document(data, (), "capability of this run").answer
    assert empty.startswith("Nothing was compared")
    assert found["capability"].typical.value == pytest.approx(100)
    assert found["capability again"].typical.low < 100 < found["capability again"].typical.high
    made = index_document(data, tuple(found.values()), "capability of this run")
    files = rendered(made, "svg")
    assert isinstance(files, Files)
    (drawing,) = files.files.values()
    for name in found:
        assert f">{name}</text>".encode() in drawing
    assert index_document(data, (), "capability of this run").picture is None


def test_a_reference_on_another_machine_is_refused_and_other_conditions_are_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, cpu in (("own", "A CPU"), ("other", "Another CPU")):
        run(tmp_path / name, {}, blocks=2, facts={"host.cpu": cpu, "host.after.cpu": cpu})
    with pytest.raises(UsageError, match=r"machines that differ \(cpu: Another CPU, A CPU\)"):
        index_command(tmp_path / "own", tmp_path / "other")
    again = tmp_path / "again"
    shutil.copytree(tmp_path / "own", again)
    data = read_run(again)
    hard = replace(data.manifest.conditions, mitigations="auto")
    (again / MANIFEST_FILE).unlink()
    write_manifest(again, replace(data.manifest, conditions=hard))
    assert index_command(tmp_path / "own", again) == 0
    assert "the runs differ in conditions (mitigations: " in capsys.readouterr().out
