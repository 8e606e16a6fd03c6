# SPDX-License-Identifier: GPL-2.0-or-later
"""Services that already run on a host, under load from another, timed: batches of units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lsmeter.core.model import Cell
from lsmeter.core.printable import printable
from lsmeter.measure.tasks import TaskKind
from lsmeter.measure.tasks.workload import judge, workload_of

_BATCH_MS = 300_000


def request(cell: Cell) -> Mapping[str, Any]:
    """Ask for a client for each benchmark, once the services answer; nothing is started."""
    workload = workload_of(cell)
    batches = {batch.benchmark: batch for batch in workload.batches}
    return {
        "ready": tuple(item.ready for item in workload.services),
        "asks": tuple((item.name, *item.ask) for item in workload.denials),
        "clients": tuple(
            (name, str(batches[name].units), batches[name].account, *batches[name].client)
            for name in cell.benchmarks
        ),
        "monitor_ms": cell.task.monitor_ms,
        "benchmark_deadline_ms": _BATCH_MS,
    }


def verify(cell: Cell, facts: Mapping[str, str]) -> tuple[str, ...]:
    """Return how the services answer otherwise than the workload's checks say."""
    return tuple(
        f"check {item.name}: expected '{item.allowed}', the client was told '{printable(said)}'"
        for item in workload_of(cell).denials
        if (said := facts.get(f"ask.{item.name}", "nothing")[:200]) != item.allowed
    )


TASK = TaskKind(
    "visit",
    "services that run already, under load from another host, timed",
    request,
    costs=True,
    silence_s=_BATCH_MS / 1000,
    verify=verify,
    judge=judge,
)
