# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from lsmeter.order import boot_order

IDS = tuple(f"stat depth={depth}" for depth in range(1, 9))


def test_every_benchmark_is_run_once_and_a_seed_gives_one_order() -> None:
    assert sorted(boot_order(IDS, 42)) == sorted(IDS)
    assert boot_order(IDS, 42) == boot_order(IDS, 42)


def test_boots_have_other_orders() -> None:
    assert len({boot_order(IDS, seed) for seed in range(20)}) > 15
