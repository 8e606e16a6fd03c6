# SPDX-License-Identifier: GPL-2.0-or-later
"""`hooks agree` on run directories that counted and swept, together and each for itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lsmeter.app import make_app
from lsmeter.core.errors import ExitCode, UsageError
from lsmeter.core.model import Cell, Kernel, Place
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.pack import packed
from lsmeter.measure.tasks import find_task
from lsmeter.questions.cost.document import document_of
from lsmeter.questions.hooks import count
from lsmeter.questions.hooks.agreement import command as hooks_agree
from lsmeter.questions.hooks.agreement.compare import Outcome
from lsmeter.questions.hooks.agreement.document import document, sections
from lsmeter.questions.hooks.agreement.gather import agree, least, symbols_of
from lsmeter.questions.slopes import document as slopes
from lsmeter.tables.model import Detail
from tests.unit.agreement.test_compare import INODE, runs, syscall
from tests.unit.attribution.trees import tree
from tests.unit.guest.lines import restated
from tests.unit.model_builders import benchmark, kernel
from tests.unit.run_builders import plan_of, run_of, said_by
from tests.unit.tasks.sweep_builders import DELAYS_NS, READINGS, SWEPT, recorded_sweep

NEEDS = dict.fromkeys(find_task("count").needs, "y")
ABLE = replace(kernel("6.1", SECURITY_TUNABLE="y", **NEEDS), release="unknown")
OPEN, DEEPER = benchmark("open", depth=1), benchmark("open", depth=2)
HERE = Place("6.1", "capability", "file", "tmpfs", "root")
SWEEP: Mapping[str, Any] = {
    "setups": ["tunable"],
    "task": "sweep",
    "delays_ns": list(DELAYS_NS),
    **READINGS,
}
COUNT: Mapping[str, Any] = {"setups": ["capability"], "task": "count"}
FACTS = (
    "fact lsm capability",
    "fact count.hooks 289",
    "fact count.refused inode_free,file_free",
)
COUNTED = {
    OPEN.id: ("samples 7x8", "counts file_open 1x8", "counts inode_permission 2x8"),
    DEEPER.id: ("samples 7x8", "counts inode_permission 4x8"),
}


def said(cell: Cell) -> bytes:
    """Return what a guest says of `cell`: one that counts, or the recorded one."""
    if cell.task.name == "count":
        return said_by(cell, FACTS, COUNTED)
    uid = "1000" if cell.user == "user" else "0"
    return restated(recorded_sweep(), ("worker.uid 0", f"worker.uid {uid}"))


def made(path: Path, *words: Mapping[str, Any], on: Kernel = ABLE) -> RunData:
    """Make a run; one that counts takes the two benchmarks that the guest counted."""
    counts = [{**item, "benchmarks": ["open depth=[12]"]} for item in words if item is COUNT]
    plan = plan_of([on], SWEPT, *(item for item in words if item is not COUNT), *counts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LSMETER_DATA", str(path.parent / "data"))
        return run_of(plan, path, said)


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    return made(tmp_path_factory.mktemp("counted") / "run", COUNT)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    return made(tmp_path_factory.mktemp("swept") / "run", SWEEP)


def say(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    make_app()(["hooks", "agree", *map(str, words)], standalone_mode=False)
    return capsys.readouterr().out


def test_runs_are_put_side_by_side(
    counted: RunData, swept: RunData, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(say(capsys, counted.path, swept.path, "--format", "json"))
    assert (document["format"], document["version"]) == ("lsmeter-hook-agreement", 2)
    (place,) = document["places"]
    assert {name: place[name] for name in vars(HERE)} == vars(HERE)
    found = {item["benchmark"]: item for item in place["benchmarks"]}
    one, two = found["open depth=1"], found["open depth=2"]
    assert one["checks"] == {"counting": 2, "attribution": None, "slope": 2}
    assert (one["checks_outcome"], one["total_outcome"]) == ("agree", "not measured")
    assert one["total"] == {"counting": 3, "attribution": None}
    assert {item["hook"]: item["counting"] for item in one["hooks"]}["security_file_open"] == 1
    assert two["checks_outcome"] == "open"
    assert two["findings"][0]["evidence"].endswith("leaves only 3; no call tree")
    assert found["stat depth=2"]["checks_outcome"] == "not measured"
    assert "attribution: in none of the runs" in document["notes"]
    assert any("lets no BPF program count" in item["title"] for item in document["problems"])


@pytest.mark.parametrize("form", ["table", "text", "markdown", "csv", "html"])
def test_every_format_says_how_many_agree_and_which_do_not(
    counted: RunData, swept: RunData, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    words = " ".join(say(capsys, counted.path, swept.path, "-f", form).replace("\\", "").split())
    assert "open depth=2" in words
    assert "inode_permission" in words
    if form != "csv":
        assert "1 agree, 1 open, 17 not measured of 19 benchmarks" in words
        assert "capability on 6.1" in words


def test_runs_are_read_from_packs_too(
    counted: RunData, swept: RunData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = tmp_path / "counted.lsmeter"
    files = {
        str(path.relative_to(counted.path)): path.read_bytes()
        for path in counted.path.rglob("*")
        if path.is_file()
    }
    pack.write_bytes(packed(files))
    assert "1 agree, 1 open" in say(capsys, pack, swept.path)


def test_views_of_which_none_meets_another_are_refused(
    counted: RunData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = made(tmp_path / "run", {**SWEEP, "users": ["user"]})
    with pytest.raises(UsageError, match="no two views have the same benchmark"):
        say(capsys, counted.path, elsewhere.path)


def test_options_of_measuring_are_refused_beside_runs(
    counted: RunData, swept: RunData, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["hooks", "agree", counted.path, swept.path], ["hooks", "cost", counted.path]):
        with pytest.raises(UsageError, match=r"--benchmark: .* is shown as it was measured"):
            make_app()([*map(str, words), "--benchmark", "open"], standalone_mode=False)


def test_one_view_alone_and_a_configuration_alone_are_refused(
    counted: RunData, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match="at least two"):
        say(capsys, counted.path)
    with pytest.raises(UsageError, match="--config"):
        say(capsys, counted.path, "--config", "none")


def test_without_a_run_it_measures_and_shows_what_it_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    both = made(tmp_path / "run", SWEEP, COUNT)

    def measured(asked: Any, stem: str, how: Any, *, named: list[Any]) -> tuple[Path, ExitCode]:
        assert (stem, how.jobs) == ("hooks-agree", 1)
        assert [item.kernels for item in named] == [["6.1"]]
        assert {item.benchmarks[0] for item in asked([ABLE])} == {"open"}
        return both.path, ExitCode.INCOMPLETE

    monkeypatch.setattr("lsmeter.cli.measure.measure", measured)
    assert "capability on 6.1" in say(
        capsys, "--kernel", "6.1", "--benchmark", "open", "--jobs", "1"
    )


def test_without_a_run_all_three_are_planned_as_one() -> None:
    asked = hooks_agree._experiments(ABLE, ["selinux"], {"seed": 1, "image": None})
    assert [(item.task, item.setups) for item in asked] == [
        ("attribute", ["selinux"]),
        ("count", ["selinux"]),
        ("sweep", ["tunable"]),
    ]
    without = replace(ABLE, config={**ABLE.config, "SECURITY_TUNABLE": "n", "BPF_LSM": "n"})
    assert [item.task for item in hooks_agree._experiments(without, ["selinux"], {})] == [
        *("attribute", "count"),
    ]


def test_a_report_shows_the_agreement_of_a_run_with_several_views(
    counted: RunData, tmp_path: Path
) -> None:
    assert document_of(counted)(Detail.FULL).name == "lsmeter-hook-counts"
    both = made(tmp_path / "run", SWEEP, COUNT)
    assert document_of(both)(Detail.DATA) == document(both)
    short, page = map(document_of(both), (Detail.SHORT, Detail.FULL))
    section = short.sections[0]
    assert section.title == f"Agreement: {HERE.label}"
    assert sections(agree([both])) == (section,)
    assert short.notes[-1].startswith("the run has more")
    each = (document(both), count.document(both), slopes.document(both))
    assert short.answer == page.answer == tuple(said for item in each for said in item.answer)
    assert {"counts", "slopes", "depths"} <= {table.key for table in page.tables}


def test_another_user_is_a_place_of_its_own(swept: RunData, tmp_path: Path) -> None:
    elsewhere = made(tmp_path / "run", {**SWEEP, "users": ["user"]})
    users = [place.user for place in agree([swept, elsewhere]).places]
    assert users == ["root", "user"]


def test_two_kernels_of_one_name_are_refused(counted: RunData, tmp_path: Path) -> None:
    other = made(tmp_path / "run", SWEEP, on=replace(ABLE, image_sha256="ef" * 32))
    with pytest.raises(UsageError, match=r"6\.1 is another image"):
        agree([counted, other])


def test_trees_and_a_source_stand_beside_what_was_counted(
    counted: RunData, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {item.id: replace(item, calls="open", components=1) for item in (OPEN, DEEPER)}
    benchmarks = tuple(known.get(item.id, item) for item in counted.manifest.benchmarks)
    run = replace(counted, manifest=replace(counted.manifest, benchmarks=benchmarks))
    seen = tree(syscall(runs(INODE, 2), runs("security_file_open", 1)))
    place = SimpleNamespace(place=HERE)
    cell = SimpleNamespace(cell=place, kept={OPEN.id: seen}, trees={OPEN.id: seen})
    use = SimpleNamespace(interface=INODE, chain=("__do_sys_open", INODE))
    edge = SimpleNamespace(caller="__do_sys_open", callee=INODE)
    source = SimpleNamespace(
        kernel_version="6.1.192",
        edges={"tmpfs": (edge,)},
        syscalls=(SimpleNamespace(syscall="open", filesystem="tmpfs", hooks=(use,)),),
    )
    gather = "lsmeter.questions.hooks.agreement.gather"
    monkeypatch.setattr(f"{gather}.run_cells", lambda _: ((cell,), ()))
    monkeypatch.setattr(f"{gather}.symbols_of", lambda _: frozenset())
    found = agree([run], source)  # type: ignore[arg-type]
    one, two = found.places[HERE]
    assert (one.total, one.source, two.total) == (
        *(Outcome.AGREE, Outcome.OPEN, Outcome.NOT_MEASURED),
    )
    assert [item.hook for item in one.findings] == ["security_file_open"]
    source.kernel_version = "7.2.1"
    found = agree([run], source)  # type: ignore[arg-type]
    assert found.places[HERE][0].source is Outcome.NOT_MEASURED
    assert "the source is of Linux 7.2.1, not of 6.1" in found.notes


def test_symbols_are_those_of_the_machine_s_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path))
    assert symbols_of(ABLE) == frozenset()
    path = tmp_path / "symbols" / f"listed-{ABLE.image_sha256[:16]}.txt"
    path.parent.mkdir()
    path.write_text("ffffffff81000000 T vfs_open\nffffffff81000010 d data\nffffffff81000020 t\n")
    assert symbols_of(ABLE) == {"vfs_open"}


@pytest.mark.parametrize(
    ("calls", "components", "needed"),
    [
        ("open", 4, 4),
        ("openat", 2, 1),
        ("newstat", 9, 9),
        ("rename", 3, 4),
        ("mkdir", 1, 1),
        ("mkdir", 0, None),
        ("read+write", 0, 2),
        ("fork", 0, None),
        ("", 0, None),
    ],
)
def test_what_posix_needs(calls: str, components: int, needed: int | None) -> None:
    item = replace(benchmark("x"), calls=calls, components=components)
    assert least(item) == needed
    assert least(replace(item, control=True)) == 0


def test_a_cell_was_asked_for_its_own_benchmarks_alone(tmp_path: Path) -> None:
    run = made(tmp_path / "run", SWEEP, COUNT)
    asked = {cell.task.name: run.manifest.benchmarks_of(cell) for cell in run.manifest.cells}
    assert [item.id for item in asked["count"]] == ["open depth=1", "open depth=2"]
    assert len(asked["sweep"]) > 2
