# SPDX-License-Identifier: GPL-2.0-or-later
"""Plans for a machine as it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.errors import UsageError
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.conclude import contradictions, verify
from lsmeter.measure.experiment.options import Experiment, build_experiment
from lsmeter.measure.experiment.plan import Plan, make_plan
from lsmeter.measure.experiment.running import on_running
from lsmeter.sources.kernels.running import described
from tests.unit.model_builders import benchmark

CONFIG = "CONFIG_SECURITY=y\nCONFIG_SECURITY_LANDLOCK=y\nCONFIG_SECCOMP_FILTER=y\n"
KERNEL = described("6.18.44", "#1 SMP", CONFIG)
CATALOGUE = (benchmark("open", depth=1), replace(benchmark("empty"), control=True))


def asked(who: tuple[str, ...] = ("root", "user"), /, **words: Any) -> Experiment:
    found = build_experiment({"instrument": "timed", **words}, where="test")
    return on_running(found, [KERNEL], who)


def plan(**words: Any) -> Plan:
    return make_plan(asked(**words), [KERNEL], CATALOGUE, {}, ["tmpfs"])


def test_what_is_not_said_is_what_needs_no_boot() -> None:
    made = plan()
    setups = [cell.setup.name for cell in made.cells if not cell.setup.name.endswith("again")]
    assert setups == ["running", "landlock", "seccomp"]
    assert made.experiment.boots == 50
    sampling = made.cells[0].sampling
    assert (sampling.samples, sampling.whole_ppm) == (300, 0)
    assert {cell.user for cell in made.cells} == {"root"}
    assert {cell.setup.over for cell in made.cells[1:3]} == {"running"}


def test_what_a_machine_lacks_for_a_setup_is_a_problem() -> None:
    made = make_plan(
        asked(setups=["running-apparmor:mode=complain", "landlock"]),
        [KERNEL],
        CATALOGUE,
        {},
        ["tmpfs"],
        lacks=lambda setup: "it runs none" if setup.lsms == ("apparmor",) else "",
    )
    (problem,) = made.problems
    assert (problem.setup, problem.title) == (
        "running-apparmor:mode=complain",
        "running-apparmor:mode=complain cannot be measured on running: it runs none",
    )
    assert "landlock" in {cell.setup.name for cell in made.cells}


def test_what_is_said_stands() -> None:
    made = plan(setups=["landlock"], boots=3, sampling={"samples": 50}, users=["user"])
    assert (len(made.boots) % 3, made.cells[0].sampling.samples) == (0, 50)
    assert {cell.user for cell in made.cells} == {"user"}
    assert made.cells[0].sampling.warmup == 20


@pytest.mark.parametrize("setup", ["selinux", "dac", "bpf-empty", "landlock+yama", "capability"])
def test_a_setup_that_needs_a_boot_is_a_problem_that_says_where_to_look(setup: str) -> None:
    made = plan(setups=[setup])
    (problem,) = made.problems
    assert problem.setup == setup
    assert "needs another boot" in problem.title
    assert f"lsmeter here plan -s {setup}" in problem.detail
    assert {cell.setup.name for cell in made.cells} == {"running", "running again"}


def test_a_stack_of_what_needs_no_boot_needs_none() -> None:
    made = plan(setups=["landlock+seccomp:filters=2,length=50"])
    assert "landlock+seccomp:filters=2,length=50" in {cell.setup.name for cell in made.cells}
    assert not made.problems


def test_what_the_running_kernel_lacks_is_named() -> None:
    kernel = described("6.18.44", "#1 SMP", "CONFIG_SECURITY=y\nCONFIG_SECCOMP_FILTER=y\n")
    made = make_plan(asked(setups=["landlock"]), [kernel], CATALOGUE, {}, ["tmpfs"])
    assert "CONFIG_SECURITY_LANDLOCK" in made.problems[0].title


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"kernels": ["debian:6.1"]}, "--kernel debian:6.1"),
        ({"conditions": {"tick": "periodic"}}, "--condition"),
        ({"sampling": {"cold": True}}, "--cold"),
        ({"users": ["root"]}, "--user root"),
    ],
)
def test_what_a_machine_as_it_runs_cannot_is_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        asked(("user",), **words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"task": "attribute"}, "cannot do the task attribute"),
        ({"sampling": {"whole_ppm": 1000}}, "no whole costs"),
    ],
)
def test_what_belongs_to_the_exact_instrument_is_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        asked(**words)


def test_a_kernel_is_named_by_all_that_is_known_of_it() -> None:
    others = [
        ("6.18.45", "#1 SMP", CONFIG),
        ("6.18.44", "#2 SMP", CONFIG),
        ("6.18.44", "#1 SMP", ""),
    ]
    digests = {described(*other).image_sha256 for other in others}
    assert len({KERNEL.image_sha256, *digests}) == 4
    assert KERNEL.config["SECURITY_LANDLOCK"] == "y"


def test_a_request_is_for_time_and_the_block_is_held_against_it() -> None:
    cell = plan(setups=["landlock"], users=["user"]).cells[0]
    request = make_request(cell, 5)
    assert (request.timed, request.icount_shift, request.whole_ppm) == (True, 0, 0)
    fine = {"filesystem": "tmpfs", "worker.uid": "1234", "kernel.release": "6.18.44"}
    assert contradictions(request, cell.kernel, ("probe",), fine) == ()
    for wrong in ({"worker.uid": "0"}, {"filesystem": "ext4"}, {"kernel.release": "6.18.45"}):
        (line,) = contradictions(request, cell.kernel, ("probe",), {**fine, **wrong})
        assert next(iter(wrong)) in line


def test_the_list_of_modules_need_not_be_readable_but_the_setup_must_be_shown() -> None:
    setup = replace(parse_setup("landlock"), lsms=None)
    assert verify(replace(setup, expect=(), checks=()), KERNEL, {}) == ()
    lines = verify(setup, KERNEL, {"landlock.layers": "1"})
    assert any("read-outside" in line and "was not tried" in line for line in lines)


# What blocks said on Debian's 6.12, booted with apparmor=1, and with selinux=1 and a policy.
RECORDED = {
    "running-apparmor:mode=unconfined": {
        "apparmor.enabled": "Y",
        "worker.context": "unconfined",
        "proof.read-outside.before": "allowed",
        "proof.read-outside": "allowed",
        "proof.create-outside.before": "allowed",
        "proof.create-outside": "allowed",
        "proof.write-public": "allowed",
    },
    "running-apparmor:mode=complain": {
        "apparmor.enabled": "Y",
        "worker.context": "lsmeter-here-complain (complain)",
        "proof.read-outside.before": "allowed",
        "proof.read-outside": "allowed",
        "proof.create-outside.before": "allowed",
        "proof.create-outside": "allowed",
        "proof.write-public": "allowed",
    },
    "running-apparmor": {
        "apparmor.enabled": "Y",
        "worker.context": "lsmeter-here-enforce (enforce)",
        "proof.read-outside.before": "allowed",
        "proof.read-outside": "denied",
        "proof.create-outside.before": "allowed",
        "proof.create-outside": "denied",
        "proof.write-public": "allowed",
    },
    "running-selinux:mode=permissive,avc=64": {
        "selinux.policy_loaded": "1",
        "selinux.enforce": "0",
        "selinux.avc_threshold": "64",
    },
    "running-selinux": {
        "selinux.policy_loaded": "1",
        "selinux.enforce": "1",
        "selinux.avc_threshold": "512",
    },
}


@pytest.mark.parametrize("name", RECORDED)
def test_what_a_machine_said_verifies_its_setup_and_no_other(name: str) -> None:
    facts = RECORDED[name]
    setup = parse_setup(name)
    assert verify(setup, KERNEL, facts) == ()
    for other in set(RECORDED) - {name}:
        assert verify(parse_setup(other), KERNEL, facts), other
    # Each of them is needed: what is not said gives no number.
    checked = {item.fact for item in setup.expect} | {f"proof.{x.name}" for x in setup.checks}
    assert checked == {key for key in facts if not key.endswith(".before")}
    for fact in checked:
        assert verify(setup, KERNEL, {key: facts[key] for key in facts if key != fact}), fact


def test_what_was_denied_before_there_was_a_profile_shows_nothing() -> None:
    facts = {**RECORDED["running-apparmor"], "proof.read-outside.before": "denied"}
    (wrong,) = verify(parse_setup("running-apparmor"), KERNEL, facts)
    assert "this shows nothing" in wrong
