# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel of arm64 from Debian's source, with the modules that Debian's own lack."""

from __future__ import annotations

import json

import pytest

from lsmeter.core.model.arch import ARM64
from lsmeter.sources.kernels.build.builder import build_kernel
from tests.build.kernels import SOURCE
from tests.conftest import Lsmeter

pytestmark = [pytest.mark.build, pytest.mark.guest, pytest.mark.long]

FEW = ("--benchmark", "stat depth=4", "--samples", "20", "--boots", "1", "--run-dir", "run")


def test_it_boots_and_its_smack_and_selinux_are_measured(lsmeter: Lsmeter) -> None:
    kernel = build_kernel(SOURCE, ["lsm-all"], arch=ARM64)
    assert kernel.arch == ARM64.name
    assert kernel.config["SECURITY_SMACK"] == "y"
    done = lsmeter("run", "--kernel", kernel.name, "--setup", "smack", "--setup", "selinux", *FEW)
    assert done.code == 0, done.err
    data = json.loads(lsmeter("report", "run", "--format", "json").out)
    assert data["problems"] == []
    assert [item["name"] for item in data["kernels"]] == [kernel.name]
    found = {(i["setup"], i["id"]): i["overhead"] for i in data["comparisons"]}
    for setup in ("smack", "selinux"):
        assert 0.10 < found[setup, "stat depth=4"] < 0.80
        assert found[setup, "empty"] == found[setup, "getppid"] == 0
