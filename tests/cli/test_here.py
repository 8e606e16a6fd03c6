# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole command line on this machine as it runs: real blocks, of which a few are enough."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from lsmeter.cli import measure
from lsmeter.cli.options import Options
from lsmeter.core.errors import ExitCode
from tests.conftest import Done, Lsmeter, Wait

FEW = ("-b", "stat depth=1", "--samples", "20", "--boots", "2")
TIMED = ("run", "--instrument", "timed", *FEW)


def measured(lsmeter: Lsmeter, *words: str, run: str = "run", **extra: str) -> Done:
    return lsmeter(*TIMED, *words, "--run-dir", run, **extra)


def report(lsmeter: Lsmeter, run: str = "run") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lsmeter("report", run, "--format", "json").out)
    return found


def test_a_run_is_planned_carried_out_and_reported(in_process: Lsmeter) -> None:
    done = measured(in_process, "-s", "seccomp:filters=2,length=50")
    assert done.code == 0, done.err
    found = report(in_process)
    assert (found["problems"], found["instrument"]) == ([], "timed")
    assert {item["setup"] for item in found["estimates"]} == {
        *("running", "running again", "seccomp:filters=2,length=50"),
    }
    assert {item["boots"] for item in found["estimates"]} == {2}
    assert found["kernels"][0]["release"] == os.uname().release


def _index(data: bytes) -> int:
    return int(json.loads(data)["boot"]["index"])


def test_a_stopped_run_keeps_its_blocks(in_process: Lsmeter) -> None:
    assert measured(in_process, "-s", "running").code == 0
    before = {
        path.name: (path / "boot.json").read_bytes()
        for path in (in_process.home / "run/boots").iterdir()
    }
    lost = sorted(before)[0]
    # A block is made as a whole: its processes take turns.
    block = {name for name, data in before.items() if _index(data) == _index(before[lost])}
    shutil.rmtree(in_process.home / "run/boots" / lost)
    again = measured(in_process, "-s", "running")
    assert (again.code, again.err.count("from the store")) == (0, len(before) - len(block))
    for name, data in before.items():
        same = (in_process.home / "run/boots" / name / "boot.json").read_bytes() == data
        assert same == (name not in block)
    # Measured anew where that is asked for, and never from a store of other runs.
    assert measured(in_process, "-s", "running", "--fresh").err.count("from the store") == 0
    assert measured(in_process, "-s", "running", run="other").err.count("from the store") == 0
    assert not (in_process.home / "data/boots").exists()


def test_dry_run_says_what_would_be_done_and_does_nothing(in_process: Lsmeter) -> None:
    done = in_process(*TIMED, "--machine", "here", "-s", "selinux", "--dry-run")
    assert done.code == 0
    assert "lsmeter-probe native DIRECTORY REQUEST" in done.out
    assert "selinux cannot be measured on a machine as it runs" in " ".join(done.err.split())
    assert not list(in_process.home.glob("run*"))


def test_the_machine_may_be_named_in_the_file(in_process: Lsmeter) -> None:
    file = in_process.home / "asked.toml"
    file.write_text('instrument = "timed"\nmachine = "here"\nsetups = ["running"]\n')
    done = in_process("run", str(file), "--dry-run", *FEW)
    assert (done.code, "machine     here" in done.err) == (0, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--machine", "here"), "the instrument exact cannot read it"),
        ((*TIMED, "--machine", "emulation"), "the instrument timed cannot read it"),
        ((*TIMED, "-k", "debian:6.1"), "boots no kernel"),
        ((*TIMED, "--cold"), "caches of a whole machine"),
        ((*TIMED, "--attribute"), "cannot do the task attribute"),
        ((*TIMED, "--condition", "tick=periodic"), "under no conditions"),
        ((*TIMED, "--filesystem", "ext2"), "unknown file system"),
        (("run", "--copies", "2"), "copies: instructions are counted on one processor"),
        ((*TIMED, "--copies", "many"), "copies.0"),
        ((*TIMED, "--copies", "1024"), "--copies 1024: there are"),
        ((*TIMED, "--copies", "cpus", "--cold"), "copies: cold readings"),
        ((*TIMED, "--copies", "cpus", "--tune"), "--tune: it keeps one CPU apart"),
        (("slopes", "--machine", "here"), "this command boots guests"),
        (("run", "--tune", "--machine", "emulation", "--dry-run"), ""),
        (("here", "run", "--label", "../x"), "is no word"),
        (("here", "plan", "-s", "selinux", "--write", "grub"), "No such option: --write"),
        (("here", "plan", "-s", "nothing"), "unknown setup"),
    ],
)
def test_what_cannot_be_is_one_clear_line(
    in_process: Lsmeter, words: tuple[str, ...], said: str
) -> None:
    done = in_process(*words)
    if said:
        assert (done.code, said in " ".join(done.err.split())) == (2, True), done.err


