# SPDX-License-Identifier: GPL-2.0-or-later
"""SELinux with policies in real guests: proved, decided on, and failing with a reason."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Lsmeter

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

ONE = ("--benchmark", "getppid", "--boots", "1", "--baseline", "capability", "--run-dir", "run")
DEADLINE = ("--boot-deadline", "600")

# What SELinux says without a policy, and a policy that is none.
GARBAGE = """
name = "garbage"
title = "a policy that cannot be loaded"
lsms = ["selinux"]
cmdline = ["selinux=1", "enforcing=0"]
steps = [["mount", "selinuxfs", "/sys/fs/selinux"],
         ["load", "/sys/fs/selinux/load", "/setup/policy"], ["work"]]
[files]
policy = "part"
"""

# Permissive, with all that says so left out: only the denial that does not happen is left.
TOOTHLESS = """
name = "toothless"
title = "a policy that nobody enforces"
lsms = ["selinux"]
cmdline = ["selinux=1", "enforcing=0"]
image = "policy"
steps = [["try"], ["mount", "selinuxfs", "/sys/fs/selinux"],
         ["load", "/sys/fs/selinux/load", "/etc/lsmeter/selinux/default.policy"], ["work"],
         {more}]
{confine}
[[checks]]
name = "read-secret"
access = "read"
path = "/srv/lsmeter/secret"
denied = true
message = "avc:  denied"
"""
CONFINED = 'confine = [["/proc/self/attr/current", "system_u:system_r:lsmeter_confined_t:s0"]]'


def run(lsmeter: Lsmeter, *words: str) -> tuple[int, str, dict[str, Any]]:
    """Run one benchmark; return the exit code, what problems say, and the report."""
    done = lsmeter("run", *words, *ONE, *DEADLINE)
    report: dict[str, Any] = json.loads(lsmeter("report", "run", "--format", "json").out)
    told = " ".join(f"{item['title']} {item['detail']}" for item in report["problems"])
    return done.code, told, report


def numbers_of(report: dict[str, Any], setup: str) -> list[float]:
    return [item["value"] for item in report["estimates"] if item["setup"] == setup]


@pytest.mark.parametrize("content", [b"not a policy\n", bytes(4096)])
def test_a_policy_that_does_not_load_is_named_with_its_step(
    lsmeter: Lsmeter, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "part").write_bytes(content)
    (tmp_path / "garbage.toml").write_text(GARBAGE)
    code, told, report = run(lsmeter, "--setup", "./garbage.toml")
    assert code == 1
    assert "step 2 (load /sys/fs/selinux/load /setup/policy)" in told
    assert "Invalid argument" in told
    assert numbers_of(report, "garbage") == []
    assert numbers_of(report, "capability")


@pytest.mark.usefixtures("policy_image")
def test_a_denial_that_does_not_happen_gives_no_numbers(lsmeter: Lsmeter, tmp_path: Path) -> None:
    text = TOOTHLESS.format(more='["mkdir", "/x"]', confine=CONFINED)
    (tmp_path / "toothless.toml").write_text(text)
    code, told, report = run(lsmeter, "--setup", "./toothless.toml")
    assert code == 1
    assert "must be denied, and was allowed: the policy is not enforced" in told
    assert numbers_of(report, "toothless") == []


@pytest.mark.usefixtures("policy_image")
def test_a_domain_that_does_not_exist_cannot_be_entered(lsmeter: Lsmeter, tmp_path: Path) -> None:
    confine = CONFINED.replace("lsmeter_confined_t", "no_such_t")
    text = TOOTHLESS.format(more='["mkdir", "/x"]', confine=confine)
    (tmp_path / "toothless.toml").write_text(text)
    code, told, report = run(lsmeter, "--setup", "./toothless.toml")
    assert code == 1
    assert "being confined: Invalid argument" in told
    assert numbers_of(report, "toothless") == []


@pytest.mark.usefixtures("policy_image")
def test_labels_that_a_file_system_does_not_keep_are_an_error(
    lsmeter: Lsmeter, tmp_path: Path
) -> None:
    # SELinux names what lies in /proc by its path, and lets no label be set there.
    steps = '["label", "/proc/version", "security.selinux", "system_u:object_r:lsmeter_work_t:s0"]'
    (tmp_path / "toothless.toml").write_text(TOOTHLESS.format(more=steps, confine=CONFINED))
    code, told, report = run(lsmeter, "--setup", "./toothless.toml")
    assert code == 1
    assert "labelling /proc/version: Operation not supported" in told
    assert numbers_of(report, "toothless") == []


def test_what_is_missing_in_ones_own_image_is_named(lsmeter: Lsmeter, tmp_path: Path) -> None:
    (tmp_path / "tree" / "srv").mkdir(parents=True)
    words = ["mke2fs", "-q", "-t", "ext4", "-d", "tree", "own.ext4", "16M"]
    subprocess.run(words, cwd=tmp_path, check=True)
    words = ["--setup", "selinux-enforcing", "--image", "./own.ext4"]
    code, told, report = run(lsmeter, *words)
    assert code == 1
    assert "step 4 (run /usr/bin/busybox" in told
    assert "default.policy" in told
    assert "No such file or directory" in told
    assert numbers_of(report, "selinux-enforcing") == []


def test_an_image_that_cannot_keep_labels_is_refused(lsmeter: Lsmeter, tmp_path: Path) -> None:
    words = ["mke2fs", "-q", "-t", "ext4", "-O", "^ext_attr", "own.ext4", "16M"]
    subprocess.run(words, cwd=tmp_path, check=True)
    done = lsmeter("run", "--setup", "selinux-enforcing", "--image", "./own.ext4", *ONE)
    assert done.code == 2
    assert "labels would be lost" in done.err


def test_the_minimal_policy_needs_a_kernel_that_was_built(lsmeter: Lsmeter) -> None:
    code, told, _ = run(lsmeter, "--setup", "selinux-enforcing:policy=mdp")
    assert code == 1
    assert "mdp-policy" in told


@pytest.mark.usefixtures("policy_image")
def test_both_domains_are_proved_and_decisions_are_cached(lsmeter: Lsmeter) -> None:
    names = (
        "selinux-permissive",
        "selinux-enforcing",
        "selinux-enforcing:domain=confined",
        "selinux-enforcing:domain=confined,cold=on",
    )
    words = tuple(word for name in names for word in ("--setup", name))
    stat = ("--benchmark", "stat depth=1", "--samples", "12")
    code, told, report = run(lsmeter, *words, *stat)
    assert (code, told) == (0, "")
    (permissive, *_), (enforcing, *_), (confined, *_), (cold, *_) = (
        [item["value"] for item in report["estimates"] if (item["setup"], item["id"]) == key]
        for key in ((name, "stat depth=1") for name in names)
    )
    assert permissive == enforcing == confined
    assert cold > 3 * confined
    for proof in report["proofs"]:
        assert proof["held"] == proof["boots"] == 1
        if proof["name"] == "read-secret":
            assert "avc:  denied  { read }" in proof["message"]
            asked = "allowed" if proof["setup"] == "selinux-permissive" else "denied"
            assert proof["happened"] == asked
