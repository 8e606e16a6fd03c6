# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel parameters with which a person boots this machine for a setup."""

from __future__ import annotations

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.machines.here import boot_parameters, why_no_boot


@pytest.mark.parametrize(
    ("setup", "cmdline", "words"),
    [
        ("capability", "ro quiet", "ro quiet lsm=capability panic=30"),
        ("capability", "ro lsm=yama,selinux security=x q", "ro q lsm=capability panic=30"),
        ("yama", "ro", "ro lsm=yama sysctl.kernel.yama.ptrace_scope=1 panic=30"),
        ("distribution", "BOOT_IMAGE=/x ro lsm=yama panic=0", "ro panic=30"),
        ("lockdown", "ro -- -i x", "ro lsm=lockdown lockdown=integrity panic=30 -- -i x"),
        ("distribution", 'a="b  lsm=c" ro', 'a="b  lsm=c" ro panic=30'),
    ],
)
def test_parameters_of_the_setup_stand_in_the_place_of_todays(
    setup: str, cmdline: str, words: str
) -> None:
    assert " ".join(boot_parameters(parse_setup(setup), cmdline)) == words


def test_what_no_boot_brings_about_is_said() -> None:
    assert not why_no_boot(parse_setup("selinux"))
    assert "CONFIG_SECURITY" in why_no_boot(parse_setup("dac"))
    assert "policy" in why_no_boot(parse_setup("selinux-enforcing"))
