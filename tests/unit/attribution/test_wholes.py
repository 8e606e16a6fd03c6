# SPDX-License-Identifier: GPL-2.0-or-later
"""Windows joined with what boots measured, up to what `hooks cost` and `hooks diff` say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.app import make_app
from lsmeter.core.model import BenchmarkStatus, Round, Samples, Whole
from lsmeter.questions.attribution.load import AttributedBoot, cell_wholes
from lsmeter.questions.attribution.profile import Context, Profile, Region, Tree
from tests.unit.attribution.recorded import write_run
from tests.unit.attribution.trees import by_context, tree

ROUNDS = (Round(100, 0, 50_000, 0, (0, 5000)), Round(50, 0, 25_000, 0, (0, 2500)))


def _window(insns: int) -> Tree:
    return tree(("[user]", 0, 150_000, ()), ("entry_SYSCALL_64", 200, insns, ()))


def _left(insns: int) -> Tree:
    """Build what is left to be done, beside the same ticks and calls that wait for them."""
    return tree(
        ("[user]", 0, 90_000, ()),
        (
            *("[interrupt]", 0, 0),
            (("tick_sched_timer", 9, 10_000, ()), ("rcu_do_batch", 5, insns, ())),
        ),
        ("entry_SYSCALL_64", 9, 36_000, ()),
    )


def _samples(name: str, **whole: object) -> Samples:
    measured = Whole(BenchmarkStatus.OK, ROUNDS)
    return Samples(name, BenchmarkStatus.OK, (1,), whole=replace(measured, **whole))  # type: ignore[arg-type]


def _region(number: int, found: Tree, count: int, **other: int) -> Region:
    region = Region(number, count, 0, 0, 0, ((found.insns // count, count),), (), found, count)
    return replace(region, **other)  # type: ignore[arg-type]


def _regions(place: int, insns: int, left: int = 0, **other: int) -> tuple[Region, ...]:
    return (
        _region(0x4000 + place, _window(insns), 2, **other),
        _region(0x6000 + place, _left(2 * left), 1),
        _region(0x8000 + place, _left(left), 1),
    )


def _boot(*regions: Region, samples: tuple[Samples, ...]) -> AttributedBoot:
    return samples, Profile(regions, 0, 0, whole=True)


def test_each_boot_has_an_order_of_its_own() -> None:
    names = (_samples("stat"), _samples("open"))
    first = _boot(*_regions(0, 40_000, 5000), *_regions(1, 60_000), samples=names)
    other = _boot(*_regions(0, 62_000), *_regions(1, 44_000, 5000), samples=names[::-1])
    costs, missing = cell_wholes([first, other])
    assert missing == {}
    # Whole windows leave more than short ones by 50 cycles; ticks are the same, and what waits.
    assert by_context(costs["stat"])[Context.CALL] == pytest.approx((40_000 + 44_000) / 300)
    assert by_context(costs["open"])[Context.CALL] == pytest.approx((60_000 + 62_000) / 300)
    assert by_context(costs["stat"])[Context.RCU] == pytest.approx(100.0)
    assert by_context(costs["open"])[Context.RCU] == pytest.approx(0.0)
    assert by_context(costs["stat"])[Context.INTERRUPT] == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("region", "whole", "reason"),
    [
        ({"summed": 1}, {}, "the plugin saw 1 of its 2 windows"),
        ({"samples": 3}, {}, "the plugin saw 2 of its 2 windows"),
        ({"damaged": 1}, {}, "a limit of the plugin was hit in a window of it"),
        ({"aborted": 1}, {}, "a limit of the plugin was hit in a window of it"),
        ({"id": 0x4009}, {}, "the plugin saw no window of it"),
        ({}, {"status": BenchmarkStatus.FAILED}, "its whole cost was not measured"),
    ],
)
def test_windows_that_cannot_be_used(
    region: dict[str, int], whole: dict[str, object], reason: str
) -> None:
    samples = (_samples("stat", **whole),)
    costs, missing = cell_wholes([_boot(*_regions(0, 1, **region), samples=samples)])
    assert (costs, missing) == ({}, {"stat": reason})


def test_windows_that_were_not_seen_through_cost_nothing_that_is_known() -> None:
    unseen = Whole(BenchmarkStatus.OK, (Round(4, 10, 5000, 0),))
    samples = replace(_samples("stat"), whole=unseen)
    windows, left, brief = _regions(0, 1)
    regions = (
        replace(windows, samples=1, summed=1),
        *(replace(item, samples=0, summed=0) for item in (left, brief)),
    )
    costs, missing = cell_wholes([_boot(*regions, samples=(samples,))])
    assert (costs, missing) == ({}, {"stat": "it has no windows of both lengths"})


def test_benchmarks_without_whole_costs_are_passed_over() -> None:
    samples = (replace(_samples("stat"), whole=None), Samples("open", BenchmarkStatus.FAILED))
    assert cell_wholes([_boot(samples=samples)]) == ({}, {})


def _run(path: Path, when: str, *, later: int) -> Path:
    """Write a run in which RCU frees inodes for `later` instructions an operation."""

    def left(cycles: int) -> Tree:
        hook = ("inode_free_by_rcu", cycles, cycles * later, ())
        batch = ("rcu_do_batch", 5, 900, (hook, ("i_callback", cycles, 3 * cycles, ())))
        return tree(("[user]", 0, 90_000, ()), ("[interrupt]", 0, 0, (batch,)))

    return write_run(path, when, windows=(_window(40_000), left(100), left(50)), rounds=ROUNDS)


def _say(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    make_app()([str(word) for word in words], standalone_mode=False)
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
