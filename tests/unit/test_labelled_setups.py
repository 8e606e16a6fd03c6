# SPDX-License-Identifier: GPL-2.0-or-later
"""What setups with labelled packets ask a guest for, and which modules it loads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.catalogue.setups import definitions, parse_setup, read_setup
from lsmeter.core.model import Cell, KernelModule
from lsmeter.core.model.setup import ACTIONS
from lsmeter.core.model.suites import SUITE_MODULES
from lsmeter.guest.boot_image import make_request
from lsmeter.measure.experiment.options import Experiment
from lsmeter.measure.experiment.plan import modules_for
from lsmeter.sources.kernels.entry import KEPT_MODULES
from tests.unit.model_builders import cell

CAPABILITY = parse_setup("capability")
SELINUX = ("selinux-cipso", "selinux-calipso", "selinux-secmark", "selinux-ipsec")
LABELLED = (*SELINUX, "smack-cipso", "smack-ambient", "smack-secmark")


def with_modules(wanted: Cell, *names: str) -> Cell:
    modules = tuple(
        KernelModule(name, Path(name), "0" * 64, ("esp4_needs",) if name == "esp4" else ())
        for name in names
    )
    return replace(wanted, kernel=replace(wanted.kernel, modules=modules))


def loaded(wanted: Cell) -> list[str]:
    return [path.split("/")[-1].removesuffix(".ko") for path, _ in make_request(wanted, 1).modules]


@pytest.mark.parametrize("name", LABELLED)
def test_the_network_is_labelled_before_the_policy_is_enforced_and_its_labels_are_expected(
    name: str,
) -> None:
    setup = parse_setup(name)
    actions = [step.action for step in setup.steps]
    assert set(actions) <= set(ACTIONS)
    labels = {"network", "cipso", "calipso", "secmark", "ipsec"}
    (at,) = (place for place, action in enumerate(actions) if action in labels)
    assert at < len(actions) - 1
    assert actions[-1] == "write"  # enforce, onlycap
    facts = {item.fact for item in setup.expect}
    assert "net.peer.loopback" in facts
    assert facts & {"net.option.loopback", "net.secmark", "net.ipsec"}


def test_labelled_selinux_loads_the_policy_with_rules_for_a_network() -> None:
    for name in SELINUX:
        words = [word for step in parse_setup(name).steps for word in step.words]
        assert "/etc/lsmeter/selinux/network.policy" in words
        assert "/etc/lsmeter/selinux/default.policy" not in words


def test_a_guest_loads_the_modules_of_its_suite_and_of_its_setup_with_what_they_need() -> None:
    names = ("brd", "veth", "overlay", "esp4_needs", "esp4", "xfrm_user", "authenc", "crypto_null")
    net = with_modules(replace(cell(CAPABILITY), suite="net"), *names)
    assert loaded(net) == [name for name in names if name not in ("brd", "overlay")]
    files = with_modules(cell(CAPABILITY), *names)
    assert loaded(files) == []
    ipsec = with_modules(cell(parse_setup("ipsec")), *names)
    assert loaded(ipsec) == [name for name in names if name not in ("brd", "overlay")]


def test_modules_of_suites_and_setups_are_asked_for_and_kept_with_every_kernel() -> None:
    asked = Experiment(suites=["net", "syscall"], setups=["capability", "selinux-ipsec"])
    wanted = {*modules_for([asked])}
    assert {"veth", "tun", "overlay", "esp6"} <= wanted
    assert wanted <= {*KEPT_MODULES}
    every = {name for one in definitions().values() for name in one.setup.modules}
    assert {*every, *(name for names in SUITE_MODULES.values() for name in names)} <= {
        *KEPT_MODULES
    }


def test_a_setup_file_may_ask_for_modules(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        'name = "own"\ntitle = "own"\nlsms = ["capability"]\nmodules = ["veth"]\n'
        'steps = [["network"]]\n'
    )
    assert read_setup(path).modules == ("veth",)
