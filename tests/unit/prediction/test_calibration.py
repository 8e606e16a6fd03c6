# SPDX-License-Identifier: GPL-2.0-or-later
"""Predictions with their interval, and what lies outside of what calibration has seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lsmeter.questions.time.calibration import LEVEL
from tests.unit.prediction import synthetic

EMPTY: dict[str, float] = {}


def raw(counts: dict[str, float]) -> dict[str, float]:
    """Return events as a run has them: all instructions, string steps among them."""
    return {**counts, "insns": counts["plain_insns"] + counts["string_steps"]}


def test_intervals_hold_as_much_as_they_say() -> None:
    found = synthetic.calibration(noise=0.05)
    inside = 0
    fresh = synthetic.known(operations=300, variants=1, noise=0.05, seed=3)
    for item in fresh:
        told = found.predict(raw(dict(item.events)), EMPTY)
        assert told.low_ns <= told.ns <= told.high_ns
        inside += told.low_ns <= item.cost_ns <= told.high_ns
    assert inside / len(fresh) == pytest.approx(LEVEL, abs=0.06)


def test_a_call_like_those_seen_is_covered() -> None:
    found = synthetic.calibration()
    inside = [found.outside(item.events) == () for item in synthetic.known(seed=4)]
    assert sum(inside) / len(inside) > 0.9
    assert all(found.outside(item.events) == () for item in synthetic.known(noise=0.02))


@pytest.mark.parametrize("event", ["divides", "indirect_misses", "locked", "popf"])
def test_more_of_an_event_than_was_ever_seen_is_named(event: str) -> None:
    found = synthetic.calibration()
    counts = dict(synthetic.known()[0].events)
    most = found.seen[event].most * counts["plain_insns"] / 1000
    assert found.predict(raw({**counts, event: most}), EMPTY).outside == ()
    told = found.predict(raw({**counts, event: 2 * most + 5}), EMPTY)
    assert told.outside == (event,)


def test_a_call_longer_than_any_is_outside() -> None:
    found = synthetic.calibration()
    largest = max(synthetic.known(), key=lambda item: item.events["plain_insns"])
    counts = {name: 3 * value for name, value in largest.events.items()}
    assert "plain_insns" in found.predict(raw(counts), EMPTY).outside


def test_differences_have_an_error_of_their_own() -> None:
    found = synthetic.calibration(noise=0.05)
    exact = synthetic.calibration(noise=0.0)
    assert found.difference_error is not None
    assert exact.difference_error is not None
    assert found.difference_error[0] > found.error[0]
    assert exact.difference_error[0] < found.difference_error[0]
    alone = [replace(x, operation=x.benchmark) for x in found.left_out]
    assert replace(found, left_out=tuple(alone)).difference_error is None
