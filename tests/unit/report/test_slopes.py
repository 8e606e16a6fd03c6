# SPDX-License-Identifier: GPL-2.0-or-later
"""A run of sweeps, with the look-ups beside them, in every format."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import vl_convert

from lsmeter.core.model import Problem
from lsmeter.measure.experiment.plan import merge_plans
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.slopes import figures as analysis
from lsmeter.questions.slopes.document import document, specification
from lsmeter.questions.slopes.figures import find_slopes
from lsmeter.statistics.regression import Whole
from lsmeter.tables.render import Options, render
from lsmeter.tables.values import MISSING
from tests.unit.model_builders import TEXT_FORMATS, kernel
from tests.unit.run_builders import plan_of, run_of
from tests.unit.tasks.sweep_builders import (
    DELAYS_NS,
    LOOKED_UP,
    LOOKUPS,
    READINGS,
    SWEPT,
    recorded_sweep,
)

PEOPLE = [name for name in TEXT_FORMATS if name != "csv"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    """Return a run that swept one kernel, and read SELinux's counters on it."""
    path = tmp_path_factory.mktemp("slopes")
    on = replace(kernel(SECURITY_TUNABLE="y"), release="unknown")
    sweep = {"setups": ["tunable"], "task": "sweep", "delays_ns": list(DELAYS_NS), **READINGS}
    looked = {"setups": ["selinux"], "task": "lookups"}
    plan = merge_plans([plan_of([on], SWEPT, sweep), plan_of([on], LOOKED_UP, looked)])
    said = {"sweep": recorded_sweep(), "lookups": LOOKUPS.read_bytes()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LSMETER_DATA", str(path / "data"))
        return run_of(plan, path / "run", lambda cell: said[cell.task.name])


def text(run: RunData, form: str, width: int = 120) -> str:
    return render(document(run), form, Options(width=width)).replace("\\", "")


def rows(run: RunData, form: str) -> list[list[str]]:
    return [line.replace("|", " ").split() for line in text(run, form).splitlines()]


def test_json_has_what_programs_are_promised(recorded: RunData) -> None:
    data = json.loads(text(recorded, "json"))
    promised = {"benchmark", "params", "kernel", "setup", "suite", "filesystem", "user", "slope"}
    promised |= {"stderr", "ci_low", "ci_high", "r2", "max_residual", "intercept", "hook_calls"}
    assert (data["format"], data["instrument"]) == ("lsmeter-slopes", "exact")
    for slope in data["slopes"]:
        assert promised <= slope.keys()
        assert slope["ci_low"] <= slope["slope"] <= slope["ci_high"]
        assert len(slope["points"]) == slope["delays"] == 12
    (four,) = [s for s in data["slopes"] if (s["benchmark"], s["params"]) == ("open", {"depth": 4})]
    assert four["hook_calls"] == four["published"] == 5
    (flat,) = [s for s in data["slopes"] if s["benchmark"] == "getppid"]
    assert (flat["slope"], flat["r2"], flat["hook_calls"]) == (0, None, 0)
    creat = {item["counter"]: item for item in data["lookups"] if item["benchmark"] == "creat"}
    assert len(creat) == 6
    assert creat["avc.lookups"]["per_operation"] == 6
    assert creat["avc.misses"] == {
        "kernel": "debian:6.1",
        "setup": "selinux",
        "suite": "file",
        "filesystem": "tmpfs",
        "user": "root",
        "copies": 1,
        "id": "creat depth=1",
        "benchmark": "creat",
        "params": {"depth": 1},
        "counter": "avc.misses",
        "per_operation": 0,
        "steady": True,
    }


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_look_ups_and_the_study_stand_beside_the_calls(recorded: RunData, form: str) -> None:
    found = {tuple(row[:2]): row[2:5] for row in rows(recorded, form) if len(row) > 6}
    assert found["stat", "depth=1"][:2] == ["1", "2"]
    assert found["open", "depth=1"][:2] == ["2", "3"]
    assert found["open", "depth=8"] == ["9", MISSING, "8.9"]
    assert "avc: avc.lookups of selinux in one operation" in " ".join(text(recorded, form).split())


@pytest.mark.parametrize("form", ["table", "markdown", "text", "html"])
def test_it_is_said_what_a_slope_counts_and_in_which_unit(recorded: RunData, form: str) -> None:
    said = " ".join(text(recorded, form).split())
    assert "calls: of hooks that consult the policy (inode_permission, file_permission)" in said
    assert "exact" in said
    assert "slab" in said
    for word in ("uthorisation", "decision"):
        assert word not in said


def test_the_answer_is_the_range_of_calls_and_look_ups(recorded: RunData) -> None:
    calls, looked = document(recorded).answer
    assert calls.endswith("calls of hooks that consult the policy in one operation.")
    assert "19 of 19 slopes are whole numbers, 0 (getppid) to 9 (open depth=8)" in calls
    assert "in one operation avc.lookups " in looked


def test_look_ups_alone_are_a_table_of_their_own(recorded: RunData) -> None:
    cells = tuple(cell for cell in recorded.manifest.cells if cell.task.name == "lookups")
    alone = replace(recorded, manifest=replace(recorded.manifest, cells=cells))
    (table,) = document(alone).sections[0].tables
    assert {str(row[1]) for row in table.rows} >= {"avc.lookups", "avc.misses"}


def test_tables_fit_80_columns_and_nothing_is_cut(recorded: RunData) -> None:
    shown = text(recorded, "table", width=80)
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    assert "residual" in shown


@pytest.mark.parametrize("form", PEOPLE)
def test_doubts_and_problems_are_never_dropped(
    recorded: RunData, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = Whole(None, "2.37 is no whole number")
    monkeypatch.setattr(analysis, "whole", lambda _: reason)
    manifest = replace(recorded.manifest, problems=(Problem("the guest has gone", detail="a|b"),))
    said = " ".join(text(replace(recorded, manifest=manifest), form).split())
    assert "2.37 is no whole number" in said
    assert "the guest has gone" in said


def test_a_run_without_boots_is_still_a_document(recorded: RunData) -> None:
    empty = replace(recorded, boots=(), missing=recorded.manifest.boots)
    for form in ("csv", *PEOPLE):
        said = text(empty, form)
        assert form == "csv" or "2 of 2 boots are missing" in said
    assert specification(find_slopes(empty))["data"] == {"values": []}


def test_the_plot_has_every_reading_and_a_line_for_each_slope(recorded: RunData) -> None:
    found = find_slopes(recorded)
    described = specification(found)
    drawn = described["data"]["values"]
    assert sum(row["kind"] == "reading" for row in drawn) == 12 * len(found.slopes)
    assert sum(row["kind"] == "fit" for row in drawn) == 2 * len(found.slopes)
    svg = vl_convert.vegalite_to_svg(described, allowed_base_urls=[])
    assert "policy latency" in svg
