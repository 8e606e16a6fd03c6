# SPDX-License-Identifier: GPL-2.0-or-later
"""The suites beside `file` in real guests: a slice of each, and the hooks that it reaches."""

from __future__ import annotations

import json

import pytest

from lsmeter.core.model import Kernel
from tests.conftest import Lsmeter
from tests.runs import each, facts

pytestmark = pytest.mark.guest

# SELinux adds to all but those without a hook; to `fork` 78 of 138,000 instructions, less than
# 20 readings resolve: a slab that runs out takes 1,082 more, and in which of them is by chance.
SLICE = {
    "process": ("fork", "exec program=static", "switch procs=2 kib=0", "kill", "signal-install"),
    "net": ("udp ip=4 size=1", "udp ip=6 size=1 path=veth", "tcp-connect ip=6", "bind ip=4"),
}
WITHOUT_HOOK = {"signal-install", "getppid", "empty"}
UNRESOLVED = {"fork"}
SLAB_INSNS = 1082


@pytest.mark.parametrize("suite", list(SLICE))
def test_a_slice_of_each_suite(lsmeter: Lsmeter, debian_kernel: Kernel, suite: str) -> None:
    words = ("run", "--boots", "1", "--quick", "--samples", "20", "--suite", suite)
    setups = ("--setup", "capability", "--setup", "selinux")
    chosen = each("--benchmark", SLICE[suite])
    done = lsmeter(*words, *setups, *chosen, "--run-dir", "run")
    assert done.code == 0, done.err + done.out
    report = json.loads(lsmeter("report", "run", "--format", "json").out)
    assert report["problems"] == []
    found = {item["id"]: item["mean"] for item in report["comparisons"]}
    for name in (*SLICE[suite], "getppid"):
        mean = found[name]
        if name in WITHOUT_HOOK:
            assert mean["difference"] == 0, name
        elif name in UNRESOLVED:
            assert mean["low"] < 78 + SLAB_INSNS, name
            assert mean["high"] > 78, name
        else:
            assert mean["low"] > 0, name
    index = lsmeter("index", "run", "--format", "json")
    assert index.code == 0, index.err
    by_setup = {item["setup"]: item["typical"] for item in json.loads(index.out)["indices"]}
    assert by_setup["selinux"]["value"] < by_setup["capability"]["value"] == pytest.approx(100)


def test_hooks_that_a_child_runs_are_counted(lsmeter: Lsmeter, debian_kernel: Kernel) -> None:
    asked = ("hooks", "coverage", "--suite", "process", "-b", "exec program=static", "-b", "kill")
    done = lsmeter(*asked, "--format", "json")
    assert done.code == 0, done.err
    (kernel,) = json.loads(done.out)["kernels"]
    reached = set(kernel["suites"]["process"])
    assert {"bprm_check", "task_kill", "task_alloc", "mmap_file"} <= reached
    assert kernel["hooks"] > 200
    assert not reached & {item["hook"] for item in kernel["missing"]}


def test_a_connection_takes_the_same_in_each_boot(lsmeter: Lsmeter, debian_kernel: Kernel) -> None:
    names = ("tcp-connect ip=4", "tcp-connect ip=4 path=veth")
    words = ("run", "--suite", "net", "--setup", "capability", "--boots", "3", "--quick")
    done = lsmeter(*words, *each("--benchmark", names), "--samples", "40", "--run-dir", "run")
    assert done.code == 0, done.err + done.out
    report = json.loads(lsmeter("report", "run", "--format", "json").out)
    assert facts(report, "capability")["network.steady"] == "0"
    found = {item["id"]: item["by_boot"] for item in report["estimates"]}
    for name in names:
        counts = [boot["value"] for boot in found[name]]
        # Where a slab ends between two objects it is 280, by port and number 4 to 12.
        assert len(counts) == 3
        assert max(counts) - min(counts) <= 12, name
