# SPDX-License-Identifier: GPL-2.0-or-later
"""Smack with rules in a real guest, of a kernel from source: no cloud kernel has Smack."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.sources.kernels.build.builder import build_kernel
from tests.conftest import Lsmeter
from tests.runs import each, facts, measured, told, values

pytestmark = [pytest.mark.build, pytest.mark.guest, pytest.mark.usefixtures("policy_image")]

BENCHMARKS = ("getppid", "stat depth=1", "stat depth=4", "creat depth=1")
HOW = (*each("--benchmark", BENCHMARKS), "--samples", "15")


@pytest.fixture(scope="module")
def kernel() -> str:
    return build_kernel("debian-source:6.1", ["lsm-all"]).name


def test_smack_decides_upon_root_and_walks_through_its_rules(lsmeter: Lsmeter, kernel: str) -> None:
    names = (
        "smack",
        "smack-enforcing",
        "smack-enforcing:rules=500",
        "smack-enforcing:rules=500,found=first",
    )
    words = ("--kernel", kernel, *each("--setup", names), "--baseline", names[0])
    report = measured(lsmeter, *words, *HOW)
    cost = {name: values(report, name) for name in names}
    assert len({cost[name]["getppid"] for name in names}) == 1
    assert cost["smack"]["stat depth=1"] < cost["smack-enforcing"]["stat depth=1"]
    first, last = (cost[name]["stat depth=4"] for name in reversed(names[2:]))
    assert first == cost["smack-enforcing"]["stat depth=4"]
    assert last - first > 4 * 500
    enforced = facts(report, "smack-enforcing")
    assert enforced["proof.read-secret.errno"] == "EACCES"
    assert 'subject="Worker" object="Secret"' in enforced["proof.read-secret.message"]
    assert enforced["proof.write-public"] == "allowed"


def test_an_ordinary_user_with_cold_caches_on_ext4(lsmeter: Lsmeter, kernel: str) -> None:
    setup = "smack-enforcing"
    words = ("--kernel", kernel, "--setup", setup, "--baseline", setup)
    how = ("--filesystem", "ext4", "--user", "user", "--cold", *HOW)
    assert values(measured(lsmeter, *words, *how), setup)["stat depth=4"] > 0


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
    words = ("--kernel", kernel, "--setup", "./broken.toml", "--baseline", "./broken.toml")
    report = measured(lsmeter, *words, "--benchmark", "getppid", code=1)
    assert report["estimates"] == []
    assert "writing /sys/fs/smackfs/load2: Invalid argument" in told(report)
