# SPDX-License-Identifier: GPL-2.0-or-later
"""People get the first rows of long tables and are told where all are; programs get all."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from lsmeter.app import make_app
from lsmeter.measure.experiment.plan import PlannedBoot
from tests.unit.attribution.drawn import OPEN, Drawn, draw_run, reading, steady
from tests.unit.attribution.trees import tree

FUNCTIONS = 14


def _many(planned: PlannedBoot) -> Drawn:
    if planned.cell.setup.name == "capability":
        return steady(open=10)
    below = tuple((f"selinux_check_{at}", 1, 5 + at, ()) for at in range(FUNCTIONS))
    hook = ("security_file_open", 1, 10, below)
    found = tree(("[user]", 0, 0, ()), ("entry_SYSCALL_64", 1, 1000, (hook,)))
    return {OPEN.id: ([reading(found)] * 5, [found])}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_run(
        tmp_path_factory.mktemp("long") / "run", _many, "capability", "selinux", "smack"
    )


def _said(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    make_app()(["hooks", "cost", *map(str, words)], standalone_mode=False)
    return capsys.readouterr().out


def test_people_are_told_where_the_rest_of_a_table_is(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = " ".join(_said(capsys, run, "-s", "selinux").split())
    assert "4 more: lsmeter hooks cost --format csv has all." in said


def test_programs_get_all_rows_and_the_setup_of_each(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = list(csv.DictReader(io.StringIO(_said(capsys, run, "-f", "csv"))))
    own = [row for row in rows if row["table"] == "functions-selinux"]
    names = {f"selinux_check_{at}" for at in range(FUNCTIONS)}
    for setup in ("selinux", "smack"):
        label = f"{setup} over capability (vmlinux, file, tmpfs, root)"
        assert {row["function"] for row in own if row["section"] == label} == names
