# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lsmeter.core.model import Setup
from lsmeter.guest.probe import Program, catalogue
from lsmeter.guest.request import MAX_LINES, Request

GOOD = Request(
    "file",
    ("open depth=1", "empty"),
    samples=10,
    warmup=2,
    icount_shift=4,
    filesystem="ext4",
    user="user",
    modules=(("/modules/brd.ko", "rd_nr=1 rd_size=65536"),),
    setup=Setup("", "", None, guest=(("landlock.layers", "2"), ("landlock.rules", "8"))),
    sweep_control="tunable-bpf",
    sweep_values_ns=(0, 10),
).to_bytes()


def check(probe: Program, folder: Path, data: bytes) -> str:
    """Return what the probe says against the request: nothing if it is sound."""
    file = folder / "request"
    file.write_bytes(data)
    done = subprocess.run(
        [str(probe.path), "check-request", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == (2 if done.stderr else 0)
    return done.stderr.strip().removeprefix("lsmeter-probe: ").removeprefix("request")


def test_what_the_host_writes_is_sound(probe: Program, tmp_path: Path) -> None:
    assert check(probe, tmp_path, GOOD) == ""
    benchmarks = catalogue(probe)
    for suite in {b.suite for b in benchmarks}:
        ids = tuple(b.id for b in benchmarks if b.suite == suite)
        everything = Request(suite, ids, samples=1, warmup=0, icount_shift=0)
        assert check(probe, tmp_path, everything.to_bytes()) == ""


SERVED = Request(
    "web",
    ("page size=1", "missing"),
    samples=2,
    warmup=1,
    icount_shift=4,
    prepare=(("/bin/place", "a b"),),
    services=(("web", "apache2", "/bin/start"),),
    ready=(("/bin/ready",),),
    asks=(("page", "/bin/ask"),),
    clients=(("missing", "200", "client", "/bin/ab"), ("page size=1", "1", "service", "/bin/ab")),
    settle_ms=20,
    monitor_ms=50,
).to_bytes()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"", b"", ""),
        (b"missing 200", b"missing 0", ": the units of a client must be a number"),
        (b"missing 200", b"missing 1000000001", ": the units of a client must be a number"),
        (b"200 client", b"200 driver", ": the account of a client must be client or service"),
        (b"client=missing 200 client /bin/ab", b"client=missing 200 client", ": client needs ID"),
        (b"client=missing", b"client=absent", ": every benchmark needs exactly one client"),
        (b"client=missing", b"client=page%20size=1", ": every benchmark needs exactly one"),
        (b"benchmark=missing\n", b"", ": every benchmark needs exactly one client"),
        (b"benchmark=missing", b"benchmark=page size=1", ": every benchmark needs exactly one"),
        (b"web apache2 /bin", b"web sixteen-and-more /bin", ": service needs NAME PROCESS"),
        (b"web apache2 /bin/start", b"web apache2", ": service needs NAME PROCESS"),
        (b"ask=page /bin/ask", b"ask=page", ": ask needs NAME PROGRAM"),
        (b"ask=page", b"ask=page /bin/a\nask=page", ": two services or two asks have one name"),
        (b"prepare=/bin", b"prepare= /bin", ": a line is not words as they must be"),
        (b"settle_ms=20", b"settle_ms=10001", "settle_ms cannot be '10001'"),
        (b"monitor_ms=50", b"monitor_ms=10001", "monitor_ms cannot be '10001'"),
        (b"cold=0", b"cold=1", ": client goes with neither cold"),
        (b"quiet=0", b"quiet=1", ": client goes with neither cold"),
        (b"settle_ms", b"count=1\nsettle_ms", ": client goes with neither cold"),
        (b"settle_ms", b"whole_ppm=1\nsettle_ms", ": client goes with neither cold"),
        (b"settle_ms", b"before=run /x\nsettle_ms", ": client goes with neither cold"),
        (
            b"settle_ms",
            b"sweep.control=tunable\nsweep.value=1\nsettle_ms",
            ": client goes with neither cold",
        ),
        (
            b"settle_ms",
            b"landlock.layers=1\nlandlock.rules=1\nsettle_ms",
            ": client goes with neither cold",
        ),
    ],
)
def test_workloads(probe: Program, tmp_path: Path, old: bytes, new: bytes, message: str) -> None:
    assert old in SERVED
    said = check(probe, tmp_path, SERVED.replace(old, new, 1))
    assert message in said
    assert bool(message) == bool(said)


@pytest.mark.parametrize(
    "line",
    [b"prepare=/x", b"service=a b /x", b"ready=/x", b"ask=a /x", b"settle_ms=1", b"monitor_ms=1"],
)
def test_what_only_workloads_have(probe: Program, tmp_path: Path, line: bytes) -> None:
    data = GOOD.replace(b"suite=file\n", b"suite=file\n" + line + b"\n")
    assert check(probe, tmp_path, data).startswith(
        ": prepare, service, ready, ask, settle_ms, monitor_ms, command and environment need client"
    )


