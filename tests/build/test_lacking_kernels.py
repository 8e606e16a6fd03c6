# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels that lack what suites are about: what is skipped has its reason, the rest is measured."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lsmeter.guest.probe import catalogue, find_probe
from tests.build.kernels import LACKING, PLAIN, lacking, plain
from tests.conftest import Lsmeter
from tests.runs import each

pytestmark = pytest.mark.build

SUITES = ("ipc", "net", "process", "syscall")
# Why a benchmark of a suite is skipped: on a kernel without sockets, System V IPC and keys, and on
# one with sockets, without io_uring, NetLabel, IPv6, epoll, eventfd and locks of files.
TINY = {
    ("ipc", "unix-connect"): "there is no AF_UNIX",
    ("ipc", "socketpair-used"): "there is no AF_UNIX",
    ("ipc", "sysv-message"): "there is no System V IPC",
    ("ipc", "key-make"): "there is no key retention",
    ("net", "tcp-connect ip=4"): "there is no IP",
    ("net", "udp ip=4 size=1 path=veth"): "there is no second network namespace",
    ("syscall", "bpf-lookup"): "there is no BPF",
    ("syscall", "file-capabilities"): "there is no security attribute of a file",
}
BARE = {
    ("ipc", "sysv-message"): "there is no System V IPC",
    ("ipc", "eventfd"): "there is no eventfd",
    ("net", "tcp-peersec"): "there is no label of a connection's peer",
    ("net", "udp ip=6 size=1"): "there is no IP",
    ("process", "fault page=file"): "there is no system call for it",
    ("syscall", "io_uring op=read"): "there is no io_uring",
    ("syscall", "epoll fds=10"): "there is no epoll or eventfd",
    ("syscall", "fcntl command=setlk"): "there is no lock of a file",
}
MEASURED = {
    PLAIN: {("ipc", "turn by=pipe"), ("process", "fork"), ("syscall", "io_uring op=read")},
    LACKING: {("net", "udp ip=4 size=1"), ("ipc", "unix-connect"), ("ipc", "socketpair-used")},
}


def test_what_a_kernel_lacks_is_skipped_with_the_reason_and_the_rest_goes_on(
    lsmeter: Lsmeter,
) -> None:
    kernels = {PLAIN: (plain(), TINY), LACKING: (lacking(), BARE)}
    words = ("run", "--setup", "capability", "--boots", "1", "--quick")
    names = each("--kernel", (kernel.name for kernel, _ in kernels.values()))
    sampling = ("--samples", "2", "--warmup", "1", "--run-dir", "run")
    done = lsmeter(*words, *names, *each("--suite", SUITES), *sampling)
    assert done.code == 0, done.err
    data = json.loads(lsmeter("report", "run", "--format", "json").out)
    every = {(item.suite, item.id) for item in catalogue(find_probe()) if item.suite in SUITES}
    for kernel, (_, expected) in kernels.items():
        reasons: dict[tuple[str, str], dict[str, Any]] = {
            (item["suite"], item["benchmark"]): item
            for item in data["problems"]
            if item["kernel"] == f"built:{kernel}"
        }
        assert [item for item in reasons.values() if ": skipped" not in item["title"]] == []
        assert all(item["detail"] for item in reasons.values())
        for key, why in expected.items():
            assert reasons[key]["detail"].startswith(why), key
        measured = {
            (item["suite"], item["id"])
            for item in data["estimates"]
            if item["kernel"] == f"built:{kernel}"
        }
        assert measured == every - set(reasons)
        assert MEASURED[kernel] <= measured
