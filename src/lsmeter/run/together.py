# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one guest for each cell, several at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from lsmeter.errors import LsmeterError
from lsmeter.model import Cell

T = TypeVar("T")


async def each_cell(
    cells: Sequence[Cell], jobs: int, one: Callable[[Cell], Awaitable[T]]
) -> tuple[T, ...]:
    """Return what `one` gives for each cell, in their order, `jobs` of them at a time.

    An error of lsmeter's own ends the others and is raised as it is.
    """
    room = asyncio.Semaphore(max(1, jobs))

    async def in_turn(cell: Cell) -> T:
        async with room:
            return await one(cell)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(in_turn(cell)) for cell in cells]
    except* LsmeterError as errors:
        raise errors.exceptions[0] from None
    return tuple(task.result() for task in tasks)
