# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers that rules read, worked out of parts that are made up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from lsmeter.core.model import Benchmark, Metric, Place
from lsmeter.questions.reproduce.facts import Facts
from lsmeter.questions.reproduce.parts import Part, Where
from lsmeter.questions.workload.figures import KERNEL, Measured

_STATIC = Benchmark("web", "static", (("concurrency", 1),), Metric("count"), "", "")
_WHERE = Where("6.1", "tmpfs", "root")


def _measured(kernel: str, setup: str, *kernel_insns: float) -> Measured:
    boots = [
        SimpleNamespace(seed=seed, figures={KERNEL: insns}, hooks={}, calls={}, client={})
        for seed, insns in enumerate(kernel_insns)
    ]
    place = Place(kernel, setup, "web", "tmpfs", "root")
    return Measured(place, _STATIC, "request", cast("Any", boots))


@pytest.mark.parametrize("other", ["built:6.1-dac", "built:6.1-lsm-all"])
def test_the_interval_of_a_unit_is_as_wide_as_boots_are_apart_on_two_kernels_too(
    other: str,
) -> None:
    measured = [
        _measured("built:6.1-dac", "dac", 1000, 1010, 990),
        _measured(other, "capability", 1020, 1030, 1011),
    ]
    part = SimpleNamespace(
        name="servers",
        workloads=SimpleNamespace(measured=measured),
        where=lambda _: _WHERE,
    )
    facts = Facts({"servers": cast("Part", part)}, _WHERE, "servers")
    found = facts.work("capability", "dac", f"web/{_STATIC.id}")
    assert found.low < found.value < found.high
    assert found.value == pytest.approx(2.03, abs=0.01)
    assert found.high - found.low < 1
