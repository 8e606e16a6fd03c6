# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the probe on this machine as the timed instrument does: verified setups, and a clock."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.model import BenchmarkStatus
from lsmeter.core.scratch import sweep
from lsmeter.guest.probe import Program, catalogue
from lsmeter.guest.request import Request
from lsmeter.guest.session import Session, parse_session
from lsmeter.machines.workplace import relocated
from tests.conftest import DEADLINE_S

USER = "user" if os.geteuid() else "root"


def native(
    probe: Program,
    top: Path,
    *ids: str,
    setup: str = "running",
    suite: str = "file",
    batch: int = 0,
    **more: Any,
) -> tuple[Session, int]:
    """Run a block; gives its session and the exit code. batch: as of a CPU of another speed."""
    options: dict[str, object] = {"samples": 30, "warmup": 5, "timed": True, "user": USER, **more}
    asked = Request(suite, ids, icount_shift=0, **options)  # type: ignore[arg-type]
    asked = replace(asked, setup=relocated(parse_setup(setup), top))
    (top / "request").write_bytes(asked.to_bytes() + b"batch=%d\n" % batch)
    done = subprocess.run(
        [str(probe.path), "native", str(top), str(top / "request")],
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    return parse_session(done.stdout, asked), done.returncode


def test_readings_are_ticks_of_a_clock_that_is_named(probe: Program, tmp_path: Path) -> None:
    session, code = native(probe, tmp_path, "empty", "getppid", "stat depth=1")
    assert (code, session.complete, session.errors, session.garbage) == (0, True, (), ())
    facts = dict(session.facts)
    assert facts["timing.clock"] in {"tsc", "monotonic"}
    hz, life = int(facts["timing.hz"]), int(facts["timing.hz.life"])
    # Both by the same clock: 200 ppm apart and the probe says so itself.
    assert abs(hz - life) < hz / 1000 or "timing.stray" in facts
    values = {item.benchmark: item.values for item in session.samples}
    assert all(len(found) == 30 and min(found) > 0 for found in values.values())
    assert min(values["getppid"]) > min(values["empty"])
    assert min(values["stat depth=1"]) > min(values["empty"])


def test_the_machine_says_of_itself_what_it_is_before_and_after(
    probe: Program, tmp_path: Path
) -> None:
    facts = dict(native(probe, tmp_path, "empty")[0].facts)
    names = ("kernel", "cpu", "boot_id", "clocksource", "load", "online", "virtualisation")
    for name in names:
        if f"host.{name}" in facts:
            assert f"host.after.{name}" in facts
    assert facts["host.kernel"] == facts["host.after.kernel"] == os.uname().release
    assert facts["host.virtualisation"] in {"yes", "no"}


@pytest.mark.parametrize(
    "suite", ["calibration", "file", "ipc", "net", "process", "sandbox", "syscall", "unixbench"]
)
def test_no_batch_uses_up_what_it_works_on(probe: Program, tmp_path: Path, suite: str) -> None:
    """On a fast CPU a batch of reads went past the end of its file."""
    ids = [
        item.id
        for item in catalogue(probe)
        if item.suite == suite and "9437" not in item.id and "shell" not in item.id
    ]
    session, _ = native(probe, tmp_path, *ids, suite=suite, batch=1000, samples=20)
    wrong = {
        item.benchmark: item.detail
        for item in session.samples
        if item.status not in {BenchmarkStatus.OK, BenchmarkStatus.SKIPPED}
    }
    assert (session.errors, wrong) == ((), {})
    facts = dict(session.facts)
    assert facts["timing.operations.getppid"] == "1000"
    if suite == "file":
        of = {
            kind: [facts[f"timing.operations.{kind} size={size}"] for size in (1, 1024, 4096)]
            for kind in ("read", "write")
        }
        assert of == {"read": ["1000", "100", "25"], "write": ["1000", "100", "25"]}


@pytest.mark.parametrize("setup", ["seccomp:filters=3,length=20", "running"])
def test_filters_are_counted_by_the_kernel(probe: Program, tmp_path: Path, setup: str) -> None:
    session, _ = native(probe, tmp_path, "getppid", setup=setup)
    assert not session.errors
    assert dict(session.facts).get("seccomp.filters") == ("3" if "seccomp" in setup else None)


def test_a_long_filter_costs_more_than_none(probe: Program, tmp_path: Path) -> None:
    """A filter that the kernel did not run would show here: 16 of 2,000 instructions are slow."""
    least: dict[str, int] = {}
    for setup in ("running", "seccomp:filters=16,length=2000"):
        top = tmp_path / str(len(least))
        top.mkdir()
        (samples,) = native(probe, top, "getppid", setup=setup)[0].samples
        least[setup] = min(samples.values)
    plain, filtered = least.values()
    assert filtered > 2 * plain


def test_landlock_is_enforced_and_shown_to_be(probe: Program, tmp_path: Path) -> None:
    setup = "landlock:layers=2,rules=3,depth=1"
    session, code = native(probe, tmp_path, "open depth=1", setup=setup)
    facts = dict(session.facts)
    if "landlock.abi" in facts and int(facts["landlock.abi"]) < 0:
        pytest.skip("no Landlock runs here")
    assert (code, session.errors) == (0, ())
    assert facts["landlock.denies_outside"] == "1"
    for name, access in {
        "read-outside": "denied",
        "create-outside": "denied",
        "read-inside": "allowed",
        "write-inside": "allowed",
    }.items():
        assert facts[f"proof.{name}"] == access
    assert [item.status for item in session.samples] == [BenchmarkStatus.OK]


def test_root_leaves_nothing_in_the_directory(probe: Program, tmp_path: Path) -> None:
    native(probe, tmp_path, "creat depth=1")
    before = Path("/proc/self/mountinfo").read_text()
    assert str(tmp_path) not in before
    if not os.geteuid():
        assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"cold": True}, "caches"),
        ({"root": "ext4"}, "for a guest"),
        ({"modules": (("/modules/x.ko", ""),)}, "for a guest"),
    ],
)
def test_what_is_for_guests_is_refused(
    probe: Program, tmp_path: Path, more: dict[str, Any], why: str
) -> None:
    session, code = native(probe, tmp_path, "empty", **more)
    assert (code, session.complete) == (2, False)
    assert why in session.errors[0]


