# SPDX-License-Identifier: GPL-2.0-or-later
"""Networks that setups make in real guests, and what shows that they are as asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lsmeter.core.model import Kernel
from tests.conftest import Lsmeter
from tests.runs import each

pytestmark = pytest.mark.guest

FAR = "udp ip=4 size=1024 path=veth"
NEAR = "udp ip=4 size=1024"
RUN = ("run", "--suite", "net", "--boots", "1", "--quick", "--samples", "20", "--run-dir", "run")

NETWORK = """
name = "labelled"
title = "a network that nothing labels"
lsms = ["capability"]
needs_config = ["VETH"]
modules = ["veth"]
steps = [["network"]]

[[expect]]
fact = "net.peer.veth"
value = "{label}"
why = "the other end has this label"
"""


def test_ipsec_is_in_the_way_between_namespaces_and_nowhere_else(
    lsmeter: Lsmeter, debian_kernel: Kernel
) -> None:
    chosen = each("--benchmark", (FAR, NEAR))
    done = lsmeter(*RUN, "--setup", "capability", "--setup", "ipsec", *chosen)
    assert done.code == 0, done.err + done.out
    report = json.loads(lsmeter("report", "run", "--format", "json").out)
    assert report["problems"] == []
    found = {(item["setup"], item["id"]): item["mean"]["value"] for item in report["estimates"]}
    assert found["ipsec", FAR] > 1.2 * found["capability", FAR]
    assert found["ipsec", NEAR] < 1.05 * found["capability", NEAR]


@pytest.mark.parametrize("label", ["none", "secret"])
def test_a_network_whose_labels_are_not_those_expected_gives_no_number(
    lsmeter: Lsmeter, debian_kernel: Kernel, tmp_path: Path, label: str
) -> None:
    setup = tmp_path / "labelled.toml"
    setup.write_text(NETWORK.format(label=label))
    done = lsmeter(*RUN, "--setup", str(setup), "--benchmark", "getppid")
    assert (done.code == 0) == (label == "none"), done.err + done.out
    report = json.loads(lsmeter("report", "run", "--format", "json").out)
    told = json.dumps(report["problems"])
    assert ("net.peer.veth" in told) == (label != "none")


@pytest.mark.usefixtures("debian_kernel", "policy_image")
def test_ipv6_labelled_by_calipso_is_as_expected(lsmeter: Lsmeter) -> None:
    """The setup itself expects the option in a datagram, and the peer's label on both links."""
    setup = ("--setup", "selinux-calipso", "--baseline", "selinux-calipso")
    done = lsmeter(*RUN, *setup, "--benchmark", "udp ip=6 size=1")
    assert done.code == 0, done.err + done.out
    report = json.loads(lsmeter("report", "run", "--format", "json").out)
    (found,) = report["setups"]
    facts = found["facts"]
    assert facts["net.option.veth"] == facts["net.option.loopback"] == "7"
    assert "netlabel_peer_t" in facts["net.peer.veth"]
