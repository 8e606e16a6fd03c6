# SPDX-License-Identifier: GPL-2.0-or-later
"""From runs to calibrations, from those to the predictions of runs, and both side by side."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from lsmeter.core.errors import UsageError
from lsmeter.core.model.conclusion import Comparison
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.cells import within_run
from lsmeter.questions.cost.document import document_of
from lsmeter.questions.time import calibration as calibrations
from lsmeter.questions.time import validation
from lsmeter.questions.time.calibration import Overheads
from lsmeter.questions.time.document import NO_CALIBRATION, NO_EVENTS
from lsmeter.questions.time.figures import host_of, match_observations, predict, quiet_ns
from lsmeter.questions.time.validation import Summary, fitted, furthest, summaries, validated
from lsmeter.statistics.blocks import Block
from lsmeter.tables.render import Options, find_format, render
from tests.conftest import InProcess
from tests.unit.prediction import recorded, synthetic

ROOT = Path(__file__).parents[3]
SCHEMA = ROOT / "src/lsmeter/questions/cost/schema/report-1.json"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunData, RunData]:
    """Return a timed run and one with events."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        return recorded.timed(folder / "timed", patch), recorded.counted(folder / "counted")


def shown(run: RunData, form: str, calibration: Any = None) -> str:
    detail = find_format(form).detail
    return render(document_of(run, calibration)(detail), form, Options(width=100, colour=False))


def test_both_runs_meet_without_the_setup_and_without_the_region(
    runs: tuple[RunData, RunData],
) -> None:
    found = {item.benchmark: item for item in match_observations(*runs)}
    assert set(found) == {item.id for item in recorded.BENCHMARKS} - {"empty"}
    for item in recorded.KNOWN:
        assert found[item.benchmark].cost_ns == pytest.approx(item.cost_ns, rel=0.03)
        events = recorded.rounded(item.events)
        assert found[item.benchmark].events == pytest.approx(events), item.benchmark


def test_the_host_is_named_as_it_said_itself(runs: tuple[RunData, RunData]) -> None:
    host = host_of(runs[0])
    assert host is not None
    assert (host.cpu, host.microcode, host.kernel) == ("A processor", "0x1", "6.18.0")
    assert host.mitigations == {"spectre_v2": "Mitigation: Enhanced IBRS"}
    assert host_of(runs[1]) is None


def test_what_disturbs_half_of_the_blocks_does_not_count() -> None:
    draw = np.random.default_rng(1)
    quiet = [Block(at, 500 * draw.normal(1, 0.02, 50)) for at in range(8)]
    busy = [Block(at, 800 * draw.normal(1, 0.02, 50)) for at in range(8, 16)]
    assert quiet_ns([*quiet, *busy]) == pytest.approx(500, rel=0.01)


def test_runs_of_the_wrong_kind_are_refused(runs: tuple[RunData, RunData]) -> None:
    timed, counted = runs
    with pytest.raises(UsageError, match="no time was measured"):
        match_observations(counted, counted)
    with pytest.raises(UsageError, match="no events were counted"):
        match_observations(timed, timed)


def test_predictions_of_what_was_measured_come_close(runs: tuple[RunData, RunData]) -> None:
    calibration = fitted(*runs)
    told = predict(runs[1], calibration)
    assert told is not None
    assert told.same_plugin
    assert {item.place.setup for item in told.costs} == set(recorded.SETUPS)
    for item in told.costs:
        if item.benchmark.id == "getppid":
            continue
        truth = synthetic.cost_ns(recorded.events_of(item.place.setup, item.benchmark.id))
        assert item.prediction.ns == pytest.approx(truth, rel=0.1), item.benchmark.id
    assert {item.place.setup for item in told.changes} == {"landlock"}
    added = synthetic.cost_ns(recorded.ADDED)
    moved = [x.difference_ns for x in told.changes if x.benchmark.id != "getppid"]
    assert np.median(moved) == pytest.approx(added, rel=0.25)
    assert [x.difference_ns for x in told.changes if x.benchmark.id == "getppid"] == [0.0]
    assert predict(runs[0], calibration) is None


def test_a_setup_that_was_not_fitted_is_told_to_a_few_points(
    runs: tuple[RunData, RunData],
) -> None:
    calibration = fitted(*runs)
    assert all(item.benchmark != "landlock" for item in calibration.left_out)
    found = validated(*runs, calibration)
    assert {item.setup for item in found} == {"landlock"}
    assert not any(item.benchmark.control for item in found)
    by_setup, total = summaries(found)
    assert (by_setup.setup, total.setup) == ("landlock", "")
    assert total.error is not None
    assert total.error[0] < 0.05
    for item in found:
        truth = synthetic.cost_ns(recorded.ADDED)
        assert item.measured.difference == pytest.approx(truth, rel=0.4, abs=20)


