# SPDX-License-Identifier: GPL-2.0-or-later
"""Running until the end, or until a signal: what runs may clean up either way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from lsmeter.core.signals import heed_signals


def stopped_early(run: Callable[[], Coroutine[Any, Any, object]]) -> bool:
    """Run to the end; whether Ctrl-C or a termination signal ended it (guests are killed).

    Nothing is raised from a handler between the first signal and the last: an exception in the
    middle of making or closing the event loop would leave it half made.
    """
    asked: list[int] = []
    cancel: list[Callable[[], object]] = []

    def stop(number: int, _frame: object) -> None:
        asked.append(number)
        for wake in cancel:
            wake()

    async def until_stopped() -> None:
        task = asyncio.ensure_future(run())
        loop = asyncio.get_running_loop()
        # Not the loop's own handlers: it would put back the system's, and a late signal would kill.
        cancel.append(lambda: loop.call_soon_threadsafe(task.cancel))
        if asked:
            task.cancel()
        try:
            await task
        finally:
            cancel.clear()

    heed_signals(stop)
    try:
        asyncio.run(until_stopped())
    except asyncio.CancelledError:
        return True
    finally:
        heed_signals()
    return bool(asked)
