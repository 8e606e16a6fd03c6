# SPDX-License-Identifier: GPL-2.0-or-later
"""Real servers and jobs on kernels from source: with every module, and without CONFIG_SECURITY."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lsmeter.sources.kernels.build.builder import build_kernel
from tests.build.kernels import SOURCE
from tests.conftest import Lsmeter
from tests.runs import each, measured, values

pytestmark = [pytest.mark.build, pytest.mark.guest]

STATIC = ("--suite", "web", "--benchmark", "static concurrency=1", "--boots", "1")
COMPILE = ("--suite", "workstation", "--benchmark", "compile", "--boots", "1")


def cost(
    lsmeter: Lsmeter, fragment: str, setups: Sequence[str], words: Sequence[str]
) -> list[float]:
    """Return what the one benchmark of `words` costs under each setup."""
    kernel = build_kernel(SOURCE, [fragment]).name
    report = measured(lsmeter, "--kernel", kernel, *each("--setup", setups), *words)
    assert report["problems"] == []
    return [value for setup in setups for value in values(report, setup).values()]


def test_a_web_server_under_a_policy(lsmeter: Lsmeter) -> None:
    without, under = cost(lsmeter, "lsm-all", ("capability", "selinux-enforcing"), STATIC)
    assert 1.02 * without < under < 1.5 * without


@pytest.mark.long
def test_jobs_of_a_workstation_without_security_modules(lsmeter: Lsmeter) -> None:
    assert len(cost(lsmeter, "dac", ("dac",), (*COMPILE, "--baseline", "dac"))) == 1
