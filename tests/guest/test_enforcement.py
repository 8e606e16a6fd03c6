# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps and enforcement checks of a setup file, in a real guest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Lsmeter
from tests.runs import each

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

# Nothing confines the worker here: capability refuses root nothing.
SETUP = """
name = "mine"
title = "steps of the user's own"
lsms = ["capability"]
steps = [["mkdir", "/mine"], ["file", "/mine/a b", "50% of it\\n"], ["work"],
         ["visit", "/mine"], {step}]
[files]
part = "part"
[reads]
"mine.part" = "/setup/part"
[[expect]]
fact = "mine.part"
value = "first line"
[[checks]]
name = "read-mine"
access = "read"
path = "{path}"
denied = {denied}
"""
ONE = ("--benchmark", "getppid", "--boots", "1", "--baseline", "capability", "--run-dir", "run")


def run(
    lsmeter: Lsmeter, folder: Path, *, step: str = '["mkdir", "/x"]', **words: str
) -> tuple[int, str, dict[str, str]]:
    """Run the setup; return the exit code, what its problem says, and its facts."""
    values = {"path": "/mine/a b", "denied": "false"} | words
    (folder / "part").write_text("first line\nsecond\n")
    (folder / "mine.toml").write_text(SETUP.format(step=step, **values))
    done = lsmeter("run", "--setup", "./mine.toml", *ONE)
    report = json.loads(lsmeter("report", "run", "--format", "json").out)
    told = " ".join(f"{item['title']} {item['detail']}" for item in report["problems"])
    facts = {item["setup"]: item["facts"] for item in report["setups"]}
    return done.code, told, facts.get("mine", {})


def test_steps_are_taken_and_facts_read(lsmeter: Lsmeter, tmp_path: Path) -> None:
    code, told, facts = run(lsmeter, tmp_path)
    assert (code, told) == (0, "")
    assert facts["proof.read-mine"] == "allowed"
    assert facts["mine.part"] == "first line"
    assert int(facts["step.2"]) > 0


def test_a_denial_that_does_not_happen_gives_no_numbers(lsmeter: Lsmeter, tmp_path: Path) -> None:
    code, told, _ = run(lsmeter, tmp_path, denied="true")
    assert code == 1
    assert "must be denied, and was allowed" in told


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ('["write", "/nowhere/x", "1"]', "opening /nowhere/x: No such file or directory"),
        ('["run", "/no/program"]', "/no/program left with status 127: No such file or directory"),
        ('["mount", "nofs", "/mine"]', "mounting /mine: No such device"),
        ('["label", "/mine", "user.a", "b"]', "labelling /mine"),
    ],
)
def test_a_step_that_fails_ends_the_boot_and_says_why(
    lsmeter: Lsmeter, tmp_path: Path, step: str, said: str
) -> None:
    code, told, _ = run(lsmeter, tmp_path, step=step)
    assert code == 1
    assert "step 6 (" in told
    assert said in told


def test_what_a_setup_does_before_is_no_cost(lsmeter: Lsmeter) -> None:
    """Nothing confines: steps, checks, states and a changed name leave pages behind, no more."""
    more = """confine = [["/proc/self/comm", "mine"]]
[[states]]
name = "memory"
path = "/proc/meminfo"
[files]
"""
    text = SETUP.format(step='["mkdir", "/x"]', path="/mine/a b", denied="false")
    (lsmeter.home / "mine.toml").write_text(text.replace("[files]\n", more))
    (lsmeter.home / "part").write_text("first line\n")
    names = ("fork", "clone namespace=uts", "exit mappings=1")
    words = ("run", "--setup", "./mine.toml", "--baseline", "capability", "--suite", "process")
    done = lsmeter(*words, *each("--benchmark", names), "--boots", "1", "--quick", "-f", "json")
    assert done.code == 0, done.err + done.out
    report = json.loads(done.out)
    (pages,) = {item["facts"]["pages.own"] for item in report["setups"]}
    assert int(pages) > 100
    found = {item["id"]: item for item in report["comparisons"]}
    for name in names:
        typical = found[name]["typical"]
        assert abs(typical["difference"]) < 0.001 * typical["baseline_value"], name
