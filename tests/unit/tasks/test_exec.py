# SPDX-License-Identifier: GPL-2.0-or-later
"""From the tally of a command to its three numbers, and what gives none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.model import BenchmarkStatus, Samples, Task
from lsmeter.core.model.commands import Command
from lsmeter.guest.boot_image import make_request
from lsmeter.measure.tasks.exec import TASK, command_of, derive, judge, request
from tests.unit import model_builders

COMMAND = Command("ls", ("/bin/ls", "-l"), "ls -l", "0" * 64, "/a b", ("A=b c",), 2, 7)
TALLY = (
    "lsmeter-tally 1\nregion 7\ndriver kernel other 5\nend\nregion 0\n"
    "service insns user 1000\nservice kernel other 300\nservice kernel selinux 40\n"
    "interrupts kernel other 7\nthreads kernel other 3\ndriver kernel other 99\n"
    "clock kernel other 50\ndriver insns user 11\n{}end\neof\n"
)
RAN = (Samples("ls", BenchmarkStatus.OK, (5000,)),)


@pytest.fixture
def cell() -> Any:
    return replace(model_builders.cell(parse_setup("selinux")), task=Task("exec", command=COMMAND))


def test_the_kernels_part_is_that_of_the_command_and_on_its_behalf(cell: Any) -> None:
    found = derive(cell, {"tally": TALLY.format("").encode()}, RAN)
    assert {item.benchmark: item.values for item in found} == {
        "ls": (350,),
        "ls part=all": (1350,),
        "ls part=user": (1000,),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "is missing"),
        (TALLY.format("none events lost 1\n"), "lost track of 1"),
        (TALLY.format("service kernel other 1\n"), "cannot stand there"),
        (TALLY.format("service kernel ima 90000\n"), "more than the guest's clock"),
        (TALLY.format("").replace("eof\n", ""), "no end"),
        (TALLY.format("").replace("region 0", "region 3"), "0 regions"),
    ],
)
def test_what_was_not_counted_whole_gives_no_number(cell: Any, text: str | None, said: str) -> None:
    outputs = {} if text is None else {"tally": text.encode()}
    for item in derive(cell, outputs, RAN):
        assert (item.status, item.values) == (BenchmarkStatus.FAILED, ())
        assert said in item.detail


def test_what_page_faults_count_twice_is_no_fault(cell: Any) -> None:
    (clock,) = RAN[0].values
    text = TALLY.format(f"clock kernel bpf {clock + 5 - 1510}\n")
    found = derive(cell, {"tally": text.encode()}, RAN)
    assert {item.status for item in found} == {BenchmarkStatus.OK}


def test_a_command_that_fails_gives_no_number(cell: Any) -> None:
    ended = (Samples("ls", BenchmarkStatus.FAILED, detail="left with status 1"),)
    found = derive(cell, {"tally": TALLY.format("").encode()}, ended)
    assert [(item.status, item.values) for item in found] == [(BenchmarkStatus.FAILED, ())] * 3


def test_what_does_not_end_is_a_workload(cell: Any) -> None:
    late = Samples("ls", BenchmarkStatus.TIMEOUT, detail="did not end")
    assert judge(cell, late).detail.endswith("lsmeter help workloads")
    left = Samples("ls", BenchmarkStatus.FAILED, detail="ls left with status 3: it said this")
    assert judge(cell, left).detail == f"{left.detail}; --expect-status 3 counts it"
    assert judge(cell, RAN[0]) is RAN[0]


def test_the_guest_is_asked_for_one_run(cell: Any) -> None:
    asked = request(cell)
    assert asked["clients"] == (("ls", "1", "service", "/bin/ls", "-l"),)
    assert TASK.sampling is not None
    one = replace(cell, sampling=TASK.sampling)
    text = make_request(one, 1).to_bytes().decode()
    for line in ("benchmark=ls", "command=/a%20b 2", "environment=A=b%20c", "samples=1"):
        assert f"{line}\n" in text
    assert text.count("benchmark=") == 1


def test_another_command_is_another_cell(cell: Any) -> None:
    assert command_of(cell) is COMMAND
    other = replace(COMMAND, environment=("A=c",))
    assert replace(cell, task=Task("exec", command=other)).hash != cell.hash
    assert replace(cell, task=Task("exec")).hash != cell.hash
