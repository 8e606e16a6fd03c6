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
    assert {b.id for b in benchmarks if b.control} == {"empty", "getppid", "getuid"}
    depths = {b.params for b in benchmarks if b.operation == "open"}
    assert {(("depth", d),) for d in range(1, 9)} < depths
