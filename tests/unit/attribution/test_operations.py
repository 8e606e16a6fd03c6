# SPDX-License-Identifier: GPL-2.0-or-later
"""Attribution by operation: every instruction has a cell, and every operation the same weight."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.app import make_app
from lsmeter.questions.attribution.account import Account, Explained, run_accounts
from lsmeter.questions.attribution.cost import typical_cost
from lsmeter.questions.attribution.explain import explain
from lsmeter.questions.attribution.flame import merge
from lsmeter.questions.attribution.load import load_run
from lsmeter.questions.attribution.operations import chart, table
from lsmeter.questions.attribution.profile import Tree
from lsmeter.questions.attribution.tables import section
from lsmeter.tables import values
from lsmeter.tables.model import Detail, Shown, Table
from tests.unit.attribution.recorded import write_run
from tests.unit.attribution.trees import any_tree, tree
from tests.unit.report.test_html import assert_needs_nothing


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("operations") / "run", "before")


@pytest.fixture(scope="module")
def account(run: Path) -> Account:
    read, cells, _ = load_run(run)
    return run_accounts(cells, read.manifest.baseline_setup)[0]


def _open(hook: str, insns: int, calls: int = 1) -> Tree:
    return tree(("vfs_open", 1, 100, ((hook, calls, insns, ()),)))


def _explained(**sides: tuple[Tree, Tree]) -> Explained:
    found = {name.replace("_", " "): pair for name, pair in sides.items()}
    return Explained(
        {name: explain(typical_cost(old), typical_cost(new)) for name, (old, new) in found.items()}
    )


def _texts(found: Table) -> dict[str, dict[str, str]]:
    heads = [column.head for column in found.columns]
    rows = [[values.shown(*cell).text for cell in zip(row, found.columns)] for row in found.rows]  # noqa: B905
    return {row[0]: dict(zip(heads, row, strict=True)) for row in rows}


MANY = {
    **{
        f"open_depth={n}": (_open("security_file_open", 0, n), _open("security_file_open", 10, n))
        for n in range(1, 10)
    },
    "stat_depth=1": (_open("security_inode_getattr", 5, 2), _open("security_inode_getattr", 105)),
    "getppid": (_open("security_file_open", 5), _open("security_file_open", 5)),
}


def test_every_operation_counts_once_however_many_variants_it_has() -> None:
    found = _explained(**MANY)
    assert found.total.difference_insns == pytest.approx(10 + 100)
    assert [hook.hook for hook in found.total.hooks[:2]] == [
        "security_inode_getattr",
        "security_file_open",
    ]
    opened = found.by_operation["open"]
    assert opened.difference_insns == pytest.approx(10)
    assert opened.hooks[0].tested_calls == pytest.approx(5)  # of 1 to 9
    assert isinstance(found.by_operation["stat"].difference_insns, int)


def test_rows_are_operations_and_columns_hooks_with_their_calls(account: Account) -> None:
    found = table(replace(account, typical=_explained(**MANY)))
    assert _texts(found) == {
        "open": {
            "operation": "open",
            "difference": "+10",
            "inode_getattr": values.MISSING,
            "file_open": "+10 (5)",
        },
        "stat": {
            "operation": "stat",
            "difference": "+100",
            "inode_getattr": "+100 (2→1)",
            "file_open": values.MISSING,
        },
        "sum": {
            "operation": "sum",
            "difference": "+110",
            "inode_getattr": "+100 (2→1)",
            "file_open": "+10 (6)",
        },
    }
    assert found.more == ("Without a difference: getppid.",)


def test_hooks_without_room_are_one_column(account: Account) -> None:
    found = table(replace(account, typical=_explained(**MANY)), 1)
    assert [column.head for column in found.columns] == [
        "operation",
        "difference",
        "inode_getattr",
        "other hooks",
    ]
    assert _texts(found)["open"]["other hooks"] == "+10"


@given(st.lists(st.tuples(any_tree(), any_tree()), min_size=1, max_size=4), st.integers(0, 3))
def test_the_cells_of_a_row_make_up_its_difference(
    account: Account, pairs: list[tuple[Tree, Tree]], most: int
) -> None:
    names = ("open depth=1", "open depth=2", "stat", "mkdir")
    sides = {
        name: explain(typical_cost(old), typical_cost(new))
        for name, (old, new) in zip(names, pairs, strict=False)
    }
    for row in table(replace(account, typical=Explained(sides)), most).rows:
        cells: list[Any] = [cell.value if isinstance(cell, Shown) else 0 for cell in row[1:]]
        difference, *parts = cells
        # What is below half an instruction has no cell.
        assert sum(map(float, parts)) == pytest.approx(float(difference or 0), abs=0.5 * 40)
        if all(isinstance(part, int) for part in parts):
            assert sum(parts) == difference


def test_a_chart_shows_each_operation_and_hook(account: Account) -> None:
    drawing = chart(account).draw("plot-1")
    assert_needs_nothing(f"<style></style>{drawing}")
    for word in ("rename", "stat", "inode_permission", "non-hook"):
        assert word in drawing
    assert "getppid" not in drawing
    nothing = replace(account, typical=Explained({}))
    assert chart(nothing).draw("plot-1") == ""
    assert table(nothing).rows == ()


def test_graphs_give_operations_the_same_weight() -> None:
    one = tree(("vfs_open", 1, 100, ()))
    trees = {"open depth=1": one, "open depth=2": one, "stat": one}
    root = merge("all", trees, trees)
    assert (root.after.inclusive, root.width) == (200, 200)


def test_a_terminal_has_one_table_of_hooks_that_fits(account: Account) -> None:
    short = section(account, Detail.TERMINAL)
    assert [item.key for item in short.tables if item.rows][:2] == ["by-operation", "functions"]
    assert len(short.tables[0].columns) <= 8
    full = section(account, Detail.FULL)
    assert {item.key for item in full.tables} >= {"by-operation", "hooks", "functions"}


@pytest.mark.parametrize("form", ["table", "text", "markdown", "html", "csv", "json"])
def test_every_format_has_it(run: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    make_app()(["hooks", "cost", str(run), "--setup", "smack", "-f", form], standalone_mode=False)
    said = capsys.readouterr().out
    if form == "json":
        (found,) = json.loads(said)["setups"]
        rename = found["by_operation"][1]
        assert (rename["operation"], rename["difference_insns"]) == ("rename", 925)
        hooks = {hook["hook"]: hook["difference_insns"] for hook in rename["hooks"]}
        assert sum(hooks.values()) + rename["residue_insns"] == 925
    elif form == "csv":
        rows = [row for row in csv.DictReader(io.StringIO(said)) if row["table"] == "by-operation"]
        assert [(row["operation"], row["difference_insns"]) for row in rows] == [
            ("rename", "925"),
            ("stat", "664"),
            ("sum", "1589"),
        ]
    else:
        assert "Hooks by operation" in said
        assert "Without a difference: getppid." in said
