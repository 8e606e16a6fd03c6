# SPDX-License-Identifier: GPL-2.0-or-later
"""What the setups of AppArmor, TOMOYO and Smack ask a guest for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.catalogue.setups import definitions, for_command, parse_setup
from lsmeter.catalogue.setups._computed import further_rules
from lsmeter.core.errors import UsageError
from lsmeter.core.model import Setup
from lsmeter.core.model.setup import TRY, Layer, Step
from lsmeter.guest.boot_image import make_request
from tests.unit.model_builders import cell

NEEDED = tuple(definitions()["tomoyo-enforcing"].shared["lists"]["needed"])
ENFORCING = ("apparmor-enforcing", "tomoyo-enforcing", "smack-enforcing")
REFUSING_NOTHING = (
    "apparmor-complain",
    "tomoyo-disabled",
    "tomoyo-learning",
    "tomoyo-permissive",
)


def expected(setup: Setup) -> dict[str, str]:
    return {item.fact: item.value for item in setup.expect}


def text(setup: Setup, name: str) -> str:
    (found,) = [item.text for item in setup.files if item.name == name]
    return found


@pytest.mark.parametrize("name", ENFORCING)
def test_an_enforcing_setup_proves_a_denial_by_its_message_and_a_grant(name: str) -> None:
    setup = parse_setup(name)
    assert setup.layer is Layer.POLICY
    denied = [check for check in setup.checks if check.denied]
    assert {check.access for check in denied} == {"read", "create"}
    assert all(check.message for check in denied)
    assert [check.path for check in setup.checks if not check.denied] == ["/data/public"]


@pytest.mark.parametrize("name", REFUSING_NOTHING)
def test_a_setup_that_refuses_nothing_says_so(name: str) -> None:
    setup = parse_setup(name)
    assert setup.layer is Layer.PERMISSIVE
    assert not any(check.denied for check in setup.checks)


@pytest.mark.parametrize(
    ("name", "over"),
    [
        ("apparmor-complain", "apparmor"),
        ("apparmor-enforcing", "apparmor-complain"),
        ("apparmor-enforcing:rules=10", "apparmor"),
        ("apparmor-enforcing:profiles=2", "apparmor"),
        ("tomoyo-disabled", "tomoyo"),
        ("tomoyo-learning", "tomoyo"),
        ("tomoyo-permissive:rules=3", "tomoyo"),
        ("tomoyo-enforcing:rules=3", "tomoyo-permissive:rules=3"),
        ("smack-enforcing", "smack"),
    ],
)
def test_what_a_policy_adds_to(name: str, over: str) -> None:
    setup = parse_setup(name)
    assert setup.over == over
    assert parse_setup(over).name == over
    assert setup.confine
    assert setup.image == "policy"


class TestAppArmor:
    def test_further_rules_are_another_profile(self) -> None:
        setup = parse_setup("apparmor-enforcing:rules=1000")
        assert setup.name == "apparmor-enforcing:rules=1000"
        assert expected(setup)["worker.context"] == "lsmeter-rules-1000 (enforce)"
        assert setup.steps[-1].words[1] == "/etc/lsmeter/apparmor/lsmeter-rules-1000.bin"

    def test_stacked_profiles_are_all_loaded_and_entered_at_once(self) -> None:
        setup = parse_setup("apparmor-enforcing:profiles=3,rules=10,place=near")
        label = "lsmeter-near-10//&lsmeter-stack-2//&lsmeter-stack-3"
        assert setup.confine == (("/proc/self/attr/apparmor/current", f"changeprofile {label}"),)
        assert expected(setup)["worker.context"] == f"{label} (enforce)"
        assert expected(setup)["apparmor.profiles"] == "3"
        assert [step.action for step in setup.steps] == ["work", "file", *["load"] * 3, "write"]

    @pytest.mark.parametrize(
        ("spec", "said"),
        [
            ("apparmor-enforcing:profiles=9", "outside 1 to 8"),
            ("apparmor-enforcing:rules=7", "unknown rules"),
            ("apparmor-enforcing:rules=10000,place=near", "no profile of 10000 rules"),
        ],
    )
    def test_what_the_image_has_no_profile_for_is_refused(self, spec: str, said: str) -> None:
        with pytest.raises(UsageError) as caught:
            parse_setup(spec)
        assert said in caught.value.title


class TestTomoyo:
    @given(st.integers(0, 10000))
    def test_no_two_rules_are_the_same(self, count: int) -> None:
        assert len(set(further_rules(count))) == count

    @pytest.mark.parametrize("found", ["first", "last"])
    def test_the_needed_rules_stand_where_they_are_asked_for(self, found: str) -> None:
        setup = parse_setup(f"tomoyo-enforcing:rules=5,found={found}")
        lines = text(setup, "tomoyo-domains").splitlines()
        at = lines.index("use_profile 3") + 1
        begin = at if found == "first" else at + 5
        assert tuple(lines[begin : begin + len(NEEDED)]) == NEEDED
        assert len(lines) == at + 5 + len(NEEDED)
        assert expected(setup)["tomoyo.rules"] == str(5 + len(NEEDED))

    def test_every_mode_has_its_profile(self) -> None:
        profile = text(parse_setup("tomoyo-permissive"), "tomoyo-profile")
        assert profile.startswith("PROFILE_VERSION=20150505\n")
        for number, mode in enumerate(("disabled", "learning", "permissive", "enforcing")):
            assert f"{number}-CONFIG={{ mode={mode} " in profile

    def test_learning_can_begin_with_nothing(self) -> None:
        setup = parse_setup("tomoyo-learning:learned=nothing")
        assert "\nfile " not in text(setup, "tomoyo-domains")
        assert "tomoyo.rules" not in expected(setup)
        assert "later samples cost more" in setup.note

    def test_the_trigger_starts_what_the_kernel_waits_for(self) -> None:
        setup = parse_setup("tomoyo-enforcing")
        assert setup.cmdline == ("TOMOYO_trigger=/usr/bin/true", "TOMOYO_loader=/usr/bin/true")
        assert setup.steps[-1].words == ("/usr/bin/true",)


class TestSmack:
    def test_the_files_are_labelled_once_they_are_there(self) -> None:
        steps = parse_setup("smack-enforcing").steps
        labelled = [index for index, step in enumerate(steps) if step.action == "label"]
        assert min(labelled) > steps.index(Step("work"))
        assert {steps[index].words[0] for index in labelled} == {
            "/srv/lsmeter/secret",
            "/data/closed",
            "/data",
        }

    def test_no_capability_overrides_the_rules(self) -> None:
        steps = parse_setup("smack-enforcing").steps
        assert steps[-1].words == ("/sys/fs/smackfs/onlycap", "_")

    @pytest.mark.parametrize(("found", "last"), [("first", "Worker Work"), ("last", "Worker L")])
    def test_the_rule_loaded_last_is_found_first(self, found: str, last: str) -> None:
        setup = parse_setup(f"smack-enforcing:rules=3,found={found}")
        rules = text(setup, "smack-rules").splitlines()
        assert rules[-1].startswith(last)
        assert expected(setup)["smack.rules"] == str(len(rules))


@pytest.mark.parametrize("name", [*ENFORCING, *REFUSING_NOTHING])
def test_the_probe_can_be_asked_for_it(name: str) -> None:
    request = make_request(cell(parse_setup(name)), 1, 1000).to_bytes()
    assert request.count(f"step={TRY.action}\n".encode()) == 1


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ("capability", "capability"),
        ("apparmor", "apparmor"),
        ("apparmor-enforcing", "apparmor-enforcing:domain=command"),
        ("tomoyo-enforcing:rules=10", "tomoyo-enforcing:rules=10,domain=command"),
        ("tomoyo-enforcing:domain=suite", "tomoyo-enforcing:domain=suite"),
        ("landlock+apparmor-complain", "landlock+apparmor-complain:domain=command"),
        ("selinux-enforcing", "selinux-enforcing"),
        ("no-such", "no-such"),
    ],
)
def test_a_command_gets_a_policy_for_commands(said: str, made: str) -> None:
    assert for_command(said) == made


@pytest.mark.parametrize("name", ["apparmor-enforcing", "apparmor-complain", "tomoyo-enforcing"])
def test_a_policy_for_commands_proves_what_that_of_the_suite_does(name: str) -> None:
    suite, command = parse_setup(name), parse_setup(f"{name}:domain=command")
    assert (command.checks, command.layer) == (suite.checks, suite.layer)
    assert command.differs(suite)
    assert {item.fact for item in command.expect} == {item.fact for item in suite.expect}


def test_a_domain_for_commands_counts_the_rules_that_the_guest_counts() -> None:
    setup = parse_setup("tomoyo-enforcing:domain=command")
    rules = [line for line in text(setup, "tomoyo-domains").splitlines() if line[:5] == "file "]
    assert expected(setup)["tomoyo.rules"] == str(len(rules))


def test_a_profile_for_commands_is_one_and_the_same() -> None:
    with pytest.raises(UsageError, match="the same for all commands"):
        parse_setup("apparmor-enforcing:rules=10,domain=command")
