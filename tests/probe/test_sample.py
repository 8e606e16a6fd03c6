# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the probe on this machine: every benchmark must do what it says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.model import BenchmarkStatus
from lsmeter.guest.probe import Program, catalogue
from lsmeter.guest.request import Request
from lsmeter.guest.session import Session, parse_session
from tests.conftest import DEADLINE_S


def sample(
    probe: Program, folder: Path, *ids: str, suite: str = "file", samples: int = 3, **more: object
) -> Session:
    request = folder / "request"
    options: dict[str, object] = {"samples": samples, "warmup": 1, "icount_shift": 0, **more}
    asked = Request(suite, ids, **options)  # type: ignore[arg-type]
    request.write_bytes(asked.to_bytes())
    work = folder / "work"
    work.mkdir(exist_ok=True)
    done = subprocess.run(
        [str(probe.path), "sample", str(work), str(request)],
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return parse_session(done.stdout, asked)


def test_every_benchmark_succeeds(probe: Program, tmp_path: Path) -> None:
    offered = [b for b in catalogue(probe) if b.suite == "file"]
    ids = tuple(b.id for b in offered if ("dirs", 9437) not in b.params)
    session = sample(probe, tmp_path, *ids)
    assert session.complete
    assert not session.garbage
    assert [(s.benchmark, s.status, s.detail) for s in session.samples] == [
        (benchmark, BenchmarkStatus.OK, "") for benchmark in ids
    ]
    assert all(len(s.values) == 3 and min(s.values) > 0 for s in session.samples)


# What a machine may lack, or not allow: kernels, containers and their filters differ.
MAY_LACK = (
    r"there is no [^:]+: .+|this machine does not allow it: .+|it would change this .+"
    r"|.+: timed only"
)


@pytest.mark.parametrize("suite", ["process", "ipc", "net", "syscall", "unixbench", "lmbench"])
def test_every_benchmark_succeeds_or_says_what_the_machine_lacks(
    probe: Program, tmp_path: Path, suite: str
) -> None:
    ids = tuple(item.id for item in catalogue(probe) if item.suite == suite)
    session = sample(probe, tmp_path, *ids, suite=suite)
    assert session.complete
    assert not session.garbage
    lacking = [item for item in session.samples if item.status is BenchmarkStatus.SKIPPED]
    assert [item for item in lacking if not re.fullmatch(MAY_LACK, item.detail)] == []
    rest = [item for item in session.samples if item not in lacking]
    assert [(i.benchmark, i.status, i.detail) for i in rest] == [
        (i.benchmark, BenchmarkStatus.OK, "") for i in rest
    ]
    assert all(len(item.values) == 3 and min(item.values) > 0 for item in rest)
    # Pipes, files and processes are there wherever this runs.
    assert len(rest) > len(ids) / 3


def test_what_would_change_this_machine_is_not_done_here(probe: Program, tmp_path: Path) -> None:
    (samples,) = sample(probe, tmp_path, "settime", suite="syscall").samples
    assert samples.status is BenchmarkStatus.SKIPPED
    assert samples.detail == "it would change this machine: only in a guest"


def test_many_readings_come_whole(probe: Program, tmp_path: Path) -> None:
    (samples,) = sample(probe, tmp_path, "empty", samples=20_000).samples
    assert len(samples.values) == 20_000


def test_a_directory_that_cannot_be_made_is_no_number(probe: Program, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "b0000").write_text("in the way")
    (samples,) = sample(probe, tmp_path, "open depth=1").samples
    assert samples.status is BenchmarkStatus.FAILED
    assert samples.detail == "EEXIST: making the benchmark's directory: File exists"
    assert samples.values == ()


def test_a_benchmark_over_its_deadline_is_stopped(probe: Program, tmp_path: Path) -> None:
    session = sample(
        probe, tmp_path, "open depth=8", "empty", samples=1_000_000, benchmark_deadline_ms=1
    )
    assert session.samples[0].status is BenchmarkStatus.TIMEOUT
    assert session.samples[0].detail == "not finished in 1 ms of guest time"
    assert session.complete


@pytest.mark.parametrize(
    "what",
    [
        {"setup": parse_setup("landlock:layers=1,rules=1")},
        {"clients": (("empty", "1", "client", "/client"),)},
    ],
)
def test_what_is_for_a_guest_is_refused(
    probe: Program, tmp_path: Path, what: dict[str, Any]
) -> None:
    request = tmp_path / "request"
    data = Request("file", ("empty",), 1, 0, 0, **what)
    request.write_bytes(data.to_bytes())
    done = subprocess.run(
        [str(probe.path), "sample", str(tmp_path), str(request)], capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b" are for a guest" in done.stderr
