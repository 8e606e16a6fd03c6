# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests of arm64, by QEMU's emulator: exact as those of x86-64, and beside them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Lsmeter

pytestmark = pytest.mark.guest

FEW = ("--benchmark", "stat depth=[18]", "--samples", "20", "--boots", "1")


def report(lsmeter: Lsmeter, run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lsmeter("report", run, "--format", "json").out)
    return found


def test_two_architectures_are_two_columns_and_a_seed_gives_the_same_digits(
    lsmeter: Lsmeter,
) -> None:
    both = ("--arch", "arm64", "--arch", "x86_64", "--setup", "selinux")
    done = lsmeter("run", *both, *FEW, "--run-dir", "run")
    assert done.code == 0, done.err
    data = report(lsmeter, "run")
    assert data["problems"] == []
    assert [item["name"] for item in data["kernels"]] == ["debian:6.1:arm64", "debian:6.1"]
    found = {(i["kernel"], i["id"]): i["overhead"] for i in data["comparisons"]}
    for name in ("debian:6.1:arm64", "debian:6.1"):
        assert 0.10 < found[name, "stat depth=1"] < found[name, "stat depth=8"] < 0.80
        assert found[name, "empty"] == found[name, "getppid"] == 0
    done = lsmeter("run", *both[:2], *both[4:], *FEW, "--fresh", "--run-dir", "again")
    assert done.code == 0, done.err

    def counts(data: dict[str, Any]) -> list[Any]:
        arms = (i for i in data["estimates"] if i["kernel"] == "debian:6.1:arm64")
        return [(i["setup"], i["id"], i["value"], i["whole"]) for i in arms]

    assert counts(report(lsmeter, "again")) == counts(data)
    done = lsmeter("compare", "run", "again")
    assert done.code == 0, done.err