@pytest.mark.parametrize(
    ("key", "words"),
    [("prepare", b"/x"), ("ready", b"/x"), ("service", b"a%d b /x"), ("ask", b"a%d /x")],
)
def test_lists_have_limits(probe: Program, tmp_path: Path, key: str, words: bytes) -> None:
    """Some lines are there already; with as many as there may be it is still sound."""
    there = SERVED.count(f"\n{key}=".encode())
    more = [b"%s=%s\n" % (key.encode(), words.replace(b"%d", b"%d" % n)) for n in range(200)]
    most = MAX_LINES[key] - there
    assert check(probe, tmp_path, SERVED + b"".join(more[:most])) == ""
    assert f"{key} cannot be" in check(probe, tmp_path, SERVED + b"".join(more[: most + 1]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"version=1\n", b"", " line 1: version must come first"),
        (b"version=1", b"version=2", " line 1: version cannot be '2'"),
        (b"version=1", b"version=0", ": version must be 1"),
        (b"samples=10", b"samples=0", ": samples must be at least 1"),
        (b"samples=10", b"samples=-1", " line 7: samples cannot be '-1'"),
        (b"samples=10", b"samples=99999999999999999999", " line 7: samples cannot be"),
        (b"samples=10\n", b"samples=10\nsamples=10\n", " line 8: samples is given twice"),
        (b"warmup=2\n", b"", ": warmup is missing"),
        (b"warmup=2", b"warmup", " line 8: 'warmup' is not key=value"),
        (b"warmup=2", b"colour=2", " line 8: unknown key 'colour'"),
        (b"warmup=2", b"warmup=02", " line 8: warmup cannot be '02'"),
        (b"cold=0", b"cold=yes", " line 5: cold cannot be 'yes'"),
        (b"user=user", b"user=nobody", " line 4: user cannot be 'nobody'"),
        (b"filesystem=ext4", b"filesystem=", " line 3: filesystem cannot be ''"),
        (b"depth=1", b"depth=9", ": suite 'file' has no benchmark 'open depth=9'"),
        (b"suite=file", b"suite=ipc", ": suite 'ipc' has no benchmark 'open depth=1'"),
        (b"layers=2", b"layers=17", " line 13: landlock.layers cannot be '17'"),
        (b"landlock.rules=8\n", b"", ": landlock.layers needs landlock.rules of 1 or more"),
        (b"sweep.value=0\nsweep.value=10\n", b"", ": sweep.control and sweep.value need"),
        (
            b"control=tunable-bpf",
            b"control=/etc/passwd",
            " line 11: sweep.control cannot be '/etc/",
        ),
        (b"sweep.value=10\n", b"sweep.value=x\n", ": every sweep.value must be a number"),
        (b"sweep.value=10\n", b"sweep.value=10000001\n", ": every sweep.value must be a number"),
        (b"version=1\n", b"version=1\nbpf.tunable=2\n", " line 2: bpf.tunable cannot be '2'"),
        (b"version=1\n", b"version=1\ncount=2\n", " line 2: count cannot be '2'"),
        (b"samples=10\n", b"samples=1001\ncount=1\n", ": samples must be at most 1000 with"),
        (b"samples=10\n", b"samples=10\ncounter=avc /x\n", ": counter needs count"),
        (b"samples=10\n", b"samples=10\ncounter=%zz\ncount=1\n", ": a line is not words as"),
        (b"suite=file\n", b"suite=file\nstep=run  /x\n", ": a line is not words"),
        (b"suite=file\n", b"suite=file\nstep=run %zz\n", ": a line is not words"),
        (b"suite=file\n", b"suite=file\nproof=a read %00\n", ": a line is not words as"),
        (b"suite=file\n", b"suite=file\nroot=\n", " line 3: root cannot be ''"),
        (b"suite=file", b"suite=fi\0le", " line 2: a NUL byte"),
        (b"suite=file", b"suite=fi\xffle", " line 2: a byte that is not printable ASCII"),
        (b"empty\n", b"empty", ": does not end with a newline"),
    ],
)
def test_refused(probe: Program, tmp_path: Path, old: bytes, new: bytes, message: str) -> None:
    assert old in GOOD
    assert check(probe, tmp_path, GOOD.replace(old, new)).startswith(message)


def test_too_long(probe: Program, tmp_path: Path) -> None:
    said = check(probe, tmp_path, GOOD + b"benchmark=empty\n" * 5000)
    assert said.endswith("more than 65536 bytes")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.integers(0, len(GOOD)))
def test_no_bytes_make_it_crash(probe: Program, tmp_path: Path, data: bytes, at: int) -> None:
    check(probe, tmp_path, GOOD[:at] + data + GOOD[at:])
