# SPDX-License-Identifier: GPL-2.0-or-later
"""A command whose costs are known, run by the real command line in real guests."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.conftest import Done, Lsmeter
from tests.guest_programs import compiled

pytestmark = pytest.mark.guest

SOURCE = Path(__file__).with_name("exec_program.c")
TURNS = 5_000_000
MOST_STARTUP_INSNS = 1_000_000
CALLS, CHILDREN = 500, 3
INJECTED_INSNS = 500  # in each stat, by the setup's costs


@pytest.fixture(scope="module")
def lsmeter(tmp_path_factory: pytest.TempPathFactory) -> Lsmeter:
    home = tmp_path_factory.mktemp("exec")
    compiled(SOURCE, home)
    (home / "init").rename(home / "program")
    (home / "input").write_text("a line\n")
    (home / "some where").mkdir()
    return Lsmeter(home)


@pytest.fixture(scope="module")
def done(lsmeter: Lsmeter) -> Done:
    words = ("-s", "selinux", "--boots", "1", "--run-dir", "run", "--directory", "some where")
    given = ("--env", "GIVEN=a b", "--input", "input", "--expect-status", "3")
    return lsmeter("exec", *words, *given, "--", "./program", "3", str(TURNS))


@pytest.fixture(scope="module")
def report(done: Done, lsmeter: Lsmeter) -> dict[str, Any]:
    assert done.code == 0, done.err + done.out
    document: dict[str, Any] = json.loads(lsmeter("report", "run", "-f", "json").out)
    return document


def of(report: dict[str, Any], setup: str) -> dict[str, Any]:
    return next(item for item in report["setups"] if item["place"]["setup"] == setup)


def test_the_answer_is_a_sentence(done: Done, report: dict[str, Any]) -> None:
    assert report["problems"] == []
    said = " ".join(done.out.split())
    (plain,), (selinux,) = (of(report, name)["kernel_insns"] for name in ("capability", "selinux"))
    assert said.startswith(f"selinux adds +{100 * (selinux / plain - 1):.1f} % to what the kernel")
    assert f"in one boot: {plain:,} → {selinux:,} kernel instructions" in said


def test_the_command_has_what_it_was_given(report: dict[str, Any], lsmeter: Lsmeter) -> None:
    where = lsmeter.home / "some where"
    for setup in ("capability", "selinux"):
        output = of(report, setup)["output"]
        said = " ".join(output["text"].split())
        assert f"read a line in {where}, GIVEN is a b, HOME is (null)" in said
        assert "uid 0" in said
        assert (output["status"], output["bytes"]) == ("3", len(output["text"]))


def test_calls_of_children_and_threads_are_counted(report: dict[str, Any]) -> None:
    for setup in ("capability", "selinux"):
        calls = of(report, setup)["by_syscall"]
        assert calls["getppid"]["calls"] == CALLS * (CHILDREN + 1)
        assert calls["newfstatat"]["calls"] >= CALLS
        assert (calls["wait4"]["calls"], calls["wait4"]["errors"]) == (CHILDREN + 1, 1)
        assert calls["newfstatat"]["errors"] == 0


def test_user_instructions_are_those_of_the_loop_and_equal(report: dict[str, Any]) -> None:
    (plain,), (selinux,) = (of(report, name)["user_insns"] for name in ("capability", "selinux"))
    assert 0 < plain - 2 * TURNS < MOST_STARTUP_INSNS
    assert selinux == pytest.approx(plain, rel=0.001)


def test_modules_and_hooks_explain_what_is_added(report: dict[str, Any]) -> None:
    plain, selinux = (of(report, name) for name in ("capability", "selinux"))
    (before,), (after,) = plain["kernel_insns"], selinux["kernel_insns"]
    assert after > before
    assert "selinux" not in plain["modules_insns"]
    assert 0 < selinux["modules_insns"]["selinux"] <= after - before
    assert selinux["hooks"]["inode_getattr"][0] >= CALLS
    added = selinux["hooks"]["inode_getattr"][1] - plain["hooks"]["inode_getattr"][1]
    assert CALLS * 10 < added < after - before


def test_what_each_call_adds_is_the_module_s(report: dict[str, Any]) -> None:
    plain, selinux = (of(report, name)["by_syscall"] for name in ("capability", "selinux"))
    one, other = plain["getppid"], selinux["getppid"]
    assert one["kernel_insns"] == pytest.approx(other["kernel_insns"], rel=0.01)
    added = selinux["newfstatat"]["kernel_insns"] - plain["newfstatat"]["kernel_insns"]
    inside = selinux["newfstatat"]["modules_insns"]["selinux"]
    assert CALLS * 10 < inside < added < 1.5 * inside
    for setup in ("capability", "selinux"):
        (every,) = of(report, setup)["kernel_insns"]
        calls = sum(item["kernel_insns"] for item in of(report, setup)["by_syscall"].values())
        assert 0.5 * every < calls < every


def test_a_known_cost_is_in_the_sentence_and_in_its_call(lsmeter: Lsmeter) -> None:
    words = ("-s", "bpf-inject:cost=flat", "--baseline", "bpf-inject", "--boots", "5")
    given = ("--input", "input", "--expect-status", "3", "--run-dir", "injected")
    done = lsmeter("exec", *words, *given, "--", "./program", "3")
    assert done.code == 0, done.err + done.out
    report = json.loads(lsmeter("report", "injected", "-f", "json").out)
    plain, costs = (of(report, name) for name in ("bpf-inject", "bpf-inject:cost=flat"))
    before, after = (item["kernel_insns"] for item in (plain, costs))
    assert f"{min(before):,} → {min(after):,} kernel instructions" in " ".join(done.out.split())
    old, new = (item["by_syscall"]["newfstatat"] for item in (plain, costs))
    true_insns = INJECTED_INSNS * new["calls"]
    assert new["calls"] == old["calls"] >= CALLS
    # A boot has an event of 1,430 or 1,600 instructions in these calls, or not: means over five.
    assert new["kernel_insns"] - old["kernel_insns"] == pytest.approx(true_insns, rel=0.01)
    assert fmean(after) - fmean(before) == pytest.approx(true_insns, rel=0.03)


@pytest.mark.parametrize(
    ("what", "status", "said"),
    [
        ("forks", 1, "did not end in 1000 ms of guest time; what never ends is a workload"),
        ("crashes", 1, "panic (exec): sysrq triggered crash"),
    ],
)
def test_what_harms_its_guest_is_one_line(
    lsmeter: Lsmeter, what: str, status: int, said: str
) -> None:
    words = ("-s", "capability", "--boots", "1", "--deadline", "1", "--run-dir", what)
    done = lsmeter("exec", *words, "--", "./program", what)
    assert done.code == status
    assert said in " ".join(done.out.split())


def test_gate_compare_and_formats_take_the_run(report: dict[str, Any], lsmeter: Lsmeter) -> None:
    assert report["command"]["words"][1:] == ["3", str(TURNS)]
    assert lsmeter("gate", "run", "run").code == 0
    strict = lsmeter("gate", "run", "run", "--max", "program<=0insns")
    assert (strict.code, "program" in strict.out) == (0, True)
    assert lsmeter("compare", "run", "run").code == 0
    for form in ("text", "csv", "markdown", "html"):
        assert lsmeter("report", "run", "-f", form, "-o", f"page.{form}").code == 0


def test_a_command_that_fails_gives_no_number(lsmeter: Lsmeter) -> None:
    words = ("-s", "capability", "--boots", "1", "--input", "input", "--run-dir", "failed")
    done = lsmeter("exec", *words, "--", "./program", "4")
    assert done.code == 1
    said = " ".join(done.out.split())
    assert "left with status 4" in said
    assert "GIVEN is (null)" in said
    assert json.loads(lsmeter("report", "failed", "-f", "json").out)["estimates"] == []


def test_wrong_use_is_one_line(lsmeter: Lsmeter) -> None:
    for words, said in (
        (("--", "no-such-command"), "no command 'no-such-command' in PATH"),
        (("--env", "x", "--", "./program"), "--env x: not NAME=VALUE"),
        (("--with", "nowhere", "--", "./program"), "--with"),
        (("--input", "nowhere", "--", "./program"), "nowhere"),
        (("-s", "selinx", "--", "./program"), "selinx"),
    ):
        done = lsmeter("exec", *words)
        assert (done.code, said in done.err) == (2, True), done.err
