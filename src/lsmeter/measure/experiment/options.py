# SPDX-License-Identifier: GPL-2.0-or-later
"""What a person asks for: an experiment as a TOML file, with the command line's words over it.

Names are checked here for their form only; kernels, setups and benchmarks are looked up by the
plan. Every error names the file, the key, what was expected and the nearest valid name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lsmeter.core.errors import UsageError
from lsmeter.core.model import MAX_COPIES, Benchmark, Conditions, Sampling, Task
from lsmeter.core.model.arch import arch_of_host, find_arch, with_arch
from lsmeter.core.model.workload import Client
from lsmeter.core.toml_file import read_toml, wrong_key
from lsmeter.measure.instruments import DEFAULT, Instrument, find_instrument
from lsmeter.measure.tasks import cost_tasks, find_task
from lsmeter.statistics.family import FIRST, Looks

MAX_MARGIN = 10.0
MAX_SHIFT = 10  # of the clock: a guest of 1 us an instruction
Name = Annotated[str, Field(min_length=1, max_length=400)]
Copies = Annotated[int, Field(ge=1, le=MAX_COPIES)] | Literal["cpus"]
Names = Annotated[list[Name], Field(min_length=1, max_length=200)]


# The main experiment (experiments/main.toml): what is asked where nothing is said.
MAIN = {
    "title": "What each Linux Security Module costs on each file operation",
    "question": "Debian's 6.1 cloud kernel, every module that it has, no policy loaded: how many "
    "instructions does it cost to have the module's hooks called on each file operation, compared "
    "with capabilities only?",
}
MAIN_SETUPS = ("capability", "selinux", "apparmor", "tomoyo", "landlock", "bpf", "distribution")
_FACTORS = (
    *("kernels", "arches", "setups", "baseline", "suites", "benchmarks", "filesystems", "users"),
    *("copies", "image", "instrument"),
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class SamplingTable(_Strict):
    """The `[sampling]` table."""

    samples: int = Field(Sampling.samples, ge=1, le=100_000)
    warmup: int = Field(Sampling.warmup, ge=0, le=100_000)
    cold: bool = Sampling.cold
    whole_ppm: int = Field(Sampling.whole_ppm, ge=0, le=1_000_000)


class ConditionsTable(_Strict):
    """The `[conditions]` table: what changes counts without being the security setup."""

    mitigations: Literal["off", "auto", "immune", "retpoline", "retpoline+pti", "forced"] = "off"
    init_on_alloc: bool = Conditions.init_on_alloc
    tick: Literal["nohz", "periodic"] = "nohz"
    slabs: Literal["default", "single"] = "default"
    memcg: bool = Conditions.memcg
    lsms: str = Field(Conditions.lsms, pattern=r"^([a-z0-9_]+(,[a-z0-9_]+)*)?$")
    icount_shift: int = Field(Conditions.icount_shift, ge=0, le=MAX_SHIFT)
    cpu: str = Field(Conditions.cpu, pattern=r"^[A-Za-z0-9_.,+=-]{1,200}$")
    memory_mib: int = Field(Conditions.memory_mib, ge=128, le=65536)


class Experiment(_Strict):
    """One experiment: factors (kernels, setups, file systems, users, copies), and how to measure.

    arches are those of each kernel that exists for several (debian:6.1); none: this machine's.

    copies are how many processes do the same at once; "cpus": as many as the machine has CPUs.
    margin is the overhead, as a fraction, below which two costs count as equivalent. A run until
    its verdicts stand begins with `boots` blocks, and has blocks_max at most; after minutes_max
    (0: no bound) it goes on with no more.
    """

    title: str = Field("", max_length=200)
    question: str = Field("", max_length=4000)
    kernels: Names = ["debian:6.1"]
    arches: Names = []
    setups: Names = [*MAIN_SETUPS]
    baseline: Name | None = None
    suites: Names = ["file"]
    benchmarks: Names = ["*"]
    filesystems: Names = ["tmpfs"]
    users: Annotated[list[Literal["root", "user"]], Field(min_length=1)] = ["root"]
    copies: Annotated[list[Copies], Field(min_length=1, max_length=20)] = [1]
    image: Name | None = None
    client: Client = "namespace"
    instrument: Name = DEFAULT
    machine: Name | None = None
    task: Name = "readings"
    delays_ns: list[int] = []
    monitor_ms: int = Field(0, ge=0, le=10_000)
    boots: int = Field(2, ge=1, le=1000)
    until_conclusive: bool = False
    blocks_max: int = Field(200, ge=2, le=1000)
    minutes_max: int = Field(0, ge=0, le=100_000)
    seed: int = Field(42, ge=0, le=2**31)
    margin: float = Field(0.01, ge=0.0, le=MAX_MARGIN, strict=False)
    sampling: SamplingTable = SamplingTable()
    conditions: ConditionsTable = ConditionsTable()

    @property
    def baseline_setup(self) -> str:
        """The setup that the others are compared with: dac where it is asked for, or capability.

        A task that compares no costs has the first of its own instead.
        """
        named = [name for name in ("dac", "capability") if name in self.setups]
        otherwise = "capability" if self.task in cost_tasks() else self.setups[0]
        return self.baseline or (*named, otherwise)[0]

    @property
    def own_benchmarks(self) -> tuple[Benchmark, ...]:
        """Benchmarks that no catalogue has."""
        return ()

    @property
    def counted_copies(self) -> list[int]:
        """How many copies, where the machine's CPUs are known: see with_copies."""
        return [item for item in self.copies if isinstance(item, int)]

    def sampling_model(self) -> Sampling:
        """Return the sampling as the model's type."""
        return find_task(self.task).sampling or Sampling(**self.sampling.model_dump())

    @property
    def looks(self) -> Looks | None:
        """When a run that grows is looked at; None where it does not grow."""
        return Looks(self.boots, self.blocks_max) if self.until_conclusive else None

    def conditions_model(self) -> Conditions:
        """Return the conditions as the model's type."""
        return Conditions(**vars(self.conditions))

    def task_model(self, setup: str) -> Task:
        """Return what the boots of a setup are asked to do."""
        if not self.delays_ns:
            return Task(self.task, monitor_ms=self.monitor_ms)
        return Task(self.task, control=setup, delays_ns=tuple(self.delays_ns))


