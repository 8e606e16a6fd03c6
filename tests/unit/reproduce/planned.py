# SPDX-License-Identifier: GPL-2.0-or-later
"""What the parts of a study measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lsmeter.core.model import Benchmark, Setup
from lsmeter.core.model.filesystems import FILESYSTEMS
from lsmeter.guest.probe import catalogue, find_probe
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import look_up
from lsmeter.measure.experiment.select import split_workloads


def plan_part(
    part: str, keys: Mapping[str, Any]
) -> Iterator[tuple[Sequence[Setup], Sequence[Benchmark]]]:
    """Yield the setups and the benchmarks of each experiment that a part is split into."""
    offered = catalogue(find_probe())
    for item, offer in split_workloads(build_experiment(dict(keys), where=part), offered):
        yield look_up(item, offer or offered, [*FILESYSTEMS])
