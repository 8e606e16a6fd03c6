# SPDX-License-Identifier: GPL-2.0-or-later
"""Every part of every study can be planned: its setups and benchmarks are known."""

from __future__ import annotations

import pytest

from lsmeter.catalogue.studies.study import find_study, study_names
from lsmeter.core.model.filesystems import FILESYSTEMS
from lsmeter.guest.probe import catalogue, find_probe
from lsmeter.measure.experiment.options import build_experiment, merge
from lsmeter.measure.experiment.plan import look_up, split_workloads
from lsmeter.questions.reproduce.options_command import ReproduceOptions
from lsmeter.questions.reproduce.parts_command import Plan


@pytest.mark.parametrize("quick", [False, True], ids=["whole", "quick"])
@pytest.mark.parametrize("name", study_names())
def test_setups_and_benchmarks_of_each_part_are_known(name: str, *, quick: bool) -> None:
    study = find_study(name)
    for part, keys in study.parts.items():
        asked = merge(dict(keys), dict(study.quick[part]) if quick else {})
        for item, offer in split_workloads(build_experiment(asked, where=part)):
            setups, benchmarks = look_up(item, offer or catalogue(find_probe()), [*FILESYSTEMS])
            assert setups, part
            assert benchmarks, part


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