def read_experiment(path: Path) -> dict[str, Any]:
    """Read a TOML file into plain data; raise UsageError that names the file and the place."""
    return read_toml(
        path,
        "an experiment file",
        hint="lsmeter help experiments shows one; without a file the main experiment is run",
        missing="no such experiment file",
    )


def build_experiment(data: dict[str, Any], *, where: str) -> Experiment:
    """Check plain data (a file's, with the command line's words over it) into an Experiment."""
    try:
        found = Experiment.model_validate(data)
    except ValidationError as error:
        hint = "every key with its type: lsmeter help experiments"
        raise wrong_key(error, Experiment, where=where, hint=hint) from None
    instrument = find_instrument(found.instrument, where=f"{where}: instrument")
    if not instrument.machines:
        what = f"{where}: instrument: nothing is measured with '{found.instrument}'"
        raise UsageError(what, hint="it is of numbers that other programs printed: lsmeter import")
    find_task(found.task, where=f"{where}: task")
    arches = [find_arch(name, where=f"{where}: arches") for name in found.arches]
    # One that exists for several architectures has its own.
    each = (with_arch(name, arch) for name in found.kernels for arch in arches or [arch_of_host()])
    kernels = [*dict.fromkeys(each)]
    named = set(found.model_fields_set)
    found = found.model_copy(update={"arches": [item.name for item in arches], "kernels": kernels})
    # A copy counts what it was given as named; a machine as it runs refuses a kernel by name.
    found.model_fields_set.intersection_update(named)
    return _as_usual(found, instrument, where)


def _as_usual(asked: Experiment, instrument: Instrument, where: str) -> Experiment:
    """Return the experiment with what its instrument asks for where nothing is said."""
    if instrument.tasks and asked.task not in instrument.tasks:
        raise UsageError(
            f"{where}: the instrument {instrument.name} cannot do the task {asked.task}",
            hint=f"the exact one can; {instrument.name} does {', '.join(instrument.tasks)}",
        )
    if asked.copies != [1]:
        _check_copies(asked, instrument, where)
    said = asked.sampling.model_dump(exclude_unset=True)
    if said.get("whole_ppm") and not instrument.sampling.whole_ppm:
        raise UsageError(
            f"{where}: sampling.whole_ppm: the instrument {instrument.name} has no whole costs",
            hint="leave it out, or use the exact instrument",
        )
    # What was not said stays so for those who replace it.
    usual = SamplingTable.model_construct(set(said), **{**vars(instrument.sampling), **said})
    boots = asked.boots if "boots" in asked.model_fields_set else instrument.boots
    if asked.until_conclusive:
        boots = _first_look(asked, instrument, where)
    return asked.model_copy(update={"sampling": usual, "boots": boots})


def _check_copies(asked: Experiment, instrument: Instrument, where: str) -> None:
    """Raise UsageError where a benchmark cannot be run several times at once."""
    if not instrument.ticks or asked.task != "readings":
        raise UsageError(
            f"{where}: copies: instructions are counted on one processor, so one copy at a time",
            hint="add --instrument timed, or leave it out",
        )
    if asked.sampling.cold:
        raise UsageError(
            f"{where}: copies: cold readings drop the caches of all copies",
            hint="leave out --cold, or the copies",
        )


def with_copies(asked: Experiment, cpus: int) -> Experiment:
    """Return the experiment for a machine with so many CPUs, where each copy has one of its own."""
    copies = [cpus if item == "cpus" else item for item in asked.copies]
    if (most := max(copies)) > cpus:
        raise UsageError(
            f"--copies {most}: there are {cpus} CPUs, and each copy has one of its own",
            hint="--copies cpus is as many as there are",
        )
    return asked.model_copy(update={"copies": [*dict.fromkeys(copies)]})


def _first_look(asked: Experiment, instrument: Instrument, where: str) -> int:
    """Return the blocks with which a run begins that grows; UsageError where it cannot grow."""
    if not instrument.words.interval:
        raise UsageError(
            f"{where}: until_conclusive: counts of the instrument {instrument.name} have no noise",
            hint="add --instrument timed, or leave it out",
        )
    boots = asked.boots if "boots" in asked.model_fields_set else min(FIRST, asked.blocks_max - 1)
    if boots >= asked.blocks_max:
        raise UsageError(
            f"{where}: blocks_max is {asked.blocks_max}, and the run begins with {boots}",
            hint="name more for --blocks-max, or fewer for --boots",
        )
    return boots


def is_main(data: dict[str, Any]) -> bool:
    """Say whether what was said leaves the factors of the main experiment as they are."""
    return not any(data.get(name) for name in _FACTORS)


def merge(data: dict[str, Any], words: dict[str, Any]) -> dict[str, Any]:
    """Lay the command line's words over a file's data; None means: not said.

    What should be a table and is none stays, to be refused.
    """
    merged = dict(data)
    for key, value in words.items():
        table = merged.get(key, {})
        if not isinstance(value, dict):
            merged |= {} if value is None else {key: value}
        elif isinstance(table, dict):
            merged[key] = merge(table, value)
    return merged
