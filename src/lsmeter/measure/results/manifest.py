# SPDX-License-Identifier: GPL-2.0-or-later
"""The manifest of a run: all that its results need to be understood and repeated; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lsmeter.catalogue.setups import one_each, parse_setup
from lsmeter.core.errors import UsageError
from lsmeter.core.model import (
    Benchmark,
    BootId,
    Conditions,
    Kernel,
    Place,
    Problem,
    Sampling,
    Setup,
    Task,
)
from lsmeter.core.model.cell import READINGS
from lsmeter.core.model.setup import Link, make_links
from lsmeter.measure.experiment.plan import Plan, setups_of
from lsmeter.statistics.family import Looks

FORMAT = "lsmeter-run"
VERSION = 3

# The build options that a reader of results may want to see.
_CONFIG_PREFIXES = (
    *("SECURITY", "LSM", "BPF_LSM", "DEFAULT_SECURITY", "INTEGRITY", "IMA", "EVM", "AUDIT"),
    *("CMDLINE", "HZ", "NO_HZ", "PREEMPT", "INIT_ON", "MITIGATION", "CPU_MITIGATIONS"),
    *("PAGE_TABLE", "RETPOLINE", "HARDENED", "SLAB", "CC_VERSION_TEXT", "KASAN", "KCOV"),
    "PROVE_LOCKING",
)


@dataclass(frozen=True)
class ManifestCell:
    """A cell by reference to its kernel and setup."""

    hash: str
    place: Place
    command: tuple[str, ...]  # how its guests are started
    task: Task = READINGS
    warmup: int = 0  # readings before those that count
    sampling: Sampling | None = None  # None of what another program measured
    benchmarks: tuple[str, ...] = ()  # ids, in the order of the catalogue
    conditions: Conditions | None = None


@dataclass(frozen=True)
class Circumstances:
    """Where and how a run is made: what the plan does not know."""

    lsmeter_version: str
    created: str
    command: str
    machine: str
    host: tuple[tuple[str, str], ...]
    tools: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Manifest(Circumstances):
    """What a run set out to do, on which host and with which tools."""

    title: str
    question: str
    instrument: str
    baseline_setup: str
    margin: float
    boots: tuple[BootId, ...]  # that the plan asked for
    sampling: Sampling
    conditions: Conditions
    kernels: tuple[Kernel, ...]
    setups: tuple[Setup, ...]
    cells: tuple[ManifestCell, ...]
    benchmarks: tuple[Benchmark, ...]
    problems: tuple[Problem, ...]
    # What the setups, and those below them, add to which: some may not be part of the run.
    links: tuple[Link, ...] = ()
    looks: Looks | None = None  # of a run that grows until all of its verdicts stand

    def benchmarks_of(self, cell: ManifestCell) -> tuple[Benchmark, ...]:
        """Return the benchmarks that the boots of a cell were asked for."""
        of_suite = (item for item in self.benchmarks if item.suite == cell.place.suite)
        asked = frozenset(cell.benchmarks)
        return tuple(item for item in of_suite if not asked or item.id in asked)


def make_manifest(
    plan: Plan, circumstances: Circumstances, commands: Mapping[str, tuple[str, ...]]
) -> Manifest:
    """Join the plan and its circumstances; commands gives the guest's command by cell hash."""
    experiment = plan.experiment
    kernels = {cell.kernel.name: cell.kernel for cell in plan.cells}
    setups = one_each((f"'{cell.setup.title}'", cell.setup) for cell in plan.cells)
    return Manifest(
        **vars(circumstances),
        title=experiment.title,
        question=experiment.question,
        instrument=experiment.instrument,
        baseline_setup=setups_of(experiment)[0].name,
        margin=experiment.margin,
        boots=tuple(boot.id for boot in plan.boots),
        sampling=experiment.sampling_model(),
        conditions=experiment.conditions_model(),
        kernels=tuple(_shareable(kernel) for kernel in kernels.values()),
        setups=tuple(setups.values()),
        cells=tuple(
            ManifestCell(
                cell.hash,
                cell.place,
                commands[cell.hash],
                cell.task,
                cell.sampling.warmup,
                cell.sampling,
                cell.benchmarks,
                cell.conditions,
            )
            for cell in plan.cells
        ),
        benchmarks=plan.benchmarks,
        problems=plan.problems,
        looks=experiment.looks,
        links=make_links(setups.values(), lambda name: setups.get(name) or _known_setup(name)),
    )


def _known_setup(name: str) -> Setup | None:
    """Return the setup of that name, None where this lsmeter has none."""
    try:
        return parse_setup(name)
    except UsageError:
        return None


def links_of(manifest: Manifest) -> tuple[Link, ...]:
    """Return the manifest's links; one that is older than they are tells by its setups."""
    return manifest.links or make_links(
        manifest.setups, {setup.name: setup for setup in manifest.setups}.get
    )


def _shareable(kernel: Kernel) -> Kernel:
    """Drop what only this machine knows (paths), and the build options that nobody asks for."""
    return replace(
        kernel,
        image=Path(kernel.image.name),
        system_map=None,
        modules=tuple(replace(module, file=Path(module.file.name)) for module in kernel.modules),
        config={
            name: value
            for name, value in kernel.config.items()
            if name.startswith(_CONFIG_PREFIXES)
        },
    )
