# SPDX-License-Identifier: GPL-2.0-or-later
"""Audit, IMA and EVM in real guests: enforced, in order of cost, and clear where they cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Lsmeter
from tests.runs import each, facts, measured, told, values

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

BENCHMARKS = ("stat depth=1", "open depth=1", "creat depth=1", "chmod depth=1")
HOW = (*each("--benchmark", BENCHMARKS), "--samples", "20")


@pytest.mark.parametrize(
    ("filesystem", "user"), [("tmpfs", "root"), ("tmpfs", "user"), ("ext4", "user")]
)
def test_each_is_proved_and_costs_where_it_works(
    lsmeter: Lsmeter, filesystem: str, user: str
) -> None:
    names = ("capability", "ima-measure", "ima-appraise", "ima-audit", "evm", "ima+evm")
    report = measured(
        lsmeter, *each("--setup", names), *HOW, "--filesystem", filesystem, "--user", user
    )
    cost = {name: values(report, name) for name in names}
    assert len({cost[name]["stat depth=1"] for name in names}) == 1
    for name in ("ima-measure", "ima-appraise", "ima-audit", "ima+evm"):
        assert cost[name]["open depth=1"] > cost["capability"]["open depth=1"]
    assert cost["evm"]["open depth=1"] == cost["capability"]["open depth=1"]
    assert cost["evm"]["chmod depth=1"] > 2 * cost["capability"]["chmod depth=1"]
    assert cost["ima+evm"]["chmod depth=1"] > cost["evm"]["chmod depth=1"]
    found = facts(report, "ima-appraise")
    assert "cause=invalid-hash" in found["proof.ima-wrong-hash.message"]
    assert found["proof.ima-wrong-hash.before"] == "allowed"
    found = facts(report, "ima+evm")
    assert found["evm"] == "1"
    assert "op=appraise_metadata" in found["proof.evm-uncertified.message"]
    assert 'file="/data/integrity/audited"' in found["proof.ima-audit-record.message"]
    assert found["ima.file.measured"].startswith("sha256:")


def test_audit_costs_every_system_call(lsmeter: Lsmeter) -> None:
    report = measured(lsmeter, *each("--setup", ("capability", "audit", "audit-off")), *HOW)
    plain, on = values(report, "capability"), values(report, "audit")
    assert on.pop("empty") == plain["empty"]  # which makes no call
    assert all(on[name] > plain[name] for name in on)
    assert values(report, "audit-off") == plain
    assert facts(report, "audit")["audit.rules"] == "0"


def test_two_policies_need_a_kernel_that_takes_two(lsmeter: Lsmeter) -> None:
    report = measured(
        lsmeter, *each("--setup", ("ima-measure+ima-appraise", "capability")), *HOW, code=1
    )
    assert "the kernel was built without CONFIG_IMA_WRITE_POLICY" in told(report)
    assert values(report, "ima-measure+ima-appraise") == {}


MINE = """
name = "mine"
title = "a policy for IMA of the user's own"
lsms = ["capability", "integrity"]
steps = [["work"], {steps}]
[files]
"mine.policy" = "mine.policy"
[[checks]]
name = "new-file"
access = "reread"
path = "/data/new"
denied = false
"""
LOAD = '["write", "/sys/kernel/security/ima/policy", "/setup/mine.policy"]'
RAMFS = '["mount", "ramfs", "/data"]'


@pytest.mark.parametrize(
    ("policy", "steps", "said"),
    [
        pytest.param(
            "appraise func=FILE_CHEKC\n",
            LOAD,
            "step 3 (write /sys/kernel/security/ima/policy /setup/mine.policy): writing "
            "/sys/kernel/security/ima/policy: Invalid argument",
            id="a policy with a mistake",
        ),
        pytest.param(
            "appraise func=FILE_CHECK fsmagic=0x858458f6\n",
            f'{RAMFS}, ["file", "/data/x", "x"], ["label", "/data/x", "security.mine", "x"]',
            "labelling /data/x: Operation not supported",
            id="a file system without labels",
        ),
        pytest.param(
            "appraise func=FILE_CHECK fsmagic=0x858458f6\n",
            f"{RAMFS}, {LOAD}",
            "new-file failed: reread /data/new must be allowed, and was denied",
            id="labels that are lost",
        ),
    ],
)
def test_what_cannot_be_enforced_gives_no_numbers(
    lsmeter: Lsmeter, tmp_path: Path, policy: str, steps: str, said: str
) -> None:
    (tmp_path / "mine.policy").write_text(policy)
    (tmp_path / "mine.toml").write_text(MINE.format(steps=steps))
    words = ("--setup", "./mine.toml", "--setup", "capability", "--baseline", "capability")
    report = measured(lsmeter, *words, *HOW, code=1)
    assert said in told(report)
    assert values(report, "mine") == {}


def test_rules_of_a_baseline_leave_records(lsmeter: Lsmeter, policy_image: Path) -> None:
    names = ("audit", "audit-rules:session=service", "audit-rules")
    # Records wait for the console, and calls for records: whole cycles do not come to an end.
    words = (*each("--setup", names), *HOW, "--quick", "--image", str(policy_image))
    report = measured(lsmeter, *words)
    assert facts(report, "audit-rules")["audit.rules"] == "34"
    assert "auid=1000" in facts(report, "audit-rules")["proof.audit-record.message"]
    none, service, login = (values(report, name)["chmod depth=1"] for name in names)
    assert none < service < login


@pytest.mark.parametrize("setup", ["selinux-enforcing+ima+evm", "apparmor-enforcing+ima-appraise"])
def test_integrity_stands_on_an_enforced_policy(
    lsmeter: Lsmeter, policy_image: Path, setup: str
) -> None:
    words = ("--setup", setup, "--baseline", setup, "--image", str(policy_image))
    said = facts(measured(lsmeter, *words, *HOW), setup)
    assert said["proof.read-secret"] == "denied"
    assert said["proof.ima-wrong-hash"] == "denied"
