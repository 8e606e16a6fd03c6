# SPDX-License-Identifier: GPL-2.0-or-later
"""Real servers and jobs on kernels from source: with every module, and without CONFIG_SECURITY."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lsmeter.sources.kernels.build.builder import build_kernel
from tests.build.kernels import SOURCE
from tests.conftest import Lsmeter
from tests.runs import each, measured

pytestmark = [pytest.mark.build, pytest.mark.guest]

STATIC = ("--suite", "web", "--benchmark", "static concurrency=1", "--boots", "1")
COMPILE = ("--suite", "workstation", "--benchmark", "compile", "--boots", "1")


def kernel_insns(
    lsmeter: Lsmeter, fragment: str, setups: Sequence[str], words: Sequence[str]
) -> dict[str, float]:
    """Return the kernel instructions of a unit of the one benchmark of `words` by setup."""
    kernel = build_kernel(SOURCE, [fragment]).name
    report = measured(lsmeter, "--kernel", kernel, *each("--setup", setups), *words)
    assert report["problems"] == []
    (boots,) = {len(item["boots"]) for item in report["benchmarks"]}
    assert boots == 1
    return {item["setup"]: item["boots"][0]["figures"]["kernel"] for item in report["benchmarks"]}


def test_a_web_server_under_a_policy(lsmeter: Lsmeter) -> None:
    setups = ("capability", "selinux-enforcing")
    found = kernel_insns(lsmeter, "lsm-all", setups, STATIC)
    assert 1.02 * found[setups[0]] < found[setups[1]] < 1.5 * found[setups[0]]


@pytest.mark.long
def test_jobs_of_a_workstation_without_security_modules(lsmeter: Lsmeter) -> None:
    found = kernel_insns(lsmeter, "dac", ("dac",), (*COMPILE, "--baseline", "dac"))
    assert found["dac"] > 10_000_000