def test_a_work_directory_that_is_not_there_is_named(in_process: Lsmeter) -> None:
    done = measured(in_process, "-s", "running", LSMETER_WORK="/no/such")
    assert (done.code, "LSMETER_WORK: /no/such" in done.err) == (2, True)


def test_plan_says_what_to_boot(in_process: Lsmeter, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "proc").mkdir(parents=True)
    (root / "proc/cmdline").write_text("root=/dev/vda ro lsm=yama quiet\n")
    words = ("here", "plan", "-s", "capability", "-s", "landlock", "-s", "dac")
    done = in_process(*words, LSMETER_ROOT=str(root))
    said = " ".join(done.out.split())
    assert done.code == 0
    assert "boot this kernel once with these parameters: root=/dev/vda ro quiet" in said
    assert "lsmeter here run --label capability --booted capability" in said
    assert "no boot is needed: lsmeter run --instrument timed -s landlock" in said
    assert "built without CONFIG_SECURITY" in said
    # The parameters stay one line, and programs get it as well.
    data = json.loads(in_process(*words, "--format", "json", LSMETER_ROOT=str(root)).out)["items"]
    assert "root=/dev/vda ro quiet lsm=capability panic=30" in data["boots"]
    assert "    root=/dev/vda ro quiet lsm=capability panic=30" in done.out.splitlines()


def test_runs_after_each_boot_are_called_by_their_labels_and_compared(
    in_process: Lsmeter,
) -> None:
    for label in ("one", "two"):
        done = in_process("here", "run", "--label", label, *FEW, "--run-dir", label)
        assert done.code == 0, done.err
        assert f"as booted: {label}" in done.out + done.err
    done = in_process("compare", "one", "two")
    assert (done.code, "stat" in done.out) == (0, True)


def settings(root: Path) -> Path:
    """Make a machine whose governor can be changed."""
    home = root / "sys/devices/system/cpu/cpu0/cpufreq"
    home.mkdir(parents=True)
    (home / "scaling_governor").write_text("schedutil\n")
    (home / "scaling_available_governors").write_text("performance schedutil\n")
    return home / "scaling_governor"


def test_what_was_tuned_is_put_back(in_process: Lsmeter, tmp_path: Path) -> None:
    governor = settings(tmp_path / "root")
    done = measured(in_process, "-s", "running", "--tune", LSMETER_ROOT=str(tmp_path / "root"))
    assert (done.code, "tuned until the end: the frequency governor of cpu0" in done.err) == (
        0,
        True,
    ), done.err
    assert governor.read_text().strip() == "schedutil"


def test_a_machine_is_tuned_once_at_a_time(
    lsmeter: Lsmeter, tmp_path: Path, wait_for: Wait[bool]
) -> None:
    governor = settings(tmp_path / "root")
    root = {"LSMETER_ROOT": str(tmp_path / "root")}
    words = (*TIMED, "-s", "running", "--tune")
    with lsmeter.start(*words, "--boots", "1000", "--run-dir", "first", **root) as first:
        wait_for(lambda: first.poll() is not None or (lsmeter.home / "first/boots").is_dir())
        with lsmeter.start(*words, "--boots", "1", "--run-dir", "second", **root) as second:
            assert second.stderr is not None
            for line in second.stderr:
                if "holds the tuning of this machine" in line:
                    break
            else:
                pytest.fail("the second did not wait")
            assert not (lsmeter.home / "second/boots").exists()
            first.send_signal(signal.SIGINT)
            first.communicate()
            _, err = second.communicate()
    assert (second.returncode, "tuned until the end: the frequency governor" in err) == (0, True)
    assert governor.read_text().strip() == "schedutil"


