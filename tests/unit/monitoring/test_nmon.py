# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of nmon: its own are read, ours come back as they were, others are refused in one line."""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.questions.monitor import nmon_reader
from lsmeter.questions.monitor.nmon_reader import DamagedNmonError, read_nmon
from lsmeter.questions.monitor.nmon_writer import stretched, write_nmon
from lsmeter.questions.monitor.series import Batch, Monitoring, Process, Series

REAL = (Path(__file__).parents[2] / "data/nmon/nmon-16n.nmon").read_bytes()
BEGUN = datetime(2026, 11, 22, 23, 59, 58, tzinfo=UTC)
OURS = Monitoring(
    "selinux-enforcing",
    (("setup", "selinux, web"),),
    50,
    (25.0, 25.05, 25.1, 25.12, 25.3, 25.35),
    (
        Series("cpu", "cpu_user_percent", "in user space", "%", (None, 20.0, 30.0, 0.0, None, 5.0)),
        Series("cpu", "cpu_system_percent", "in the kernel", "%", (None, 5.0, 1.0, 0.0, None, 1.0)),
        Series("cpu", "cpu_interrupts_percent", "", "%", (None, 2.0, 1.0, 0.0, None, 0.5)),
        Series("memory", "memory_free_mib", "free", "MiB", (9.0, 8.0, 7.0, 6.0, 5.0, 4.0)),
        Series(
            "network",
            "network_eth0_sent_kib_per_s",
            "eth0: sent",
            "KiB/s",
            (None, 1.5, 2.5, 3.5, None, 4.5),
        ),
        Series(
            "disk",
            "disk_pmem0_read_kib_per_s",
            "pmem0: read",
            "KiB/s",
            (None, 7.0, 0.0, 0.0, None, 1.0),
        ),
        Series("avc", "avc_misses_per_s", "misses", "1/s", (None, 1.0, 0.0, 0.0, None, 0.0)),
    ),
    (
        Batch("page size=1", 0, warmup=True, begin_s=25.0, end_s=25.12),
        Batch("page size=1", 1, warmup=False, begin_s=25.3, end_s=25.35),
    ),
    (Process(25.12, 0.12, 144, "apache2", 10.0, 20.0, 2048.0, 1024.0, 3.0, 0.0),),
)


def named(found: Monitoring) -> dict[str, Series]:
    return {item.name: item for item in found.series}


def test_what_nmon_writes() -> None:
    found = read_nmon(REAL)
    assert (found.host, found.every_ms) == ("vm", 1000)
    assert found.times_s == (0.0, 1.0, 2.0, 3.0)
    series = named(found)
    assert series["cpu_user_percent"].values[:2] == (83.3, 82.2)
    assert series["memory_total_mib"].values[0] == 24152.1
    assert series["disk_vda_written_kib_per_s"].values[0] == 88155.8
    assert series["network_eth0_received_packets_per_s"].values[0] == 0.8
    assert series["context_switches_per_s"].values[1] == 4653.5
    # -1 is what nmon cannot know.
    assert not any("bigfree" in name for name in series)
    assert found.notes == ("sections that are left out: CPU, DISKBSIZE, JFSFILE, VM",)


def test_processes_of_nmon() -> None:
    # As 16n writes them, with columns behind the command.
    heads = b"TOP,%CPU Utilisation\nTOP,+PID,Time,%CPU,%Usr,%Sys,Size,ResSet,ResText,ResData,"
    heads += b"ShdLib,MinorFault,MajorFault,Command,Threads,IOwaitTime\n"
    row = b"TOP,0001483,T0003,31.00,20.50,10.50,3280232,1800684,36,0,8908,12,3,java,17,0\n"
    (process,) = read_nmon(REAL + heads + row).processes
    assert (process.pid, process.name, process.time_s) == (1483, "java", 2.0)
    assert (process.user_percent, process.system_percent) == (20.5, 10.5)
    assert (process.size_kib, process.resident_kib) == (3280232, 1800684)
    assert (process.minor_faults_per_s, process.major_faults_per_s) == (12, 3)


def test_ours_come_back_as_they_were() -> None:
    found = read_nmon(write_nmon(OURS, BEGUN).encode())
    kept = (1, 2, 3, 5)  # without the begins of batches
    assert found.times_s == tuple(OURS.times_s[at] for at in kept)
    assert found.batches == OURS.batches
    series = named(found)
    for name in ("cpu_user_percent", "network_eth0_sent_kib_per_s", "avc_misses_per_s"):
        assert series[name].values == tuple(named(OURS)[name].values[at] for at in kept), name
    # nmon has no column for interrupts.
    assert series["cpu_system_percent"].values == (7.0, 2.0, 0.0, 1.5)
    assert series["memory_free_mib"].values == (8.0, 7.0, 6.0, 4.0)
    assert series["disk_pmem0_read_kib_per_s"].values[0] == 7.0
    (process,) = found.processes
    assert (process.name, process.pid, process.user_percent) == ("apache2", 144, 10.0)


def test_each_snapshot_has_a_second_of_its_own() -> None:
    text = write_nmon(OURS, BEGUN)
    clocks = [line.split(",", 2)[2] for line in text.splitlines() if line.startswith("ZZZZ")]
    assert clocks == [
        "23:59:58,22-NOV-2026",
        "23:59:59,22-NOV-2026",
        "00:00:00,23-NOV-2026",
        "00:00:04,23-NOV-2026",
    ]


