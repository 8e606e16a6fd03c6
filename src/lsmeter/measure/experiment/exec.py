# SPDX-License-Identifier: GPL-2.0-or-later
"""The experiment of a command: its benchmarks are in no catalogue."""

from __future__ import annotations

from dataclasses import replace

from lsmeter.core.model import Benchmark, Metric, Task
from lsmeter.core.model.commands import ALL, SUITE, USER, Command
from lsmeter.measure.experiment.options import Experiment


class CommandExperiment(Experiment):
    """An experiment of which each boot runs a command once."""

    command: Command

    @property
    def own_benchmarks(self) -> tuple[Benchmark, ...]:
        """The kernel's part of the command, all of it, and the control: the user's part."""
        what = {"": "kernel instructions", ALL: "all instructions", USER: "user instructions"}
        return tuple(
            Benchmark(
                suite=SUITE,
                operation=self.command.name,
                params=(("part", part),) if part else (),
                metric=Metric("instructions"),
                title=f"{title}: {self.command.shown}",
                origin="lsmeter",
                control=part == USER,
            )
            for part, title in what.items()
        )

    def task_model(self, setup: str) -> Task:
        """Return what the boots of a setup are asked to do."""
        return replace(super().task_model(setup), command=self.command)
