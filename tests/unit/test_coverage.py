# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hooks suites reach, from a run that counted, and why others are reached by none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks import find_task
from lsmeter.questions.hooks.coverage import coverage, coverage_document, out_of_reach
from lsmeter.tables.render import Options, render
from tests.unit.model_builders import benchmark, kernel
from tests.unit.run_builders import plan_of, run_of, said_by

ABLE = dict.fromkeys(find_task("count").needs, "y")
FACTS = (
    "fact lsm capability",
    "fact count.hooks 6",
    "fact count.watched.1 file_open,inode_permission,socket_create,ib_pkey_access",
    "fact count.watched.2 sb_mnt_opts_compat,socket_bind,compute_av",
)
COUNTED = {
    "open depth=1": ("samples 7x8", "counts file_open 1x8", "counts inode_permission 2x8"),
    "bind": ("samples 5x8", "counts inode_permission 0,0,1,0x5", "counts socket_bind 1x8"),
}


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunData:
    monkeypatch.setenv("LSMETER_DATA", str(tmp_path / "data"))
    words = {"setups": ["capability"], "task": "count", "suites": ["file", "net"]}
    items = (benchmark("open", depth=1), replace(benchmark("bind"), suite="net"))
    plan = plan_of([kernel(**ABLE)], items, words)
    return run_of(plan, tmp_path / "run", lambda cell: said_by(cell, FACTS, COUNTED))


def test_each_suite_has_what_its_benchmarks_ran(counted: RunData) -> None:
    (found,) = coverage(counted)
    assert found.suites == {
        "file": {"file_open", "inode_permission"},
        "net": {"socket_bind", "inode_permission"},
    }
    # compute_av is SELinux's own, and no hook.
    assert found.hooks == (
        *("file_open", "ib_pkey_access", "inode_permission", "sb_mnt_opts_compat"),
        *("socket_bind", "socket_create"),
    )


def test_what_none_ran_has_a_reason_and_what_cannot_be_is_not_within_reach(
    counted: RunData,
) -> None:
    (found,) = coverage(counted)
    assert set(found.missing) == {"ib_pkey_access", "sb_mnt_opts_compat", "socket_create"}
    assert "InfiniBand" in found.missing["ib_pkey_access"]
    assert found.missing["socket_create"] == "not by the 2 benchmarks of this run"
    assert out_of_reach("ib_pkey_access")
    assert not out_of_reach("sb_mnt_opts_compat")
    assert found.within_reach == 5


def test_it_is_not_said_that_a_kernel_lacks_what_may_be_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LSMETER_DATA", str(tmp_path / "data"))
    facts = (*FACTS[:2], "fact count.watched.1 file_open,sctp_bind_connect,key_alloc")
    words = {"setups": ["capability"], "task": "count"}
    built = kernel(**ABLE, IP_SCTP="m")
    plan = plan_of([built], [benchmark("open", depth=1)], words)
    run = run_of(plan, tmp_path / "run", lambda cell: said_by(cell, facts, COUNTED))
    (found,) = coverage(run)
    assert found.missing == {
        "sctp_bind_connect": "SCTP: the kernel has none, or no benchmark uses it",
        "key_alloc": "not by the 1 benchmark of this run",
    }


def test_the_document_says_shares_and_names_all(counted: RunData) -> None:
    data = json.loads(render(coverage_document(counted), "json", Options()))
    (said,) = data["kernels"]
    assert (said["hooks"], said["reached"], said["within_reach"]) == (6, 3, 5)
    text = " ".join(render(coverage_document(counted), "table", Options()).split())
    assert "3 of 6 hooks reached (50 %); 5 can be reached in a guest as it is: 60 %" in text
    assert "ib_pkey_access" in text
