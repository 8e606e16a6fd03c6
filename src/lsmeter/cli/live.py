# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws long work on a terminal, and says it in plain lines where there is none."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Self

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from lsmeter.cli.console import SCREEN
from lsmeter.cli.console import escaped as escape
from lsmeter.core.model import BenchmarkStatus, Boot, BootStatus
from lsmeter.core.printable import printable
from lsmeter.machines import Machine, Spreads
from lsmeter.measure.run.pace import Pace

if TYPE_CHECKING:
    from lsmeter.measure.experiment.plan import Plan, PlannedBoot

_QUIET_S = 10.0
_GUESS_S = 1.0
_MOST_SHOWN = 12  # guests


class _Bars(Progress):
    """Bars with a line below them, which is asked for whenever they are drawn."""

    below: Callable[[], str] | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the bars, then the line."""
        yield from super().get_renderables()
        if self.below is not None:
            yield Text(f"  {self.below()}")


class _Left(TimeRemainingColumn):
    """What a task still takes, and the word for it; nothing where that is not known."""

    def render(self, task: Task) -> Text:
        """Write the time."""
        text = super().render(task)
        return text.append(" left") if task.time_remaining is not None else Text()


class _Live:
    """Bars on a terminal, which vanish at the end."""

    def __init__(self, console: Console, *columns: ProgressColumn) -> None:
        self._console = console
        first = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24))
        self._drawn = console.is_terminal
        self._bars = _Bars(
            *first, *columns, console=console, transient=True, disable=not self._drawn
        )

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._bars.stop()

    def _say(self, text: str, style: str = "", lead: str = "") -> None:
        """Print a line above what is drawn, or as it is: rich takes long for one of thousands."""
        if self._drawn:
            before = f"[{style}]{lead}[/] " if lead else ""
            self._console.print(f"{before}{escape(text)}", soft_wrap=True)
        elif not self._console.quiet:
            self._console.file.write(f"{lead} {printable(text)}".lstrip() + "\n")


class LiveTasks(_Live):
    """Shows named tasks (downloads, builds): a lsmeter.core.progress.Progress for a terminal."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.percentage:>3.0f} %"), TextColumn("{task.fields[amount]}"))
        super().__init__(console, *columns, _Left())
        self._tasks: dict[str, TaskID] = {}
        self._said: dict[str, float] = {}

    def update(self, task: str, done: float, total: float | None, *, unit: str = "") -> None:
        """Show how far a task is."""
        amount = _amount(done, total, unit)
        if not self._drawn:
            now = time.monotonic()
            if now - self._said.get(task, -_QUIET_S) >= _QUIET_S:
                self._said[task] = now
                self._say(f"{task}: {amount}")
            return
        if task not in self._tasks:
            self._tasks[task] = self._bars.add_task(escape(task), total=total, amount=amount)
        self._bars.update(self._tasks[task], completed=done, total=total, amount=amount)

    def finish(self, task: str) -> None:
        """Take a task off the screen."""
        if task in self._tasks:
            self._bars.remove_task(self._tasks.pop(task))


