# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernels are swept through what, and whose counters are read beside; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lsmeter.errors import UsageError
from lsmeter.model import Cell, DelaySweep, Kernel, Problem, Sampling, Setup
from lsmeter.plan import missing_artifacts, missing_options
from lsmeter.policy import Image
from lsmeter.registry import unknown
from lsmeter.setup import definitions, parse_setup

# The setups that can be made to wait, the better one first: it needs no interpreter between the
# hook and the wait, and labels as well.
SETUPS = ("tunable", "tunable-bpf")

# The setups whose counters are read where none is named.
_LOOKUPS = ("selinux",)
NO_LOOKUPS = "none"

# A counter moves equally far each time, or not: more readings would say nothing new.
_SAMPLING = Sampling(samples=8, warmup=3)
_WHERE = "--lookups"


def plan_cells(
    kernels: Sequence[Kernel], setups: Sequence[str], delays_ns: tuple[int, ...], template: Cell
) -> tuple[tuple[Cell, ...], tuple[Problem, ...]]:
    """Lay out a cell for every kernel and setup; without setups, the first that a kernel has.

    The cells are `template` with kernel, setup and sweep replaced. Raises UsageError for a setup
    that cannot wait. What a kernel was built without gives a Problem.
    """
    for name in setups:
        if name not in SETUPS:
            raise unknown("setup of a sweep", name, SETUPS, where="--setup")
    cells: list[Cell] = []
    problems: list[Problem] = []
    for kernel in kernels:
        missing = {
            name: missing_options(kernel, parse_setup(name))
            for name in dict.fromkeys(setups or SETUPS)
        }
        possible = [name for name, options in missing.items() if not options]
        cells += [
            replace(
                template,
                kernel=kernel,
                setup=parse_setup(name),
                sweep=DelaySweep(name, delays_ns),
            )
            for name in (possible if setups else possible[:1])
        ]
        if setups or not possible:
            problems += [
                Problem(
                    f"{name} cannot be swept on {kernel.name}: "
                    f"the kernel was built without {', '.join(options)}",
                    kernel=kernel.name,
                    setup=name,
                )
                for name, options in missing.items()
                if options
            ]
    return tuple(cells), tuple(problems)


def lookup_setups(names: Sequence[str]) -> tuple[Setup, ...]:
    """Return the setups whose counters are to be read, from the words of a user.

    Raises UsageError for a setup of which no counters are known.
    """
    if NO_LOOKUPS in names:
        return ()
    setups = {setup.name: setup for name in names for setup in [parse_setup(name, where=_WHERE)]}
    for setup in setups.values():
        if not setup.counters:
            known = [name for name, item in definitions().items() if item.setup.counters]
            raise UsageError(
                f"{_WHERE}: {setup.name} has no counters of what it looks up",
                hint=f"these have: {', '.join(sorted(known))}; or {NO_LOOKUPS}",
            )
    return tuple(setups.values())


def plan_lookups(
    kernels: Sequence[Kernel],
    setups: Sequence[Setup],
    template: Cell,
    images: Mapping[str, Image],
) -> tuple[tuple[Cell, ...], tuple[Problem, ...]]:
    """Lay out a cell for every kernel and setup: `template` with both, and with their counters.

    images are those that the setups need, by name. What a kernel has not got gives a Problem.
    """
    cells: list[Cell] = []
    problems: list[Problem] = []
    for kernel in kernels:
        for setup in setups:
            missing = missing_options(kernel, setup) + missing_artifacts(kernel, setup)
            if missing:
                problems.append(
                    Problem(
                        f"what {setup.name} looks up is not known on {kernel.name}: "
                        f"the kernel was built without {', '.join(missing)}",
                        kernel=kernel.name,
                        setup=setup.name,
                    )
                )
                continue
            cells.append(
                replace(
                    template,
                    kernel=kernel,
                    setup=setup,
                    sampling=_SAMPLING,
                    image=images[setup.image] if setup.image else None,
                    read_counters=True,
                )
            )
    return tuple(cells), tuple(problems)


def plan_usual_lookups(
    kernels: Sequence[Kernel], template: Cell
) -> tuple[tuple[Cell, ...], tuple[str, ...]]:
    """Lay out the cells of those look-ups that nobody asked for, where a kernel surely has them.

    Where it has not, that is a note and no problem.
    """
    known = [kernel for kernel in kernels if kernel.config]
    cells, lacking = plan_lookups(known, lookup_setups(_LOOKUPS), template, {})
    unknown = (
        f"what {name} looks up is not known on {kernel.name}: the kernel's options are not known "
        f"({_WHERE} {name} tries)"
        for kernel in kernels
        for name in _LOOKUPS
        if not kernel.config
    )
    return cells, (*(problem.title for problem in lacking), *unknown)