@given(st.lists(st.floats(0.001, 100), min_size=1, max_size=50), st.integers(1, 1000))
def test_seconds_only_go_on(spans_s: list[float], every_ms: int) -> None:
    times = [sum(spans_s[:at]) for at in range(len(spans_s))]
    found = stretched(times, every_ms)
    assert found[0] == 0
    assert all(later > sooner for sooner, later in pairwise(found))


def test_columns_of_a_row_are_those_of_its_head() -> None:
    lines = [line.split(",") for line in write_nmon(OURS, BEGUN).splitlines()]
    heads = {words[0]: len(words) for words in reversed(lines) if words[0] not in {"AAA", "BBBP"}}
    assert {"CPU_ALL", "MEM", "NET", "NETPACKET", "PROC", "AVC"} < heads.keys()
    assert {"DISKBUSY", "DISKREAD", "DISKWRITE", "DISKXFER"} < heads.keys()
    for words in lines:
        if words[0] in heads and words[0] != "TOP":
            assert len(words) == heads[words[0]], words


def test_a_file_sorted_by_its_lines_is_the_same() -> None:
    # Heads come before the rows, as `sort` puts them; times last.
    head, *rest = REAL.splitlines(keepends=True)
    assert (
        read_nmon(head + b"".join(sorted(rest))).series[0].known
        == read_nmon(REAL).find("cpu_user_percent").known
    )  # type: ignore[union-attr]


def test_a_file_that_was_cut_off_is_read_as_far_as_it_goes() -> None:
    at = REAL.rindex(b"DISKREAD,T0004") + 20
    found = read_nmon(REAL[:at])
    assert "cut off in line" in found.notes[0]
    assert len(found.times_s) == 4
    assert named(found)["disk_vda_read_kib_per_s"].values[3] is None
    assert named(found)["cpu_user_percent"].values[3] is not None


def head(text: str) -> bytes:
    return f"AAA,progname,nmon\n{text}\n".encode()


TIME = "ZZZZ,T0001,10:00:00,22-NOV-2026"
CPU = "CPU_ALL,CPU Total x,User%,Sys%"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no nmon file"),
        (b"PNG\0", "no nmon file"),
        (b"AAA,progname,nmon", "no snapshot"),
        (head("hello"), "no snapshot"),
        (head("ZZZZ,T1,10:00:00,22-NOV-2026"), "line 2: ZZZZ is not followed"),
        (head("ZZZZ,T0001,25:00:00,22-NOV-2026"), "'25:00:00,22-NOV-2026' is no time"),
        (head("ZZZZ,T0001,10:00:00,22-NOX-2026"), "is no time"),
        (head(f"{TIME}\n{TIME}"), "line 3: the snapshot T0001 twice"),
        (head(f"{CPU}\n{TIME}\nCPU_ALL,T0001,1"), "line 4: CPU_ALL has 1 values, its head has 2"),
        (head(f"{CPU}\n{TIME}\nCPU_ALL,T0001,1,2,3"), "has 3 values, its head has 2"),
        (head(f"{CPU}\n{TIME}\nCPU_ALL,T0001,1,x\x1b"), "'x\\x1b' is no number"),
        (head(f"{CPU}\n{TIME}\nCPU_ALL,1,2,3"), "CPU_ALL of no snapshot: '1'"),
        (head(f"{CPU}\n{TIME}\nCPU_ALL,T0001,1,2\nCPU_ALL,T0001,1,2"), "twice in the snapshot"),
        (head("NET,x" + ",a-read-KB/s" * 1001), "more than 1000 columns"),
        (head("x" * ((64 << 10) + 1)), "more than 65536 bytes"),
        (head("BBBP,0,lsmeter batches,a,b"), "a batch that is not one"),
        (head("BBBP,0,lsmeter batches,a,1,1,nan,2"), "a batch without a time"),
    ],
)
def test_what_is_none_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(DamagedNmonError) as error:
        read_nmon(data)
    assert why in str(error.value)
    assert str(error.value).isprintable()


def test_numbers_that_are_none_are_not_known() -> None:
    rows = "CPU_ALL,T0001,-nan,INF"
    found = read_nmon(head(f"{CPU}\n{TIME}\n{rows}"))
    assert found.series == ()


@pytest.mark.parametrize(
    ("limit", "why"),
    [("MAX_SNAPSHOTS", "snapshots"), ("MAX_VALUES", "values"), ("MAX_BYTES", "bytes")],
)
def test_a_flood_is_refused(monkeypatch: pytest.MonkeyPatch, limit: str, why: str) -> None:
    monkeypatch.setattr(nmon_reader, limit, 3)
    with pytest.raises(DamagedNmonError, match=f"more than 3 {why}"):
        read_nmon(REAL)


@given(st.integers(0, 2**32))
def test_damage_is_refused_or_read_and_never_raises_another(seed: int) -> None:
    draw = random.Random(seed)
    data = bytearray(draw.choice((REAL, write_nmon(OURS, BEGUN).encode())))
    for _ in range(draw.choice((1, 2, 20))):
        at = draw.randrange(len(data))
        how = draw.randrange(3)
        if how == 0:
            data[at] = draw.randrange(256)
        elif how == 1:
            del data[at : at + draw.choice((1, 40))]
        else:
            data[at:at] = draw.choice((b",", b"\n", b"-", b"T0001", b"9" * 30, b"\xff"))
    try:
        found = read_nmon(bytes(data))
    except DamagedNmonError:
        return
    assert all(len(item.values) == len(found.times_s) for item in found.series)
    assert all(item.title.isprintable() for item in found.series)


@given(st.binary(max_size=300))
def test_no_bytes_raise_another(data: bytes) -> None:
    with suppress(DamagedNmonError):
        read_nmon(b"AAA," + data)
