# SPDX-License-Identifier: GPL-2.0-or-later
"""The hook that each change of a site is in: by call trees, or by what was counted of services.

Call trees are most of what a run has, and a change needs those of one benchmark: others are not
read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from lsmeter.core.groups import grouped
from lsmeter.core.model import Place, Problem
from lsmeter.core.model.conclusion import Number
from lsmeter.core.progress import SILENT, Progress, shown
from lsmeter.measure.results.directory import read_run
from lsmeter.questions.attribution.account import Account, run_accounts
from lsmeter.questions.attribution.explain import Explanation
from lsmeter.questions.attribution.load import run_cells
from lsmeter.questions.gate.judge import Moved
from lsmeter.questions.publish.figures import Point, Site, Step, name_releases
from lsmeter.questions.workload.figures import KERNEL, Compared, find_workloads
from lsmeter.sources.kernels.functions import base_name

_LEAST_INSNS = 0.5  # of a hook's change that is named
_Key = TypeVar("_Key")


@dataclass(frozen=True)
class Parts:
    """Instructions that a setup adds, by hook ("" outside of hooks) and by function in it."""

    hooks: Mapping[str, float]
    functions: Mapping[tuple[str, str], float]


# What a setup adds to a benchmark, by run, cell and benchmark, and by number.
KnownParts = dict[tuple[Path | None, Place, str], dict[Number, Parts]]


def name_hooks(site: Site, progress: Progress = SILENT) -> Site:
    """Read what was counted beside each change, and name its hook; what is damaged is a problem."""
    sides = [
        (side, step.change.number) for step in site.steps for side in (step.before, step.after)
    ]
    # A point is mostly beside two changes: that to it, and that from it.
    asked = dict.fromkeys((side.hooks[n], side) for side, n in sides if n in side.hooks)
    wanted = grouped(asked)
    parts: KnownParts = {}
    problems: list[Problem] = []
    with shown(progress, "read hooks of changes", len(wanted)) as show:
        for done, (path, points) in enumerate(wanted.items(), 1):
            read, damaged = _read_parts(path, points)
            parts |= read
            problems += damaged
            show(done)
    said = tuple(dict.fromkeys((*site.problems, *problems)))
    return replace(site, steps=move_hooks(site.steps, parts), problems=said)


def move_hooks(steps: Sequence[Step], parts: KnownParts) -> tuple[Step, ...]:
    """Return changes with the hook of each of which both sides' parts are known; pure."""
    return tuple(
        replace(step, moved=_moved(_of(step, step.before, parts), _of(step, step.after, parts)))
        for step in steps
    )


def _read_parts(path: Path, points: Sequence[Point]) -> tuple[KnownParts, list[Problem]]:
    run = read_run(path)
    found = [point.found for point in points]
    wanted = grouped(
        (place, item.benchmark.id) for item in found for place in (item.place, item.baseline)
    )
    cells, damaged = run_cells(run, wanted)
    accounts = {item.place: item for item in run_accounts(cells, run.manifest.baseline_setup)}
    parts: KnownParts = {
        (path, item.place, item.benchmark.id): _parts_of(accounts[item.place], item.benchmark.id)
        for item in found
        if item.place in accounts
    }
    for item in find_workloads(run).compared:
        key = path, item.tested.place, item.tested.benchmark.id
        parts[key] = {Number.MEAN: _service_parts(item)}
    return parts, list(name_releases(run.manifest, damaged))


def _service_parts(item: Compared) -> Parts:
    before, after = item.baseline.in_hooks(insns=True), item.tested.in_hooks(insns=True)
    added = {f"security_{name}": insns for name, insns in _differences(before, after).items()}
    total = item.tested.mean(KERNEL) - item.baseline.mean(KERNEL)
    return Parts({**added, "": total - math.fsum(added.values())}, {})


def _parts_of(account: Account, benchmark: str) -> dict[Number, Parts]:
    typical = account.typical.benchmarks.get(benchmark)
    kinds = {Number.TYPICAL: typical, Number.MEAN: typical}
    kinds[Number.WHOLE] = account.whole.benchmarks.get(benchmark)
    return {number: _parts(found) for number, found in kinds.items() if found is not None}


def _parts(found: Explanation) -> Parts:
    hooks = grouped((item.hook, item.difference_insns) for item in found.hooks)
    changes = [(item.hook, base_name(item.function), item) for item in found.changes]
    functions = grouped(((hook, name), item.difference_insns) for hook, name, item in changes)
    outside = found.outside_inline_insns + found.outside_deferred_insns
    sums = {name: math.fsum(insns) for name, insns in hooks.items()}
    return Parts({**sums, "": outside}, {key: math.fsum(v) for key, v in functions.items()})


def _of(step: Step, side: Point, parts: KnownParts) -> Parts | None:
    number = step.change.number
    key = side.hooks.get(number), side.found.place, side.found.benchmark.id
    return parts.get(key, {}).get(number)


def _moved(before: Parts | None, after: Parts | None) -> Moved | None:
    """Return the hook, or what is outside of hooks, that changed most, with its function."""
    if before is None or after is None:
        return None
    hooks = _differences(before.hooks, after.hooks)
    hook = max(hooks, key=lambda name: abs(hooks[name]), default="")
    if abs(hooks.get(hook, 0.0)) < _LEAST_INSNS:
        return None
    functions = _differences(before.functions, after.functions)
    inside = {name: insns for (where, name), insns in functions.items() if where == hook}
    function = max(inside, key=lambda name: abs(inside[name]), default="")
    return Moved(hook, hooks[hook], function, inside.get(function, 0.0))


def _differences(before: Mapping[_Key, float], after: Mapping[_Key, float]) -> dict[_Key, float]:
    keys = dict.fromkeys([*before, *after])
    return {key: after.get(key, 0.0) - before.get(key, 0.0) for key in keys}
