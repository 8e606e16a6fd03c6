# SPDX-License-Identifier: GPL-2.0-or-later
"""Audit, IMA and EVM as setups: their policies, how they stack, and what proves them."""

from __future__ import annotations

import hashlib

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.model import Conditions, Setup
from lsmeter.core.model.filesystems import FILESYSTEMS, UUID
from lsmeter.core.model.setup import (
    ACCESSES,
    ACTIONS,
    INTEGRITY,
    TRY,
    EnforcementCheck,
    Layer,
    Step,
    ordered,
)
from lsmeter.core.process import find
from lsmeter.guest.conclude import verify
from lsmeter.guest.filesystem import disk_image
from lsmeter.guest.request import Request
from lsmeter.guest.session import parse_numbers
from lsmeter.machines.description import kernel_cmdline
from lsmeter.measure.experiment.options import Experiment
from lsmeter.measure.experiment.plan import missing_options
from tests.unit.guest.packed import unpack
from tests.unit.model_builders import cell, kernel

IMA_POLICY = "/sys/kernel/security/ima/policy"
ALONE = ("ima-measure", "ima-appraise", "ima-audit", "ima", "evm")
STACKS = ("ima-appraise+evm", "evm+ima-appraise", "ima+evm", "audit+ima+evm", "audit-rules+ima")


def policy_of(setup: Setup) -> list[str]:
    (file,) = setup.files
    return file.text.splitlines()


@pytest.mark.parametrize("name", [*ALONE, *STACKS, "selinux-enforcing+audit-rules+ima-appraise"])
def test_every_step_and_check_is_one_that_the_probe_knows(name: str) -> None:
    setup = parse_setup(name)
    assert {step.action for step in setup.steps} <= set(ACTIONS)
    assert {check.access for check in setup.checks} <= set(ACCESSES)
    request = Request("file", ("getppid",), 1, 0, 4, setup=setup)
    assert b"step=work\n" in request.to_bytes()


@pytest.mark.parametrize("name", ALONE)
def test_a_kernel_before_6_4_is_told_to_start_integrity(name: str) -> None:
    words = kernel_cmdline(parse_setup(name), Conditions()).split()
    if name != "evm":
        assert "ima_hash=sha256" in words
    assert f"lsm={INTEGRITY}" in words


@pytest.mark.parametrize(
    ("name", "lsms"),
    [
        ("audit", ("capability",)),
        ("audit+ima", ("capability", INTEGRITY)),
        ("selinux+ima+evm", ("selinux", INTEGRITY)),
        ("ima+selinux", ("selinux", INTEGRITY)),
        ("yama+audit+bpf", ("yama", "bpf")),
    ],
)
def test_audit_and_integrity_leave_the_list_of_modules_alone(
    name: str, lsms: tuple[str, ...]
) -> None:
    assert parse_setup(name).lsms == lsms


def test_integrity_is_in_no_list_of_active_modules() -> None:
    """The kernel names IMA and EVM there since 6.9, and nothing before."""
    setup = Setup("x", "x", lsms=("selinux", INTEGRITY))
    assert verify(setup, kernel(), {"lsm": "capability,selinux"}) == ()
    assert verify(setup, kernel(), {"lsm": "capability,selinux,ima,evm"}) == ()
    assert verify(setup, kernel(), {"lsm": "capability"}) != ()


@pytest.mark.parametrize("name", ["ima-measure", "ima-appraise", "ima-audit"])
@pytest.mark.parametrize("count", [0, 3, 12, 40])
def test_the_number_of_rules_before_those_that_count(name: str, count: int) -> None:
    setup = parse_setup(f"{name}:rules={count}")
    lines = policy_of(setup)
    assert len(lines) == count + 3
    assert len(set(lines)) == len(lines)
    assert all("fsmagic=0x1021994" not in line for line in lines[:count])
    assert lines[count].endswith("fsmagic=0x1021994")
    assert lines[count + 1].endswith(f"fsuuid={UUID}")
    assert lines[count + 2].endswith("fsmagic=0x794c7630")


@pytest.mark.parametrize(
    ("name", "at"), [("ext2", 0x468), ("ext4", 0x468), ("xfs", 0x20), ("btrfs", 0x10020)]
)
def test_the_uuid_in_the_rules_is_that_of_the_file_system_of_the_benchmarks(
    name: str, at: int
) -> None:
    if not find(FILESYSTEMS[name].make[0]):
        pytest.skip(f"{FILESYSTEMS[name].make[0]} is not installed")
    image = unpack(disk_image(cell(parse_setup("ima-measure"), filesystem=name)))
    assert image[at : at + 16].hex() == UUID.replace("-", "")


def test_one_policy_does_all_three() -> None:
    lines = policy_of(parse_setup("ima:rules=0"))
    assert {line.split()[0] for line in lines} == {"measure", "appraise", "audit"}


def test_a_second_policy_needs_a_kernel_that_takes_one() -> None:
    config = dict.fromkeys(("IMA", "IMA_APPRAISE", "EVM", "ENCRYPTED_KEYS"), "y")
    plain = kernel(**config)
    two = parse_setup("ima-measure+ima-appraise")
    assert missing_options(plain, two.needs_config) == ("CONFIG_IMA_WRITE_POLICY",)
    assert missing_options(kernel(**config, IMA_WRITE_POLICY="y"), two.needs_config) == ()
    assert missing_options(plain, parse_setup("ima-appraise+evm").needs_config) == ()


def test_a_kernel_without_ima_or_evm_cannot_be_measured() -> None:
    missing = missing_options(kernel(), parse_setup("ima-appraise+evm").needs_config)
    assert {"CONFIG_IMA", "CONFIG_IMA_APPRAISE", "CONFIG_EVM"} <= set(missing)