class LiveRun(_Live):
    """Shows a run: boots done of all, both times, and what each guest is at (an Observer).

    took has the seconds of each boot that was made, and of its start; failed says that a boot or a
    benchmark gave no number. What this kernel, setup or machine cannot do is skipped, which is no
    failure unless the benchmark was named.
    """

    def __init__(
        self,
        console: Console,
        plan: Plan,
        jobs: int,
        known: Collection[PlannedBoot] = (),
        machine: Machine | None = None,
    ) -> None:
        super().__init__(console, MofNCompleteColumn())
        self._total = len(plan.boots)
        self._done = 0
        self.failed = False
        self._spread = machine if isinstance(machine, Spreads) else None
        jobs = min(jobs, self._spread.places) if self._spread else jobs
        self._pace = Pace(plan.boots, jobs, known)
        self._began_s = time.monotonic()
        self._guessed_s = self._began_s
        self._left_s: float | None = None
        self._all = self._bars.add_task("[bold]boots[/]", total=self._total)
        self._bars.below = self.times
        self._guests: dict[PlannedBoot, TaskID] = {}
        self.took: list[tuple[PlannedBoot, float, float]] = []
        self._fine = {BenchmarkStatus.OK}
        if "*" in plan.experiment.benchmarks:  # none was named
            self._fine.add(BenchmarkStatus.SKIPPED)

    def times(self) -> str:
        """Say how long the run has taken, and how long the rest of it takes."""
        now_s = time.monotonic()
        if self._left_s is None or now_s - self._guessed_s >= _GUESS_S:  # looks at all that wait
            self._guessed_s, self._left_s = now_s, self._pace.left_s(now_s)
        left_s = self._left_s
        left = "time left not known yet" if left_s is None else f"about {clock(left_s)} left"
        said = self._spread.said() if self._spread else ""
        workers = f"{said}, " if said else ""
        return f"{workers}{clock(now_s - self._began_s)} elapsed, {left}"

    def started(self, boot: PlannedBoot) -> None:
        """Show a guest that has been started."""
        self._pace.started(boot, time.monotonic())
        if not self._drawn:
            return
        name = escape(_name(boot))
        # What is drawn of many leaves room for the line below.
        shown = len(self._guests) < _MOST_SHOWN
        self._guests[boot] = self._bars.add_task(f"  {name}", total=boot.cell.units, visible=shown)

    def advanced(self, boot: PlannedBoot, benchmarks: int) -> None:
        """Show how many benchmarks a guest has finished."""
        self._pace.advanced(boot, benchmarks, time.monotonic())
        if boot in self._guests:
            self._bars.update(self._guests[boot], completed=benchmarks)

    def damaged(self, boot: PlannedBoot, why: str) -> None:
        """Say that a stored boot cannot be used."""
        self._say(f"{_name(boot)}: measured again: {why}", "yellow", "damaged")

    def noted(self, text: str) -> None:
        """Say what happened to a machine that boots are made on."""
        self._say(text)

    def ended(self, boot: PlannedBoot, result: Boot, *, reused: bool) -> None:
        """Count a boot, and say in one line if it went wrong."""
        start_s = self._pace.ended(boot, time.monotonic())
        self._done += 1
        if result.status is BootStatus.OK and not reused:
            self.took.append((boot, result.wall_s, start_s))
        self.failed |= result.status is not BootStatus.OK
        ends = {samples.status for samples in result.samples}
        ends |= {samples.whole.status for samples in result.samples if samples.whole}
        self.failed |= not ends <= self._fine
        self._bars.update(self._all, completed=self._done)
        if boot in self._guests:
            self._bars.remove_task(self._guests.pop(boot))
        if result.status is not BootStatus.OK:
            self._say(f"{_name(boot)}: {result.detail}", "bold red", result.status.value)
        elif SCREEN.verbose or not self._drawn:
            how = "from the store" if reused else f"{result.wall_s:.1f} s"
            said = f"{_kind(boot)} {self._done}/{self._total}: {_name(boot)}: {how}"
            more = f"; {self.times()}" if self._done < self._total and not reused else ""
            self._say(f"{said}{more}")


def clock(seconds: float) -> str:
    """Write a time: 0:07, 1:12:40."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _name(boot: PlannedBoot) -> str:
    cell = boot.cell
    where = f"{cell.kernel.name} {cell.setup.name} {cell.suite} {cell.filesystem}"
    return f"{where} {_kind(boot)} {boot.index}"


def _kind(boot: PlannedBoot) -> str:
    """Return what is repeated, in the word of the instrument: boot or block."""
    from lsmeter.measure.instruments import find_instrument

    return find_instrument(boot.cell.instrument).words.replicate


def _amount(done: float, total: float | None, unit: str) -> str:
    if unit == "B":
        return f"{done / 1e6:.0f} of {total / 1e6:.0f} MB" if total else f"{done / 1e6:.0f} MB"
    whole = f"/{total:g}" if total else ""
    return f"{done:g}{whole} {unit}".strip()
