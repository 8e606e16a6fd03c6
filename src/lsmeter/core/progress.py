# SPDX-License-Identifier: GPL-2.0-or-later
"""How long work says how far it is, without knowing who shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """Receives the state of named tasks; the command line draws them, tests record them."""

    def update(self, task: str, done: float, total: float | None, *, unit: str = "") -> None:
        """Say that `task` has done `done` of `total` (None: not known) in `unit` (B, boots…)."""

    def finish(self, task: str) -> None:
        """Say that `task` has ended, well or badly."""


class Silent:
    """Shows nothing: for callers that have no one to show it to."""

    def update(self, task: str, done: float, total: float | None, *, unit: str = "") -> None:
        """Ignore it."""

    def finish(self, task: str) -> None:
        """Ignore it."""


SILENT: Progress = Silent()


@contextmanager
def shown(
    progress: Progress, task: str, total: float | None = None, unit: str = ""
) -> Iterator[Callable[[float], None]]:
    """Show a task while the block runs, and give the function that says how much of it is done."""

    def show(done: float) -> None:
        progress.update(task, done, total, unit=unit)

    show(0)
    try:
        yield show
    finally:
        progress.finish(task)
