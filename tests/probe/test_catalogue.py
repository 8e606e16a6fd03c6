# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from collections import Counter

from lsmeter.guest.probe import Probe, catalogue


def test_the_file_suite_is_the_studys(probe: Probe) -> None:
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


def test_there_are_more_than_the_studys_59(probe: Probe) -> None:
    benchmarks = [b for b in catalogue(probe) if b.suite == "file" and not b.control]
    assert len(benchmarks) >= 59
    assert len({b.id for b in benchmarks}) == len(benchmarks)


def test_controls_and_depths(probe: Probe) -> None:
    benchmarks = catalogue(probe)
    assert {b.id for b in benchmarks if b.control} == {"empty", "getppid", "getuid"}
    depths = {b.params for b in benchmarks if b.operation == "open"}
    assert {(("depth", d),) for d in range(1, 9)} < depths
