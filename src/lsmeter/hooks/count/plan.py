# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernels are counted under which setups; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lsmeter.model import Cell, Kernel, Problem, Setup
from lsmeter.plan import is_dac, missing_options

# What the counting programs need; DEBUG_INFO_BTF is the kernel's own type information, and
# function tracing leaves the place at a function's entry where a program can be put.
NEEDED = ("BPF_SYSCALL", "BPF_JIT", "DEBUG_INFO_BTF", "FUNCTION_TRACER", "DYNAMIC_FTRACE")


def plan_cells(
    kernels: Sequence[Kernel], setups: Sequence[Setup], template: Cell
) -> tuple[tuple[Cell, ...], tuple[Problem, ...]]:
    """Lay out a cell for every kernel and setup: `template` with both replaced.

    What a kernel was built without gives a Problem in place of a cell. Of a kernel whose options
    are not known, the guest says what it cannot do.
    """
    cells: list[Cell] = []
    problems: list[Problem] = []
    for kernel in kernels:
        for setup in setups:
            needing = replace(setup, needs_config=(*setup.needs_config, *NEEDED))
            missing = missing_options(kernel, needing)
            if is_dac(kernel):
                missing = ("CONFIG_SECURITY",)
            if not missing:
                cells.append(replace(template, kernel=kernel, setup=setup, count_hooks=True))
                continue
            problems.append(
                Problem(
                    f"the hooks of {kernel.name} cannot be counted with {setup.name}: "
                    f"the kernel was built without {', '.join(missing)}",
                    kernel=kernel.name,
                    setup=setup.name,
                )
            )
    return tuple(cells), tuple(problems)
