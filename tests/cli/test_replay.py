# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole command line over recorded guests: plan, execute, conclude, store, resume, report."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from tests.cli.conftest import CAPTURES
from tests.conftest import Done, Lsmeter

FIVE = (
    "--benchmark",
    "getppid",
    "--benchmark",
    "open depth=[12]",
    "--benchmark",
    "stat depth=[12]",
)
FINE = ("run", "--setup", "capability", "--setup", "selinux", *FIVE, "--samples", "20")
ONE = ("--benchmark", "getppid", "--boots", "1", "--samples", "20", "--quick")


def measured(lsmeter: Lsmeter, *words: str, run: str = "run") -> Done:
    return lsmeter(*words, "--kernel", "./kernel", "--machine", "replay", "--run-dir", run)


def report(lsmeter: Lsmeter, run: str = "run") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lsmeter("report", run, "--format", "json").out)
    return found


def test_a_run_is_planned_carried_out_and_reported(replay: Lsmeter) -> None:
    done = measured(replay, *FINE)
    assert done.code == 0, done.err + done.out
    assert "4 boots of 2 cells, 6 benchmarks of 20 samples each" in done.err
    found = report(replay)
    assert found["problems"] == []
    assert {(item["setup"], item["boots"]) for item in found["estimates"]} == {
        ("capability", 2),
        ("selinux", 2),
    }
    overheads = {item["id"]: item["overhead"] for item in found["comparisons"]}
    assert overheads["getppid"] == 0
    assert overheads["open depth=1"] > 0.2
    assert all(item["whole"] is not None for item in found["comparisons"] if item["cycle"])
    (replay.home / "run" / "report.html").unlink()
    (replay.home / "run" / "report.html").mkdir()  # the answer stands before the page is made
    again = measured(replay, *FINE)
    assert again.code == 7
    assert again.out == done.out[: len(again.out)]
    assert "selinux" in again.out


def test_a_run_is_resumed_and_nothing_is_measured_twice(replay: Lsmeter) -> None:
    assert measured(replay, *FINE).code == 0
    before = report(replay)
    # As if it had been killed after three boots, and the store knew two of them.
    first, *_ = sorted((replay.home / "run" / "boots").iterdir())
    shutil.rmtree(first)
    stopped = replay("report", "run")
    assert "1 of 4 boots are missing; the same command resumes it" in " ".join(stopped.out.split())
    again = measured(replay, *FINE)
    assert again.code == 0
    assert again.err.count("from the store") == 4
    assert report(replay)["estimates"] == before["estimates"]


def test_a_run_is_checked_and_what_is_damaged_is_measured_again(replay: Lsmeter) -> None:
    assert measured(replay, *FINE).code == 0
    before = report(replay)
    done = replay("report", "run", "--verify")
    assert (done.code, "Every file is what was written" in done.out) == (0, True)
    one, two, *_ = sorted((replay.home / "run" / "boots").iterdir())
    table = one / "samples.parquet"
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 1
    table.write_bytes(data)
    shutil.rmtree(two)
    done = replay("report", "run", "--verify", "--format", "json")
    assert done.code == 7, done.err
    found = json.loads(done.out)
    assert (found["boots"], found["missing"], found["damaged"]) == (4, 1, 1)
    assert "boots/" + one.name + "/samples.parquet: damaged" in " ".join(found["problems"])
    shown = report(replay)
    assert ["damaged, and no result" in item["title"] for item in shown["problems"]] == [True]
    assert {item["boots"] for item in shown["estimates"]} <= {1, 2}
    again = measured(replay, *FINE)
    assert (again.code, again.err.count("from the store")) == (0, 4)
    assert report(replay)["estimates"] == before["estimates"]
    two.rename(replay.home / "elsewhere")
    assert replay("report", "run", "--verify").code == 1
    manifest = replay.home / "run" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"margin": 0.0', b'"margin": 0.1'))
    done = replay("report", "run")
    assert (done.code, "manifest.json: damaged" in " ".join(done.err.split())) == (7, True)
    assert replay("report", "run", "--verify").code == 7
    again = measured(replay, *FINE)
    assert (again.code, "it is written anew" in " ".join(again.err.split())) == (0, True)
    assert report(replay)["estimates"] == before["estimates"]


def test_what_is_damaged_in_the_store_is_named_and_measured_again(replay: Lsmeter) -> None:
    assert measured(replay, *FINE).code == 0
    before = report(replay)
    for path in sorted(replay.home.rglob("seed-*/results.zst"))[:2]:
        path.write_bytes(path.read_bytes()[:-1])
    again = measured(replay, *FINE, run="other")
    assert again.code == 0, again.err
    assert again.err.count("from the store") == 2
    assert " ".join(again.err.split()).count("results.zst: damaged") == 2
    assert report(replay, "other")["estimates"] == before["estimates"]


@pytest.mark.parametrize(
    ("setup", "status", "detail"),
    [
        ("tomoyo", "panic", "sysrq triggered crash"),
        ("yama", "hang", "deadline"),
        ("landlock", "hang", "deadline"),
        ("selinux+apparmor", "wrong-setup", "not active: apparmor"),
        ("unenforced.toml", "wrong-setup", "must be denied, and was allowed"),
    ],
)
def test_a_boot_that_goes_wrong_costs_its_own_cell_only(
    replay: Lsmeter, setup: str, status: str, detail: str
) -> None:
    if setup.endswith(".toml"):
        shutil.copy(CAPTURES / setup, replay.home)
        setup = f"./{setup}"
    done = measured(replay, "run", "--baseline", setup, "--setup", setup, *ONE)
    assert done.code == 1, done.err
    found = report(replay)
    assert found["estimates"] == []
    (problem,) = [item for item in found["problems"] if "boot 0" in item["title"]]
    assert problem["title"].endswith(status)
    assert detail in problem["detail"]
    # What failed is tried again, and the run directory is the same.
    assert measured(replay, "run", "--baseline", setup, "--setup", setup, *ONE).code == 1


