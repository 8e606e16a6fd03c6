# SPDX-License-Identifier: GPL-2.0-or-later
"""Which benchmarks an experiment has: by its patterns, and those of each of its workloads."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence

from lsmeter.catalogue.workloads import Offer, is_workload, load_workload, workload_names
from lsmeter.core.errors import UsageError
from lsmeter.core.model import Benchmark
from lsmeter.core.model.filesystems import FILESYSTEMS
from lsmeter.core.registry import unknown
from lsmeter.measure.experiment.options import ConditionsTable, Experiment
from lsmeter.measure.instruments import find_instrument
from lsmeter.measure.tasks import find_task


def split_workloads(
    experiment: Experiment, catalogue: Sequence[Benchmark]
) -> Iterator[tuple[Experiment, Offer | None]]:
    """Give the suites of an experiment that the probe has, then each of its workloads.

    Benchmarks that are named with their suite go to it alone, others to each that has such; a part
    without any is left out. catalogue is what the probe has.
    """
    parts = [(*part, _named_in(*part, catalogue)) for part in _split(experiment)]
    known = {name for _, _, named in parts for name in named}
    for item, offer, named in parts:
        mine = [name for name in item.benchmarks if name in named or name not in known]
        if mine:
            yield item.model_copy(update={"benchmarks": mine}), offer


def _named_in(
    experiment: Experiment, offer: Offer | None, catalogue: Sequence[Benchmark]
) -> frozenset[str]:
    """Return which of an experiment's benchmarks are of its suites, by a pattern's words."""
    every = offer.benchmarks if offer else catalogue
    mine = [item for item in every if item.suite in experiment.suites]
    return frozenset(
        name
        for name in experiment.benchmarks
        if name.rpartition("/")[0] in experiment.suites
        or any(_is_named(item, name) for item in mine)
    )


def _split(experiment: Experiment) -> Iterator[tuple[Experiment, Offer | None]]:
    suites = [name for name in experiment.suites if not is_workload(name)]
    if suites == experiment.suites and experiment.monitor_ms:
        raise UsageError(
            "--monitor: there is no workload among the suites",
            hint="name one, as in --suite web: lsmeter list suites",
        )
    if suites and experiment.client != "namespace":
        raise UsageError(
            f"--client {experiment.client}: the suite {suites[0]} has no client",
            hint="only workloads have one: --suite web",
        )
    if suites:
        yield experiment.model_copy(update={"suites": suites, "monitor_ms": 0}), None
    for name in experiment.suites:
        if is_workload(name):
            offer = load_workload(name)
            if experiment.copies != [1]:
                raise UsageError(
                    f"--copies: the workload {name} has clients of its own",
                    hint="leave --copies out, or the workload",
                )
            if not offer.workload.services and experiment.client not in {"namespace", "host"}:
                raise UsageError(
                    f"--client {experiment.client}: the suite {name} has no server",
                    hint="it runs in one guest: leave --client out",
                )
            _check_disk(experiment, offer)
            kind = find_instrument(experiment.instrument).workload_task
            kind = "visit" if experiment.client == "host" else kind
            alone = {
                "task": kind,
                "suites": [offer.workload.name],
                "users": ["root"],
                "baseline": experiment.baseline_setup,
                "conditions": _usual(experiment.conditions, kind),
            }
            yield experiment.model_copy(update=alone), offer


def _check_disk(experiment: Experiment, offer: Offer) -> None:
    """Refuse to run a workload with a disk of its own where there would be none."""
    name = offer.workload.name
    if not offer.workload.disk_us:
        return
    if experiment.client != "namespace":
        raise UsageError(
            f"--client {experiment.client}: clients of the workload {name} look at its disk",
            hint="they run in the server's guest: leave --client out",
        )
    for word in experiment.filesystems:
        if word in FILESYSTEMS and not FILESYSTEMS[word].on_disk:
            raise UsageError(
                f"--filesystem {word}: the workload {name} needs one on a disk",
                hint="--filesystem ext4",
            )


def _usual(said: ConditionsTable, kind: str) -> ConditionsTable:
    """Return the conditions with the clock that is usual for a task, unless one was asked for."""
    shift = find_task(kind).icount_shift
    if shift is None or "icount_shift" in said.model_fields_set:
        return said
    return said.model_copy(update={"icount_shift": shift})


def select_benchmarks(
    catalogue: Sequence[Benchmark],
    suites: Sequence[str],
    patterns: Sequence[str],
    *,
    controls: bool,
) -> tuple[Benchmark, ...]:
    """Return the benchmarks of `suites` whose id or operation matches one of the patterns.

    SUITE/PATTERN is one of this suite alone: several may have the same name.
    controls: with those that no setup may change, which show that the numbers can be trusted.
    """
    known = {benchmark.suite for benchmark in catalogue}
    for suite in suites:
        if suite not in known:
            raise unknown("suite", suite, {*known, *workload_names()}, where="--suite")
    offered = [benchmark for benchmark in catalogue if benchmark.suite in suites]
    wanted = {benchmark for benchmark in offered if benchmark.control and controls}
    for pattern in patterns:
        found = {item for item in offered if _matches(item, pattern)}
        if not found:
            names = {benchmark.operation for benchmark in offered}
            raise unknown("benchmark", pattern, names, where="--benchmark")
        wanted |= found
    return tuple(benchmark for benchmark in offered if benchmark in wanted)


def is_left_out(item: Benchmark, patterns: Sequence[str], filesystem: str) -> bool:
    """Tell whether a benchmark takes too long for a run of everything on a file system."""
    by_name = any(_matches(item, pattern) for pattern in patterns if pattern != "*")
    return item.populous and filesystem != "tmpfs" and not by_name


def _matches(item: Benchmark, pattern: str) -> bool:
    suite, _, rest = pattern.rpartition("/")
    return _is_named(item, pattern) or (item.suite == suite and _is_named(item, rest))


def _is_named(item: Benchmark, pattern: str) -> bool:
    return item.operation == pattern or fnmatch.fnmatchcase(item.id, pattern)
