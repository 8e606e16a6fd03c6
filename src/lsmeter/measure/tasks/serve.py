# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that runs the clients of a workload for the guest that has its services."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lsmeter.core.model import Cell, Sampling, Setup, Task
from lsmeter.core.model.arch import MEMORY_DISK
from lsmeter.measure.tasks import TaskKind

NAME = "serve"
_WAIT_MS = 3_600_000  # of guest time: it is ended as soon as the other guest has
# The client is the same whatever the server runs under.
_SETUP = Setup(name="client", title="no policy", lsms=("capability",))


def serving(cell: Cell) -> Cell:
    """Return the cell of the guest that has the clients of `cell`."""
    return replace(
        cell,
        setup=_SETUP,
        benchmarks=(NAME,),
        filesystem="tmpfs",
        sampling=Sampling(samples=1, warmup=0, whole_ppm=0),
        task=Task(NAME, workload=cell.task.workload),
    )


def request(cell: Cell) -> Mapping[str, Any]:
    """Ask for a program that runs, until the guest is ended, what the other guest tells it to."""
    agent = ("/usr/bin/nsenter", "--net=/run/netns/client", "/usr/lib/lsmeter/agent")
    return {
        "prepare": (("/usr/lib/lsmeter/network", "client"),),
        "clients": tuple((name, "1", "client", *agent) for name in cell.benchmarks),
        "benchmark_deadline_ms": _WAIT_MS,
    }


TASK = TaskKind(
    NAME,
    "the clients of services in another guest",
    request,
    modules=(MEMORY_DISK,),
)