def test_a_directory_that_is_in_use_is_no_number(probe: Program, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    session, code = native(probe, tmp_path, "empty")
    assert (code, session.complete) == (1, False)
    assert "making a directory" in session.errors[0]


def test_nothing_is_left_of_a_block_that_was_killed(probe: Program, tmp_path: Path) -> None:
    """The kernel ends probe and worker; what the worker started, and waits, the next one ends."""
    with subprocess.Popen(["true"]) as ended:
        top = tmp_path / f"lsmeter-here-{ended.pid}-killed"
    top.mkdir()
    asked = Request("file", ("exit files=16",), 100_000, 0, 0, timed=True, user=USER)
    asked = replace(asked, benchmark_deadline_ms=3_600_000)
    (top / "request").write_bytes(asked.to_bytes())
    words = [str(probe.path), "native", str(top), str(top / "request")]
    parent = subprocess.Popen(
        ["sh", "-c", '"$@" & wait', "sh", *words], stdout=subprocess.PIPE, start_new_session=True
    )
    assert parent.stdout is not None
    while b" begin " not in parent.stdout.readline():
        pass
    parent.send_signal(signal.SIGKILL)
    parent.wait(DEADLINE_S)
    sweep(tmp_path)
    # The pipe ends when the last process that holds it has.
    while parent.stdout.read(1 << 16):
        sweep(tmp_path)
    parent.stdout.close()
    assert list(tmp_path.iterdir()) == []


def test_scripts_beside_each_other_are_timed(probe: Program, tmp_path: Path) -> None:
    short: dict[str, Any] = {"samples": 3, "warmup": 1, "benchmark_deadline_ms": 120_000}
    session, code = native(probe, tmp_path, "shell1", "shell8", suite="unixbench", **short)
    assert (code, session.complete, session.errors) == (0, True, ())
    once, eight = session.samples
    if once.status is BenchmarkStatus.SKIPPED:
        pytest.skip(once.detail)
    assert (once.status, eight.status) == (BenchmarkStatus.OK, BenchmarkStatus.OK)
    assert min(eight.values) > min(once.values) > 0
