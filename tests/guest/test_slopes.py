# SPDX-License-Identifier: GPL-2.0-or-later
"""A real sweep: BPF programs that wait, in a kernel as Debian ships it."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Lsmeter

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

WORDS = ("slopes", "--kernel", "debian:6.1", "--delays", "0,30000,70000,110000", "-f", "json")


def test_bpf_programs_give_whole_slopes(lsmeter: Lsmeter) -> None:
    only = [
        word
        for name in ("stat", "open", "read size=1", "getppid")
        for word in ("--benchmark", name)
    ]
    done = lsmeter(*WORDS, *only)
    assert done.code == 0, done.err
    data = json.loads(done.out)
    found = {
        " ".join((item["benchmark"], *(f"{k}={v}" for k, v in item["params"].items()))): item
        for item in data["slopes"]
    }
    assert {item["setup"] for item in found.values()} == {"tunable-bpf"}
    for name, expected in {
        "getppid": 0,
        "read size=1": 1,
        **{f"stat depth={depth}": depth for depth in range(1, 9)},
        **{f"open depth={depth}": depth + 1 for depth in range(1, 9)},
    }.items():
        assert found[name]["hook_calls"] == found[name]["authorisations"] == expected
        assert abs(found[name]["slope"] - expected) < 0.01
        assert found[name]["r2"] is None or found[name]["r2"] >= 0.99999
    looked = {
        " ".join((item["benchmark"], *(f"{k}={v}" for k, v in item["params"].items()))): item
        for item in data["lookups"]
        if item["counter"] == "avc.lookups"
    }
    assert {item["setup"] for item in looked.values()} == {"selinux"}
    assert all(item["steady"] for item in looked.values())
    for name, expected in {
        "getppid": 0,
        "read size=1": 0,  # a hook is called, and looks nothing up
        **{f"stat depth={depth}": depth + 1 for depth in range(1, 9)},
        **{f"open depth={depth}": depth + 2 for depth in range(1, 9)},
    }.items():
        assert looked[name]["per_operation"] == expected
    depths = {item["benchmark"]: item for item in data["depths"]}
    assert depths["stat"]["authorisations_per_component"] == pytest.approx(1, abs=0.001)
    # What a call waited was measured, and is never shorter than asked.
    for point in found["getppid"]["points"]:
        assert point["delay_ns"] <= point["policy_ns"] < point["delay_ns"] + 5000


def test_a_kernel_without_the_module_is_said_to_lack_it(lsmeter: Lsmeter) -> None:
    done = lsmeter(*WORDS, "--setup", "tunable", "--benchmark", "getppid")
    assert done.code == 1
    data = json.loads(done.out)
    assert data["slopes"] == []
    assert "built without CONFIG_SECURITY_TUNABLE" in data["problems"][0]["title"]
