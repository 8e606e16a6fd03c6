# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run counted of a command: in the kernel's modules, by system call and by hook; pure.

Totals, and how setups differ, are those of every other run (`questions/cells`): what `gate` and
`compare` judge is what is shown. `kernel` is what the kernel executes for the command: in its
tasks, in interrupts and in the kernel's threads; the clock's own work is in no number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lsmeter.core.model import BenchmarkStatus, Boot, Place, Problem
from lsmeter.core.model.commands import ALL, USER, Command
from lsmeter.core.model.conclusion import Comparison, Estimate
from lsmeter.measure.results.boots import read_output
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks.exec import NAME, OUTPUT, OUTPUT_BYTES, STATUS, tally_of
from lsmeter.measure.tasks.tally import PLUGIN, DamagedTallyError, Tally
from lsmeter.questions.cells.cells import cell_results, within_run, without_baseline
from lsmeter.statistics.means import mean_by_name

_NO_MODULE = ("other", "framework")


@dataclass(frozen=True)
class Output:
    """What a command said (stdout and stderr), of which `text` is kept, and its exit status."""

    text: str
    bytes: int
    status: str


@dataclass(frozen=True)
class Measured:
    """A command under one setup: means over boots, in instructions; values are those of boots."""

    place: Place
    kernel: tuple[int, ...]
    user: tuple[int, ...]
    modules: Mapping[str, float]
    syscalls: Mapping[str, float]  # calls
    hooks: Mapping[str, tuple[float, float]]  # calls and instructions
    output: Output

    def mean(self, values: Sequence[int]) -> float:
        """Return the mean over boots."""
        return math.fsum(values) / len(values) if values else math.nan


@dataclass(frozen=True)
class Compared:
    """One setup against the baseline: the kernel's part, all, and the control."""

    kernel: Comparison
    all: Comparison | None
    user: Comparison | None


@dataclass(frozen=True)
class Commands:
    """All that a run says of a command."""

    command: Command
    measured: tuple[Measured, ...]
    compared: tuple[Compared, ...]
    comparisons: tuple[Comparison, ...]
    estimates: tuple[Estimate, ...]
    failed: tuple[tuple[Place, Output], ...]  # what commands said that gave no number
    problems: tuple[Problem, ...]


def find_commands(run: RunData) -> Commands:
    """Gather what the boots of a run counted; ValueError for a run without a command."""
    cells = [cell for cell in run.manifest.cells if cell.task.name == NAME]
    command = next((cell.task.command for cell in cells if cell.task.command), None)
    if command is None:
        raise ValueError("the run has no command")
    results = [item for item in cell_results(run) if item.cell.task.name == NAME]
    problems = [problem for item in results for problem in item.problems]
    measured: list[Measured] = []
    failed: list[tuple[Place, Output]] = []
    for result in results:
        tallies: list[Tally] = []
        good = [boot for boot in result.boots if _has_number(boot, command)]
        for boot in good:
            try:
                tallies.append(tally_of({PLUGIN: read_output(run.folder(boot), PLUGIN) or b""}))
            except DamagedTallyError as error:
                place = result.cell.place
                title = f"boot {boot.index}: what was counted by module and hook {error}"
                problems.append(Problem(title, place.kernel, place.setup, suite=place.suite))
        if good:
            measured.append(_measured(result.cell.place, good, tallies, command))
        elif result.boots:
            failed.append((result.cell.place, _output(result.boots[0])))
    comparisons = within_run(run.manifest, results)
    return Commands(
        command,
        tuple(measured),
        tuple(_by_setup(comparisons)),
        tuple(comparisons),
        tuple(item for result in results for item in result.estimates),
        tuple(failed),
        (*run.manifest.problems, *problems, *without_baseline(run.manifest, results)),
    )


def _has_number(boot: Boot, command: Command) -> bool:
    return boot.status.usable and any(
        item.benchmark == command.name and item.status is BenchmarkStatus.OK
        for item in boot.samples
    )


def _by_setup(comparisons: Sequence[Comparison]) -> Sequence[Compared]:
    parts: dict[Place, dict[str, Comparison]] = {}
    for item in comparisons:
        part = str(dict(item.benchmark.params).get("part", ""))
        parts.setdefault(item.place, {})[part] = item
    return [
        Compared(found[""], found.get(ALL), found.get(USER))
        for found in parts.values()
        if "" in found
    ]


def _measured(
    place: Place, boots: Sequence[Boot], tallies: Sequence[Tally], command: Command
) -> Measured:
    kernel, _, user = (
        tuple(
            value
            for boot in boots
            for item in boot.samples
            if item.benchmark == name
            for value in item.values
        )
        for name in command.benchmarks
    )
    calls, insns, modules = (
        mean_by_name([tally.by_name(of) for tally in tallies]) for of in ("calls", "hook", "kernel")
    )
    return Measured(
        place,
        kernel,
        user,
        {name: count for name, count in modules.items() if name not in _NO_MODULE},
        mean_by_name([tally.syscalls() for tally in tallies]),
        {name: (count, insns.get(name, 0.0)) for name, count in sorted(calls.items())},
        _output(boots[0]),
    )


def _output(boot: Boot) -> Output:
    """Put together what a command said, of the facts that hold it."""
    facts = dict(boot.facts)
    pieces = (facts[key] for key in sorted(facts) if key.startswith(OUTPUT))
    said = facts.get(OUTPUT_BYTES, "")
    size = int(said) if said.isascii() and said.isdecimal() and len(said) < 19 else 0
    return Output("".join(pieces), size, facts.get(STATUS, ""))
