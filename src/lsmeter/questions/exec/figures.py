# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run counted of a command: in the kernel's modules, by system call and by hook; pure.

Totals, and how setups differ, are those of every other run (`questions/cells`): what `gate` and
`compare` judge is what is shown. `kernel` is what the kernel executes for the command: in its
tasks, in interrupts and in the kernel's threads; the clock's own work is in no number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from lsmeter.core.groups import grouped
from lsmeter.core.inputs import whole_number
from lsmeter.core.model import Boot, Place, Problem
from lsmeter.core.model.commands import ALL, USER, Command
from lsmeter.core.model.conclusion import Comparison, Estimate
from lsmeter.measure.results.boots import read_output
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks.exec import NAME, OUTPUT, OUTPUT_BYTES, STATUS, tally_of
from lsmeter.measure.tasks.tally import PLUGIN, DamagedTallyError, Tally
from lsmeter.questions.cells.cells import cell_results, compare_results, without_baseline
from lsmeter.questions.workload.figures import NO_MODULE, counted
from lsmeter.statistics.means import mean_by_name

_OF_CALLS = ("errors", "within")
_NO_RESULT = ("rt_sigreturn", "other")  # the interrupted call's; of none that is known


@dataclass(frozen=True)
class Output:
    """What a command said (stdout and stderr), of which `text` is kept, and its exit status."""

    text: str
    bytes: int
    status: str


@dataclass(frozen=True)
class CallCost:
    """A system call of a command: how often, how often in vain, and its kernel instructions.

    errors is None where results could not be read, modules has all instructions by whose code.
    """

    calls: float = 0.0
    errors: float | None = 0.0
    modules: Mapping[str, float] = field(default_factory=dict)

    @property
    def insns(self) -> float:
        """All its instructions."""
        return math.fsum(self.modules.values())

    @property
    def each_insns(self) -> float | None:
        """The same a call; None without calls."""
        return self.insns / self.calls if self.calls else None


@dataclass(frozen=True)
class Added:
    """What a setup adds to a system call: in instructions, also in the code of each module."""

    name: str
    cost: CallCost
    each_insns: float | None
    insns: float
    modules: Mapping[str, float]


@dataclass(frozen=True)
class Measured:
    """A command under one setup: means over boots, in instructions; values are those of boots.

    Of a run directory from elsewhere user may be empty.
    """

    place: Place
    kernel: tuple[int, ...]
    user: tuple[int, ...]
    code: Mapping[str, float]  # all kernel instructions by whose code
    syscalls: Mapping[str, CallCost]
    hooks: Mapping[str, tuple[float, float]]  # calls and instructions
    output: Output

    @property
    def outside(self) -> CallCost:
        """What the kernel executes in no system call: page faults, new tasks, interrupts."""
        inside = _sums(item.modules for item in self.syscalls.values())
        return CallCost(
            errors=None,
            modules={name: of - inside.get(name, 0.0) for name, of in self.code.items()},
        )

    @property
    def modules(self) -> Mapping[str, float]:
        """The kernel instructions inside the code of security modules."""
        return {name: of for name, of in self.code.items() if name not in NO_MODULE}

    @property
    def kernel_insns(self) -> float:
        """The kernel's part, mean over boots."""
        return fmean(self.kernel)


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


def _sums(each: Iterable[Mapping[str, float]]) -> dict[str, float]:
    found = grouped(pair for item in each for pair in item.items())
    return {name: sum(values) for name, values in found.items()}


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
    comparisons = compare_results(run.manifest, results)
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
        item.benchmark == command.name and item.usable for item in boot.samples
    )


def _by_setup(comparisons: Sequence[Comparison]) -> Iterator[Compared]:
    for mine in grouped((item.place, item) for item in comparisons).values():
        parts = {dict(item.benchmark.params).get("part", ""): item for item in mine}
        if "" in parts:
            yield Compared(parts[""], parts.get(ALL), parts.get(USER))


def _measured(
    place: Place, boots: Sequence[Boot], tallies: Sequence[Tally], command: Command
) -> Measured:
    values = grouped(
        (item.benchmark, value) for boot in boots for item in boot.samples for value in item.values
    )
    kernel, _, user = (tuple(values.get(name, ())) for name in command.benchmarks)
    modules, hooks = counted(tallies)
    return Measured(place, kernel, user, modules, _syscalls(tallies), hooks, _output(boots[0]))


def _syscalls(tallies: Sequence[Tally]) -> dict[str, CallCost]:
    calls = mean_by_name([tally.syscalls() for tally in tallies])
    errors, within = (mean_by_name([tally.by_call(of) for tally in tallies]) for of in _OF_CALLS)
    known = all(tally.errors_known for tally in tallies)
    modules: dict[str, dict[str, float]] = {name: {} for name in calls}
    for key, insns in within.items():
        name, _, module = key.partition("/")
        modules.setdefault(name, {})[module] = insns
    return {
        name: CallCost(
            calls.get(name, 0.0),
            errors.get(name, 0.0) if known and name not in _NO_RESULT else None,
            found,
        )
        for name, found in modules.items()
    }


def added_by_call(base: Measured, item: Measured) -> list[Added]:
    """Return what a setup adds to each system call over another, the largest change first."""
    names = base.syscalls.keys() | item.syscalls.keys()
    pairs = {
        name: (base.syscalls.get(name, CallCost()), item.syscalls.get(name, CallCost()))
        for name in names
    }
    found = [_added(name, *pair) for name, pair in pairs.items()]
    found.sort(key=lambda row: (-abs(row.insns), -row.cost.insns, row.name))
    return [*found, _added("outside of calls", base.outside, item.outside)]


def _added(name: str, old: CallCost, new: CallCost) -> Added:
    each = (old.each_insns, new.each_insns)
    modules = {
        of: new.modules.get(of, 0.0) - old.modules.get(of, 0.0)
        for of in sorted(old.modules.keys() | new.modules.keys())
    }
    known = each[1] - each[0] if each[0] is not None and each[1] is not None else None
    return Added(name, new, known, new.insns - old.insns, modules)


def together(name: str, rows: Sequence[Added]) -> Added:
    """Return what several system calls take together."""
    cost = CallCost(errors=None, modules=_sums(row.cost.modules for row in rows))
    added = math.fsum(row.insns for row in rows)
    return Added(name, cost, None, added, _sums(row.modules for row in rows))


def _output(boot: Boot) -> Output:
    """Put together what a command said, of the facts that hold it."""
    facts = dict(boot.facts)
    pieces = (facts[key] for key in sorted(facts) if key.startswith(OUTPUT))
    size = whole_number(facts.get(OUTPUT_BYTES, "")) or 0
    return Output("".join(pieces), size, facts.get(STATUS, ""))
