# SPDX-License-Identifier: GPL-2.0-or-later
"""`hooks cost` and `hooks diff` on what real guests gave."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.app import make_app
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.model import Place
from lsmeter.measure.tasks.attribute import ATTRIBUTION
from lsmeter.questions.attribution.account import layer_accounts, run_accounts
from lsmeter.questions.attribution.data import LAYER
from lsmeter.questions.attribution.load import load_run
from lsmeter.questions.cells.layers import LayerCost, LayeredCost
from tests.unit.attribution.recorded import BENCHMARKS, VALUES, write_run


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("before") / "run", "before")


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("after") / "run", "after")


def _say(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    make_app()([str(word) for word in words], standalone_mode=False)
    return capsys.readouterr().out


def test_hooks_and_residue_explain_all(before: Path) -> None:
    run, cells, _ = load_run(before)
    accounts = run_accounts(cells, run.manifest.baseline_setup)
    explained = {item.place.setup: item.typical.benchmarks for item in accounts}
    assert set(explained) == {"smack", "selinux"}
    for setup, found in explained.items():
        for name, item in found.items():
            clock = VALUES[f"before-{setup}"][name] - VALUES["before-capability"][name]
            assert item.difference_insns == clock
            assert item.exact, (setup, name)
    selinux = explained["selinux"]
    assert {name: item.outside_inline_insns for name, item in selinux.items()} == {
        "getppid": 0,
        "rename depth=1": 0,
        "stat depth=2": 0,
    }
    assert selinux["stat depth=2"].hooks[0].hook == "security_inode_permission"
    # Smack refuses the fast path walk, and the slow one costs outside of its hooks.
    slow = {change.function for change in explained["smack"]["stat depth=2"].outside}
    assert {"__d_lookup", "__d_lookup_rcu", "dput"} <= slow


def test_a_layer_is_an_account_of_the_setup_below_it(before: Path) -> None:
    _, cells, _ = load_run(before)
    layer = LayerCost("smack", "selinux", (), 1.0, None, repeats=True)
    missing = LayerCost("tomoyo", "smack", (), 1.0, None, repeats=True)
    below = Place("vmlinux", "selinux", "file", "tmpfs", "root")
    place = replace(below, setup="smack")
    cost = LayeredCost(place, below, BENCHMARKS[0], 1.0, (layer, missing), 2.0)
    (found,) = layer_accounts([cost, cost], cells)
    assert found.label == "smack over selinux (vmlinux, file, tmpfs, root)"
    entry = LAYER.entry(found)
    own, base = VALUES["before-smack"], VALUES["before-selinux"]
    assert entry["difference_insns"] == sum(own.values()) - sum(base.values())
    assert (entry["suite"], entry["over"], entry["operations"]) == ("file", "selinux", 3)
    assert len(entry["hooks"]) + entry["more_hooks"] > 0
    other = replace(cost, place=replace(place, suite="net"), base=replace(below, suite="net"))
    assert layer_accounts([other], cells) == ()


def test_cost_as_tables(before: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = _say(capsys, "hooks", "cost", before, "--setup", "selinux")
    words = [line.split() for line in said.splitlines()]
    assert ["rename", "depth=1", "4,737", "5,831", "+1,094", "+1,094", "0", "0"] in [
        line[:8] for line in words
    ]
    assert "selinux over capability (vmlinux, file, tmpfs, root)" in said
    assert "Functions of selinux" in said
    assert "smack" not in said


def test_cost_as_json(before: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(_say(capsys, "hooks", "cost", before, "-f", "json"))
    assert document["format_version"] == 1
    for setup in document["setups"]:
        for operation in setup["operations"]:
            parts = ("hook_insns", "residue_insns", "interrupt_insns", "unseen_insns")
            assert operation["difference_insns"] == sum(operation[part] for part in parts)
        assert setup["missing"] == []


def test_graphs_are_written(
    before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _say(capsys, "hooks", "cost", before, "--setup", "smack", "--graphs", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "smack-difference.folded",
        "smack.folded",
        "smack.html",
    ]
    assert "smack_inode_permission" in (tmp_path / "smack.html").read_text()


def test_diff_names_hook_function_and_cost_per_call(
    before: Path, after: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(_say(capsys, "hooks", "diff", before, after, "-f", "json"))
    found = {setup["setup"]: setup for setup in document["setups"]}
    assert set(found) == {"capability", "selinux", "smack"}
    assert found["capability"]["hooks"] == found["smack"]["functions"] == []
    (hook,) = found["selinux"]["hooks"]
    assert (hook["hook"], hook["difference_per_call"]) == ("security_inode_rename", 100.0)
    (function,) = found["selinux"]["functions"]
    assert (function["function"], function["module"]) == ("selinux_inode_rename", "selinux")
    assert function["difference_per_call"] == 100.0
    table = _say(capsys, "hooks", "diff", before, after, "--setup", "selinux")
    words = [line.split() for line in table.splitlines()]
    (row,) = (row for row in words if row[:2] == ["security_inode_rename", "1"])
    assert float(row[4].replace(",", "")) - float(row[2].replace(",", "")) == 100
    assert row[3:6:2] == ["\N{RIGHTWARDS ARROW}", "+100"]


def test_runs_without_attribution_are_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "before", attributed=False)
    with pytest.raises(UsageError, match="has no attribution") as caught:
        make_app()(["hooks", "cost", str(run)], standalone_mode=False)
    assert "--attribute" in caught.value.hint


def test_unknown_setups_are_refused(before: Path, after: Path) -> None:
    with pytest.raises(UsageError, match="did you mean selinux"):
        make_app()(["hooks", "cost", str(before), "--setup", "selinx"], standalone_mode=False)
    with pytest.raises(UsageError, match="--setup: "):
        make_app()(
            ["hooks", "diff", str(before), str(after), "--setup", "tomoyo"], standalone_mode=False
        )


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\x28\xb5\x2f\xfd" + bytes(40)])
def test_damaged_attribution_costs_itself_only_and_is_named(tmp_path: Path, damage: bytes) -> None:
    path = write_run(tmp_path / "run", "before")
    whole = load_run(path)[1]
    one, *others = sorted(path.rglob(f"{ATTRIBUTION}.zst"))
    one.write_bytes(damage)
    run, cells, _ = load_run(path)
    assert [str(one) in problem.detail for problem in run.damaged] == [True]
    assert [cell.values for cell in cells] == [cell.values for cell in whole]
    assert all(cell.trees for cell in cells), "of the other boot"
    for other in others:
        other.write_bytes(damage)
    with pytest.raises(InfrastructureError, match="all of its attribution is damaged"):
        load_run(path)
