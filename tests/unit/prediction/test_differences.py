# SPDX-License-Identifier: GPL-2.0-or-later
"""What a patch makes calls take more, predicted from two runs of which the truth is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks.events import EVENTS
from lsmeter.questions.compare.document import document
from lsmeter.questions.time.differences import (
    BLIND,
    FOLLOWED,
    NOT_FOLLOWED,
    TOLD_DIFFERENCE,
)
from lsmeter.questions.time.document import outside_of
from lsmeter.questions.time.figures import predict_differences
from lsmeter.tables.model import Detail
from lsmeter.tables.render import Options, render
from tests.unit.prediction import recorded, synthetic

# What a patch adds to each call: a little of everything.
PATCH = {"plain_insns": 200.0, "loads": 50.0, "stores": 30.0, "returns": 6.0, "locked": 1.0}
CALIBRATION = synthetic.calibration(noise=0.05)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunData, RunData]:
    """Return a run before the patch and one after it."""
    folder = tmp_path_factory.mktemp("runs")
    return recorded.counted(folder / "a"), recorded.counted(folder / "b", more=PATCH)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_difference_is_predicted_by_itself_and_its_interval_holds_it(
    runs: tuple[RunData, RunData], sign: int
) -> None:
    before, after = runs if sign > 0 else (runs[1], runs[0])
    told = predict_differences(before, after, CALIBRATION)
    assert told is not None
    truth = sign * synthetic.cost_ns(PATCH)
    assert len(told.differences) == len(recorded.SETUPS) * (len(recorded.BENCHMARKS) - 1)
    for item in told.differences:
        found = item.difference
        assert found.ns == pytest.approx(truth, rel=0.25), item.benchmark.id
        assert found.low_ns < found.ns < found.high_ns
        assert found.low_ns <= truth <= found.high_ns
        assert item.new_ns - item.old_ns == pytest.approx(found.ns)
        assert found.outside == ()


def test_the_interval_is_that_of_variants_left_out() -> None:
    predicted, measured = np.array(CALIBRATION.differences).T
    bounds = CALIBRATION.difference_ratios
    assert bounds is not None
    inside = [bounds[0] <= ratio <= bounds[1] for ratio in measured / predicted]
    assert 0.88 <= np.mean(inside) <= 0.95
    few = tuple(replace(x, operation=x.benchmark) for x in CALIBRATION.left_out)
    alone = replace(CALIBRATION, left_out=few)
    assert alone.difference_ratios is None
    found = alone.predict_difference({}, PATCH)
    assert np.isnan([found.low_ns, found.high_ns]).all()


def test_code_unlike_any_that_was_calibrated_is_marked(
    runs: tuple[RunData, RunData], tmp_path: Path
) -> None:
    after = recorded.counted(tmp_path / "run", more={"plain_insns": 4000.0, "divides": 100.0})
    told = predict_differences(runs[0], after, CALIBRATION)
    assert told is not None
    assert all({"divides", "loads"} <= {*item.difference.outside} for item in told.differences)
    text = render(document(runs[0], after, Detail.SHORT, CALIBRATION), "text", Options())
    assert "! outside of what calibration covered (" in " ".join(text.split())
    (line,) = outside_of([(("loads",), "open")] * 2)  # under two setups
    assert line.endswith(": open")
    events = [f"unseen_{letter}" for letter in "hbgcfdea"]
    found = CALIBRATION.predict_difference({}, dict.fromkeys(events, 1e6))
    assert found.outside == (*events,)  # the same words each time


def test_compare_has_old_new_and_difference_with_its_error_and_what_it_cannot_see(
    runs: tuple[RunData, RunData],
) -> None:
    text = render(document(*runs, Detail.SHORT, CALIBRATION), "text", Options())
    words = " ".join(text.split())
    assert "Predicted change of times Not measured: predicted from events by calibration" in words
    assert BLIND + FOLLOWED in words
    assert "does not hold" not in words
    error = CALIBRATION.difference_error
    assert error is not None
    assert f"off by {100 * error[0]:.1f} % in the median, {100 * error[1]:.1f} %" in words
    said = json.loads(render(document(*runs, Detail.DATA, CALIBRATION), "json", Options()))
    told = predict_differences(*runs, CALIBRATION)
    assert said["sides"]["predicted"] == json.loads(json.dumps(TOLD_DIFFERENCE.entry(told)))
    assert "predicted" not in render(document(*runs, Detail.SHORT), "text", Options())


@pytest.mark.parametrize("cycles", [300.0, 40.0, 15.0])
def test_a_chain_of_instructions_is_no_prediction(
    runs: tuple[RunData, RunData], tmp_path: Path, cycles: float
) -> None:
    all_cycles = cycles + PATCH["plain_insns"] / 4
    after = recorded.counted(tmp_path / "run", more={**PATCH, "flow_cycles": all_cycles})
    told = predict_differences(runs[0], after, CALIBRATION)
    assert told is not None
    waits = cycles > 100
    assert CALIBRATION.cycle_ns == pytest.approx(synthetic.CYCLE_NS, rel=0.2)
    for item in told.differences:
        assert (item.waits, item.waiting_cycles) == (waits, cycles)
    text = render(document(runs[0], after, Detail.SHORT, CALIBRATION), "text", Options())
    said = (
        "op0 variant=0, landlock: the prediction does not hold: instructions that wait for each "
        f"other take +{cycles:.0f} cycles, about +"
    )
    assert (said in " ".join(text.split())) is waits


def test_events_of_the_version_before_have_no_chains(
    runs: tuple[RunData, RunData], tmp_path: Path
) -> None:
    before = recorded.counted(tmp_path / "run", kinds=tuple(EVENTS)[:-1])
    told = predict_differences(before, runs[1], CALIBRATION)
    assert told is not None
    assert {(item.waits, item.waiting_cycles) for item in told.differences} == {(False, None)}
    text = render(document(before, runs[1], Detail.SHORT, CALIBRATION), "text", Options())
    assert BLIND + NOT_FOLLOWED in " ".join(text.split())


def test_without_events_on_either_side_nothing_is_predicted(
    runs: tuple[RunData, RunData], tmp_path: Path
) -> None:
    without = recorded.counted(tmp_path / "run", events=False)
    assert predict_differences(without, runs[1], CALIBRATION) is None
    assert predict_differences(runs[0], without, CALIBRATION) is None