def test_the_hash_that_the_list_must_hold_is_that_of_the_content() -> None:
    setup = parse_setup("ima-measure")
    (step,) = [step for step in setup.steps if step.action == "file"]
    (expected,) = setup.expect
    assert expected.value == "sha256:" + hashlib.sha256(step.words[1].encode()).hexdigest()
    facts = {"lsm": "capability", "ima.file.measured": expected.value}
    assert verify(setup, kernel(), facts) == ()
    assert "ima.file.measured" in verify(setup, kernel(), {"lsm": "capability"})[0]


def test_the_hash_that_is_audited_is_that_of_a_new_file() -> None:
    (check,) = parse_setup("ima-audit").checks
    assert f'hash="sha256:{hashlib.sha256(b"x").hexdigest()}"' in check.message


def test_the_wrong_label_has_the_length_of_a_hash_that_nobody_has() -> None:
    steps = parse_setup("ima-appraise").steps
    (label,) = [step.words[2] for step in steps if step.action == "label"]
    assert len(label.encode()) == 2 + 32
    assert hashlib.sha256(b"wrong\n").hexdigest() != label[2:].encode().hex()


class TestChecks:
    """Denials need to have been possible before; records of allowed accesses count as well."""

    good = {  # noqa: RUF012
        "lsm": "capability",
        "proof.ima-wrong-hash": "denied",
        "proof.ima-wrong-hash.before": "allowed",
        "proof.ima-wrong-hash.message": "audit: type=1800 op=appraise_data cause=invalid-hash",
        "proof.ima-new-file": "allowed",
    }

    def test_appraisal(self) -> None:
        setup = parse_setup("ima-appraise")
        assert verify(setup, kernel(), self.good) == ()
        for fact in self.good:
            facts = {key: value for key, value in self.good.items() if key != fact}
            if not fact.endswith(".before"):
                assert verify(setup, kernel(), facts) != (), fact
        wrong = self.good | {"proof.ima-wrong-hash": "allowed"}
        assert "must be denied" in " ".join(verify(setup, kernel(), wrong))
        refused = self.good | {"proof.ima-new-file": "denied"}
        assert "must be allowed" in " ".join(verify(setup, kernel(), refused))

    def test_an_audit_record_that_is_missing(self) -> None:
        setup = parse_setup("ima-audit")
        facts = {"lsm": "capability", "proof.ima-audit-record": "allowed"}
        assert "without a line" in verify(setup, kernel(), facts)[0]
        facts["proof.ima-audit-record.message"] = "audit: type=1805"
        assert verify(setup, kernel(), facts) == ()


class TestTries:
    """Each check is tried once before the policy that it is about, wherever that stands."""

    first = EnforcementCheck("first", "read", "/a", denied=True)
    second = EnforcementCheck("second", "read", "/b", denied=True)
    step = Step("mkdir", ("/x",))

    def test_without_a_word_all_are_tried_first(self) -> None:
        assert ordered((self.step,), (self.first,)) == (TRY, self.step)
        assert ordered((self.step, TRY), (self.first,)) == (self.step, TRY)
        assert ordered((self.step,), ()) == (self.step,)

    def test_those_that_are_named_are_left_to_their_step(self) -> None:
        named = Step("try", ("second",))
        both = (self.first, self.second)
        assert ordered((self.step, named), both) == (Step("try", ("first",)), self.step, named)
        assert ordered((TRY, self.step, named), both)[0] == Step("try", ("first",))
        assert ordered((self.step, named), (self.second,)) == (self.step, named)


def test_audit_rules_are_for_somebody_who_logged_in_unless_told_otherwise() -> None:
    login = parse_setup("audit-rules")
    assert login.confine == (("/proc/self/loginuid", "1000"),)
    assert [check.name for check in login.checks] == ["audit-record"]
    service = parse_setup("audit-rules:session=service")
    assert (service.confine, service.checks) == ((), ())
    assert parse_setup("audit-rules:rules=ospp").expect != login.expect
    assert login.layer is Layer.AUDIT


def test_audit_that_is_off_must_not_answer() -> None:
    setup = parse_setup("audit-off")
    facts = {"lsm": "capability", "audit.enabled": "none"}
    assert verify(setup, kernel(), facts) == ()
    assert verify(setup, kernel(), facts | {"audit.enabled": "0"}) != ()


def test_a_number_alone_is_a_state() -> None:
    assert parse_numbers("42\n") == (("count", 42),)
    assert parse_numbers("42\n43\n") == ()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("off", ["mitigations=off"]),
        ("auto", ["mitigations=auto"]),
        ("forced", ["mitigations=auto", "pti=on", "spectre_v2=retpoline"]),
    ],
)
def test_mitigations_are_words_of_the_kernel(value: str, words: list[str]) -> None:
    data = {"conditions": {"mitigations": value}}
    conditions = Experiment.model_validate(data).conditions_model()
    line = kernel_cmdline(parse_setup("capability"), conditions).split()
    assert [word for word in line if word in words] == words


def test_files_to_work_with_are_made_when_integrity_can_keep_their_hash() -> None:
    steps = parse_setup("selinux-enforcing+ima-appraise").steps
    public = steps.index(Step("file", ("/data/public", "public")))
    policy = next(i for i, step in enumerate(steps) if step.words[:1] == (IMA_POLICY,))
    wrong = next(i for i, step in enumerate(steps) if step.words[:1] == ("/data/integrity/wrong",))
    assert wrong < policy < public
    assert parse_setup("selinux-enforcing+yama").steps == parse_setup("selinux-enforcing").steps
