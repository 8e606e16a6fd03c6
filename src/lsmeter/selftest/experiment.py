# SPDX-License-Identifier: GPL-2.0-or-later
"""The selftest as an experiment like any other, and what its run says; pure."""

from __future__ import annotations

from collections.abc import Iterable

from lsmeter.experiment import Experiment
from lsmeter.hooks.attribution.load import AttributedCell
from lsmeter.report.heading import Heading
from lsmeter.results.directory import RunData
from lsmeter.selftest.gather import Gatherer
from lsmeter.selftest.judge import judge, judge_bystander
from lsmeter.selftest.report import SelftestReport
from lsmeter.selftest.scenarios import BENCHMARKS, BYSTANDERS, SCENARIOS, SETUPS

TITLE = "Selftest of the exact instrument: known costs, and what every number says of them"


def selftest_experiment(kernel: str, boots: int, seed: int) -> Experiment:
    """Return the experiment that has all scenarios; kernel is a name that resolves."""
    return Experiment(
        title=TITLE,
        kernels=[kernel],
        setups=list(SETUPS),
        baseline="inject",
        benchmarks=list(BENCHMARKS),
        boots=boots,
        seed=seed,
    )


def selftest_report(run: RunData, attributed: Iterable[AttributedCell]) -> SelftestReport:
    """Judge what a run of that experiment, and its attribution, say."""
    manifest = run.manifest
    gatherer = Gatherer(run, attributed)
    return SelftestReport(
        heading=Heading(
            title=TITLE,
            created=manifest.created,
            lsmeter_version=manifest.lsmeter_version,
            command=manifest.command,
            filesystem=manifest.cells[0].filesystem,
            user=manifest.cells[0].user,
        ),
        kernel=manifest.kernels[0].name,
        boots=max(boot.index for boot in manifest.boots) + 1,
        judgements=tuple(judge(item, gatherer.seen(item)) for item in SCENARIOS),
        bystanders=tuple(judge_bystander(item, gatherer.seen(item)) for item in BYSTANDERS),
        problems=(*manifest.problems, *gatherer.problems),
    )
