# SPDX-License-Identifier: GPL-2.0-or-later
"""The timed instrument, from stored ticks to every format of a report."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Better, Boot, BootStatus
from lsmeter.core.model.conclusion import Comparison, Difference, Number, Verdict
from lsmeter.core.model.setup import is_again
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import PlannedBoot, make_plan, with_blocks
from lsmeter.measure.instruments.timed import LEAST_BLOCKS, blocks, compare, judge
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.cells import still_open
from lsmeter.questions.compare import document as compared
from lsmeter.questions.cost.build import compare_runs, make_report
from lsmeter.questions.cost.document import report_document
from lsmeter.questions.cost.model import Report
from lsmeter.statistics.blocks import Block
from lsmeter.statistics.estimate import BootReadings
from lsmeter.statistics.family import Looks
from lsmeter.tables.render import Options, find_format, render
from tests.unit import timed_builders as timed
from tests.unit.model_builders import kernel

SCHEMA = Path(__file__).parents[2] / "src/lsmeter/questions/cost/schema/report-1.json"
SLOWER = {("landlock", timed.STAT.id): 1.2}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    return timed.run(tmp_path_factory.mktemp("run"), SLOWER, blocks=30)


@pytest.fixture(scope="module")
def report(run: RunData) -> Report:
    return make_report(run)


def shown(report: Report, form: str) -> str:
    made = report_document(report, find_format(form).detail)
    return render(made, form, Options(width=80))


def found(report: Report, setup: str, name: str) -> Comparison:
    (item,) = (c for c in report.comparisons if (c.place.setup, c.benchmark.id) == (setup, name))
    return item


def boot(facts: dict[str, str]) -> Boot:
    return Boot("c", 3, 1, BootStatus.OK, tuple(facts.items()))


def readings(*ticks: int) -> BootReadings:
    return BootReadings(1, np.array(ticks))


class TestReading:
    def test_ticks_become_nanoseconds_of_one_operation_without_the_empty_region(self) -> None:
        facts = {"timing.hz": "2000000000", "timing.operations.stat": "10"}
        stored = {
            "empty": readings(40, 40, 44),
            "stat": readings(2040, 4040),
            "open": readings(240),
        }
        read = blocks(boot(facts), stored)
        assert read["stat"].values_ns.tolist() == [100.0, 200.0]
        assert read["open"].values_ns.tolist() == [100.0]
        assert read["empty"].values_ns.tolist() == [20.0, 20.0, 22.0]
        assert {block.index for block in read.values()} == {3}

    @pytest.mark.parametrize("hz", ["", "0", "-5", "nan", "inf", "1e999", "x"])
    def test_without_a_rate_there_is_no_time(self, hz: str) -> None:
        assert blocks(boot({"timing.hz": hz}), {"stat": readings(1)}) == {}

    def test_what_cannot_be_read_is_a_problem(self, tmp_path: Path) -> None:
        made = make_report(timed.run(tmp_path / "run", {}, blocks=2, facts={"timing.hz": "?"}))
        assert made.estimates == ()
        titles = {item.title for item in made.problems}
        assert "stat depth=1: 2 of 2 boots of landlock on vmlinux say no unit of it" in titles


class TestVerdict:
    def test_what_is_slower_is_said_and_by_how_much(self, report: Report) -> None:
        item = found(report, "landlock", timed.STAT.id)
        assert item.verdict is Verdict.SLOWER
        assert item.found is Difference.SEEN
        assert item.overhead == pytest.approx(0.2, abs=0.01)
        assert 0 < item.decided.overhead_high - item.decided.overhead_low < 0.03
        assert item.typical.baseline_value == pytest.approx(500, rel=0.01)
        assert item.mean is not None
        assert item.mean.overhead == pytest.approx(0.2, abs=0.01)

    def test_what_is_equal_is_called_so_or_left_open(self, report: Report) -> None:
        rest = [c for c in report.comparisons if c.benchmark.id != timed.STAT.id]
        assert {c.verdict for c in rest} <= {Verdict.EQUIVALENT, Verdict.INCONCLUSIVE}
        assert Verdict.EQUIVALENT in {c.verdict for c in rest}

    def test_an_open_one_says_how_many_more_blocks(self, tmp_path: Path) -> None:
        made = make_report(timed.run(tmp_path / "run", {}, blocks=8))
        still = [c for c in made.comparisons if c.verdict is Verdict.INCONCLUSIVE]
        assert still
        assert all(c.tests and c.tests.more_blocks and c.tests.more_blocks > 0 for c in still)
        assert "not enough blocks; about" in " ".join(shown(made, "table").split())

    def test_few_blocks_allow_no_verdict(self, tmp_path: Path) -> None:
        made = make_report(timed.run(tmp_path / "run", SLOWER, blocks=LEAST_BLOCKS - 1))
        assert {c.verdict for c in made.comparisons} == {Verdict.INCONCLUSIVE}

    def test_a_report_without_noise_is_no_division_by_zero(self, tmp_path: Path) -> None:
        def same(_d: object, _p: PlannedBoot, _n: str, count: int) -> Any:
            return np.ones(count)

        made = make_report(timed.run(tmp_path / "run", SLOWER, vary=same))
        assert found(made, "landlock", timed.STAT.id).verdict is Verdict.SLOWER
        assert found(made, "landlock", timed.READ.id).verdict is Verdict.EQUIVALENT

    def test_many_comparisons_need_more_of_each(self) -> None:
        """One comparison of p 0.02 is a difference; one of a hundred such is none."""
        draw = np.random.default_rng(5)
        before = [Block(at, draw.normal(100, 1, 5)) for at in range(20)]
        for shift in np.linspace(0, 3, 61):
            after = [Block(b.index, b.values_ns + shift + draw.normal(0, 2)) for b in before]
            compared = compare(before, after, 0.001)
            assert compared.tests is not None
            if 0.005 < compared.tests.p < 0.04:
                break
        alone = _as_comparison(compared)
        assert judge([alone], 0.001)[0].verdict is Verdict.SLOWER
        assert {c.verdict for c in judge([alone] * 100, 0.001)} == {Verdict.INCONCLUSIVE}

    def test_a_median_that_is_equal_clears_no_mean_that_is_not(self) -> None:
        draw = np.random.default_rng(5)

        def side(*, late: bool) -> list[Block]:
            values = (draw.normal(100, 0.5, 200) for _ in range(20))
            rare = np.where(np.arange(200) % 20, 0, 500 * late)
            return [Block(at, each + rare) for at, each in enumerate(values)]

        compared = compare(side(late=False), side(late=True), 0.01)
        (ruled,) = judge([_as_comparison(compared)], 0.01)
        assert (ruled.verdict, ruled.cause) == (
            Verdict.INCONCLUSIVE,
            "the median is equivalent, the mean is not",
        )

    def test_a_mean_that_may_be_beyond_the_margin_is_not_equivalent(self) -> None:
        """A mean that is worse for certain need not be so by more than the margin for certain."""
        draw = np.random.default_rng(5)

        def side(*, rare: int) -> list[Block]:
            """Let one block in three have one late call of 300."""
            values = draw.normal(100, 0.5, (30, 300))
            values[:rare, 0] += 1500
            return [Block(at, each) for at, each in enumerate(values)]

        compared = compare(side(rare=0), side(rare=10), 0.02)
        assert compared.mean is not None
        assert 0 < compared.mean.overhead_low < 0.02 < compared.mean.overhead_high
        (ruled,) = judge([_as_comparison(compared)], 0.02)
        assert (ruled.verdict, ruled.decided_by) == (Verdict.INCONCLUSIVE, Number.MEAN)
        (wide,) = judge([_as_comparison(compare(side(rare=1), side(rare=1), 0.02))], 0.02)
        assert wide.verdict is Verdict.EQUIVALENT

    def test_a_cost_in_every_64th_call_is_in_the_mean(self) -> None:
        """Of 300 readings five have it, which no median shows."""
        draw = np.random.default_rng(6)

        def side(cost_ns: float) -> list[Block]:
            values = draw.normal(500, 15, (50, 300)) * draw.normal(1, 0.005, (50, 1))
            values[:, ::64] += cost_ns
            return [Block(at, each) for at, each in enumerate(values)]

        compared = compare(side(0), side(6400), 0.01)
        assert compared.mean is not None
        assert compared.mean.low > 0
        assert compared.mean.low < 6400 * 5 / 300 < compared.mean.high
        assert compared.typical.low < 0 < compared.typical.high

    def test_more_of_a_throughput_is_better(self) -> None:
        draw = np.random.default_rng(5)
        before = [Block(at, draw.normal(100, 1, 20)) for at in range(20)]
        after = [Block(at, draw.normal(80, 1, 20)) for at in range(20)]
        compared = compare(before, after, 0.01, Better.HIGHER)
        (ruled,) = judge([_as_comparison(compared)], 0.01)
        assert ruled.verdict is Verdict.SLOWER
        assert ruled.overhead == pytest.approx(0.2, abs=0.01)
        assert ruled.decided.overhead_low < ruled.overhead < ruled.decided.overhead_high

    def test_what_the_clock_cannot_tell_from_nothing_has_no_ratio(self) -> None:
        nothing = [Block(at, np.array([-1.0, 0.0, 1.0])) for at in range(8)]
        (ruled,) = judge([_as_comparison(compare(nothing, nothing, 0.01))], 0.01)
        assert ruled.verdict is Verdict.INCONCLUSIVE
        assert ruled.cause.startswith("shorter than the clock can tell")


def _as_comparison(compared: Any) -> Comparison:
    place = timed_place()
    return Comparison(
        **vars(compared), place=place, baseline=place, benchmark=timed.STAT, repeats=False
    )


def timed_place() -> Any:
    from lsmeter.core.model import Place  # noqa: PLC0415

    return Place("vmlinux", "landlock", "file", "tmpfs", "root")


class TestControls:
    def test_the_baseline_is_measured_twice(self, run: RunData, report: Report) -> None:
        names = {cell.place.setup for cell in run.manifest.cells}
        assert names == {"capability", "landlock", "capability again"}
        assert len({cell.hash for cell in run.manifest.cells}) == 3
        assert [c.place.setup for c in report.again] == ["capability again"] * 4
        text = " ".join(shown(report, "table").split())
        assert "A/A control, capability against itself: 0 of 4 differ before correction" in text
        assert "none after it" in text

    def test_counts_need_no_second_baseline(self) -> None:
        words = {"setups": ["capability"], "kernels": ["vmlinux"]}
        asked = build_experiment(words, where="test")
        plan = make_plan(asked, [kernel("vmlinux")], (timed.STAT,), {}, ("tmpfs",))
        assert not any(is_again(cell.setup.name, "capability") for cell in plan.cells)

    @pytest.mark.parametrize("form", ["table", "text", "markdown", "html", "json", "csv"])
    def test_a_control_that_moves_is_said_above_all(self, tmp_path: Path, form: str) -> None:
        moved = {("landlock", timed.GETPPID.id): 1.2}
        made = make_report(timed.run(tmp_path / "run", moved, blocks=20))
        text = " ".join(shown(made, form).split())
        said = "the control getppid moved ("
        assert said in text
        if form == "table":
            assert text.index("Applies to every verdict") < text.index("operation ")

    def test_a_filter_of_every_call_may_move_them(self, tmp_path: Path) -> None:
        moved = {("seccomp", timed.GETPPID.id): 1.2}
        made = make_report(
            timed.run(tmp_path / "run", moved, blocks=20, setups=("capability", "seccomp"))
        )
        assert found(made, "seccomp", timed.GETPPID.id).verdict is Verdict.SLOWER
        assert made.caveats == ()
        assert "although no security module" not in shown(made, "table")

    def test_a_baseline_that_differs_from_itself_is_said_above_all(self, tmp_path: Path) -> None:
        moved = {("capability again", timed.STAT.id): 1.1}
        made = make_report(timed.run(tmp_path / "run", moved, blocks=20))
        (caveat,) = made.caveats
        assert caveat.startswith("the baseline differs from itself in stat depth=1 +")
        assert "1 after it (stat depth=1 +" in " ".join(shown(made, "table").split())


class TestFormats:
    def test_json_follows_the_schema(self, report: Report) -> None:
        document = json.loads(shown(report, "json"))
        jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document)
        tests = document["comparisons"][0]["tests"]
        assert (tests["blocks"], tests["comparisons"], tests["together"]) == (30, 8, True)
        assert "looks" not in document

    def test_csv_has_the_tests(self, report: Report) -> None:
        rows = list(csv.DictReader(io.StringIO(shown(report, "csv"))))
        compared = [row for row in rows if row["record"] == "comparison"]
        assert {row["unit"] for row in rows} == {"ns"}
        assert {row["comparisons"] for row in compared} == {"8"}
        assert all(0 <= float(row["p_corrected"]) <= 1 for row in compared)

    @pytest.mark.parametrize("form", ["table", "text", "markdown", "html"])
    def test_words_are_those_of_times(self, report: Report, form: str) -> None:
        text = " ".join(shown(report, form).split())
        assert "nanoseconds" in text
        assert "corrected for all of them (Holm)" in text
        for word in ("instructions", "typical", "in-line", "timer tick", "do not repeat"):
            assert word not in text, word

    def test_the_terminal_says_how_well_each_ratio_is_known(self, report: Report) -> None:
        everything = render(
            report_document(report, find_format("markdown").detail), "markdown", Options(width=80)
        )
        assert "\N{PLUS-MINUS SIGN}0." in everything


class TestTwoRuns:
    def test_runs_of_two_days_are_not_paired(self, run: RunData, tmp_path: Path) -> None:
        other = timed.run(tmp_path / "run", SLOWER, blocks=12, seed=2)
        made = compare_runs(run, other)
        assert all(c.tests and not c.tests.together for c in made.comparisons)
        assert {c.verdict for c in made.comparisons} <= {Verdict.EQUIVALENT, Verdict.INCONCLUSIVE}
        document = compared.document(run, other, find_format("text").detail)
        text = " ".join(render(document, "text", Options(width=72)).split())
        assert "of two runs, not paired" in text
        for word in ("A/A control", "typical", "a count is not known to repeat"):
            assert word not in text, word


def _verdicts(report: Report, name: str) -> Sequence[Verdict]:
    return [c.verdict for c in report.comparisons if c.benchmark.id == name]


class TestGrowing:
    LOOKS = Looks(8, 40)

    def test_it_is_open_until_it_is_not(self, tmp_path: Path) -> None:
        few = timed.run(tmp_path / "few", SLOWER, blocks=8, looks=self.LOOKS)
        left, of = still_open(few)
        assert of == 2  # neither controls nor the baseline against itself
        assert left
        many = timed.run(tmp_path / "many", SLOWER, blocks=40, looks=self.LOOKS)
        assert still_open(many)[0] == 0

    def test_what_was_concluded_stands(self, tmp_path: Path) -> None:
        """The difference is there in the first blocks only: at the end none would be seen."""

        def late(draw: np.random.Generator, planned: PlannedBoot, name: str, count: int) -> Any:
            usual = timed.noise(draw, planned, name, count)
            first = planned.cell.setup.name == "landlock" and name == timed.STAT.id
            slow = 1.05 if planned.index < 8 else 0.988
            return usual * (slow if first else 1.0)

        made = timed.run(tmp_path / "run", {}, blocks=40, looks=self.LOOKS, vary=late)
        report = make_report(made)
        item = found(report, "landlock", timed.STAT.id)
        assert (item.verdict, item.cause) == (Verdict.SLOWER, "concluded after 8 blocks")
        fixed = replace(made, manifest=replace(made.manifest, looks=None))
        assert found(make_report(fixed), "landlock", timed.STAT.id).verdict is not Verdict.SLOWER
        text = " ".join(shown(report, "table").split())
        assert "looked at after 8, 12, 18, 27, 40 blocks of at most 40" in text
        assert report.level in text
        assert 95 < float(report.level.removesuffix(" %")) < 100
        document = json.loads(shown(report, "json"))
        assert document["looks"] == {"first": 8, "most": 40}
        jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document)

    def test_a_plan_has_room_for_all_its_blocks(self) -> None:
        words = {
            "setups": ["capability"],
            "kernels": ["vmlinux"],
            "instrument": "timed",
            "until_conclusive": True,
            "blocks_max": 25,
        }
        asked = build_experiment(words, where="test")
        assert asked.looks == Looks(10, 25)
        plan = make_plan(asked, [kernel("vmlinux")], (timed.STAT,), {}, ("tmpfs",))
        assert len(plan.boots) == 2 * 25
        assert with_blocks(plan, 15).boots == plan.boots[: 2 * 15]

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ({"instrument": "exact"}, "counts of the instrument exact have no noise"),
            ({"instrument": "timed", "boots": 30, "blocks_max": 30}, "begins with 30"),
        ],
    )
    def test_what_cannot_grow_is_refused(self, words: dict[str, Any], said: str) -> None:
        with pytest.raises(UsageError, match=said):
            build_experiment({**words, "until_conclusive": True}, where="test")
