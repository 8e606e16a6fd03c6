# SPDX-License-Identifier: GPL-2.0-or-later
"""Bulk windows joined with what boots measured, up to what `hooks cost` and `hooks diff` say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.attribution.load import AttributedBoot, cell_wholes
from lsmeter.attribution.profile import Context, Profile, Region, Tree
from lsmeter.cli.main import app
from lsmeter.model import BenchmarkStatus, Round, Samples, Whole
from tests.unit.attribution.recorded import write_run
from tests.unit.attribution.trees import by_context, tree

IDLE = tree(
    ("[user]", 0, 90_000, ()), ("[interrupt]", 0, 0, (("tick_sched_timer", 9, 10_000, ()),))
)
ROUNDS = (Round(100, 0, 50_000, 50_000, 5000), Round(100, 0, 50_000, 50_000, 5000))


def _window(insns: int) -> Tree:
    return tree(
        ("[user]", 0, 150_000, ()),
        ("[interrupt]", 0, 0, (("tick_sched_timer", 20, 20_000, ()),)),
        ("entry_SYSCALL_64", 200, insns, ()),
    )


def _samples(name: str, **whole: object) -> Samples:
    measured = Whole(BenchmarkStatus.OK, ROUNDS)
    return Samples(name, BenchmarkStatus.OK, (1,), whole=replace(measured, **whole))  # type: ignore[arg-type]


def _region(place: int, window: Tree, **other: int) -> Region:
    found = Region(0x4000 + place, 2, 0, 0, 0, ((window.insns // 2, 2),), (), window, 2)
    return replace(found, **other)  # type: ignore[arg-type]


def _boot(*regions: Region, samples: tuple[Samples, ...], idle: bool = True) -> AttributedBoot:
    quiet = Region(0x8000, 1, 0, 0, 0, ((IDLE.insns, 1),), (IDLE,))
    return AttributedBoot(samples, Profile((*regions, *([quiet] * idle)), 0, 0, whole=True))


def test_each_boot_has_an_order_of_its_own() -> None:
    names = (_samples("stat"), _samples("open"))
    first = _boot(_region(0, _window(40_000)), _region(1, _window(60_000)), samples=names)
    other = _boot(_region(0, _window(62_000)), _region(1, _window(44_000)), samples=names[::-1])
    costs, missing = cell_wholes([first, other])
    assert missing == {}
    assert by_context(costs["stat"])[Context.CALL] == pytest.approx((40_000 + 44_000) / 400)
    assert by_context(costs["open"])[Context.CALL] == pytest.approx((60_000 + 62_000) / 400)
    # Ticks are the idle guest's, but for the length of the windows.
    assert by_context(costs["stat"])[Context.INTERRUPT] == pytest.approx(-6.0)


@pytest.mark.parametrize(
    ("region", "whole", "reason"),
    [
        ({"summed": 1}, {}, "the plugin saw 1 of its 2 bulk windows"),
        ({"samples": 3}, {}, "the plugin saw 2 of its 2 bulk windows"),
        ({"damaged": 1}, {}, "a limit of the plugin was hit in a bulk window of it"),
        ({"aborted": 1}, {}, "a limit of the plugin was hit in a bulk window of it"),
        ({"id": 0x4009}, {}, "the plugin saw no bulk window of it"),
        ({}, {"status": BenchmarkStatus.FAILED}, "its whole cost was not measured"),
    ],
)
def test_windows_that_cannot_be_used(
    region: dict[str, int], whole: dict[str, object], reason: str
) -> None:
    samples = (_samples("stat", **whole),)
    costs, missing = cell_wholes([_boot(_region(0, _window(1), **region), samples=samples)])
    assert (costs, missing) == ({}, {"stat": reason})


def test_an_idle_guest_that_was_not_watched() -> None:
    boot = _boot(_region(0, _window(1)), samples=(_samples("stat"),), idle=False)
    assert cell_wholes([boot]) == ({}, {"stat": "the idle guest was not watched"})


def test_benchmarks_without_whole_costs_are_passed_over() -> None:
    samples = (replace(_samples("stat"), whole=None), Samples("open", BenchmarkStatus.FAILED))
    assert cell_wholes([_boot(samples=samples)]) == ({}, {})


def _run(path: Path, when: str, *, later: int) -> Path:
    """Write a run in which RCU frees inodes for `later` instructions an operation.

    The windows are of one length: so much the less is spun.
    """
    hook = ("inode_free_by_rcu", 200, 200 * later, ())
    window = tree(
        ("[user]", 0, 150_000 - 200 * later, ()),
        ("[interrupt]", 0, 0, (("rcu_do_batch", 5, 900, (hook, ("i_callback", 200, 600, ()))),)),
        ("entry_SYSCALL_64", 200, 40_000, ()),
    )
    return write_run(path, when, window=window, idle=IDLE, rounds=ROUNDS)


def _say(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    app([str(word) for word in words], standalone_mode=False)
    return capsys.readouterr().out


def test_diff_names_a_cost_in_an_rcu_callback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = (
        _run(tmp_path / "a", "before", later=4),
        _run(tmp_path / "b", "before", later=54),
    )
    document = json.loads(_say(capsys, "hooks", "diff", before, after, "-f", "json"))
    selinux = next(item for item in document["setups"] if item["setup"] == "selinux")
    assert selinux["functions"] == []  # nothing in the readings
    (function,) = selinux["whole"]["functions"]
    assert (function["function"], function["context"]) == ("inode_free_by_rcu", "RCU callback")
    assert (function["hook"], function["deferred"]) == ("security_inode_free", True)
    assert function["difference_per_call"] == pytest.approx(50.0)
    assert selinux["whole"]["insns_by_context"] == {"RCU callback": pytest.approx(150.0)}
    assert [item["benchmark"] for item in selinux["whole_operations"]] == [
        "getppid",
        "rename depth=1",
        "stat depth=2",
    ]
    table = _say(capsys, "hooks", "diff", before, after, "--setup", "selinux")
    assert "inode_free_by_rcu" in table
    assert "RCU callback" in table


def test_cost_has_whole_costs_by_context(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _run(tmp_path / "run", "before", later=4)
    document = json.loads(_say(capsys, "hooks", "cost", run, "-f", "json"))
    smack = document["setups"][0]
    assert smack["no_whole"] == {}
    for item in (smack["whole"], *smack["whole_operations"]):
        parts = ("hook_inline", "hook_deferred", "outside_inline", "outside_deferred")
        assert item["difference_insns"] == sum(item[f"{part}_insns"] for part in parts) == 0
    words = _say(capsys, "hooks", "cost", run)
    assert "One cycle, deferred work included." in words
