# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel of arm64 from Debian's source, with the modules that Debian's own lack."""

from __future__ import annotations

import pytest

from lsmeter.core.model.arch import ARM64
from lsmeter.sources.kernels.build.builder import build_kernel
from tests.build.kernels import SOURCE
from tests.conftest import Lsmeter
from tests.runs import each, measured

pytestmark = [pytest.mark.build, pytest.mark.guest, pytest.mark.long]

SETUPS = ("smack", "selinux")
FEW = ("--benchmark", "stat depth=4", "--samples", "20")


def test_it_boots_and_its_smack_and_selinux_are_measured(lsmeter: Lsmeter) -> None:
    kernel = build_kernel(SOURCE, ["lsm-all"], arch=ARM64)
    assert kernel.arch == ARM64.name
    assert kernel.config["SECURITY_SMACK"] == "y"
    data = measured(lsmeter, "--kernel", kernel.name, *each("--setup", SETUPS), *FEW)
    assert data["problems"] == []
    assert [item["name"] for item in data["kernels"]] == [kernel.name]
    found = {(i["setup"], i["id"]): i["overhead"] for i in data["comparisons"]}
    for setup in SETUPS:
        assert 0.10 < found[setup, "stat depth=4"] < 0.80
        assert found[setup, "empty"] == found[setup, "getppid"] == 0
