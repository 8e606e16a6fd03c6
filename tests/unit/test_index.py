# SPDX-License-Identifier: GPL-2.0-or-later
"""The index of a suite: a geometric mean against a reference, lower is slower."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.analysis.index import indices
from lsmeter.model.conclusion import Estimate
from tests.unit.model_builders import benchmark
from tests.unit.report.builders import KERNELS, estimate

COSTS = st.lists(st.floats(1, 1e9), min_size=1, max_size=20)


def side(setup: str, costs: list[float], kernel: str = KERNELS[0]) -> list[Estimate]:
    return [
        replace(
            estimate(benchmark("open", depth=i + 1), setup, value, kernel=kernel),
            low=value,
            high=value,
        )
        for i, value in enumerate(costs)
    ]


@given(COSTS)
def test_the_reference_itself_is_a_hundred(costs: list[float]) -> None:
    (own,) = indices(side("capability", costs), side("capability", costs), "capability")
    assert own.typical.value == pytest.approx(100)
    assert own.typical.low == pytest.approx(100)
    assert own.typical.high == pytest.approx(100)
    assert own.benchmarks == len(costs)


@given(COSTS, st.integers(0, 19), st.floats(1.01, 100))
def test_what_is_slower_has_the_lower_index(costs: list[float], at: int, factor: float) -> None:
    slow = [cost * (factor if i == at % len(costs) else 1) for i, cost in enumerate(costs)]
    (index,) = indices(side("selinux", slow), side("capability", costs), "capability")
    assert index.typical.value < 100
    assert index.typical.value == pytest.approx(100 * factor ** (-1 / len(costs)))


def test_twice_the_cost_of_one_in_two() -> None:
    reference = side("capability", [100, 200])
    (index,) = indices(side("selinux", [200, 200]), reference, "capability")
    assert index.typical.value == pytest.approx(70.7107, abs=0.001)


def test_the_interval_holds_what_each_benchmark_may_be() -> None:
    own = [replace(side("selinux", [200])[0], low=190, high=220)]
    reference = [replace(side("capability", [100])[0], low=95, high=110)]
    (index,) = indices(own, reference, "capability")
    assert (index.typical.value, index.typical.low, index.typical.high) == (
        pytest.approx(50),
        pytest.approx(100 * 95 / 220),
        pytest.approx(100 * 110 / 190),
    )


def test_what_only_one_side_has_is_named_and_counts_for_nothing() -> None:
    own = side("selinux", [100, 100, 100])[:2]
    reference = side("capability", [100, 100, 100])[1:]
    (index,) = indices(own, reference, "capability")
    assert index.benchmarks == 1
    assert index.missing == ("open depth=1", "open depth=3")
    assert index.typical.value == pytest.approx(100)


def test_a_control_counts_for_nothing() -> None:
    control = replace(benchmark("getppid"), control=True)
    own = [*side("selinux", [200]), estimate(control, "selinux", 900)]
    reference = [*side("capability", [100]), estimate(control, "capability", 300)]
    (index,) = indices(own, reference, "capability")
    assert (index.benchmarks, index.typical.value) == (1, pytest.approx(50))


def test_the_whole_cost_has_its_own_and_only_where_all_have_one() -> None:
    own, reference = side("selinux", [200]), side("capability", [100])
    (index,) = indices(own, reference, "capability")
    assert index.whole is not None
    assert own[0].whole is not None
    unknown = replace(own[0].whole, low=-1.0)  # it may be nothing, or less
    for whole in (None, unknown):
        (none,) = indices([replace(own[0], whole=whole)], reference, "capability")
        assert none.whole is None


def test_another_kernel_is_compared_with_the_only_one_of_the_reference() -> None:
    own = side("selinux", [200], KERNELS[1])
    (index,) = indices(own, side("capability", [100]), "capability")
    assert (index.place.kernel, index.reference.kernel) == (KERNELS[1], KERNELS[0])
    assert indices(own, side("capability", [100]), "smack") == ()
