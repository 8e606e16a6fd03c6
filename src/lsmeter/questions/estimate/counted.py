# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads that lsmeter counted, as system-call profiles with what setups added to them; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lsmeter.core.errors import UsageError
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.estimate.profiles.hooked import with_hooks
from lsmeter.questions.estimate.profiles.model import Calls, Profile, added
from lsmeter.questions.estimate.profiles.proxies import proxies
from lsmeter.questions.workload.figures import KERNEL, Measured, find_workloads


@dataclass(frozen=True)
class Counted:
    """A workload that lsmeter counted: its profile for a unit, and what setups cost it then."""

    workload: str
    benchmark: str
    unit: str
    kernel: str
    baseline: str
    baseline_insns: float
    profile: Profile
    added_insns: Mapping[str, float]  # by setup


def counted(run: RunData) -> tuple[Counted, ...]:
    """Return the profiles of the workloads that a run counted under its baseline, for a unit each.

    UsageError for a run that has none: of another task, or of a version that did not count calls.
    """
    if not any(cell.task.name == "workload" for cell in run.manifest.cells):
        raise UsageError(
            f"--profile: {run.path}: no workload was counted in it",
            hint="count one: lsmeter run --suite web-nginx; or name a file of strace or perf",
        )
    found = find_workloads(run).measured
    base = run.manifest.baseline_setup
    profiles = [_counted(item, found) for item in found if item.place.setup == base]
    named = [item for item in profiles if item.profile.calls]
    if not named:
        raise UsageError(
            f"--profile: {run.path}: it has no system calls by name",
            hint="measure again: the same command with --fresh",
        )
    return tuple(named)


def _counted(base: Measured, found: Iterable[Measured]) -> Counted:
    table = proxies()
    calls = added(Calls(table.name(name), count) for name, count in base.in_calls().items())
    names = frozenset(item.name for item in calls)
    profile = Profile("counted by lsmeter", calls, unit=base.unit, errors_unknown=names)
    key = (base.place.beside, base.benchmark.id)
    others = [item for item in found if (item.place.beside, item.benchmark.id) == key]
    added_insns = {
        item.place.setup: item.mean(KERNEL) - base.mean(KERNEL)
        for item in others
        if item is not base
    }
    return Counted(
        base.place.suite,
        base.benchmark.id,
        base.unit,
        base.place.kernel,
        base.place.setup,
        base.mean(KERNEL),
        with_hooks(profile, base.in_hooks()),
        added_insns,
    )
