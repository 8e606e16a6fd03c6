# SPDX-License-Identifier: GPL-2.0-or-later
"""A run that grows until its verdicts stand, through plan, execution and run directory."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lsmeter.cli.measure import _carry_out
from lsmeter.cli.options import Options
from lsmeter.core.errors import ExitCode, UsageError
from lsmeter.core.model.conclusion import Verdict
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import Plan, make_plan
from lsmeter.measure.results.directory import read_run
from lsmeter.questions.cost.build import make_report
from tests.unit import timed_builders as timed
from tests.unit.model_builders import kernel

CELLS = 3  # capability, seccomp, capability again


def planned(**words: Any) -> Plan:
    said = {
        "kernels": ["vmlinux"],
        "setups": ["capability", "seccomp"],
        "instrument": "timed",
        "sampling": {"samples": 30, "warmup": 0, "whole_ppm": 0},
        "until_conclusive": True,
        "boots": 8,
        "blocks_max": 12,
        **words,
    }
    built = kernel("vmlinux", SECCOMP_FILTER="y")
    asked = build_experiment(said, where="test")
    return make_plan(asked, [built], (timed.EMPTY, timed.STAT, timed.READ), {}, ("tmpfs",))


def grown(
    path: Path, factors: Mapping[tuple[str, str], float], plan: Plan | None = None
) -> tuple[timed.Clocked, ExitCode]:
    machine = timed.Clocked(factors)
    return machine, _carry_out(plan or planned(), machine, path, Options())


def test_it_ends_as_soon_as_all_verdicts_stand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slower = {("seccomp", timed.STAT.id): 1.3, ("seccomp", timed.READ.id): 1.3}
    machine, code = grown(tmp_path / "run", slower)
    assert code is ExitCode.OK
    assert len(machine.booted) == 8 * CELLS
    assert "after 8 blocks: 0 of 2 comparisons have no verdict yet" in capsys.readouterr().err
    run = read_run(tmp_path / "run")
    assert (run.missing, len(run.boots)) == ((), 8 * CELLS)
    tested = [c for c in make_report(run).comparisons if c.place.setup == "seccomp"]
    assert [c.verdict for c in tested if not c.benchmark.control] == [Verdict.SLOWER] * 2


def test_it_goes_on_to_its_bound_and_measures_nothing_twice(tmp_path: Path) -> None:
    narrow = planned(margin=0.0)
    machine, code = grown(tmp_path / "run", {}, narrow)
    assert code is ExitCode.OK
    assert len(machine.booted) == len(set(machine.booted)) == 12 * CELLS
    assert sorted({index for _, index in machine.booted}) == list(range(12))
    # The same words go on with what is there; a block that is lost is measured again.
    run = read_run(tmp_path / "run")
    lost = next(boot for boot in run.boots if boot.index == 5)
    shutil.rmtree(run.folder(lost))
    again, code = grown(tmp_path / "run", {}, narrow)
    assert (code, [index for _, index in again.booted]) == (ExitCode.OK, [5])


def test_other_bounds_are_refused(tmp_path: Path) -> None:
    grown(tmp_path / "run", {("seccomp", timed.STAT.id): 1.3})
    with pytest.raises(UsageError, match="was begun with --boots 8 --blocks-max 12"):
        grown(tmp_path / "run", {}, planned(blocks_max=40))


def test_time_is_a_bound_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now_s = iter(range(0, 10_000_000, 61))
    monkeypatch.setattr("lsmeter.cli.measure.time.monotonic", lambda: next(now_s))
    machine, code = grown(tmp_path / "run", {}, planned(margin=0.0, minutes_max=1))
    assert (code, len(machine.booted)) == (ExitCode.OK, 8 * CELLS)
    assert "no more blocks" in capsys.readouterr().err
