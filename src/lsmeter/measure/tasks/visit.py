# SPDX-License-Identifier: GPL-2.0-or-later
"""Services that already run on a host, under load from another, timed: batches of units."""

from __future__ import annotations

from collections.abc import Mapping

from lsmeter.core.model import Cell
from lsmeter.core.printable import printable
from lsmeter.measure.tasks import TaskKind
from lsmeter.measure.tasks.workload import BATCH_MS, ask_clients, judge, workload_of


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
    ask_clients,  # nothing is started
    costs=True,
    silence_s=BATCH_MS / 1000,
    verify=verify,
    judge=judge,
)
