# SPDX-License-Identifier: GPL-2.0-or-later
"""Every part of every study can be planned: its setups and benchmarks are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.catalogue.studies.study import find_study, study_names
from lsmeter.measure.experiment.options import merge
from lsmeter.measure.run import took
from lsmeter.questions.reproduce.judge import Verdict, conclude
from lsmeter.questions.reproduce.options_command import ReproduceOptions
from lsmeter.questions.reproduce.parts import Where
from lsmeter.questions.reproduce.parts_command import Plan, say_left_out, with_size
from lsmeter.questions.reproduce.quantities import Finding
from tests.unit.reproduce.planned import boots_of, plan_part


@pytest.mark.parametrize("quick", [False, True], ids=["whole", "quick"])
@pytest.mark.parametrize("name", study_names())
def test_setups_and_benchmarks_of_each_part_are_known(name: str, *, quick: bool) -> None:
    study = find_study(name)
    for part, keys in study.parts.items():
        asked = merge(dict(keys), dict(study.quick[part]) if quick else {})
        for setups, benchmarks in plan_part(part, asked):
            assert setups, part
            assert benchmarks, part


@pytest.mark.parametrize("quick", [False, True], ids=["whole", "quick"])
@pytest.mark.parametrize("name", study_names())
def test_how_long_each_part_takes_is_known_before_anything_was_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, *, quick: bool
) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path))
    study = find_study(name)
    for part, keys in study.parts.items():
        asked = merge(dict(keys), dict(study.quick[part]) if quick else {})
        for boot in boots_of(part, asked):
            told = took.length_s(took.read(), "emulation", boot)
            assert told, f"{part}: {boot.cell.task.name} {boot.cell.suite}"


@pytest.mark.parametrize(
    ("claim", "parts"),
    [
        ("file-hooks-by-module", {"history"}),  # its object class "file" is no suite
        ("close-asks-nothing", {"counts", "slopes"}),
    ],
)
def test_a_claim_asks_for_the_parts_that_it_reads(claim: str, parts: set[str]) -> None:
    plan = Plan.of(find_study("asiaccs21"), ReproduceOptions(quick=True), [claim])
    assert {*plan.experiments} == parts


@pytest.mark.parametrize(
    ("quick", "claims", "left_out"),
    [(True, [], ["compile"]), (False, [], []), (True, ["compile-slower"], [])],
)
def test_a_part_that_quick_leaves_out_is_not_measured(
    claims: list[str], left_out: list[str], *, quick: bool
) -> None:
    plan = Plan.of(find_study("thesis15"), ReproduceOptions(quick=quick), claims)
    assert [*plan.left_out] == left_out
    assert ("compile" in plan.experiments) == (not quick)


def test_kernels_that_are_named_are_measured_in_a_smaller_reproduction_too() -> None:
    plan = Plan.of(find_study("lsm02"), ReproduceOptions(quick=True, kernel=["6.12"]), [])
    assert plan.experiments["lmbench"].kernels == ["built:6.12-dac", "built:6.12-lsm-all"]
    assert plan.experiments["lmbench"].boots == 2


@pytest.mark.parametrize(
    ("claim", "why", "said"),
    [
        (
            "compile-least-on-ext4",
            "workstation/compile: not measured under capability on 6.1 xfs root",
            "--quick leaves xfs out of part workstation",
        ),
        ("compilebench-xfs-loses", "", "--quick leaves xfs out of part workstation"),
        (
            "html-kernel-load-higher",
            "web-sweep/static concurrency=8: not measured under capability on 6.1 ext4 root",
            "--quick leaves web-sweep/static concurrency=8 out of part static",
        ),
        # What the smaller size has as well is missing for another reason.
        (
            "html-kernel-load-higher",
            "web-sweep/static concurrency=1: not measured under capability on 6.1 ext4 root",
            "",
        ),
    ],
)
def test_what_a_smaller_size_leaves_out_of_a_claim_is_said(claim: str, why: str, said: str) -> None:
    study = find_study("thesis15")
    (found,) = (item for item in study.claims if item.id == claim)
    assert say_left_out(study, found, why) == said


@pytest.mark.parametrize(
    ("name", "claim", "of_kernels", "said"),
    [
        (
            "thesis15",
            "html-kernel-load-higher",
            True,
            "--quick leaves ext2, xfs out of part static",
        ),
        ("thesis15", "sftp-kernel-load-undecided", True, ""),  # of ext4 alone
        (
            "asiaccs21",
            "selinux-open-above-stat",
            True,
            "--quick leaves 6.12, 7.2, ext4 out of part hooking",
        ),
        (
            "asiaccs21",
            "selinux-open-above-stat",
            False,
            "--quick leaves ext4 out of part hooking",
        ),
        ("asiaccs21", "selinux-stat-30", True, "--quick leaves ext4 out of part hooking"),  # of 6.1
    ],
)
def test_a_claim_that_holds_says_where_a_smaller_size_did_not_look(
    name: str, claim: str, said: str, *, of_kernels: bool
) -> None:
    study = find_study(name)
    (item,) = (item for item in study.claims if item.id == claim)
    places = {Where("6.1", "ext4", "root"): Finding(holds=True, text="6 > 3")}
    found = with_size(study, conclude(item, places), of_kernels=of_kernels)
    assert (found.verdict, found.why) == (Verdict.HOLDS, said)
