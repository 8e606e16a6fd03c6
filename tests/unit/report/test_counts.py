# SPDX-License-Identifier: GPL-2.0-or-later
"""A run that counted hooks, in every format, from the plan to the document."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.core.model import Problem
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks import find_task
from lsmeter.questions.hooks.count import document, find_counts
from lsmeter.tables.render import Options, render
from tests.unit.model_builders import benchmark, kernel
from tests.unit.run_builders import plan_of, run_of, said_by

ABLE = dict.fromkeys(find_task("count").needs, "y")
FACTS = ("fact lsm capability", "fact count.hooks 289")
COUNTED = {
    "open depth=1": (
        *("samples 7x8", "counts file_open 1x8", "counts inode_permission 2x8"),
        "counts task_free 0,1,0x6",
    ),
    "getppid": ("samples 5x8",),
}


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunData:
    monkeypatch.setenv("LSMETER_DATA", str(tmp_path / "data"))
    words = {"setups": ["capability"], "task": "count", "filesystems": ["ext4"], "users": ["user"]}
    items = (benchmark("open", depth=1), benchmark("getppid"))
    able = kernel(**ABLE, EXT4_FS="y", BLK_DEV_RAM="m")
    plan = plan_of([able], items, words)
    return run_of(plan, tmp_path / "run", lambda cell: said_by(cell, FACTS, COUNTED))


def test_json_has_what_programs_are_promised(counted: RunData) -> None:
    data = json.loads(render(document(counted), "json", Options()))
    assert (data["format"], data["version"]) == ("lsmeter-hook-counts", 1)
    place: dict[str, object] = {"kernel": "debian:6.1", "setup": "capability", "suite": "file"}
    place |= {"filesystem": "ext4", "user": "user", "copies": 1}
    assert data["counts"][1] == {
        **place,
        "benchmark": "open",
        "params": {"depth": 1},
        "hook": "inode_permission",
        "runs": 2,
        "steady": True,
    }
    assert [item["runs"] for item in data["benchmarks"]] == [3, 0]
    assert data["watched"] == [{"kernel": "debian:6.1", "setup": "capability", "functions": 289}]


@pytest.mark.parametrize("form", ["table", "markdown", "text"])
def test_tables_name_the_most_frequent_first_and_mark_what_varied(
    counted: RunData, form: str
) -> None:
    text = render(document(counted), form, Options(width=120)).replace("\\", "")
    assert "inode_permission 2, file_open 1, task_free 0?" in text
    (answer,) = document(counted).answer
    assert "0 (getppid) to 3 (open depth=1) hooks run in one operation" in answer
    assert answer.endswith("most often inode_permission: 2 of all 3 runs in 2 benchmarks.")
    assert any("getppid" in line and "none" in line for line in text.splitlines())
    assert "task_free did not run equally often" in " ".join(text.split())


def test_several_boots_are_one_count(tmp_path: Path) -> None:
    words = {"setups": ["capability"], "task": "count", "boots": 2}
    plan = plan_of([kernel(**ABLE)], (benchmark("open", depth=1), benchmark("getppid")), words)
    run = run_of(plan, tmp_path / "run", lambda cell: said_by(cell, FACTS, COUNTED))
    assert len(run.boots) == 2
    found = find_counts(run)
    assert [item.id for _, item in found.benchmarks] == ["open depth=1", "getppid"]
    counts = [(item.name, item.runs, item.steady) for item in found.counts]
    assert counts == [
        ("file_open", 1, True),
        ("inode_permission", 2, True),
        ("task_free", 0, False),
    ]


def test_tables_of_two_places_have_two_titles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LSMETER_DATA", str(tmp_path / "data"))
    words = {"setups": ["capability"], "task": "count", "users": ["root", "user"]}
    plan = plan_of([kernel(**ABLE)], (benchmark("open", depth=1), benchmark("getppid")), words)
    run = run_of(plan, tmp_path / "run", lambda cell: said_by(cell, FACTS, COUNTED))
    titles = [table.title for table in document(run).tables]
    assert titles == [
        f"capability on debian:6.1, file, tmpfs, {user}: 289 functions security_* watched"
        for user in ("root", "user")
    ]


def test_markdown_is_not_broken_by_what_names_hold(counted: RunData) -> None:
    manifest = replace(counted.manifest, problems=(Problem("a|b *c* <script>"),))
    text = render(document(replace(counted, manifest=manifest)), "markdown", Options())
    assert "<script>" not in text
    assert "a\\|b" in text


def test_a_kernel_that_cannot_count_is_a_problem() -> None:
    able = kernel(**ABLE)
    unable = kernel("mine", **{**ABLE, "DEBUG_INFO_BTF": "n"})
    unknown = replace(able, name="unknown", config={})
    words = {"setups": ["capability", "smack"], "task": "count"}
    plan = plan_of([able, unable, unknown], (benchmark("open", depth=1),), words)
    assert [(item.kernel.name, item.setup.name) for item in plan.cells] == [
        ("debian:6.1", "capability"),
        ("unknown", "capability"),
        ("unknown", "smack"),
    ]
    assert {item.task.name for item in plan.cells} == {"count"}
    titles = [problem.title for problem in plan.problems]
    assert any(title.endswith("built without CONFIG_SECURITY_SMACK") for title in titles)
    assert any(title.endswith("built without CONFIG_DEBUG_INFO_BTF") for title in titles)
