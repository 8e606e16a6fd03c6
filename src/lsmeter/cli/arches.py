# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels of several architectures in one run: what is refused, and the tools that each needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Kernel
from lsmeter.core.model.arch import ARCHES, Arch, arch_of_host
from lsmeter.machines import Machine, identity_for
from lsmeter.measure.experiment.options import Experiment
from lsmeter.measure.experiment.plan import Plan


def by_arch(kernels: Sequence[Kernel]) -> Iterator[tuple[Arch, list[Kernel]]]:
    """Give each architecture with its kernels; this machine's where there is no kernel."""
    for name in dict.fromkeys(kernel.arch for kernel in kernels) or [arch_of_host().name]:
        yield ARCHES[name], [kernel for kernel in kernels if kernel.arch == name]


def check_arches(experiments: Sequence[Experiment], kernels: Mapping[str, Kernel]) -> None:
    """Refuse a kernel of another architecture than those named."""
    for item in experiments:
        for kernel in (kernels[name] for name in item.kernels):
            if item.arches and kernel.arch not in item.arches:
                raise UsageError(
                    f"--arch {' '.join(item.arches)}: the kernel {kernel.name} is of {kernel.arch}",
                    hint="leave --arch out, or name another kernel",
                )


def tools_of(plan: Plan, machine: Machine, plugins: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Name the tools of a run; of several architectures, the further ones with their names."""
    names, found = set(plugins), dict[str, str]()
    for arch, _ in by_arch([cell.kernel for cell in plan.cells]):
        of = f" ({arch.name})" if found else ""
        known = identity_for(machine, arch, names)
        found |= {f"{name}{of}": value for name, value in known.items()}
    return tuple(found.items())
