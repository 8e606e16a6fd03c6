# SPDX-License-Identifier: GPL-2.0-or-later
"""Real guests that go wrong: each is told apart, costs its own cell only, and is reported."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from lsmeter.core.model import Kernel
from lsmeter.core.model.arch import X86_64
from lsmeter.core.process import find
from lsmeter.guest.probe import find_probe
from tests.conftest import DEADLINE_S, Done, Lsmeter

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

SOURCE = Path(__file__).with_name("faulty_probe.c")
ONE = ("run", "--setup", "capability", "--benchmark", "getppid", "--boots", "1", "--run-dir", "run")


@pytest.fixture
def faulty(tmp_path: Path) -> Callable[[str], Path]:
    def build(fault: str) -> Path:
        target = tmp_path / f"probe-{fault}"
        flags = ("-O1", "-static", "-Wall", "-Wextra", "-Werror")
        real = f'-DREAL="{find_probe().path}"'
        words = ["cc", *flags, f"-DFAULT={fault}", real, str(SOURCE), "-o", str(target)]
        subprocess.run(words, check=True)
        return target

    return build


def problems(lsmeter: Lsmeter, run: str = "run") -> list[dict[str, Any]]:
    done = lsmeter("report", run, "--format", "json")
    found: list[dict[str, Any]] = json.loads(done.out)["problems"]
    return found


def only_problem(lsmeter: Lsmeter, done: Done) -> str:
    assert done.code == 1, done.err
    found = [item for item in problems(lsmeter) if "boot 0" in item["title"]]
    assert len(found) == 1
    assert json.loads(lsmeter("report", "run", "-f", "json").out)["estimates"] == []
    return f"{found[0]['title']} {found[0]['detail']}"


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("garbage", "garbage"),
        ("crash", "panic"),
        ("leave", "panic"),
        ("restart", "early-exit"),
    ],
)
def test_what_the_guest_did_is_told(
    lsmeter: Lsmeter, faulty: Callable[[str], Path], fault: str, status: str
) -> None:
    done = lsmeter(*ONE, LSMETER_PROBE=str(faulty(fault)))
    assert f": {status}" in only_problem(lsmeter, done)


@pytest.mark.parametrize("fault", ["gigabytes", "chatter"])
def test_a_flood_is_cut_off(lsmeter: Lsmeter, faulty: Callable[[str], Path], fault: str) -> None:
    """Long before the 64 MiB for which a serial line takes minutes; what came is kept."""
    done = lsmeter(*ONE, LSMETER_PROBE=str(faulty(fault)))
    assert ": garbage" in only_problem(lsmeter, done)
    (boot,) = (lsmeter.home / "run" / "boots").glob("*-0")
    assert json.loads((boot / "boot.json").read_bytes())["capture"]["ending"] == "refused"
    kept = zstandard.decompress((boot / "results.zst").read_bytes())
    assert kept.startswith(b"x" if fault == "gigabytes" else b"0 hello *00000000\n")


@pytest.mark.parametrize("fault", ["nothing", "spin"])
def test_a_guest_that_never_ends_is_killed_at_the_deadline(
    lsmeter: Lsmeter, faulty: Callable[[str], Path], fault: str
) -> None:
    done = lsmeter(*ONE, "--boot-deadline", "15", LSMETER_PROBE=str(faulty(fault)))
    assert ": hang" in only_problem(lsmeter, done)


def test_a_guest_that_waits_for_a_processor_is_not_hung(lsmeter: Lsmeter) -> None:
    """A tenth of a processor: a boot of two seconds takes 20 or more, and needs less than 10."""
    # The last: other guests take the first that is free.
    pin = ("taskset", "-c", str(max(os.sched_getaffinity(0))))
    # Each in a session of its own: the kernel shares processors out to sessions.
    loop = ["setpriv", "--pdeathsig", "KILL", "--", *pin, "sh", "-c", "while :; do :; done"]
    busy = [subprocess.Popen(loop, start_new_session=True) for _ in range(9)]
    program = lsmeter.home / X86_64.program
    program.write_text(f'#!/bin/sh\nexec {shlex.join([*pin, find(X86_64.program) or ""])} "$@"\n')
    program.chmod(0o755)
    try:
        path = f"{lsmeter.home}:{os.environ['PATH']}"
        done = lsmeter(*ONE, "--boot-deadline", "10", PATH=path)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert done.code == 0, done.err + done.out


def test_a_kernel_that_panics_at_boot_shows_its_last_lines(
    lsmeter: Lsmeter, tmp_path: Path
) -> None:
    # On the host a script can run; the guest has no shell, so the kernel finds no init.
    probe = tmp_path / "script"
    probe.write_text(f'#!/bin/sh\nexec {shlex.quote(str(find_probe().path))} "$@"\n')
    probe.chmod(0o755)
    done = lsmeter(*ONE, LSMETER_PROBE=str(probe))
    assert ": panic" in only_problem(lsmeter, done)
    assert any("init" in line for line in problems(lsmeter)[0]["log_tail"])


def test_a_wrong_setup_gives_no_number(lsmeter: Lsmeter) -> None:
    """SELinux and AppArmor exclude each other: the second is not active."""
    words = ("run", "--setup", "capability", "--setup", "selinux+apparmor")
    done = lsmeter(*words, "--benchmark", "getppid", "--boots", "1", "--run-dir", "run")
    assert done.code == 1
    report = json.loads(lsmeter("report", "run", "-f", "json").out)
    assert {item["setup"] for item in report["estimates"]} == {"capability"}
    assert report["comparisons"] == []
    assert any(
        "wrong-setup" in item["title"] and "not active: apparmor" in item["detail"]
        for item in report["problems"]
    )


@pytest.mark.parametrize("content", [b"", b"not a kernel\n" * 100, bytes(4096)])
def test_an_image_that_is_no_kernel_is_a_usage_error(lsmeter: Lsmeter, content: bytes) -> None:
    image = lsmeter.home / "image"
    image.write_bytes(content)
    done = lsmeter("run", "--kernel", "./image")
    assert done.code == 2
    assert "image" in done.err


def test_a_truncated_kernel_is_a_usage_error(lsmeter: Lsmeter, debian_kernel: Kernel) -> None:
    whole = debian_kernel.image.read_bytes()
    (lsmeter.home / "image").write_bytes(whole[: len(whole) // 3])
    done = lsmeter("run", "--kernel", "./image")
    assert done.code == 2
    assert "image" in done.err


class TestKilled:
    """What is killed in the middle loses only what was not finished."""

    words = (
        *("run", "--setup", "capability", "--setup", "yama", "--benchmark", "getppid"),
        *("--boots", "2", "--jobs", "1", "--run-dir", "run"),
    )

    def guests(self, lsmeter: Lsmeter) -> list[int]:
        """Return the QEMU processes that this test's data directory belongs to."""
        mark = f"LSMETER_DATA={lsmeter.home}/data".encode()
        found = []
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                running = b"qemu" in words[0] and b"-kernel" in words
                if running and mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def done_boots(self, lsmeter: Lsmeter) -> int:
        return len(list((lsmeter.home / "data").glob("boots/*/*/boot.json")))

    def test_lsmeter_itself(self, lsmeter: Lsmeter, wait_for: Any) -> None:
        with lsmeter.start(*self.words) as process:
            wait_for(lambda: self.done_boots(lsmeter) >= 1 and bool(self.guests(lsmeter)))
            process.send_signal(signal.SIGKILL)
        wait_for(lambda: not self.guests(lsmeter))
        before = self.done_boots(lsmeter)
        assert before >= 1
        again = lsmeter(*self.words)
        assert again.code == 0, again.err
        assert again.err.count("from the store") >= before
        assert self.done_boots(lsmeter) == 4

    def test_ctrl_c(self, lsmeter: Lsmeter, wait_for: Any) -> None:
        with lsmeter.start(*self.words) as process:
            wait_for(lambda: self.done_boots(lsmeter) >= 1)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 130
        assert "the same command resumes it" in err
        assert "Traceback" not in err
        assert not self.guests(lsmeter)
        assert lsmeter(*self.words).code == 0

    def test_a_guest(self, lsmeter: Lsmeter, wait_for: Any) -> None:
        with lsmeter.start(*self.words) as process:
            os.kill(wait_for(lambda: self.guests(lsmeter))[0], signal.SIGKILL)
            _, err = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 1
        assert "QEMU was killed by SIGKILL" in err
        report = json.loads(lsmeter("report", "run", "-f", "json").out)
        assert len(report["problems"]) == 1
        assert {item["setup"] for item in report["estimates"]} == {"capability", "yama"}
        assert lsmeter(*self.words).code == 0
