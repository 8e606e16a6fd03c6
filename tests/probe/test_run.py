# SPDX-License-Identifier: GPL-2.0-or-later
"""Operations with a run() of their own: processes, six arguments, sockets, and what fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.core.model import BenchmarkStatus
from lsmeter.guest.probe import Program, catalogue
from tests.probe.conftest import built
from tests.probe.test_sample import sample

OPS = Path(__file__).with_name("run_ops.c")


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return built(tmp_path_factory.mktemp("run"), f"OPS={OPS}")


def test_each_result_is_checked(probe: Program, tmp_path: Path) -> None:
    ids = [item.id for item in catalogue(probe) if item.suite == "run"]
    session = sample(probe, tmp_path, *ids, suite="run")
    found = {item.benchmark: (item.status, item.detail) for item in session.samples}
    assert found == {
        **dict.fromkeys(("fork status=0", "map offset=0", "pair"), (BenchmarkStatus.OK, "")),
        "fork status=3": (BenchmarkStatus.FAILED, "status 768 in reading 0"),
        "absent known=no": (
            BenchmarkStatus.SKIPPED,
            "there is no system call 100000: Function not implemented",
        ),
        "absent known=yes": (
            BenchmarkStatus.SKIPPED,
            "there is no such thing: Function not implemented",
        ),
        "map offset=1": (BenchmarkStatus.FAILED, "EINVAL: system call 9 returned -22 in reading 0"),
    }
    assert session.complete


def test_the_catalogue_has_what_the_table_does_not_show(probe: Program) -> None:
    found = {item.id: (item.calls, item.cycle) for item in catalogue(probe)}
    assert found["fork status=0"] == ("fork+exit_group+wait4",) * 2
    sent = "socketpair+sendto+recvfrom+sendto+recvfrom"
    assert found["pair"] == (sent, f"{sent}+close+close")
