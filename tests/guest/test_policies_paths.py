# SPDX-License-Identifier: GPL-2.0-or-later
"""AppArmor and TOMOYO with policies in force, in real guests: proved, ordered, and failing well."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Lsmeter
from tests.runs import each, facts, measured, values

pytestmark = [
    pytest.mark.guest,
    pytest.mark.usefixtures("debian_kernel", "policy_image"),
]

BENCHMARKS = ("getppid", "stat depth=1", "stat depth=4", "creat depth=1", "write size=1")
HOW = (*each("--benchmark", BENCHMARKS), "--samples", "15")


def test_apparmor_decides_and_says_so(lsmeter: Lsmeter) -> None:
    names = (
        "apparmor",
        "apparmor-complain",
        "apparmor-enforcing",
        "apparmor-enforcing:rules=1000,place=near",
        "apparmor-enforcing:profiles=3",
        "apparmor-enforcing:profiles=8",
    )
    report = measured(lsmeter, *each("--setup", names), *HOW)
    cost = {name: values(report, name) for name in names}
    assert len({cost[name]["getppid"] for name in names}) == 1
    assert cost["apparmor"]["stat depth=1"] < cost["apparmor-complain"]["stat depth=1"]
    for name in BENCHMARKS:
        # Making an inode takes 163 instructions more where it takes the last one of a slab.
        if not name.startswith("creat"):
            assert cost["apparmor-complain"][name] == cost["apparmor-enforcing"][name]
    one, three, eight = (cost[name]["stat depth=4"] for name in (names[2], *names[4:]))
    assert (eight - three) / 5 == pytest.approx((three - one) / 2, rel=0.05)
    enforced = facts(report, "apparmor-enforcing")
    assert enforced["proof.read-secret.errno"] == "EACCES"
    assert 'name="/srv/lsmeter/secret"' in enforced["proof.read-secret.message"]
    assert enforced["proof.write-public"] == "allowed"
    complained = facts(report, "apparmor-complain")
    assert complained["proof.read-secret"] == "allowed"
    assert 'apparmor="ALLOWED"' in complained["proof.read-secret.message"]


def test_tomoyo_decides_and_walks_through_its_rules(lsmeter: Lsmeter) -> None:
    names = (
        "tomoyo",
        "tomoyo-disabled",
        "tomoyo-learning",
        "tomoyo-permissive",
        "tomoyo-enforcing",
        "tomoyo-enforcing:rules=200",
        "tomoyo-enforcing:rules=200,found=first",
    )
    report = measured(lsmeter, *each("--setup", names), *HOW)
    cost = {name: values(report, name) for name in names}
    assert len({cost[name]["getppid"] for name in names}) == 1
    stat = {name: cost[name]["stat depth=1"] for name in names}
    assert stat["tomoyo"] < stat["tomoyo-disabled"] < stat["tomoyo-permissive"]
    # Where a slab's object lies makes two instructions when a name is freed.
    for name in ("tomoyo-permissive", "tomoyo-learning"):
        assert cost[name] == pytest.approx(cost["tomoyo-enforcing"], abs=8)
    assert stat["tomoyo-enforcing:rules=200"] - stat["tomoyo-enforcing"] > 200
    found_first = stat["tomoyo-enforcing:rules=200,found=first"]
    assert found_first == pytest.approx(stat["tomoyo-enforcing"], abs=8)
    enforced = facts(report, "tomoyo-enforcing")
    assert enforced["proof.read-secret.errno"] == "EPERM"
    assert "mode=enforcing granted=no" in enforced["proof.read-secret.message"]
    assert enforced["proof.read-secret.message"].endswith("file read /srv/lsmeter/secret ")
    assert facts(report, "tomoyo-disabled")["proof.read-secret"] == "allowed"


@pytest.mark.parametrize("setup", ["apparmor-enforcing", "tomoyo-enforcing"])
def test_an_ordinary_user_with_cold_caches_on_ext4(lsmeter: Lsmeter, setup: str) -> None:
    words = ("--setup", setup, "--baseline", setup, "--filesystem", "ext4", "--user", "user")
    report = measured(lsmeter, *words, "--cold", *HOW)
    assert values(report, setup)["stat depth=4"] > 0


BROKEN = """
name = "broken"
title = "a policy that does not get into force"
lsms = ["{lsm}"]
image = "policy"
cmdline = ["TOMOYO_trigger=/usr/bin/true", "TOMOYO_loader=/usr/bin/true"]
steps = [{step}]
[files]
part = "part"
{more}
"""
EXPECT = """
[[expect]]
fact = "tomoyo.rules"
value = "2"
"""
PARSER = '["run", "/usr/sbin/apparmor_parser", "-K", "-r", "/setup/part"]'
DOMAIN = '["load", "/sys/kernel/security/tomoyo/domain_policy", "/setup/part"]'
PROFILE = '["load", "/sys/kernel/security/apparmor/.replace", "/setup/part"]'


def broken(lsmeter: Lsmeter, folder: Path, part: str, lsm: str, step: str, more: str = "") -> str:
    """Run a setup with a broken policy; return what its only problem says."""
    (folder / "part").write_text(part)
    (folder / "broken.toml").write_text(BROKEN.format(lsm=lsm, step=step, more=more))
    words = ("--setup", "./broken.toml", "--baseline", "./broken.toml", "--benchmark", "getppid")
    report = measured(lsmeter, *words, code=1)
    assert report["estimates"] == []
    # What failed is kept nowhere: the same command boots again.
    assert not list((folder / "data").rglob("samples*"))
    (problem,) = [item for item in report["problems"] if "boot 0" in item["title"]]
    return " ".join((problem["title"], problem["detail"], *problem["log_tail"]))


def test_a_profile_with_a_syntax_error_is_told_with_its_line(
    lsmeter: Lsmeter, tmp_path: Path
) -> None:
    profile = "profile wrong {\n  /data/** rw,\n  /srv/** nonsense,\n}\n"
    said = broken(lsmeter, tmp_path, profile, "apparmor", PARSER)
    assert "apparmor_parser left with status 1: AppArmor parser error" in said
    assert "at line 3" in said


def test_a_compiled_profile_that_the_kernel_refuses(lsmeter: Lsmeter, tmp_path: Path) -> None:
    said = broken(lsmeter, tmp_path, "no profile at all", "apparmor", PROFILE)
    assert "writing /sys/kernel/security/apparmor/.replace: Protocol not supported" in said


def test_a_rule_that_the_kernel_passes_over_in_silence(lsmeter: Lsmeter, tmp_path: Path) -> None:
    policy = "<kernel> /a\nuse_profile 0\nfile read /one\nfile raed /two\n"
    said = broken(lsmeter, tmp_path, policy, "tomoyo", DOMAIN, EXPECT)
    assert "tomoyo.rules: expected '2', the guest reported '1'" in said


def test_a_domain_without_its_profile_stops_the_kernel(lsmeter: Lsmeter, tmp_path: Path) -> None:
    policy = "<kernel> /a\nuse_profile 7\nfile read /one\n"
    steps = f'{DOMAIN}, ["run", "/usr/bin/true"]'
    said = broken(lsmeter, tmp_path, policy, "tomoyo", steps)
    assert "panic" in said
    assert "tomoyo_check_profile" in said