@pytest.mark.parametrize("then", [("here", "restore"), ("list", "suites")])
def test_after_a_kill_the_next_command_puts_back_what_was_tuned(
    lsmeter: Lsmeter, tmp_path: Path, wait_for: Wait[bool], then: tuple[str, ...]
) -> None:
    governor = settings(tmp_path / "root")
    root = {"LSMETER_ROOT": str(tmp_path / "root")}
    boots = lsmeter.home / "run/boots"
    words = (*TIMED, "-s", "running", "--boots", "1000", "--tune", "--run-dir", "run")
    with lsmeter.start(*words, **root) as process:
        wait_for(lambda: process.poll() is not None or boots.is_dir())
        assert process.poll() is None, process.communicate()
        assert governor.read_text() == "performance"
        # As long as it runs, nobody else puts anything back.
        assert lsmeter(*then, **root).code == 0
        assert governor.read_text() == "performance"
        process.send_signal(signal.SIGKILL)
        process.communicate()
    done = lsmeter(*then, **root)
    assert done.code == 0
    assert "put back, after a lsmeter that was killed" in done.err
    assert governor.read_text() == "schedutil"
    assert "put back" not in lsmeter(*then, **root).err


def test_a_setting_of_the_machine_is_put_back_after_each_block(
    in_process: Lsmeter, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    home = root / "sys/fs/selinux/avc"
    home.mkdir(parents=True)
    (home.parent / "enforce").write_text("1")
    (home / "cache_threshold").write_text("512")
    words = ("-s", "running-selinux:mode=permissive,avc=64", "--boots", "1")
    done = measured(in_process, *words, LSMETER_ROOT=str(root))
    # SELinux itself was not among what was changed: its facts say so, and there is no number.
    assert done.code == 1
    assert "selinux.enforce: expected '0'" in " ".join(done.out.split())
    assert ((home.parent / "enforce").read_text(), (home / "cache_threshold").read_text()) == (
        "1",
        "512",
    )


def test_a_stopped_calibration_goes_on_in_its_directory(
    in_process: Lsmeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Path | None, Path | None]] = []

    def stopped(
        _asked: object, _stem: str, how: Options, *, resume: Path | None
    ) -> tuple[Path, ExitCode]:
        calls.append((how.run_dir, resume))
        if len(calls) % 2:
            (how.run_dir or Path()).mkdir()
            return Path(), ExitCode.OK
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "measure", stopped)
    # What was timed says which modules the guest has as well.
    monkeypatch.setattr("lsmeter.measure.results.directory.read_run", lambda _path: None)
    monkeypatch.setattr("lsmeter.questions.time.figures.lsms_of", lambda _run: "")
    words = ("--kernel", "debian:6.1")
    first = in_process("calibrate", *words)
    assert (first.code, len(calls)) == (130, 2)
    ((timed, again), (counted, same)) = calls
    assert again is not None
    assert again == same
    assert (timed, counted) == (again / "timed", again / "events")
    assert f"kept in {again}: --run-dir goes on with it" in " ".join(first.err.split())
    assert in_process("validate", *words, "--run-dir", "mine").code == 130
    assert calls[2:] == [(Path("mine/timed"), None), (Path("mine/events"), None)]


def test_a_stopped_run_says_where_it_goes_on(
    in_process: Lsmeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lsmeter.cli.measure.stopped_early", lambda _run: True)
    done = in_process(*TIMED, "-s", "running")
    (made,) = (in_process.home / "runs").iterdir()
    assert done.code == 130
    assert f"the same command with --run-dir runs/{made.name} resumes it" in " ".join(
        done.err.split()
    )
    done = in_process(*TIMED, "-s", "running", "--run-dir", "mine")
    assert "and the same command resumes it" in " ".join(done.err.split())


def test_too_few_operations_are_refused_before_any_is_measured(in_process: Lsmeter) -> None:
    done = in_process("calibrate", "--kernel", "debian:6.1", "-b", "stat", "-b", "open")
    assert done.code == 2
    assert "names 3 operations" in done.err
    assert not (in_process.home / "runs").exists()


def test_runs_of_a_baseline_alone_have_no_overhead_that_could_change(in_process: Lsmeter) -> None:
    for run in ("one", "two"):
        assert in_process("here", "run", "--label", run, *FEW, "--run-dir", run).code == 0
    out = " ".join(in_process("compare", "one", "two").out.split())
    assert "Not known: that needs running and one more setup in both runs." in out


def test_a_command_is_run_in_guests_alone(in_process: Lsmeter) -> None:
    done = in_process("exec", "--machine", "here", "--", "true")
    assert done.code == 2
    assert done.err.startswith("error: --machine: a command is run in guests alone")


def test_what_could_not_be_put_back_is_an_error(in_process: Lsmeter) -> None:
    journal = in_process.home / "data/changed/999999-1.json"
    journal.parent.mkdir(parents=True, mode=0o700)
    journal.write_text("{}")
    journal.chmod(0o666)
    done = in_process("here", "restore")
    assert done.code == 7
    assert "error: could not be put back: " in done.err and "is not trusted" in done.err