def test_the_error_of_overheads_is_kept_and_stated(runs: tuple[RunData, RunData]) -> None:
    calibration = fitted(*runs)
    (*_, total) = summaries(validated(*runs, calibration))
    assert calibration.overheads is not None
    assert calibration.overheads.setups == ("landlock",)
    assert (calibration.overheads.median, calibration.overheads.most) == total.error
    assert calibration.overheads.changed == total.changed > 0
    text = " ".join(shown(runs[1], "text", calibration).split())
    assert f"Overheads: off by median {100 * calibration.overheads.median:.1f} points" in text


def test_a_setup_that_is_well_predicted_clears_no_other() -> None:
    sums = (
        Summary("seccomp", 60, (0.01, 0.02), None, 0, None),
        Summary("landlock", 20, (0.3, 0.5), None, 0, None),
        Summary("smack", 0, None, None, 9, None),
        Summary("", 80, (0.02, 0.4), None, 0, None),
    )
    assert furthest(sums) == Overheads(("landlock",), 20, 0.3, 0.5)
    told = replace(synthetic.calibration(), overheads=furthest(sums))
    assert not told.tells_overheads
    assert furthest(sums[2:3]) is None


def test_events_of_two_kernels_are_refused(runs: tuple[RunData, RunData]) -> None:
    timed, counted = runs
    (kernel,) = counted.manifest.kernels
    kernels = (kernel, replace(kernel, name="second"))
    both = replace(counted, manifest=replace(counted.manifest, kernels=kernels))
    with pytest.raises(UsageError, match=rf"several kernels \({kernel.name}, second\)"):
        fitted(timed, both)


def test_what_the_clock_cannot_tell_has_no_error(
    runs: tuple[RunData, RunData], monkeypatch: pytest.MonkeyPatch
) -> None:
    calibration = fitted(*runs)
    found = validated(*runs, calibration)
    lost = found[0].benchmark.id

    def unknown(run: RunData) -> tuple[Comparison, ...]:
        return tuple(
            replace(item, typical=replace(item.typical, overhead=math.nan))
            if item.benchmark.id == lost
            else item
            for item in within_run(run)
        )

    monkeypatch.setattr(validation, "within_run", unknown)
    left = validated(*runs, calibration)
    assert {item.benchmark.id for item in left} == {i.benchmark.id for i in found} - {lost}


@pytest.mark.parametrize("overheads", [None, Overheads(("landlock",), 9, 0.051, 0.3)])
def test_no_overhead_in_time_is_shown_where_too_little_is_known_of_it(
    runs: tuple[RunData, RunData], overheads: Overheads | None
) -> None:
    calibration = replace(fitted(*runs), overheads=overheads)
    told = predict(runs[1], calibration)
    assert told is not None
    assert (bool(told.costs), told.changes) == (True, ())
    text = " ".join(shown(runs[1], "text", calibration).split())
    assert "No overhead in time: " in text
    assert ("off by median 5.1 points, 90th percentile 30.0 points" in text) == bool(overheads)
    found = json.loads(shown(runs[1], "json", calibration))["predictions"]
    assert found["changes"] == []
    assert found["calibration"]["overhead_error"] == (overheads and overheads.median)
    assert validated(*runs, calibration)


@pytest.mark.parametrize("form", ["table", "text", "markdown", "html"])
def test_predicted_times_are_marked_in_each_format(
    runs: tuple[RunData, RunData], form: str
) -> None:
    calibration = fitted(*runs)
    text = " ".join(shown(runs[1], form, calibration).split())
    assert "Predicted times: landlock" in text
    assert "Not measured: predicted from the events of each call" in text
    assert calibration.name in text.replace(" ", "") or calibration.name in text
    assert "Predicted" not in shown(runs[1], form)


def test_programs_get_predictions_apart_from_what_was_measured(
    runs: tuple[RunData, RunData],
) -> None:
    calibration = fitted(*runs)
    found = json.loads(shown(runs[1], "json", calibration))
    jsonschema.validate(found, json.loads(SCHEMA.read_text("utf-8")))
    part = found["predictions"]
    assert part["calibration"]["name"] == calibration.name
    assert part["calibration"]["median_error"] == pytest.approx(calibration.error[0])
    assert len(part["costs"]) == 2 * (len(recorded.BENCHMARKS) - 1)
    assert not any("predicted_ns" in item for item in found["estimates"])
    assert "predictions" not in json.loads(shown(runs[1], "json"))
    lines = list(csv.DictReader(io.StringIO(shown(runs[1], "csv", calibration))))
    (row,) = [x for x in lines if x["setup"] == "landlock" and x["benchmark"] == "getppid"]
    assert row["unit"] == "insns"
    assert float(row["predicted_ns"]) > 0
    assert row["calibration"] == calibration.name


