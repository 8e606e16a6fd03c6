# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws long work on a terminal, and says it in plain lines where there is none."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from lsmeter.model import Boot, BootStatus

if TYPE_CHECKING:
    from lsmeter.experiment.plan import Plan, PlannedBoot

_QUIET_S = 10.0


class _Live:
    """Bars on a terminal, which vanish at the end."""

    def __init__(self, console: Console, *columns: ProgressColumn) -> None:
        self._console = console
        first = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24))
        self._bars = Progress(*first, *columns, console=console, transient=True)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._bars.stop()


class LiveTasks(_Live):
    """Shows named tasks (downloads, builds): a lsmeter.base.progress.Progress for a terminal."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.percentage:>3.0f} %"), TextColumn("{task.fields[amount]}"))
        super().__init__(console, *columns, TimeRemainingColumn())
        self._tasks: dict[str, TaskID] = {}
        self._said: dict[str, float] = {}

    def update(self, task: str, done: float, total: float | None, *, unit: str = "") -> None:
        """Show how far a task is."""
        amount = _amount(done, total, unit)
        if not self._console.is_terminal:
            now = time.monotonic()
            if now - self._said.get(task, -_QUIET_S) >= _QUIET_S:
                self._said[task] = now
                self._console.print(escape(f"{task}: {amount}"), soft_wrap=True)
            return
        if task not in self._tasks:
            self._tasks[task] = self._bars.add_task(escape(task), total=total, amount=amount)
        self._bars.update(self._tasks[task], completed=done, total=total, amount=amount)

    def finish(self, task: str) -> None:
        """Take a task off the screen."""
        if task in self._tasks:
            self._bars.remove_task(self._tasks.pop(task))


class LiveRun(_Live):
    """Shows a run: boots done of all, time left, and what each guest is at (an Observer).

    failed says that a boot or a benchmark gave no number.
    """

    def __init__(self, console: Console, plan: Plan) -> None:
        super().__init__(console, MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._total = len(plan.boots)
        self._done = 0
        self.failed = False
        self._all = self._bars.add_task("[bold]boots[/]", total=self._total)
        self._guests: dict[PlannedBoot, TaskID] = {}

    def started(self, boot: PlannedBoot) -> None:
        """Show a guest that has been started."""
        self._guests[boot] = self._bars.add_task(
            f"  {escape(_name(boot))}", total=len(boot.cell.benchmarks)
        )

    def advanced(self, boot: PlannedBoot, benchmarks: int) -> None:
        """Show how many benchmarks a guest has finished."""
        self._bars.update(self._guests[boot], completed=benchmarks)

    def ended(self, boot: PlannedBoot, result: Boot, *, reused: bool) -> None:
        """Count a boot, and say in one line if it went wrong."""
        self._done += 1
        self.failed |= result.status is not BootStatus.OK
        self.failed |= any(
            samples.status.value != "ok" or (samples.whole and samples.whole.status.value != "ok")
            for samples in result.samples
        )
        self._bars.update(self._all, completed=self._done)
        if boot in self._guests:
            self._bars.remove_task(self._guests.pop(boot))
        if result.status is not BootStatus.OK:
            self._console.print(
                f"[bold red]{result.status.value}[/] {escape(_name(boot))}: "
                f"{escape(result.detail)}",
                soft_wrap=True,
            )
        elif not self._console.is_terminal:
            how = "from the store" if reused else f"{result.wall_s:.1f} s"
            self._console.print(
                f"boot {self._done}/{self._total}: {escape(_name(boot))}: {how}", soft_wrap=True
            )


def _name(boot: PlannedBoot) -> str:
    cell = boot.cell
    return f"{cell.kernel.name} {cell.setup.name} {cell.filesystem} boot {boot.index}"


def _amount(done: float, total: float | None, unit: str) -> str:
    if unit == "B":
        return f"{done / 1e6:.0f} of {total / 1e6:.0f} MB" if total else f"{done / 1e6:.0f} MB"
    whole = f"/{total:g}" if total else ""
    return f"{done:g}{whole} {unit}".strip()
