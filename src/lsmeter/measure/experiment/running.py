# SPDX-License-Identifier: GPL-2.0-or-later
"""An experiment on a machine as it runs: no kernel is booted, and only some setups can be; pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lsmeter.catalogue.workloads import is_workload
from lsmeter.core.errors import UsageError
from lsmeter.core.model import Kernel, Problem, Setup
from lsmeter.core.model.cell import AS_IT_RUNS
from lsmeter.measure.experiment.options import ConditionsTable, Experiment

BASELINE = "running"
SETUPS = (BASELINE, "landlock", "seccomp")
MONITOR_MS = 1000  # of a server's host, where nothing is said


# What a machine that is not booted leaves nobody to choose.
_CONDITIONS = ConditionsTable().model_copy(
    update={
        **dict.fromkeys(("mitigations", "tick", "slabs", "cpu"), AS_IT_RUNS),
        "icount_shift": 0,
        "memory_mib": 0,
    }
)


def on_running(asked: Experiment, kernels: Sequence[Kernel], users: Sequence[str]) -> Experiment:
    """Return the experiment for machines that run `kernels`, where only `users` can measure.

    What is not said is what can be measured there; UsageError for what is said and cannot be.
    """
    said, own = asked.model_fields_set, [kernel.name for kernel in kernels]
    if asked.own_benchmarks:
        raise UsageError(
            "--machine: a command is run in guests alone, where nothing that it does lasts",
            hint="--machine tcg, or leave --machine out",
        )
    if "kernels" in said and asked.kernels != own:
        raise UsageError(
            f"--kernel {asked.kernels[0]}: the machine is measured as it runs, and boots no kernel",
            hint=f"leave --kernel out; it runs {kernels[0].release}",
        )
    if asked.conditions.model_fields_set:
        raise UsageError(
            "--condition: the machine is measured as it runs, and boots under no conditions",
            hint="leave --condition out; what it runs under is in the report",
        )
    if asked.sampling.cold:
        raise UsageError(
            "--cold: the caches of a whole machine would be dropped for each reading",
            hint="leave --cold out, or measure in a guest",
        )
    visits = asked.client == "host"
    if not visits and (loads := [name for name in asked.suites if is_workload(name)]):
        raise UsageError(
            f"--suite {loads[0]}: no service is started on a machine as it runs",
            hint="--server ssh:HOST --client ssh:HOST takes services that run already; or measure "
            "in guests: --machine kvm",
        )
    wanted = asked.users if "users" in said else [users[0]]
    if other := [name for name in wanted if name not in users]:
        raise UsageError(
            f"--user {other[0]}: lsmeter runs as an ordinary user here",
            hint="run it as root, or leave --user out",
        )
    baseline = asked.baseline or BASELINE
    named = asked.setups if "setups" in said else [BASELINE] if visits else [*SETUPS]
    update = {
        "kernels": own,
        "setups": [*named],
        "baseline": baseline,
        "users": [*wanted],
        "conditions": _CONDITIONS,
        "monitor_ms": asked.monitor_ms or (MONITOR_MS if visits else 0),
    }
    return asked.model_copy(update=update)


def as_running(setup: Setup) -> Setup:
    """Return the setup as something that is added to a machine as it runs."""
    over = BASELINE if setup.over in {"capability", "dac"} else setup.over
    return replace(setup, lsms=None, over=over)


def why_unsupported(setup: Setup, kernel: Kernel, lacks: Callable[[Setup], str]) -> Problem | None:
    """Say why a setup is none for a kernel that runs, or none for one that is booted.

    lacks says what the machine lacks for a setup that needs no boot, "" for nothing.
    """
    name, detail = setup.name, ""
    if not kernel.runs:
        if not setup.host and not setup.profiles:
            return None
        title = f"{name} cannot be measured in a guest: it is of a machine as it runs"
    elif not setup.live:
        title = f"{name} cannot be measured on a machine as it runs: it needs another boot"
        detail = f"lsmeter here plan -s {name} says what to boot"
    elif why := lacks(setup):
        title = f"{name} cannot be measured on {kernel.name}: {why}"
    else:
        return None
    return Problem(title, kernel=kernel.name, setup=name, detail=detail)
