# SPDX-License-Identifier: GPL-2.0-or-later
"""What a boot can be asked to do: one file each; here is what each says of itself."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lsmeter.core import registry
from lsmeter.core.model import Cell, Samples, Sampling


@dataclass(frozen=True)
class TaskKind:
    """One kind of task.

    title says in a few words what a boot does. request returns the fields of the guest's request
    that it sets. needs are kernel options without which it cannot be done, modules those that its
    guests load, setups the only ones that can do it (empty: all). sampling replaces the
    experiment's, icount_shift the usual clock. plugin names the one that the machine has to run
    with, and its output; also are further outputs that this plugin is asked for. costs says that
    its samples are costs, which setups are compared by. silence_s is how long a guest may report
    nothing. verify returns one line for each way in which a guest's facts are not what was asked,
    judge the samples of a benchmark as failed where what was said of them is; derive returns, of a
    boot's samples and its plugin's outputs, the samples that it is stored with.
    """

    name: str
    title: str
    request: Callable[[Cell], Mapping[str, Any]] = lambda _: {}
    needs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    setups: tuple[str, ...] = ()
    sampling: Sampling | None = None
    icount_shift: int | None = None
    plugin: str = ""
    also: tuple[str, ...] = ()
    costs: bool = False
    silence_s: float = 0.0
    verify: Callable[[Cell, Mapping[str, str]], tuple[str, ...]] = lambda *_: ()
    judge: Callable[[Cell, Samples], Samples] = lambda _, samples: samples
    derive: Callable[[Cell, Mapping[str, bytes], tuple[Samples, ...]], tuple[Samples, ...]] = (
        lambda *of: of[-1]
    )


@functools.cache
def kinds() -> Mapping[str, TaskKind]:
    """Return all kinds of tasks by name."""
    found = registry.members("lsmeter.measure.tasks", "TASK", TaskKind)
    return {kind.name: kind for kind in found}


def cost_tasks() -> frozenset[str]:
    """Return the names of the tasks whose samples are costs."""
    return frozenset(kind.name for kind in kinds().values() if kind.costs)


def find_task(name: str, *, where: str = "task") -> TaskKind:
    """Return the task called `name`; UsageError names the known ones when there is none."""
    return registry.find("task", name, kinds(), where=where)
