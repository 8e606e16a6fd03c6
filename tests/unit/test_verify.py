# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.model.setup import LSM_OPTIONS
from lsmeter.guest.conclude import verify
from tests.unit.model_builders import kernel

SELINUX = {"selinux.enforce": "0", "selinux.policy_loaded": "0"}


def test_a_guest_that_is_what_was_asked_for_passes() -> None:
    facts = {"lsm": "lockdown,capability,selinux", **SELINUX}
    assert verify(parse_setup("selinux"), kernel(), facts) == ()


@pytest.mark.parametrize("late", ["capability,selinux,ima,evm", "capability,selinux,integrity"])
def test_modules_that_cannot_be_switched_off_are_accepted(late: str) -> None:
    assert verify(parse_setup("selinux"), kernel(), {"lsm": late, **SELINUX}) == ()


@pytest.mark.parametrize(
    ("spec", "facts", "part"),
    [
        ("selinux", {}, "could not read the list"),
        ("selinux", {"lsm": "capability", **SELINUX}, "not active: selinux"),
        ("selinux", {"lsm": "capability,selinux,bpf", **SELINUX}, "active LSMs"),
        (
            "selinux",
            {"lsm": "capability,selinux", "selinux.enforce": "1", "selinux.policy_loaded": "0"},
            "selinux.enforce: expected '0', the guest reported '1'",
        ),
        ("selinux", {"lsm": "capability,selinux"}, "the guest reported nothing"),
        ("yama+bpf", {"lsm": "capability,bpf,yama", "yama.ptrace_scope": "1"}, "this order"),
        ("selinux+capability", {"lsm": "capability,selinux", **SELINUX}, "this order"),
        ("capability", {"lsm": "capability,yama"}, "active LSMs"),
        ("distribution", {"lsm": ""}, "empty"),
        ("dac", {"lsm": "capability"}, "asked for none"),
    ],
)
def test_every_difference_is_named(spec: str, facts: dict[str, str], part: str) -> None:
    found = verify(parse_setup(spec), kernel(), facts)
    assert any(part in line for line in found), found


def test_lockdown_may_stand_first_where_the_kernel_starts_it_early() -> None:
    facts = {"lsm": "lockdown,capability,yama", "lockdown": "integrity", "yama.ptrace_scope": "1"}
    early = kernel(SECURITY_LOCKDOWN_LSM_EARLY="y")
    assert verify(parse_setup("yama+lockdown"), early, facts) == ()
    assert verify(parse_setup("yama+lockdown"), kernel(), facts) != ()


def test_the_default_stack_must_follow_config_lsm() -> None:
    default = kernel(LSM="landlock,lockdown,yama,apparmor,bpf")
    setup = parse_setup("distribution")
    assert verify(setup, default, {"lsm": "lockdown,capability,landlock,yama,bpf"}) == ()
    assert verify(setup, default, {"lsm": "capability,yama,landlock"}) != ()
    assert verify(setup, default, {"lsm": "capability,yama,smack"}) != ()


FEDORA = {"lsm": "lockdown,capability,yama,selinux,bpf,landlock", **SELINUX}


def test_a_stack_goes_without_what_the_kernel_was_built_without_and_no_further() -> None:
    setup = parse_setup("stack:fedora")
    built = [LSM_OPTIONS[name] for name in setup.lsms or () if name in LSM_OPTIONS]
    early = {**dict.fromkeys(built, "y"), "SECURITY_LOCKDOWN_LSM_EARLY": "y"}
    old = kernel(**{**early, "SECURITY_IPE": "n"})
    assert verify(setup, old, FEDORA) == ()
    assert setup.lacking_lsms(old.config) == ("ipe",)
    assert "not active: ipe" in verify(setup, kernel(**early), FEDORA)[0]
    assert "asked for" in verify(setup, old, {**FEDORA, "lsm": "capability,yama,selinux,bpf"})[0]


def test_a_kernel_without_security_modules_reports_none() -> None:
    assert verify(parse_setup("dac"), kernel(SECURITY="n"), {}) == ()
