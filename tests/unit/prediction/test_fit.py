# SPDX-License-Identifier: GPL-2.0-or-later
"""Weights are found again, and the stated error is that of operations that no weight has seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lsmeter.core.errors import InfrastructureError
from lsmeter.questions.time.calibration import spread
from lsmeter.questions.time.fit import CYCLES, GROUND, STIFFNESS, Observation, fit, vector
from tests.unit.prediction import synthetic


def errors(known: list[Observation]) -> list[float]:
    return [item.error for item in fit(known, CYCLES).left_out]


def test_weights_are_found_again() -> None:
    found = fit(synthetic.known(operations=30), CYCLES)
    truth = {name: cycles * synthetic.CYCLE_NS for name, cycles in synthetic.TRUTH.items()}
    for name in ("mode_switches", "plain_insns", "locked", "stlb_misses"):
        assert found.weights_ns[name] == pytest.approx(truth[name], rel=0.1), name
    assert found.weights_ns.get("l1d_misses", 0.0) < 0.5 * CYCLES["l1d_misses"] * synthetic.CYCLE_NS
    assert min(found.weights_ns.values()) > 0


def test_what_is_stated_is_the_error_on_operations_of_another_day() -> None:
    known = synthetic.known(operations=24, noise=0.05)
    found = fit(known, CYCLES)
    median, most = spread(item.error for item in found.left_out)
    fresh = synthetic.known(operations=200, variants=1, noise=0.05, seed=2)
    weights = found.weights_ns
    told = [sum(weights.get(k, 0) * v for k, v in x.events.items()) / x.cost_ns - 1 for x in fresh]
    assert spread(told) == pytest.approx((median, most), rel=0.35)
    assert 0.03 < median < 0.06  # noise of 5 %: the median of its size is 3.4 %


def test_an_operation_that_is_unlike_all_others_shows_only_when_it_is_left_out() -> None:
    known = synthetic.known()
    odd = [replace(x, cost_ns=2 * x.cost_ns) if x.operation == "op3" else x for x in known]
    found = {item.benchmark: item.error for item in fit(odd, CYCLES).left_out}
    own = [error for name, error in found.items() if name.startswith("op3 ")]
    rest = [error for name, error in found.items() if not name.startswith("op3 ")]
    assert max(own) < -0.4
    assert spread(rest)[0] < 0.1


def test_all_variants_of_an_operation_are_left_out_together() -> None:
    """An event that only one operation has cannot be known to those that are left out."""
    known = [
        replace(x, events={**x.events, "divides": 100.0}, cost_ns=x.cost_ns + 40_000)
        if x.operation == "op0"
        else replace(x, events={**x.events, "divides": 0.0})
        for x in synthetic.known()
    ]
    found = [item.error for item in fit(known, CYCLES).left_out if item.operation == "op0"]
    assert len(found) == 4
    assert max(found) < -0.5


@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_the_length_of_a_cycle_is_found_first(scale: float) -> None:
    known = synthetic.known(noise=0.02)
    scaled = [replace(x, cost_ns=x.cost_ns * scale) for x in known]
    assert errors(scaled) == pytest.approx(errors(known), abs=1e-6)
    assert fit(known, CYCLES).stiffness in STIFFNESS


def test_order_does_not_matter() -> None:
    known = synthetic.known(noise=0.05)
    assert sorted(errors(known[::-1])) == pytest.approx(sorted(errors(known)))


def test_programs_in_which_events_vary_apart_tell_them_apart() -> None:
    """In system calls a return comes with its function: 20 instructions, 5 loads."""
    each = {"plain_insns": 20.0, "loads": 5.0, "returns": 1.0}
    cost = {"plain_insns": 0.05, "loads": 0.0, "returns": 7.0, "mode_switches": 15.0}

    def program(suite: str, name: str, events: dict[str, float]) -> Observation:
        events = {"mode_switches": 2.0, **events}
        ns = sum(cost[key] * count for key, count in events.items())
        return Observation(suite, name, name, events, ns)

    calls = [
        program("file", f"call{n}", {key: (20 + 9 * n) * count for key, count in each.items()})
        for n in range(9)
    ]
    loop = program(GROUND, "loop", {"plain_insns": 3000.0, "loads": 10.0, "returns": 4.0})
    truth = cost["returns"]
    assert fit(calls, CYCLES).weights_ns["returns"] < 0.8 * truth
    found = fit([*calls, loop], CYCLES)
    assert found.weights_ns["returns"] == pytest.approx(truth, rel=0.1)
    assert {item.suite for item in found.left_out} == {"file"}


def test_few_operations_are_refused() -> None:
    with pytest.raises(InfrastructureError, match="only 5 operations"):
        fit(synthetic.known(operations=5), CYCLES)
    without_time = [replace(x, cost_ns=0.0) for x in synthetic.known()]
    with pytest.raises(InfrastructureError, match="only 0 operations"):
        fit(without_time, CYCLES)


def test_what_a_region_has_of_its_own_is_no_events_of_the_call() -> None:
    empty = {"insns": 10.0, "string_steps": 0.0, "serialising": 2.0}
    found = vector({"insns": 110.0, "string_steps": 30.0, "serialising": 1.0}, empty)
    assert found["plain_insns"] == 70
    assert found["serialising"] == 0
    assert list(found) == list(CYCLES)
    assert not np.isnan([*found.values()]).any()
