# SPDX-License-Identifier: GPL-2.0-or-later
"""Texts of /proc to numbers, and numbers over moments to series."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.model.boot import BEGIN, END, WITHIN, Moment
from lsmeter.questions.monitor.document import _series
from lsmeter.questions.monitor.figures import (
    batches_of,
    numbers_of,
    process_uses,
    processes_of,
    series_of,
)
from lsmeter.questions.monitor.plots import figures
from lsmeter.questions.monitor.series import Batch, Monitoring, Series, top
from lsmeter.tables.model import Shown

S = 1_000_000_000
TEXTS = {
    "stat": "cpu,441,2,1242,11,5,3,4,0,0,0;intr,4381,0,0;ctxt,6788;processes,206;"
    "procs_running,3;procs_blocked,1;",
    "meminfo": "MemTotal:,744340;MemFree:,463308;Cached:,102828;",
    "vmstat": "pgfault,26450;pgmajfault,412;",
    "disks": "254,0,pmem0,10,0,80,5,20,0,160,9,0,14,14;",
    "net": "lo:,1878,16,0,0,0,0,0,0,1878,16,0,0,0,0,0,0;"
    "eth0:,4088,50,0,0,0,0,0,0,32167,36,0,0,0,0,0,0;",
    "avc": "lookups,hits,misses,allocations,reclaims,frees;100,90,10,10,0,0;5,5,0,0,0,1;",
    "processes": "134,83,152,7009,305,14,8797070180352,30139,mariadbd;"
    "144,36,71,1805,97,1,206422016,5416,apache2;",
}


def test_numbers_of_all_sources() -> None:
    found = numbers_of(TEXTS)
    assert (found["cpu.user"], found["cpu.idle"], found["cpu.softirq"]) == (441, 11, 4)
    assert (found["stat.intr"], found["stat.ctxt"], found["stat.procs_blocked"]) == (4381, 6788, 1)
    assert (found["memory.MemFree"], found["vm.pgfault"]) == (463308, 26450)
    assert (found["disk.pmem0.read_sectors"], found["disk.pmem0.busy_ms"]) == (80, 14)
    assert (found["net.eth0.received_bytes"], found["net.eth0.sent"]) == (4088, 36)
    assert (found["avc.lookups"], found["avc.frees"]) == (105, 1)


def test_processes() -> None:
    found = processes_of(TEXTS)
    assert (found[144].name, found[144].user_ticks, found[144].resident_pages) == (
        "apache2",
        36,
        5416,
    )
    assert found[134].threads == 14


WORDS = st.text("0123456789abz_.:/+()-", min_size=1, max_size=20)
TEXT = st.lists(st.lists(WORDS, min_size=1, max_size=20), max_size=8).map(
    lambda lines: "".join(",".join(words) + ";" for words in lines)
)


@given(st.dictionaries(st.sampled_from(sorted(TEXTS)), TEXT | st.text(max_size=80)))
def test_no_text_raises(texts: dict[str, str]) -> None:
    assert all(isinstance(number, int) for number in numbers_of(texts).values())
    processes_of(texts)
    moments = [Moment("a", 0, BEGIN, 1, 0, texts), Moment("a", 0, END, 2, 0, texts)]
    assert all(len(item.values) == 2 for item in series_of(moments))
    top(process_uses(moments))


def at(batch: int, when: str, seconds: float, **texts: str) -> Moment:
    return Moment("page", batch, when, round(seconds * S), 0, texts)


def series(moments: list[Moment]) -> dict[str, Series]:
    return {item.name: item for item in series_of(moments)}


def test_rates_are_those_of_the_span_that_ends() -> None:
    found = series(
        [
            at(0, BEGIN, 1, stat="cpu,0,0,0,0,0,0,0,0;ctxt,100;", avc="lookups,misses;10,1;"),
            at(0, WITHIN, 1.5, stat="cpu,10,0,20,5,0,5,10,0;ctxt,150;", avc="lookups,misses;60,2;"),
            at(0, END, 2, stat="cpu,10,0,20,55,0,5,10,0;ctxt,150;", avc="lookups,misses;60,2;"),
        ]
    )
    assert found["context_switches_per_s"].values == (None, 100.0, 0.0)
    assert found["cpu_user_percent"].values == (None, 20.0, 0.0)
    assert found["cpu_system_percent"].values == (None, 40.0, 0.0)
    assert found["cpu_interrupts_percent"].values == (None, 30.0, 0.0)
    assert found["cpu_idle_percent"].values == (None, 10.0, 100.0)
    assert found["avc_lookups_per_s"].values == (None, 100.0, 0.0)
    assert found["avc_misses_per_s"].values == (None, 2.0, 0.0)


def test_no_rate_reaches_over_the_gap_between_batches() -> None:
    stat = [f"ctxt,{number};" for number in (0, 10, 1000, 1020)]
    found = series(
        [
            at(0, BEGIN, 1, stat=stat[0]),
            at(0, END, 2, stat=stat[1]),
            at(1, BEGIN, 3, stat=stat[2]),
            at(1, END, 4, stat=stat[3]),
        ]
    )
    assert found["context_switches_per_s"].values == (None, 10.0, None, 20.0)


def test_a_source_that_is_read_less_often_has_the_rate_since_it_was() -> None:
    found = series(
        [
            at(0, BEGIN, 1, vmstat="pgfault,100;"),
            at(0, WITHIN, 2),
            at(0, END, 3, vmstat="pgfault,140;"),
        ]
    )
    assert found["page_faults_per_s"].values == (None, None, 20.0)


def test_a_counter_that_goes_back_has_no_rate() -> None:
    found = series([at(0, BEGIN, 1, stat="ctxt,5;"), at(0, END, 2, stat="ctxt,4;")])
    assert "context_switches_per_s" not in found


def test_disks_and_interfaces_have_series_of_their_own() -> None:
    later = TEXTS | {
        "vmstat": "pgpgin,150;pgpgout,10;",
        "disks": "254,0,pmem0,12,0,84,5,20,0,200,9,0,114,14;",
        "net": "eth0:,6136,60,0,0,0,0,0,0,42407,56,0,0,0,0,0,0;",
    }
    before = TEXTS | {"vmstat": "pgpgin,100;pgpgout,10;"}
    found = series([at(0, BEGIN, 1, **before), at(0, END, 1.5, **later)])
    assert found["disk_all_read_kib_per_s"].values == (None, 100.0)
    assert found["disk_all_written_kib_per_s"].values == (None, 0.0)
    assert found["disk_pmem0_read_kib_per_s"].values == (None, 4.0)
    assert found["disk_pmem0_written_kib_per_s"].values == (None, 40.0)
    assert found["disk_pmem0_busy_percent"].values == (None, 20.0)
    assert found["network_eth0_received_kib_per_s"].values == (None, 4.0)
    assert found["network_eth0_sent_packets_per_s"].values == (None, 40.0)
    assert found["memory_total_mib"].values[0] == pytest.approx(744340 / 1024)


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=20), st.integers(1, 10**6))
def test_rates_times_their_spans_are_what_was_counted(counts: list[int], step_us: int) -> None:
    totals = [sum(counts[: n + 1]) for n in range(len(counts))]
    moments = [
        Moment("a", 0, WITHIN if n else BEGIN, n * step_us * 1000, 0, {"stat": f"ctxt,{total};"})
        for n, total in enumerate(totals)
    ]
    (found,) = series_of(moments)
    spent = math.fsum(value * step_us / 1e6 for value in found.known)
    assert spent == pytest.approx(totals[-1] - totals[0])


def test_batches() -> None:
    moments = [at(0, BEGIN, 1), at(0, END, 2), at(1, BEGIN, 3), at(1, END, 4), at(2, BEGIN, 5)]
    found = batches_of(moments, 1)
    assert [(b.number, b.warmup, b.begin_s, b.end_s) for b in found] == [
        (0, True, 1.0, 2.0),
        (1, False, 3.0, 4.0),
    ]


def test_means_are_of_the_batches_that_count_and_weighted_with_time() -> None:
    """A rate of a short span counts for little, one of warming up for nothing."""
    times = (0.0, 1.0, 2.0, 3.0, 3.1)
    user = Series("cpu", "cpu_user_percent", "in user space", "%", (None, 90.0, None, 10.0, 60.0))
    warm = Batch("get", 0, warmup=True, begin_s=0.0, end_s=1.0)
    batches = (warm, Batch("get", 1, warmup=False, begin_s=2.0, end_s=3.1))
    found = Monitoring("host", (), 1000, times, (user,), batches)
    truth = (10 * 1 + 60 * 0.1) / 1.1
    assert found.mean_in(user, found.counting) == pytest.approx(truth)
    shown = _series(found).rows[0][2]
    assert isinstance(shown, Shown)
    assert shown.text == f"{truth:.1f}"
    (figure,) = figures(found)
    assert f"Means over those that count: in user space {truth:.1f} %." in figure.caption
    alone = replace(found, batches=())
    assert alone.mean_in(user, alone.counting) == pytest.approx((90 + 10 + 6) / 2.1)


def test_processes_of_a_name_are_added_up() -> None:
    row = "{},{},{},0,0,1,4096,{},{};"
    before = "".join(row.format(n, 0, 0, 10, "web") for n in (1, 2)) + row.format(3, 0, 0, 1, "db")
    after = (
        row.format(1, 10, 20, 256, "web")
        + row.format(2, 10, 0, 256, "web")
        + row.format(3, 0, 0, 1, "cat")  # the number was used again
        + row.format(4, 9, 9, 1, "new")
    )
    moments = [
        at(0, BEGIN, 1, processes=before),
        at(0, WITHIN, 1.5),
        at(0, END, 2, processes=after),
    ]
    (use,) = top(process_uses(moments))
    assert (use.name, use.processes, use.user_percent, use.system_percent) == ("web", 2, 20.0, 20.0)
    assert use.resident_kib == 2048
