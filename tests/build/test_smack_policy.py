# SPDX-License-Identifier: GPL-2.0-or-later
"""Smack with rules in a real guest, of a kernel from source: no cloud kernel has Smack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lsmeter.kernels.build.builder import build_kernel
from tests.conftest import Lsmeter

pytestmark = [pytest.mark.build, pytest.mark.guest, pytest.mark.usefixtures("policy_image")]

BENCHMARKS = ("getppid", "stat depth=1", "stat depth=4", "creat depth=1")
OPTIONS = tuple(word for name in BENCHMARKS for word in ("--benchmark", name))


@pytest.fixture(scope="module")
def kernel() -> str:
    return build_kernel("debian-source:6.1", ["lsm-all"]).name


def run(lsmeter: Lsmeter, kernel: str, *setups: str, more: tuple[str, ...] = ()) -> dict[str, Any]:
    named = tuple(word for setup in setups for word in ("--setup", setup))
    how = ("--kernel", kernel, "--samples", "15", "--boots", "1", "--baseline", setups[0])
    done = lsmeter("run", *named, *OPTIONS, *how, *more, "--out", "run")
    assert done.code == 0, done.err + done.out
    report: dict[str, Any] = json.loads(lsmeter("report", "run", "--format", "json").out)
    return report


def values(report: dict[str, Any], setup: str) -> dict[str, float]:
    return {
        " ".join((item["benchmark"], *(f"{k}={v}" for k, v in item["params"].items()))): item[
            "value"
        ]
        for item in report["estimates"]
        if item["setup"] == setup
    }


def test_smack_decides_upon_root_and_walks_through_its_rules(lsmeter: Lsmeter, kernel: str) -> None:
    names = (
        "smack",
        "smack-enforcing",
        "smack-enforcing:rules=500",
        "smack-enforcing:rules=500,found=first",
    )
    report = run(lsmeter, kernel, *names)
    cost = {name: values(report, name) for name in names}
    assert len({cost[name]["getppid"] for name in names}) == 1
    assert cost["smack"]["stat depth=1"] < cost["smack-enforcing"]["stat depth=1"]
    first, last = (cost[name]["stat depth=4"] for name in reversed(names[2:]))
    assert first == cost["smack-enforcing"]["stat depth=4"]
    assert last - first > 4 * 500
    (enforced,) = [item["facts"] for item in report["setups"] if item["setup"] == names[1]]
    assert enforced["proof.read-secret.errno"] == "EACCES"
    assert 'subject="Worker" object="Secret"' in enforced["proof.read-secret.message"]
    assert enforced["proof.write-public"] == "allowed"


def test_an_ordinary_user_with_cold_caches_on_ext4(lsmeter: Lsmeter, kernel: str) -> None:
    more = ("--filesystem", "ext4", "--user", "user", "--cold")
    report = run(lsmeter, kernel, "smack-enforcing", more=more)
    assert values(report, "smack-enforcing")["stat depth=4"] > 0


def test_a_rule_that_smack_does_not_understand(
    lsmeter: Lsmeter, kernel: str, tmp_path: Path
) -> None:
    (tmp_path / "rules").write_text("Worker\n")
    (tmp_path / "broken.toml").write_text(
        """
name = "broken"
title = "half a rule"
lsms = ["smack"]
steps = [["mount", "smackfs", "/sys/fs/smackfs"],
         ["load", "/sys/fs/smackfs/load2", "/setup/rules"]]
files = {rules = "rules"}
"""
    )
    how = ("--kernel", kernel, "--boots", "1", "--benchmark", "getppid", "--out", "run")
    done = lsmeter("run", "--setup", "./broken.toml", "--baseline", "./broken.toml", *how)
    assert done.code == 1, done.err
    report = json.loads(lsmeter("report", "run", "--format", "json").out)
    assert report["estimates"] == []
    told = " ".join(item["detail"] for item in report["problems"])
    assert "writing /sys/fs/smackfs/load2: Invalid argument" in told
