# SPDX-License-Identifier: GPL-2.0-or-later
"""From runs on disk to reports: what a whole cost that failed, and another compiler, lead to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.model import BenchmarkStatus, BootProtocol, Image, Round, Samples, Whole
from lsmeter.core.model.arch import X86_64
from lsmeter.core.model.conclusion import Verdict
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import make_plan
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cost.build import compare_runs, make_report
from tests.unit.model_builders import benchmark, kernel
from tests.unit.run_builders import ended, stored

OPEN = replace(benchmark("open", depth=1), cycle="open+close")
CREAT = replace(benchmark("creat"), cycle="creat+unlink")
BROKEN = Whole(BenchmarkStatus.FAILED, (), "unlink: ENOSPC")
# Of 4,500 in line, with 30 of 100 cycles dearer by 8, and 5 left to be done.
ROUNDS = (
    Round(20, 100, 90_100, 0, (0, 2900, 3000)),
    Round(10, 50, 45_050, 0, (0, 2900, 2950)),
    Round(40, 200, 180_200, 0),
    Round(30, 150, 135_390, 0),
)
IN_IMAGE = "capability:image=policy"
FINE = Whole(BenchmarkStatus.OK, ROUNDS)


def run(path: Path, compiler: str = "gcc-12 (Debian) 12.2.0") -> RunData:
    """Write and read a run of two boots of one setup, in which one whole cost failed."""
    words = {"kernels": ["vmlinux"], "setups": ["capability"], "boots": 2}
    built = replace(kernel("vmlinux", CC_VERSION_TEXT=compiler), image_sha256=compiler)
    plan = make_plan(build_experiment(words, where="test"), [built], (OPEN, CREAT), {}, ("tmpfs",))
    samples = (
        Samples(OPEN.id, BenchmarkStatus.OK, (3000,) * 9 + (3400,), whole=FINE),
        Samples(CREAT.id, BenchmarkStatus.OK, (5000,) * 10, whole=BROKEN),
    )
    return stored(plan, path, lambda planned: (ended(planned, samples), {}))


def test_a_whole_cost_that_failed_is_a_problem_and_costs_no_other_number(tmp_path: Path) -> None:
    report = make_report(run(tmp_path / "run"))
    opened, created = report.estimates
    assert opened.mean is not None
    assert opened.mean.value == pytest.approx(3040)
    assert opened.whole is not None
    assert opened.whole.value == pytest.approx(4507.4)
    assert opened.whole.deferred == pytest.approx(5)
    assert opened.whole.operations == 200
    assert (created.centre, created.whole, created.whole_missing) == (5000, None, "unlink: ENOSPC")
    (problem,) = report.problems
    assert problem.title == "creat: no whole cost for capability on vmlinux: failed"
    assert (problem.benchmark, problem.detail) == (CREAT.id, "unlink: ENOSPC")


@pytest.mark.parametrize(
    ("suite", "said"), [("process", "in the image policy, and capability in none"), ("file", "")]
)
def test_a_baseline_with_another_root_is_a_warning(tmp_path: Path, suite: str, said: str) -> None:
    words = {"setups": ["capability", IN_IMAGE], "kernels": ["vmlinux"]}
    experiment = build_experiment({**words, "suites": [suite]}, where="test")
    item = replace(OPEN, suite=suite)
    images = {"policy": Image("policy", Path("policy.ext4"), "0" * 64)}
    needs = dict.fromkeys(
        (*X86_64.boards[BootProtocol.PVH].disk_needs, *parse_setup(IN_IMAGE).needs_config), "y"
    )
    plan = make_plan(
        experiment, [kernel("vmlinux", **needs)], (item,), {}, ("tmpfs",), images=images
    )
    assert not plan.problems
    samples = (Samples(item.id, BenchmarkStatus.OK, (3000,) * 10),)
    found = stored(plan, tmp_path / "run", lambda planned: (ended(planned, samples), {}))
    warnings = make_report(found).warnings
    assert [text for text in warnings if "image" in text and said in text] == list(warnings)
    assert bool(warnings) == bool(said)


def test_runs_of_one_build_are_compared_without_a_caveat(tmp_path: Path) -> None:
    report = compare_runs(run(tmp_path / "a"), run(tmp_path / "b"))
    assert report.caveats == ()
    assert {item.benchmark.id for item in report.comparisons} == {OPEN.id, CREAT.id}


def test_kernels_of_two_compilers_are_compared_with_a_caveat(tmp_path: Path) -> None:
    report = compare_runs(run(tmp_path / "a", "gcc-11 (Debian) 11.3.0"), run(tmp_path / "b"))
    (caveat,) = report.caveats
    assert caveat.startswith("different compilers: gcc 12.2.0 against gcc 11.3.0")


def test_a_side_without_a_whole_cost_is_not_called_equivalent(tmp_path: Path) -> None:
    report = compare_runs(run(tmp_path / "a"), run(tmp_path / "b"))
    created = next(item for item in report.comparisons if item.benchmark == CREAT)
    assert (created.whole, created.verdict) == (None, Verdict.INCONCLUSIVE)
    assert created.cause == "amortised and deferred costs were not measured"
