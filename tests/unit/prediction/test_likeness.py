# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernel is nearest, and which conditions make a guest's code that of a host."""

from __future__ import annotations

import pytest

from lsmeter.core.model.arch import X86_64
from lsmeter.core.model.cell import Conditions
from lsmeter.questions.time.likeness import (
    ALIKE,
    conditions,
    lsms_beside,
    mitigations_of,
    nearest_kernel,
    unlike,
)

DEBIAN = {"debian:6.1": "6.1.192-2", "debian:6.12": "6.12.117-1~deb12u1", "debian:7.2": "7.2.12-1"}
IMMUNE = {
    "meltdown": "Not affected",
    "retbleed": "Not affected",
    "spectre_v1": "Mitigation: usercopy/swapgs barriers and __user pointer sanitization",
    "spectre_v2": "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional",
}


@pytest.mark.parametrize(
    ("release", "nearest"),
    [
        ("6.18.44-fc", "debian:7.2"),
        ("6.13.0", "debian:6.12"),
        ("6.12.117+deb", "debian:6.12"),
        ("5.10.0-33", "debian:6.1"),
        ("7.9-rc1", "debian:7.2"),
        ("unknown", None),
    ],
)
def test_the_nearest_version_is_taken(release: str, nearest: str | None) -> None:
    assert nearest_kernel(release, DEBIAN) == nearest
    assert nearest_kernel(release, {}) is None


@pytest.mark.parametrize(
    ("said", "condition"),
    [
        (IMMUNE, "immune"),
        ({**IMMUNE, "spectre_v2": "Mitigation: Retpolines; IBPB: conditional"}, "retpoline"),
        (
            {"spectre_v2": "Mitigation: Retpolines", "meltdown": "Mitigation: PTI"},
            "retpoline+pti",
        ),
        ({**IMMUNE, "retbleed": "Mitigation: untrained return thunk; SMT disabled"}, "forced"),
        ({"spectre_v2": "Vulnerable", "meltdown": "Vulnerable"}, "off"),
    ],
)
def test_the_code_of_mitigations_is_that_of_the_host(said: dict[str, str], condition: str) -> None:
    assert mitigations_of(said) == condition
    assert condition in X86_64.mitigations
    assert bool([*unlike(said)]) == (condition == "forced")


@pytest.mark.parametrize(
    ("built", "words", "cleared"),
    [
        ("y", "", True),
        ("y", "quiet init_on_alloc=0", False),
        ("n", "quiet", False),
        ("n", "init_on_alloc=1 quiet", True),
        ("n", "init_on_alloc=on", True),
    ],
)
def test_memory_is_cleared_where_the_host_clears_it(built: str, words: str, cleared: bool) -> None:  # noqa: FBT001
    found = conditions(IMMUNE, {"INIT_ON_ALLOC_DEFAULT_ON": built}, words)
    assert found["init_on_alloc"] is cleared
    assert found["mitigations"] == "immune"
    assert {*found, "lsms"} == set(ALIKE)


def test_modules_that_need_no_policy_are_active_as_on_the_host() -> None:
    options = {"SECURITY_LANDLOCK": "y", "SECURITY_YAMA": "n", "BPF_LSM": "y"}
    active = "lockdown,capability,landlock,yama,selinux,bpf"
    assert lsms_beside(active, options) == "landlock,bpf"
    assert lsms_beside("", options) == ""


def test_copies_are_instructions_or_functions_as_on_the_host() -> None:
    assert conditions(IMMUNE, {}, "", ("fpu", "erms", "fsrm"))["cpu"] == "max"
    assert conditions(IMMUNE, {}, "", ("fpu", "erms"))["cpu"] == "max,-fsrm"
    assert conditions(IMMUNE, {}, "")["cpu"] == Conditions.cpu


@pytest.mark.parametrize(
    ("cgroups", "charged"),
    [
        ("0::/user.slice/session.scope\n", True),
        ("9:name=systemd:/a\n4:memory:/app\n1:cpu:/\n0::/\n", True),
        ("4:cpu,memory:/app\n", True),
        ("4:memory:/\n3:cpu:/app\n0::/\n", False),
        ("0::/\n", False),
        ("", False),
    ],
)
def test_allocations_are_charged_to_a_group_where_the_host_charges_them(
    cgroups: str,
    charged: bool,  # noqa: FBT001
) -> None:
    assert conditions(IMMUNE, {}, "", (), cgroups)["memcg"] is charged
