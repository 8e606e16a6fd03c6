# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests in real time, the way of those on KVM: booted, timed, stored, reported."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.host import cores
from lsmeter.core.limits import Limits
from lsmeter.core.model import BenchmarkStatus, BootStatus, Cell, Conditions, Kernel, Sampling
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.capture import Ending
from lsmeter.guest.session import parse_session
from lsmeter.machines import find_machine
from lsmeter.measure.experiment.plan import PlannedBoot
from lsmeter.measure.results.directory import read_run
from tests.conftest import Lsmeter

pytestmark = pytest.mark.guest


def test_a_guest_in_real_time_is_timed_by_its_own_clock(lsmeter: Lsmeter) -> None:
    words = ("--instrument", "timed", "--machine", "tcg", "-s", "capability", "-b", "getppid")
    often = ("--boots", "1", "--samples", "20", "--run-dir", "run")
    done = lsmeter("run", *words, *often)
    assert done.code == 0, done.err
    files = sorted((lsmeter.home / "run/boots").glob("*/boot.json"))
    assert len(files) == 2  # of the baseline, and of the same again
    for path in files:
        boot = json.loads(path.read_bytes())["boot"]
        facts = dict(boot["facts"])
        assert boot["status"] == "ok"
        # The guest's own clock, and its own kernel; the host's facts around.
        assert int(facts["timing.hz"]) > 0
        assert facts["timing.clock"] in {"tsc", "monotonic"}
        assert facts["kernel.release"] != facts["host.kernel"] == os.uname().release
        assert facts["host.boot_id"] == facts["host.after.boot_id"]
        assert "boot.insns" not in facts
    assert "nanoseconds" in done.out
    assert "insns" not in done.out


@pytest.mark.skipif(cores() < 2, reason="each copy has a processor of its own")
def test_a_guest_in_real_time_has_a_processor_for_each_copy(lsmeter: Lsmeter) -> None:
    words = ("--instrument", "timed", "--machine", "tcg", "-s", "capability", "--suite", "ipc")
    which = ("-b", "mq-make", "-b", "sysv-find*", "--copies", "2")
    done = lsmeter("run", *words, *which, "--boots", "1", "--samples", "20", "--run-dir", "run")
    assert done.code == 0, done.err
    boots = read_run(lsmeter.home / "run").boots
    assert len(boots) == 2
    for boot in boots:
        assert (boot.status, dict(boot.facts)["copies"]) == (BootStatus.OK, "2")
        assert {(item.status, len(item.values)) for item in boot.samples} == {
            (BenchmarkStatus.OK, 20)
        }
    assert "2 copies" in done.out


# In QEMU's place: the first guest of a kernel never says a word.
HANGS_ONCE = """#!/bin/sh
case "$*" in *-kernel*) mkdir {folder}/started 2>/dev/null && exec sleep 1000;; esac
exec {qemu} "$@"
"""


def test_a_guest_that_hangs_before_its_probe_starts_is_started_once_more(
    debian_kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qemu = shutil.which("qemu-system-x86_64")
    (program := tmp_path / "qemu-system-x86_64").write_text(
        HANGS_ONCE.format(folder=tmp_path, qemu=qemu)
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    cell = Cell(
        kernel=debian_kernel,
        setup=parse_setup("capability"),
        suite="file",
        filesystem="tmpfs",
        user="root",
        instrument="timed",
        conditions=Conditions(),
        sampling=Sampling(samples=20, warmup=10, whole_ppm=0),
        benchmarks=("getppid",),
    )
    limits = Limits(boot_s=45, silence_s=15)
    planned = PlannedBoot(cell, index=0, seed=1)
    capture = asyncio.run(find_machine("tcg").run(planned, limits, lambda _: None))
    assert capture.ending is Ending.EXITED, capture.console[-500:]
    assert capture.facts["boot.hung"].startswith("silent before the probe started")
    assert "a first start was silent" in capture.stderr
    (sample,) = parse_session(capture.results, make_request(cell, 1)).samples
    assert (sample.status, len(sample.values)) == (BenchmarkStatus.OK, 20)


def test_the_exact_instrument_cannot_read_it(lsmeter: Lsmeter) -> None:
    done = lsmeter("run", "--machine", "tcg")
    assert done.code == 2
    assert "--machine tcg: the instrument exact cannot read it" in done.err
