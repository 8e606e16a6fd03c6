# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lsmeter.hooks.count.formats import FORMATS
from lsmeter.hooks.count.model import CountReport, HookCount
from lsmeter.hooks.count.plan import NEEDED, plan_cells
from lsmeter.model import Problem
from lsmeter.report.format import RenderOptions
from lsmeter.report.heading import Heading
from lsmeter.setup import parse_setup
from tests.unit.model_builders import benchmark, cell, kernel

OPEN, GETPPID = benchmark("open", depth=1), benchmark("getppid")
REPORT = CountReport(
    heading=Heading(
        title="Runs of each hook",
        created="2026-11-20T12:00:00+00:00",
        lsmeter_version="0",
        command="lsmeter hooks count",
        filesystem="ext4",
        user="user",
    ),
    watched=(("debian:6.1", "capability", 289),),
    benchmarks=(("debian:6.1", "capability", OPEN), ("debian:6.1", "capability", GETPPID)),
    counts=(
        HookCount("debian:6.1", "capability", OPEN, "file_open", 1, steady=True),
        HookCount("debian:6.1", "capability", OPEN, "inode_permission", 2, steady=True),
        HookCount("debian:6.1", "capability", OPEN, "task_free", 0, steady=False),
    ),
    problems=(Problem("something | odd", kernel="debian:6.1", setup="capability"),),
)
WIDE = RenderOptions(width=120)


def test_json_has_what_programs_are_promised() -> None:
    data = json.loads(FORMATS["json"](REPORT, WIDE))
    assert (data["format"], data["version"]) == ("lsmeter-hook-counts", 1)
    assert (data["filesystem"], data["user"]) == ("ext4", "user")
    assert data["counts"][1] == {
        "kernel": "debian:6.1",
        "setup": "capability",
        "benchmark": "open",
        "params": {"depth": 1},
        "hook": "inode_permission",
        "runs": 2,
        "steady": True,
    }
    assert [item["runs"] for item in data["benchmarks"]] == [3, 0]
    assert data["watched"] == [{"kernel": "debian:6.1", "setup": "capability", "functions": 289}]
    assert data["problems"][0]["title"] == "something | odd"


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_tables_name_the_most_frequent_first_and_mark_what_varied(form: str) -> None:
    text = FORMATS[form](REPORT, WIDE).replace("\\", "")
    assert "inode_permission 2, file_open 1, task_free 0?" in text
    (none,) = [line for line in text.splitlines() if "getppid" in line]
    assert "none" in none
    assert "something | odd" in text


def test_markdown_is_not_broken_by_what_names_hold() -> None:
    problem = Problem("a|b *c* <script>")
    text = FORMATS["markdown"](replace(REPORT, problems=(problem,)), WIDE)
    assert "a\\|b \\*c\\* \\<script\\>" in text


def test_a_kernel_that_cannot_count_is_a_problem() -> None:
    able = kernel(**dict.fromkeys(NEEDED, "y"))
    unable = kernel("mine", **{**dict.fromkeys(NEEDED, "y"), "DEBUG_INFO_BTF": "n"})
    unknown = replace(able, name="unknown", config={})
    without = kernel("dac", SECURITY="n")
    capability, smack = parse_setup("capability"), parse_setup("smack")
    cells, problems = plan_cells(
        [able, unable, unknown, without], [capability, smack], cell(capability)
    )
    assert [(item.kernel.name, item.setup.name) for item in cells] == [
        ("debian:6.1", "capability"),
        ("unknown", "capability"),
        ("unknown", "smack"),
    ]
    assert all(item.count_hooks for item in cells)
    titles = [problem.title for problem in problems]
    assert titles[0].endswith("with smack: the kernel was built without CONFIG_SECURITY_SMACK")
    assert titles[1].endswith("capability: the kernel was built without CONFIG_DEBUG_INFO_BTF")
    assert titles[3] == (
        "the hooks of dac cannot be counted with capability: "
        "the kernel was built without CONFIG_SECURITY"
    )
    assert cell(capability).hash != replace(cell(capability), count_hooks=True).hash
