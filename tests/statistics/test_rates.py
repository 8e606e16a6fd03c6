# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage, alarms and power on simulated hosts, and that a wrong method would be found out.

Limits allow for what chance does to so many replicates: three standard errors and a half, which one
rate in two thousand misses. `make simulate` does the same with many more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from lsmeter.measure.instruments.timed import compare
from lsmeter.statistics.blocks import Block
from lsmeter.statistics.family import Looks
from tests.statistics import rates
from tests.statistics.noise import MODELS, sides
from tests.statistics.rates import Growth, Rate, Row, Size

SIZE = Size(replicates=200, blocks=12, readings=40, seed=1)


def value(row: Row, name: str) -> float:
    (found,) = (rate.value for rate in row.rates if rate.name == name)
    return found


@pytest.fixture(scope="module")
def rows() -> Sequence[Row]:
    return tuple(rates.rows(SIZE))


def test_every_noise_model_passes(rows: Sequence[Row]) -> None:
    assert [row.noise.name for row in rows] == list(MODELS)
    assert [(row.noise.name, r) for row in rows for r in row.rates if not r.passed] == []


def test_what_is_there_is_seen(rows: Sequence[Row]) -> None:
    by_name = {row.noise.name: row for row in rows}
    assert value(by_name["plain"], "power 5%") > 0.99
    assert value(by_name["drift"], "power 5%") > 0.99
    assert value(by_name["plain"], "power 1%") < value(by_name["plain"], "power 5%")


def test_readings_taken_for_replicates_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """With readings in place of blocks, intervals are far too narrow."""

    def as_readings(
        before: Sequence[Block], after: Sequence[Block], *words: Any, level: float
    ) -> Any:
        def split(side: Sequence[Block]) -> list[Block]:
            pooled = np.concatenate([block.values_ns for block in side])
            return [Block(at, pooled[at : at + 1]) for at in range(pooled.size)]

        return compare(split(before), split(after), *words, level=level)

    monkeypatch.setattr(rates, "compare", as_readings)
    monkeypatch.setattr(rates, "MODELS", {"two-humped": MODELS["two-humped"]})
    (row,) = rates.rows(Size(40, 8, 10, 1))
    assert not row.passed
    assert value(row, "typical ratio held") < 0.8


def test_looking_again_and_again_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is tested at 5 % at every look is wrong more often than it may."""
    looks, size = Looks(6, 30), Size(200, 0, 4, 1)
    monkeypatch.setattr(rates, "MODELS", {"autocorrelated": MODELS["autocorrelated"]})

    def still() -> Growth:
        return next(iter(rates.growths(size, looks)))

    assert still().passed
    monkeypatch.setattr(Looks, "share", lambda *_: 1.0)
    assert still().wrong.value > 0.08
    assert not still().passed


def test_truths_of_the_models_are_true() -> None:
    """Of 4,000 blocks the mean logarithm is known to a few thousandths."""
    for noise in MODELS.values():
        before, after, level = sides(noise, np.random.default_rng(2), 4000, 30, 1.1)
        first, then = (np.log([block.median for block in side]) for side in (before, after))
        error = 5 * float(np.std(then - first)) / 4000**0.5
        assert float(np.mean(then - first)) == pytest.approx(np.log(1.1), abs=error), noise.name
        if not noise.wanders:
            assert float(np.mean(first)) == pytest.approx(np.log(level), abs=error + 0.002)


@pytest.mark.parametrize(
    ("found", "passed"), [(0.93, True), (0.5, False), (1.0, False), (0.95, True)]
)
def test_a_rate_has_to_lie_in_its_bounds(found: float, *, passed: bool) -> None:
    assert Rate("held", found, 10_000, 0.93, 0.97).passed is passed
    assert Rate("power", found, 10_000).passed