def test_what_was_finished_before_qemu_was_killed_is_kept(replay: Lsmeter) -> None:
    kinds = ("getppid", "open [dlpt]*", "stat [dlpt]*")
    words = [word for kind in kinds for word in ("--benchmark", kind)]
    more = ("--samples", "2000", "--quick", "--boots", "1")
    alone = ("run", "--setup", "apparmor", "--baseline", "apparmor")
    done = measured(replay, *alone, *words, *more)
    assert done.code == 1
    found = report(replay)
    assert found["estimates"]
    assert any("QEMU was killed by SIGKILL" in item["detail"] for item in found["problems"])
    assert any("no number for apparmor" in item["title"] for item in found["problems"])


def test_slopes_are_fitted_and_shown_again(replay: Lsmeter) -> None:
    words = ("--benchmark", "open depth=[123]", "--benchmark", "getppid", "--delays", "0:2000:1000")
    done = measured(
        replay, "slopes", "--setup", "tunable-bpf", "--lookups", "selinux", *words, "-f", "json"
    )
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert {item["benchmark"]: item["hook_calls"] for item in data["slopes"]}["getppid"] == 0
    calls = [item["hook_calls"] for item in data["slopes"] if item["benchmark"] == "open"]
    assert calls == [2, 3, 4]
    assert {item["counter"] for item in data["lookups"]} >= {"avc.lookups"}
    assert report(replay)["slopes"] == data["slopes"]
    again = replay("slopes", "run", "--format", "csv")
    assert "hook_calls" in again.out


def test_hooks_are_counted_and_shown_again(replay: Lsmeter) -> None:
    done = measured(replay, "hooks", "count", *FIVE, "--format", "json")
    assert done.code == 0, done.err
    data = json.loads(done.out)
    runs = {
        (item["benchmark"], item["hook"]): item["runs"]
        for item in data["counts"]
        if item["params"] == {"depth": 2}
    }
    assert runs["open", "inode_permission"] == 3
    assert report(replay)["counts"] == data["counts"]


def test_costs_are_attributed_to_hooks(replay: Lsmeter) -> None:
    setups = ("--setup", "capability", "--setup", "selinux", "--benchmark", "open depth=1")
    more = ("--samples", "5", "--quick", "--boots", "1")
    done = measured(replay, "run", "--attribute", *setups, *more)
    assert done.code == 0, done.err
    cost = replay("hooks", "cost", "run")
    assert cost.code == 0, cost.err
    assert "inode_permission" in cost.out
    data = json.loads(replay("hooks", "cost", "run", "--format", "json").out)
    assert data["format"].startswith("lsmeter")
    accounts = report(replay)["accounts"]
    assert accounts[0]["setup"] == "selinux"


def test_a_boot_that_was_not_recorded_is_an_error_of_one_line(replay: Lsmeter) -> None:
    done = measured(replay, "run", "--setup", "bpf", *ONE)
    assert done.code == 2
    assert "no recording of this boot" in done.err
    assert "Traceback" not in done.err


def test_a_setup_file_that_changes_is_another_setup(
    replay: Lsmeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = replay.home / "recorded"
    shutil.copytree(CAPTURES / "capability", recorded / "mine")
    shutil.copytree(CAPTURES / "capability", recorded / "capability")
    monkeypatch.setenv("LSMETER_REPLAY", str(recorded))
    text = 'name = "mine"\ntitle = "mine"\nlsms = ["capability"]\n[files]\na = "./loud"\n'
    words = ("run", "--setup", "capability", "--setup", "./mine.toml", *FIVE, "--samples", "20")
    for name in ("loud", "quiet"):
        (replay.home / name).write_text(name)
    (replay.home / "mine.toml").write_text(text)
    assert measured(replay, *words, run="a").code == 0
    # The file's setup can be the baseline by its name.
    assert measured(replay, *words, "--baseline", "mine", run="named").code == 0
    found = report(replay, "named")["comparisons"]
    assert {(item["setup"], item["baseline_setup"]) for item in found} == {("capability", "mine")}
    # What only tells people about it, or checks it, changes no number.
    (replay.home / "mine.toml").write_text(text.replace('"mine"\nlsms', '"another title"\nlsms'))
    again = measured(replay, *words, run="b")
    assert again.err.count("from the store") == 4
    (replay.home / "mine.toml").write_text(text.replace("loud", "quiet"))
    changed = measured(replay, *words, run="c")
    assert changed.err.count("from the store") == 2
    said = "mine is defined differently in the two runs (files)"
    assert said not in " ".join(replay("compare", "a", "b").out.split())
    assert said in " ".join(replay("compare", "a", "c").out.split())
    (replay.home / "other.toml").write_text(text)
    clash = measured(replay, *words, "--setup", "./other.toml", run="d")
    assert clash.code == 2
    assert clash.err.count("error: ") == 1
    assert "./mine.toml and ./other.toml are different setups of one name, 'mine'" in clash.err
