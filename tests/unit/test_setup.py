# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.catalogue.setups import definitions, parse_setup
from lsmeter.core.errors import UsageError


def test_the_setups_of_the_main_experiment_are_there() -> None:
    wanted = {"capability", "selinux", "apparmor", "tomoyo", "smack", "landlock", "bpf", "yama"}
    assert wanted | {"lockdown", "distribution"} <= set(definitions())


def test_a_stack_keeps_its_order_and_joins_what_its_parts_ask_for() -> None:
    setup = parse_setup("landlock:layers=2+selinux+bpf")
    assert setup.name == "landlock:layers=2,rules=1+selinux+bpf"
    assert setup.lsms == ("landlock", "selinux", "bpf")
    assert ("landlock.layers", "2") in setup.guest
    assert "selinux.enforce" in {item.fact for item in setup.expect}
    assert {"SECURITY_LANDLOCK", "SECURITY_SELINUX", "BPF_LSM"} <= set(setup.needs_config)


def test_parameters_left_out_have_their_defaults() -> None:
    assert parse_setup("landlock:rules=8").name == "landlock:layers=1,rules=8"
    assert parse_setup("landlock:layers=1,rules=1").name == "landlock"
    assert parse_setup("landlock:depth=4").name == "landlock:layers=1,rules=1,depth=4"
    assert parse_setup("landlock:depth=0").name == "landlock"
    assert parse_setup("lomac:level=low").name == "lomac:level=low"
    assert parse_setup("bpf-allow:entries=1000").name == "bpf-allow"


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ("selinx", "did you mean selinux?"),
        ("selinux+selinux", "stands twice"),
        ("landlock:layers=17", "outside 1 to 16"),
        ("landlock:layer=2", "did you mean layers?"),
        ("selinux:layers=2", "takes no parameters"),
        ("distribution+bpf", "cannot be part of a stack"),
        ("selinux+", "is not the name of a setup"),
        ("SELINUX; rm -rf", "is not the name of a setup"),
        ("+".join(["bpf"] * 17), "at most 16"),
    ],
)
def test_a_wrong_name_says_where_and_what(spec: str, part: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_setup(spec, where="exp.toml: setups")
    assert part in caught.value.title
    assert caught.value.title.startswith("exp.toml: setups: ")


@given(st.text(max_size=60))
def test_no_text_gives_anything_but_a_setup_or_a_usage_error(spec: str) -> None:
    with contextlib.suppress(UsageError):
        assert parse_setup(spec).name


def test_an_error_is_one_line_whatever_the_name_holds() -> None:
    with pytest.raises(UsageError) as caught:
        parse_setup("a\nb\x1b[31m")
    assert caught.value.title.isprintable()
