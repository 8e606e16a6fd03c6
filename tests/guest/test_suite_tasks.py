# SPDX-License-Identifier: GPL-2.0-or-later
"""What else is asked of the suites beside `file`: slopes, counts of hooks, attribution, events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Lsmeter
from tests.runs import each

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

# Calls of hooks that consult the policy, and look-ups in SELinux's cache.
SLOPES = {
    "stat": (1, 2),
    "splice size=4096": (2, 0),
    "link": (4, 6),
    "overlay op=create": (12, 20),
    "io_uring op=open": (2, 3),
    "mount type=bind": (2, 4),
    "epoll fds=500": (0, 0),
    "getppid": (0, 0),
}
# With instructions of 1 ns a process that is executed meets no timer tick.
OF_PROCESSES = {"exec program=static": 5, "switch procs=2 kib=0": 4}
COUNTED = {
    "splice size=4096": {"file_permission": 2},
    "epoll fds=500": {},
}
ATTRIBUTED = {
    "exec program=static": {"bprm_check", "file_open", "task_alloc"},
    "kill": {"task_kill"},
}


def name_of(item: dict[str, Any]) -> str:
    return " ".join((item["benchmark"], *(f"{key}={v}" for key, v in item["params"].items())))


def test_slopes_of_a_whole_suite_with_look_ups(lsmeter: Lsmeter) -> None:
    done = lsmeter(
        *("slopes", "--suite", "syscall", "--delays", "0,30000,110000", "-f", "json"),
        *("--kernel", "debian:6.1"),
    )
    data = json.loads(done.out)
    lacking = {item["benchmark"] for item in data["problems"]}
    assert lacking == {"lsm-attribute"}, data["problems"]  # Linux 6.8
    slopes = {name_of(item): item for item in data["slopes"]}
    looked = {
        name_of(item): item["per_operation"]
        for item in data["lookups"]
        if item["counter"] == "avc.lookups"
    }
    assert len(slopes) == len(looked) > 80
    for name, (calls, lookups) in SLOPES.items():
        assert (slopes[name]["hook_calls"], looked[name]) == (calls, lookups), name


def test_slopes_of_several_processes_are_whole(lsmeter: Lsmeter) -> None:
    done = lsmeter(
        *("slopes", "--suite", "process", "--delays", "0,30000,110000", "--lookups", "none"),
        *("--kernel", "debian:6.1", "--condition", "icount_shift=0", "-f", "json"),
        *each("--benchmark", OF_PROCESSES),
    )
    assert done.code == 0, done.err
    found = {name_of(item): item["hook_calls"] for item in json.loads(done.out)["slopes"]}
    assert {name: found[name] for name in OF_PROCESSES} == OF_PROCESSES


def test_hooks_are_counted_where_they_take_many_descriptors(lsmeter: Lsmeter) -> None:
    words = ("hooks", "count", "--suite", "syscall", "--setup", "selinux", "-f", "json")
    done = lsmeter(*words, "--kernel", "debian:6.1", *each("--benchmark", COUNTED))
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert data["problems"] == []
    found: dict[str, dict[str, int]] = {name_of(item): {} for item in data["benchmarks"]}
    for item in data["counts"]:
        found[name_of(item)][item["hook"]] = item["runs"]
    assert {name: found[name] for name in COUNTED} == COUNTED


def test_cost_and_events_of_what_other_processes_run_are_found(lsmeter: Lsmeter) -> None:
    words = ("run", "--suite", "process", "--setup", "selinux", "--boots", "1", "--quick")
    chosen = (*each("--benchmark", ATTRIBUTED), "--samples", "20")
    done = lsmeter(*words, "--kernel", "debian:6.1", "--events", *chosen, "--run-dir", "run")
    assert done.code == 0, done.err + done.out
    data = json.loads(lsmeter("report", "run", "--format", "json").out)
    assert data["problems"] == []
    assert {name_of(item) for item in data["events"]} >= set(ATTRIBUTED)
    (found,) = json.loads(lsmeter("hooks", "cost", "run", "--format", "json").out)["setups"]
    operations = {item["benchmark"]: item for item in found["operations"]}
    for name, expected in ATTRIBUTED.items():
        of = operations[name]
        assert expected <= {hook["hook"].removeprefix("security_") for hook in of["hooks"]}
        assert of["difference_insns"] == pytest.approx(of["hook_insns"], rel=0.02)
