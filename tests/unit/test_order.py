# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.guest.boot_image import make_request
from lsmeter.measure.experiment.plan import boot_order, delay_order
from lsmeter.statistics.regression import regress_halves
from tests.unit.model_builders import cell

IDS = tuple(f"stat depth={depth}" for depth in range(1, 9))


def test_every_benchmark_is_run_once_and_a_seed_gives_one_order() -> None:
    assert sorted(boot_order(IDS, 42)) == sorted(IDS)
    assert boot_order(IDS, 42) == boot_order(IDS, 42)


def test_boots_have_other_orders() -> None:
    assert len({boot_order(IDS, seed) for seed in range(20)}) > 15


def test_every_boot_varies_and_none_like_another() -> None:
    of = cell(parse_setup("capability"))
    seeds = [0, 1, 2, 2**31 + 1000]
    asked = [make_request(of, seed, 1000) for seed in seeds]
    assert all(b"\nvary=" in request.to_bytes() for request in asked)
    assert len({request.vary for request in asked}) == len(seeds)


def test_delays_come_in_an_order_of_the_boot_that_goes_with_no_growth() -> None:
    delays = tuple(range(0, 110001, 10000))
    orders = [delay_order(delays, seed) for seed in range(40)]
    assert orders == [delay_order(delays, seed) for seed in range(40)]
    assert len({*orders}) == 40
    assert delay_order((), 1) == ()
    for order in orders:
        assert sorted(order) == list(delays)
        # Each reading costs 1,500 ns more than the last: in ascending order, a slope of 2.15.
        slope = regress_halves([2 * ns + 1500 * at for at, ns in enumerate(order)], order).slope
        assert slope.value == pytest.approx(2, abs=0.005)
        assert slope.ci_low is not None
        assert slope.ci_low < 2
