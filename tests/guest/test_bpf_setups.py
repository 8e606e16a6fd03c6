# SPDX-License-Identifier: GPL-2.0-or-later
"""Setups whose policy is BPF programs, and Landlock, in real guests: enforced, and in order."""

from __future__ import annotations

import pytest

from tests.conftest import Lsmeter
from tests.runs import each, facts, measured, values

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

BENCHMARKS = ("getppid", "stat depth=1", "open depth=*", "read size=1", "write size=1", "creat")
HOW = (*each("--benchmark", BENCHMARKS), "--samples", "15")


def test_denials_are_proved_and_costs_are_in_order(lsmeter: Lsmeter) -> None:
    names = ("capability", "bpf", "bpf-empty", "bpf-allow", "lomac", "lomac:level=low")
    report = measured(lsmeter, *each("--setup", names), *HOW)
    cost = {name: values(report, name) for name in names}
    assert len({cost[name]["getppid"] for name in names}) == 1
    for benchmark in ("open depth=1", "creat depth=1"):
        assert cost["capability"][benchmark] < cost["bpf"][benchmark] < cost["lomac"][benchmark]
        assert cost["bpf"][benchmark] < cost["bpf-empty"][benchmark]
        assert cost["bpf"][benchmark] < cost["bpf-allow"][benchmark]
    assert int(facts(report, "bpf-empty")["bpf.empty.programs"]) >= 25
    assert facts(report, "bpf-allow")["proof.unlisted.errno"] == "EACCES"
    assert facts(report, "bpf-allow")["proof.listed"] == "allowed"
    for name in ("lomac", "lomac:level=low"):
        assert facts(report, name)["proof.low-to-high.errno"] == "EACCES"
        assert facts(report, name)["proof.low-to-low"] == "allowed"
    assert facts(report, "lomac")["proof.high-to-high"] == "allowed"
    assert facts(report, "lomac:level=low")["proof.high-to-high"] == "denied"


def test_injected_costs_are_exact_to_the_instruction(lsmeter: Lsmeter) -> None:
    names = ("bpf-inject", "bpf-inject:cost=even", "bpf-inject:cost=elsewhere")
    words = (*each("--setup", names), "--baseline", "bpf-inject", "-b", "stat", "-b", "read size=1")
    report = measured(lsmeter, *words, "--samples", "20")
    none, even, elsewhere = (values(report, name) for name in names)
    assert even["stat depth=1"] - none["stat depth=1"] == 500  # in the hook
    assert even["read size=1"] - none["read size=1"] == 500  # in 90 % of the calls
    assert elsewhere["stat depth=1"] - none["stat depth=1"] == 500  # outside of hooks
    assert elsewhere["read size=1"] == none["read size=1"]
    assert facts(report, names[2])["inject.costs"] == "outside:insns=500;inode_rcu:insns=5000"


def test_landlock_costs_by_the_depth_of_its_rule(lsmeter: Lsmeter) -> None:
    names = ("capability", "landlock", "landlock:depth=1", "landlock:depth=2")
    report = measured(lsmeter, *each("--setup", names), *HOW)
    full = ("capability", "landlock", *(f"landlock:layers=1,rules=1,depth={n}" for n in (1, 2)))
    cost = [values(report, name)["open depth=1"] for name in full]
    assert cost == sorted(cost)
    assert cost[3] - cost[2] == cost[2] - cost[1] > 0
    assert len({values(report, name)["getppid"] for name in full}) == 1
    assert facts(report, full[2])["proof.read-outside.errno"] == "EACCES"


@pytest.mark.parametrize("setup", ["lomac", "lomac:level=low", "bpf-allow", "landlock:depth=3"])
def test_other_circumstances(lsmeter: Lsmeter, setup: str) -> None:
    """Runs an ordinary user on a file system of its own, with caches dropped by a helper."""
    how = ("--filesystem", "ext4", "--user", "user", "--cold", "--samples", "3")
    named = ("--setup", setup, "--baseline", setup, "--benchmark", "open depth=8")
    measured(lsmeter, *named, *how)
