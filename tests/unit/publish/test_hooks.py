# SPDX-License-Identifier: GPL-2.0-or-later
"""Hooks of changes, from what real guests counted before and after a patch."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.core.model.conclusion import Number
from lsmeter.measure.results.directory import read_run
from lsmeter.questions.attribution.load import run_cells
from lsmeter.questions.publish.figures import Point, Site, find_points, make_site
from lsmeter.questions.publish.hooks import name_hooks
from tests.unit.attribution import recorded
from tests.unit.attribution.recorded import output, write_run
from tests.unit.model_builders import change
from tests.unit.publish.builders import BASE, compared, point

RENAME = "rename depth=1"
PATCH_INSNS = 100


def points_of(path: Path, version: str) -> Iterator[Point]:
    run = read_run(path)
    for item in find_points(run):
        yield replace(item, release=replace(item.release, name=version))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    before = points_of(write_run(tmp_path / "a", "before"), "6.1.1-1")
    after = points_of(write_run(tmp_path / "b", "after"), "6.1.2-1")
    return make_site([*before, *after])


def test_a_patch_is_named_by_hook_and_function(site: Site) -> None:
    (step,) = name_hooks(site).steps
    assert (step.after.graph.setup, step.after.graph.benchmark) == ("selinux", RENAME)
    assert step.change.difference.value == PATCH_INSNS
    assert step.moved is not None
    assert vars(step.moved) == {
        "hook": "security_inode_rename",
        "hook_insns": PATCH_INSNS,
        "function": "selinux_inode_rename",
        "function_insns": PATCH_INSNS,
    }


def test_what_the_plugin_missed_is_a_problem_and_the_change_stays(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def aborted(name: str) -> bytes:
        return re.sub(rb"(?m)^(region 1 \d+ \d+ \d+) 0$", rb"\1 1", output(name))

    monkeypatch.setattr(recorded, "output", aborted)
    shutil.rmtree(tmp_path / "b")
    write_run(tmp_path / "b", "after")
    found = name_hooks(site)
    assert [step.moved for step in found.steps] == [None]
    assert {(item.setup, item.detail) for item in found.problems} == {
        (setup, f"{RENAME}: 1 sample did not end") for setup in ("capability", "selinux")
    }


def test_only_what_is_asked_for_is_read(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "a", "before"))
    whole = {item.cell.place: item for item in run_cells(run)[0]}
    place = next(place for place in whole if place.setup == "selinux")
    found = {item.cell.place: item for item in run_cells(run, {place: [RENAME]})[0]}
    assert found[place].kept == {RENAME: whole[place].kept[RENAME]}
    assert not any(item.kept for other, item in found.items() if other != place)
    assert run_cells(run, {}) == ((), ())


def test_call_trees_of_an_earlier_run_explain_the_numbers_that_are_the_same() -> None:
    traced = point("6.1.1-1", 1300, traced=True)
    created = "2026-11-26T10:00:00+00:00"
    (line,) = make_site([traced, point("6.1.1-1", 1300, created=created)]).lines
    (found,) = line.points
    assert (found.origin.created, found.hooks) == (created, traced.hooks)
    later = compared(1300)
    later = replace(later, whole=change(BASE, 1310))
    (line,) = make_site([traced, point("6.1.1-1", 1300, created=created, found=later)]).lines
    assert {*line.points[0].hooks} == {*Number} - {Number.WHOLE}
    site = make_site([traced, point("6.1.1-1", 1310, created=created)])
    assert site.lines[0].points[0].hooks.keys() <= {Number.MEAN}, "which neither has"
    assert len(site.problems) == 1
