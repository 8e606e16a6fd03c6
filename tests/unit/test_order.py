# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from lsmeter.catalogue.setups import parse_setup
from lsmeter.guest.boot_image import make_request
from lsmeter.measure.experiment.plan import boot_order
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
