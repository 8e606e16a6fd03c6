# SPDX-License-Identifier: GPL-2.0-or-later
"""From runs on disk to reports: what a whole cost that failed, and another compiler, lead to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.experiment.asked import build_experiment
from lsmeter.experiment.plan import make_plan
from lsmeter.model import BenchmarkStatus, Idle, Round, Samples, Whole
from lsmeter.model.conclusion import Verdict
from lsmeter.report.build import compare_runs, make_report
from lsmeter.results.directory import RunData
from tests.unit.model_builders import benchmark, kernel
from tests.unit.run_builders import ended, stored

OPEN = replace(benchmark("open", depth=1), cycle="open+close")
CREAT = replace(benchmark("creat"), cycle="creat+unlink")
BROKEN = Whole(BenchmarkStatus.FAILED, (), "unlink: ENOSPC")
ROUNDS = tuple(Round(100, 500, 450_500 + more, 9_000, 1_000) for more in (0, 40, 10))
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
    idle = (Idle(100_000, 100, 2),)
    return stored(plan, path, lambda planned: (ended(planned, samples, idle=idle), {}))


def test_a_whole_cost_that_failed_is_a_problem_and_costs_no_other_number(tmp_path: Path) -> None:
    report = make_report(run(tmp_path / "run"))
    opened, created = report.estimates
    assert opened.mean is not None
    assert opened.mean.value == pytest.approx(3040)
    # 450,500 + 1,000 - 500 - 0.001 * 459,500 over 100 cycles, and the rounds' own differences.
    assert opened.whole is not None
    assert opened.whole.value == pytest.approx(4505.57, abs=0.01)
    assert (created.centre, created.whole, created.whole_missing) == (5000, None, "unlink: ENOSPC")
    (problem,) = report.problems
    assert problem.title == "creat: no whole cost for capability on vmlinux: failed"
    assert (problem.benchmark, problem.detail) == (CREAT.id, "unlink: ENOSPC")


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
