# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are made with a kernel: SELinux's minimal policy."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from lsmeter.sources.kernels.build.builder import MDP_POLICY, adapt_policy, make_policy
from lsmeter.sources.kernels.build.make import Slot

WITH_SELINUX = {"SECURITY_SELINUX": "y"}
CONF = "type base_t;\nrole base_r;\nallow base_t base_t:file *;\nuser user_u roles { base_r };\n"


@pytest.fixture
def slot(tmp_path: Path) -> Slot:
    return Slot(tmp_path)


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def give_mdp(slot: Slot, script: str) -> None:
    program(slot.objects / "scripts/selinux/mdp/mdp", script)


def reason(slot: Slot) -> str:
    made, without = make_policy(slot, WITH_SELINUX)
    assert not made
    return dict(without)[MDP_POLICY]


def test_a_kernel_without_selinux_needs_none(slot: Slot) -> None:
    assert make_policy(slot, {}) == ({}, ())


def test_the_added_type_comes_before_users() -> None:
    text = adapt_policy(CONF)
    assert text.index("type lsmeter_secret_t;") < text.index("user user_u")
    assert "open" not in text
    assert text.startswith("type base_t;")


def test_all_kernels_have_the_same_capabilities() -> None:
    known = "policycap open_perms;\npolicycap ioctl_skip_cloexec;\n"
    later = "policycap memfd_class;\npolicycap open_perms_too;\n"
    assert adapt_policy(known + later + CONF) == adapt_policy(known + CONF)
    assert adapt_policy(later + known + CONF).startswith(known)


@pytest.mark.parametrize("text", ["", "type base_t;\n", "user user_u roles { base_r };\n"])
def test_what_is_no_policy_of_mdp_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="base_t"):
        adapt_policy(text)


def test_a_kernel_without_the_program_says_so(slot: Slot) -> None:
    assert "scripts/selinux/mdp" in reason(slot)


def test_a_missing_compiler_is_named(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    give_mdp(slot, "exit 0")
    monkeypatch.setenv("PATH", str(slot.home))
    assert "apt install checkpolicy" in reason(slot)


@pytest.mark.parametrize(
    ("mdp", "checkpolicy", "said"),
    [
        ("echo no >&2; exit 3", "exit 0", "mdp failed with status 3: no"),
        ('echo nonsense > "$2"', "exit 0", "is no policy"),
        (f"printf '%s' '{CONF}' > \"$2\"", "echo line 4: bad >&2; exit 1", "line 4: bad"),
    ],
)
def test_what_fails_is_told_and_is_no_error(
    slot: Slot, monkeypatch: pytest.MonkeyPatch, mdp: str, checkpolicy: str, said: str
) -> None:
    give_mdp(slot, mdp)
    program(slot.home / "bin/checkpolicy", checkpolicy)
    monkeypatch.setenv("PATH", f"{slot.home}/bin:/usr/bin:/bin")
    assert said in reason(slot)


def test_the_version_is_one_that_every_kernel_reads(
    slot: Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_mdp(slot, f"printf '%s' '{CONF}' > \"$2\"")
    program(slot.home / "bin/checkpolicy", 'echo "$@" > "$7"')  # keeps its words as the policy
    monkeypatch.setenv("PATH", f"{slot.home}/bin:/usr/bin:/bin")
    made, _ = make_policy(slot, WITH_SELINUX)
    assert "-c 31" in made[MDP_POLICY].read_text()
