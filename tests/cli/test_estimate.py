# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter estimate` and `--beside` from the command line, over recorded guests."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.cli.test_replay import FINE, measured
from tests.cli.test_workloads import own_captures, web
from tests.cli.test_workloads import run as run_web
from tests.conftest import Done, Lsmeter

__all__ = ["web"]  # a fixture

PROFILES = Path(__file__).parents[1] / "data" / "profiles"
CALLS = "calls.txt"


@pytest.fixture
def ready(replay: Lsmeter) -> Lsmeter:
    """Return the command with a run of the file suite, and a profile."""
    assert measured(replay, *FINE).code == 0
    shutil.copy(PROFILES / "strace-c-f.txt", replay.home / CALLS)
    return replay


def told(done: Done) -> str:
    assert done.code == 0, done.err + done.out
    assert max(map(len, done.out.splitlines())) <= 80
    return " ".join(done.out.split())


def data(lsmeter: Lsmeter, *words: str) -> dict[str, Any]:
    done = lsmeter("estimate", *words, "--format", "json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_a_profile_is_estimated_from_a_run(ready: Lsmeter) -> None:
    said = told(ready("estimate", "--profile", CALLS, "run"))
    assert "1,201 calls of 42 kinds" in said
    assert "does not say how long it was watched" in said
    assert "debian" in said or "kernel" in said
    for name in ("close", "mmap", "pipe2"):  # no suite of the run has them
        assert name in said.partition("Not covered")[2]
    (found,) = data(ready, "--profile", CALLS, "run")["estimates"]
    (selinux,) = found["setups"]
    assert (found["unit"], found["per"], selinux["setup"]) == ("insns", "profile", "selinux")
    assert selinux["low"] <= selinux["value"] <= selinux["high"]
    assert 0 < selinux["calls_share"] < 1
    calls = {item["name"]: item for item in found["calls"]}
    report = json.loads(ready("report", "run", "-f", "json").out)
    added = [item["difference"] for item in report["comparisons"] if item["benchmark"] == "open"]
    cost = calls["openat"]["costs"]["selinux"]
    assert cost["value"] == sum(added) / 2
    assert (cost["low"] <= min(added), cost["high"] >= max(added)) == (True, True)
    assert calls["openat"]["benchmarks"] == ["file: open depth=1", "file: open depth=2"]
    assert calls["pipe2"]["why"] == "not in these runs: --suite ipc"
    assert calls["mmap"]["why"] == "not in these runs: --suite process"


def test_an_estimate_is_drawn(ready: Lsmeter) -> None:
    done = ready("estimate", "--profile", CALLS, "run", "-f", "svg", "-o", "cost.svg")
    assert done.code == 0, done.err
    assert ">selinux</text>" in (ready.home / "cost.svg").read_text()


def test_a_profile_of_unknown_calls_costs_what_nobody_knows(ready: Lsmeter) -> None:
    rule, head = "------- ------- -------", "  calls  errors syscall"
    rows = (head, rule, "      3         made_up", rule, "      3         total")
    (ready.home / CALLS).write_text("\n".join(rows) + "\n")
    (found,) = data(ready, "--profile", CALLS, "run")["estimates"]
    (selinux,) = found["setups"]
    assert (selinux["value"], selinux["low"], selinux["calls_share"]) == (None, None, 0)
    assert selinux["uncovered"] == ["made_up"]
    said = told(ready("estimate", "--profile", CALLS, "run"))
    assert "nothing is known of any call" in said
    assert "it has no proxy benchmark" in said
    assert "of one call more" not in said


def test_seconds_make_costs_a_second(ready: Lsmeter) -> None:
    (whole,) = data(ready, "--profile", CALLS, "run")["estimates"]
    (second,) = data(ready, "--profile", CALLS, "run", "--seconds", "4")["estimates"]
    assert second["per"] == "second"
    for key in ("value", "low", "high"):
        assert second["setups"][0][key] == pytest.approx(whole["setups"][0][key] / 4)
    assert "does not say how long" not in told(
        ready("estimate", "--profile", CALLS, "run", "--seconds", "4")
    )


def test_the_latest_run_with_system_calls_is_taken(ready: Lsmeter) -> None:
    (ready.home / "runs" / "damaged").mkdir(parents=True)
    assert "no run in runs/ has system calls" in ready("estimate", "--profile", CALLS).err
    shutil.copytree(ready.home / "run", ready.home / "runs" / "mine")
    (ready.home / "runs" / "damaged" / "manifest.json").write_text("{}")
    done = ready("estimate", "--profile", CALLS)
    assert "the latest run with system calls: runs/mine" in done.err
    assert "damaged is passed over" in done.err
    told(done)


def test_other_formats_have_it_too(ready: Lsmeter) -> None:
    for form in ("markdown", "text", "csv", "html"):
        done = ready("estimate", "--profile", CALLS, "run", "--format", form)
        assert done.code == 0, done.err
        assert "pipe2" in done.out, form


def test_words_that_are_off_are_refused(ready: Lsmeter) -> None:
    for words, says in (
        (("--profile", "none", "run"), "--profile: none: cannot read it"),
        (("--profile", "run", "run"), "no workload was counted in it"),
        (("--profile", CALLS, "none"), "none: no such run directory"),
        (("--profile", CALLS, "run", "-s", "smack"), "unknown setup 'smack'"),
        (("--profile", CALLS, "run", "--on", "disk"), "unknown kind 'disk'"),
        (("--profile", CALLS, "run", "--on", "read=udp"), "unknown kind 'udp'"),
        (("--profile", CALLS, "run", "--on", "reed=tcp"), "did you mean read"),
        (("--profile", CALLS, "run", "-b", "open"), "a file of system calls has none"),
        (("--profile", CALLS, "run", "--seconds", "0"), "--seconds"),
        (("--profile", "kernel", "run"), "neither a summary of strace -c nor of perf"),
        ((), "--profile"),
    ):
        done = ready("estimate", *words)
        assert (done.code, done.out) == (2, "")
        assert says in " ".join(done.err.split()), words


def test_without_any_run_it_says_what_to_do(replay: Lsmeter) -> None:
    shutil.copy(PROFILES / "strace-c-f.txt", replay.home / CALLS)
    done = replay("estimate", "--profile", CALLS)
    assert done.code == 2
    assert "no run in runs/ has system calls" in done.err
    assert "lsmeter run --suite file" in done.err


def test_a_workload_without_counted_calls_is_refused(
    web: Lsmeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As guests were recorded before calls were counted by name."""
    for home in own_captures(web, monkeypatch).glob("*/workload-*/tally.zst"):
        lines = zstandard.decompress(home.read_bytes(), 1 << 24).splitlines(keepends=True)
        kept = b"".join(line for line in lines if b" syscall " not in line)
        home.write_bytes(zstandard.compress(kept))
    assert run_web(web, "--boots", "1").code == 0
    done = web("estimate", "--profile", "run", "run")
    assert done.code == 2
    assert "it has no system calls by name" in done.err
    assert "--fresh" in done.err


OWN = """
title = "mine"
source = "a paper"
kernel = "Linux 2.6"
hardware = "a computer"
instrument = "time"
[setups]
x = "a module"
[[rows]]
name = "my row"
benchmarks = ["file: open depth=1"]
printed_percent = { x = 12.5 }
"""


def test_printed_values_stand_beside_a_report(ready: Lsmeter) -> None:
    (ready.home / "own.toml").write_text(OWN)
    said = told(ready("report", "run", "--beside", "own.toml", "--beside", "lomac2001"))
    assert "my row +12.5 %" in said
    assert "Beside LOMAC, table 2" in said
    found = json.loads(ready("report", "run", "--beside", "own.toml", "-f", "json").out)
    (row,) = found["beside"][0]["rows"]
    assert [item["setup"] for item in row["own"]] == ["selinux"]
    again = measured(ready, *FINE, "--beside", "own.toml", run="again")
    assert "my row" in again.out
    assert "my row" in (ready.home / "again" / "report.html").read_text()


def test_a_study_that_is_not_known_is_refused_before_anything_is_measured(replay: Lsmeter) -> None:
    done = measured(replay, *FINE, "--beside", "lomac")
    assert done.code == 2
    assert "unknown study 'lomac'; did you mean lomac2001?" in done.err
    assert not (replay.home / "run").exists()
