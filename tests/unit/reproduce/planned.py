# SPDX-License-Identifier: GPL-2.0-or-later
"""What the parts of a study measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.model import Benchmark, Setup, Task
from lsmeter.core.model.filesystems import FILESYSTEMS
from lsmeter.guest.probe import catalogue, find_probe
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import PlannedBoot, look_up
from lsmeter.measure.experiment.select import split_workloads
from tests.unit.model_builders import cell


def plan_part(
    part: str, keys: Mapping[str, Any]
) -> Iterator[tuple[Sequence[Setup], Sequence[Benchmark]]]:
    """Yield the setups and the benchmarks of each experiment that a part is split into."""
    offered = catalogue(find_probe())
    for item, offer in split_workloads(build_experiment(dict(keys), where=part), offered):
        yield look_up(item, offer or offered, [*FILESYSTEMS])


def boots_of(part: str, keys: Mapping[str, Any]) -> Iterator[PlannedBoot]:
    """Yield a boot of each suite and workload of a part, of a kernel made up."""
    experiment, usual = build_experiment(dict(keys), where=part), cell(parse_setup("capability"))
    for item, offer in split_workloads(experiment, catalogue(find_probe())):
        task = Task(item.task, workload=offer.workload if offer else None)
        of = replace(usual, task=task, sampling=item.sampling_model())
        yield from (PlannedBoot(replace(of, suite=suite), 0, 0) for suite in item.suites)
