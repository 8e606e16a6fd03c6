# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernels are swept through what; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lsmeter.model import Cell, DelaySweep, Kernel, Problem
from lsmeter.plan import missing_options
from lsmeter.registry import unknown
from lsmeter.setup import parse_setup

# The setups that can be made to wait, the better one first: it needs no interpreter between the
# hook and the wait, and labels as well.
SETUPS = ("tunable", "tunable-bpf")


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
