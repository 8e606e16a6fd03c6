# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from collections import Counter

from lsmeter.guest.probe import Program, catalogue


def test_the_file_suite_is_the_studys(probe: Program) -> None:
    study = Counter(b.operation for b in catalogue(probe) if b.origin == "asiaccs21")
    assert study == {
        "open": 13,  # 11 of Table 3, 2 of Table 6
        "stat": 13,
        "rename": 5,
        "chmod": 5,
        "read": 4,
        "write": 4,
        "copy": 4,
        **dict.fromkeys(("openat", "fstatat", "creat", "unlink", "symlink", "mkdir", "rmdir"), 1),
    }


def test_there_are_more_than_the_studys_59(probe: Program) -> None:
    benchmarks = [b for b in catalogue(probe) if b.suite == "file" and not b.control]
    assert len(benchmarks) >= 59
    assert len({b.id for b in benchmarks}) == len(benchmarks)


# As the kernel's source names them; every other operation of the suite is its only call.
CALLS = {
    "copy": "read+write",
    "empty": "",
    "exit": "write+exit_group+wait4",
    "fstatat": "newfstatat",
    "stat": "newstat",
}
WITHOUT_PATH = {"close", "copy", "empty", "exit", "getppid", "read", "write"}
COMPONENTS = {"path=dotdot-3": 3, "path=dotdot-9": 9, "target=missing": 2}


def test_what_a_reading_of_the_file_suite_calls_and_looks_up(probe: Program) -> None:
    for item in catalogue(probe):
        if item.suite != "file":
            continue
        assert item.calls == CALLS.get(item.operation, item.operation)
        assert "?" not in item.cycle
        (key, value), *_ = item.params or (("", 0),)
        length = value if key == "depth" else COMPONENTS.get(f"{key}={value}", 1)
        assert item.components == (0 if item.operation in WITHOUT_PATH else length), item.id


def test_controls_and_depths(probe: Program) -> None:
    benchmarks = catalogue(probe)
    assert {b.id for b in benchmarks if b.control} == {
        *("empty", "getppid", "getuid", "dhry", "whet", "lat_syscall call=null")
    }
    depths = {b.params for b in benchmarks if b.operation == "open"}
    assert {(("depth", d),) for d in range(1, 9)} < depths


SUITES = {
    *("calibration", "file", "ipc", "lmbench", "net", "process", "sandbox", "syscall", "unixbench")
}


def test_suites_share_names_and_controls_and_no_benchmark(probe: Program) -> None:
    benchmarks = catalogue(probe)
    assert {item.suite for item in benchmarks} == SUITES
    found = Counter((item.suite, item.id) for item in benchmarks)
    assert set(found.values()) == {1}
    for suite in SUITES:
        controls = {item.id for item in benchmarks if item.suite == suite and item.control}
        assert {"empty", "getppid"} <= controls, suite


def test_a_row_is_the_operation_that_it_names(probe: Program) -> None:
    found = {(item.suite, item.id): item for item in catalogue(probe)}
    for row, same in {
        ("lmbench", "lat_pipe"): ("ipc", "turn by=pipe"),
        ("lmbench", "lat_proc call=fork"): ("process", "fork"),
        ("lmbench", "lat_fs create=0k"): ("file", "creat depth=1"),
        ("unixbench", "syscall"): ("syscall", "mix"),
    }.items():
        a, b = found[row], found[same]
        assert (a.calls, a.cycle, a.components) == (b.calls, b.cycle, b.components)
        assert a.title != b.title


def test_lmbench_has_its_rows(probe: Program) -> None:
    operations = {item.operation for item in catalogue(probe) if item.suite == "lmbench"}
    latencies = "syscall select fcntl sig proc ctx pipe unix udp tcp connect fs mmap pagefault"
    assert {f"lat_{name}" for name in latencies.split()} < operations
    assert {"bw_pipe", "bw_unix", "bw_tcp", "bw_file_rd"} < operations


def test_calls_are_named_as_the_kernel_names_them(probe: Program) -> None:
    assert [item.id for item in catalogue(probe) if "?" in item.calls + item.cycle] == []


def test_the_sandbox_suite_has_each_call_by_its_size(probe: Program) -> None:
    found: dict[str, list[object]] = {}
    for item in catalogue(probe):
        if item.suite == "sandbox" and item.params:
            found.setdefault(f"{item.operation} {item.calls}", []).append(item.params[0][1])
    nested, rules = [1, 10, 100, 1000, 10000], [1, 10, 100, 1000]
    assert {name: sorted(sizes, key=str) for name, sizes in found.items()} == {
        "openat openat": nested,
        "openat-denied openat": nested,
        "landlock-add landlock_add_rule": rules,
        "landlock-restrict write+landlock_restrict_self+read": rules,
        "seccomp-load write+seccomp+read": [10, 100, 1000],
    }