def test_other_conditions_than_those_of_the_calibration_are_named(
    runs: tuple[RunData, RunData],
) -> None:
    calibration = fitted(*runs)
    assert "under other conditions" not in shown(runs[1], "text", calibration)
    counted = replace(
        calibration.counted, conditions={**calibration.counted.conditions, "memcg": "true"}
    )
    other = replace(calibration, counted=counted)
    text = " ".join(shown(runs[1], "text", other).split())
    assert "under other conditions: lsmeter run --condition memcg=true" in text


def test_what_was_counted_otherwise_says_so(tmp_path: Path, runs: tuple[RunData, RunData]) -> None:
    other = recorded.counted(tmp_path / "other", plugin="cd" * 32)
    text = " ".join(shown(other, "text", fitted(*runs)).split())
    assert "counted by another version of the plugin" in text


def test_a_page_says_why_nothing_is_predicted(
    tmp_path: Path, runs: tuple[RunData, RunData]
) -> None:
    assert NO_CALIBRATION in " ".join(shown(runs[1], "markdown").split())
    plain = recorded.counted(tmp_path / "plain", events=False)
    assert NO_EVENTS in " ".join(shown(plain, "markdown").split())
    assert "predicted" not in shown(runs[0], "markdown")


class TestCommands:
    """The commands over stored runs."""

    @pytest.fixture(autouse=True)
    def _own_data(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LSMETER_DATA", str(tmp_path / "data"))

    def test_a_calibration_is_made_shown_shared_and_used(
        self, in_process: InProcess, runs: tuple[RunData, RunData], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        timed, counted = (str(run.path) for run in runs)
        done = in_process("calibrate", timed, counted, "--output", "mine.json")
        assert done.code == 0, done.err
        assert "Leave-one-out error" in " ".join(done.out.split())
        (found,) = calibrations.kept()
        assert found == calibrations.read_calibration(in_process.home / "mine.json")
        assert found.name in in_process("calibrate", "show", "-f", "csv").out
        one = in_process("calibrate", "show", "mine.json", "-f", "json")
        assert json.loads(one.out)["name"] == found.name
        # It is of another machine: used where it is named, not by itself.
        assert "Predicted" not in in_process("report", counted).out
        named = in_process("report", counted, "--calibration", found.name)
        assert "Predicted times: landlock" in named.out
        monkeypatch.setattr(calibrations, "this_host", lambda: found.host)
        assert "Predicted times: landlock" in in_process("report", counted).out
        assert "Predicted" not in in_process("report", counted, "--calibration", "none").out

    def test_both_sides_stand_beside_each_other(
        self, in_process: InProcess, runs: tuple[RunData, RunData]
    ) -> None:
        timed, counted = (str(run.path) for run in runs)
        done = in_process("validate", timed, counted, "-f", "markdown")
        assert done.code == 0, done.err
        assert "predicted ns" in done.out
        assert "measured ns" in done.out
        assert "90th percentile" in done.out
        found = json.loads(in_process("validate", timed, counted, "-f", "json").out)
        assert len(found["costs"]) == len(recorded.KNOWN)

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("calibrate", "shwo"), "neither show nor two runs"),
            (("calibrate", "show", "a", "b"), "one calibration at most"),
            (("calibrate", "show", "nothing"), "no calibration is called 'nothing'"),
            (("run", "--calibration", "x"), "times are predicted from events"),
            (("run", "--events", "--calibration", "x"), "no calibration is called 'x'"),
            (("calibrate", "-k", "debain:6.1"), "debian:6.1"),
            (("validate", "-k", "debain:6.1"), "debian:6.1"),
            (("validate", "one"), "name both runs"),
            (("report", "TIMED", "--calibration", "x"), "events were not counted"),
            (("calibrate", "COUNTED", "TIMED"), "no time was measured in it"),
            (("calibrate", "--output", "x", "show", "/dev/null"), "a character device"),
        ],
    )
    def test_wrong_words_get_one_line(
        self,
        in_process: InProcess,
        runs: tuple[RunData, RunData],
        words: tuple[str, ...],
        said: str,
    ) -> None:
        paths = {"TIMED": str(runs[0].path), "COUNTED": str(runs[1].path)}
        done = in_process(*(paths.get(word, word) for word in words))
        assert done.code == 2
        assert said in " ".join(done.err.split())
        assert "Traceback" not in done.err
