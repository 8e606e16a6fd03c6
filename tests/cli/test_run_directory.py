# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run leaves: shown again, continued after a fault, held by one command at a time."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

import pytest

from lsmeter.machines.replay import Replay
from lsmeter.measure.results.held import held
from tests.conftest import Done, Lsmeter

FIVE = ("getppid", "open depth=[12]", "stat depth=[12]")
WORDS = (
    *("--samples", "20", "--kernel", "./kernel", "--machine", "replay"),
    *(word for name in FIVE for word in ("--benchmark", name)),
)


def measured(lsmeter: Lsmeter, *more: str) -> Done:
    done = lsmeter("run", "--setup", "selinux", *WORDS, *more)
    assert done.code == 0, done.err + done.out
    return done


def report(lsmeter: Lsmeter, *words: str) -> dict[str, Any]:
    done = lsmeter("report", *words, "--format", "json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def numbers(lsmeter: Lsmeter) -> list[Any]:
    found = report(lsmeter, "run")
    return [found["estimates"], found["comparisons"], found["problems"]]


def test_one_setup_is_compared_with_capabilities_only(replay: Lsmeter) -> None:
    done = measured(replay, "--run-dir", "run")
    assert "capability (baseline), selinux" in done.err
    found = report(replay, "run")
    assert found["baseline_setup"] == "capability"
    assert {item["setup"] for item in found["comparisons"]} == {"selinux"}
    assert {item["id"] for item in found["comparisons"] if item["control"]} == {"empty", "getppid"}


def test_a_report_without_a_run_takes_the_latest(replay: Lsmeter) -> None:
    none = replay("report")
    assert none.code == 2
    assert "there is no run in runs/ of this directory" in none.err
    measured(replay)
    (first,) = (replay.home / "runs").iterdir()
    assert f"the latest run: runs/{first.name}" in replay("report").err
    (replay.home / "elsewhere" / "of").mkdir(parents=True)
    measured(replay, "--run-dir", "elsewhere/of/mine")
    assert f"the latest run: runs/{first.name}" in replay("report").err
    measured(replay)
    (second,) = {*(replay.home / "runs").iterdir()} - {first}
    assert f"the latest run: runs/{second.name}" in replay("report").err
    other = replace(replay, home=replay.home / "elsewhere")  # another directory's
    assert "there is no run in runs/" in other("report").err


def test_two_runs_of_one_second_have_directories_of_their_own(replay: Lsmeter) -> None:
    measured(replay)
    measured(replay)
    assert len(list((replay.home / "runs").iterdir())) == 2


def test_a_report_leaves_out_what_is_not_asked_for_and_takes_another_baseline(
    replay: Lsmeter,
) -> None:
    measured(replay, "--run-dir", "run")
    whole = report(replay, "run")
    found = report(replay, "run", "--baseline", "selinux", "--benchmark", "open")
    assert {item["id"] for item in found["estimates"]} == {
        *("open depth=1", "open depth=2", "empty", "getppid")
    }
    assert {item["setup"] for item in found["comparisons"]} == {"capability"}
    kept = [item for item in whole["estimates"] if item["benchmark"] != "stat"]
    assert found["estimates"] == kept
    notes = " ".join(found["notes"])
    assert "compared with selinux; the run's own baseline is capability" in notes
    assert "2 of the run's 6 benchmarks are left out" in notes
    alone = report(replay, "run", "--setup", "capability")
    assert {item["setup"] for item in alone["estimates"]} == {"capability"}
    for words, said in (
        (("--setup", "apparmor"), "--setup: unknown setup of this run 'apparmor'"),
        (("--baseline", "selinx"), "did you mean selinux?"),
        (("--benchmark", "chmod"), "--benchmark: unknown benchmark 'chmod'"),
    ):
        done = replay("report", "run", *words)
        assert (done.code, said in done.err) == (2, True), done.err


def test_a_directory_that_got_no_manifest_takes_the_same_command_again(replay: Lsmeter) -> None:
    measured(replay, "--run-dir", "run")
    before = numbers(replay)
    run = replay.home / "run"
    (run / "manifest.json").unlink()
    (run / ".lsmeter-1-1.partial").write_bytes(b"{")
    measured(replay, "--run-dir", "run")
    assert numbers(replay) == before
    assert not list(run.glob("*.partial"))


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff", b'{"format": "lsmeter-run"'])
def test_a_damaged_manifest_is_put_aside_and_the_run_goes_on(
    replay: Lsmeter, damage: bytes
) -> None:
    measured(replay, "--run-dir", "run")
    before = numbers(replay)
    (replay.home / "run" / "manifest.json").write_bytes(damage)
    again = measured(replay, "--run-dir", "run")
    assert "it is written anew, and kept as manifest.damaged.json" in again.err
    assert (replay.home / "run" / "manifest.damaged.json").read_bytes() == damage
    assert numbers(replay) == before


def test_a_directory_of_somebody_else_is_not_touched(replay: Lsmeter) -> None:
    (replay.home / "mine").mkdir()
    (replay.home / "mine" / "thesis.tex").write_text("x")
    done = replay("run", "--setup", "selinux", *WORDS, "--run-dir", "mine")
    assert done.code == 2
    assert "it holds thesis.tex" in done.err
    assert [path.name for path in (replay.home / "mine").iterdir()] == ["thesis.tex"]


def test_a_manifest_that_cannot_be_written_leaves_no_directory(
    replay: Lsmeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*words: object) -> int:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        done = replay("run", "--setup", "selinux", *WORDS, "--run-dir", "run")
    assert done.code == 7
    assert "No space left" in done.err
    assert not (replay.home / "run").exists()
    measured(replay, "--run-dir", "run")


def test_a_run_that_is_removed_in_the_middle_is_made_again(
    replay: Lsmeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(replay, "--run-dir", "run")
    before = numbers(replay)
    answer, calls = Replay.run, []

    async def removing(*words: Any) -> Any:
        calls.append(words)
        if len(calls) == 3:
            # At once, since the boot before may be written meanwhile.
            (replay.home / "run").rename(replay.home / "gone")
        return await answer(*words)

    monkeypatch.setattr(Replay, "run", removing)
    done = measured(replay, "--run-dir", "run", "--fresh", "--jobs", "1")
    assert "run was removed meanwhile" in done.err
    assert len(calls) == 4
    assert numbers(replay) == before


def test_one_command_at_a_time_measures_into_a_directory(replay: Lsmeter) -> None:
    with held(replay.home / "run"):
        done = replay("run", "--setup", "selinux", *WORDS, "--run-dir", "run")
        assert done.code == 2
        said = f"another lsmeter is measuring into run: process {os.getpid()} (lsmeter"
        assert said in done.err
        assert (replay.home / "run" / ".lock").is_file(), "it is not the refused one's"
    measured(replay, "--run-dir", "run")
    other = replay("run", "--setup", "tomoyo", *WORDS, "--run-dir", "run")
    assert other.code == 2
    assert "holds another run" in other.err


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("-s", "selinux"), ("fetch kernel debian:6.1: about ", "4 boots, ")),
        (("-s", "selinux-enforcing"), ("fetch kernel", "build image policy: about ", "4 boots, ")),
        (("--suite", "web-nginx"), ("fetch kernel", "build image servers: about ", "12 boots, ")),
        (("--attribute", "-s", "selinux"), ("fetch kernel", "4 boots, ")),
    ],
)
def test_a_dry_run_makes_nothing_and_says_how_long_it_would_take(
    in_process: Lsmeter, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], parts: Any
) -> None:
    """On a fresh machine, whose compiler and network would be seen if they were asked."""
    monkeypatch.setenv("CC", "false")
    monkeypatch.setattr("lsmeter.sources.kernels.apt.states", None)
    monkeypatch.setattr("lsmeter.sources.images.build.bootstrap", None)
    cache = str(in_process.home / "cache")
    done = in_process("run", *words, "--dry-run", LSMETER_CACHE=cache)
    assert done.code == 0, done.err
    said = [line.split(maxsplit=1)[1] for line in done.err.splitlines() if "takes  " in line]
    assert len(said) == len(parts)
    for line, part in zip(said, parts, strict=True):
        assert line.startswith(part)
    assert not any(path.is_file() for path in in_process.home.rglob("*"))
