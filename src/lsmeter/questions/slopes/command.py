# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter slopes`: how often each operation calls hooks that consult the policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from lsmeter.cli.options import (
    Options,
    PlotOption,
    RunArgument,
    declared,
    make_experiment,
)
from lsmeter.cli.show import show
from lsmeter.core.errors import UsageError
from lsmeter.measure.tasks import find_task
from lsmeter.measure.tasks.sweep import DEFAULT, parse_delays

if TYPE_CHECKING:
    from lsmeter.core.model import Kernel
    from lsmeter.measure.experiment.options import Experiment

_TITLE = "Calls of hooks that consult the policy"

# The setups whose counters are read where none is named.
_LOOKUPS = ("selinux",)
_NO_LOOKUPS = "none"


@dataclass(frozen=True)
class SlopesOptions(Options):
    """The options of `lsmeter slopes`."""

    setup: Annotated[
        list[str] | None, declared("setup", text="What makes hooks wait: tunable or tunable-bpf.")
    ] = None
    lookups: Annotated[
        list[str] | None,
        declared("setup", text="Count what it looks up, or none.", flags=(), default="selinux"),
    ] = None
    delays: Annotated[str, declared("slopes.delays")] = DEFAULT
    samples: Annotated[int, declared("slopes.samples")] = 11
    warmup: Annotated[int, declared("slopes.warmup")] = 3


def slopes(options: SlopesOptions, run: RunArgument = None, plot: PlotOption = None) -> int:
    """Count the calls of hooks that consult the policy.

    They are made to wait: by the module tunable in kernels that were built with it, by BPF
    programs in kernels with BPF LSM. Without --setup it is the first that the kernel has.

    The latency of each operation is fitted to what such a call waits: the slope is how many
    of them the operation makes, and the slopes over the depth of the path say what one of its
    components costs. A module may look up more or less than once in a call; beside the slopes
    stand the look-ups in SELinux's cache, as the kernel counts them. What has ended is kept,
    and not measured again.

        lsmeter slopes
        lsmeter slopes --kernel debian:6.12 --benchmark open --benchmark stat
        lsmeter slopes -k ./vmlinux -s tunable -f json -o slopes.json
    """
    from lsmeter.cli.measure import check_plot, draw, measured
    from lsmeter.questions.slopes.document import document, specification
    from lsmeter.questions.slopes.figures import find_slopes

    check_plot(plot)
    sampling = {"samples": options.samples, "warmup": options.warmup}
    keys = options.keys(title=_TITLE, boots=1, seed=1, sampling=sampling)
    sweep = {**keys, "task": "sweep", "delays_ns": list(parse_delays(options.delays))}
    looked = {**keys, "task": "lookups"}
    beside = _lookup_setups(options.lookups)
    kernels = {"kernels": options.kernel or ["debian:6.1"]}
    swept = options.setup or list(find_task("sweep").setups)
    named = [make_experiment({**sweep, **kernels, "setups": swept})]
    named += [make_experiment({**looked, **kernels, "setups": [*beside]})] if beside else []

    plan = partial(_experiments, options.setup, beside, sweep, looked)
    with measured(run, plan, "slopes", options, named=named, tasks=["sweep"]) as (data, code):
        show(document(data))
        draw(plot, lambda: specification(find_slopes(data)))
    return code


def _experiments(
    setups: list[str] | None,
    beside: Sequence[str] | None,
    sweep: dict[str, Any],
    looked: dict[str, Any],
    kernels: Sequence[Kernel],
) -> list[Experiment]:
    """Sweep each kernel with the setups that were named, else the first that it has.

    beside are the setups whose counters are read; None for the usual ones, where a kernel is
    known to have them.
    """
    found = []
    for kernel in kernels:
        possible = sweeping(kernel)
        swept = setups or possible[:1] or list(find_task("sweep").setups)
        named = {"kernels": [kernel.name]}
        found.append(make_experiment({**sweep, **named, "setups": swept}))
        read = list(_able(kernel, _LOOKUPS) if beside is None and kernel.config else beside or ())
        if read and possible:
            found.append(make_experiment({**looked, **named, "setups": read}))
    return found


def sweeping(kernel: Kernel) -> list[str]:
    """Name the setups that can make the hooks of a kernel wait, the better one first."""
    return _able(kernel, find_task("sweep").setups)


def _able(kernel: Kernel, setups: Sequence[str]) -> list[str]:
    from lsmeter.catalogue.setups import parse_setup
    from lsmeter.measure.experiment.plan import missing_options

    return [n for n in setups if not missing_options(kernel, parse_setup(n).needs_config)]


def _lookup_setups(named: list[str] | None) -> tuple[str, ...] | None:
    """Return the setups whose counters are to be read; UsageError for one that has none known."""
    if named is None:
        return None
    if _NO_LOOKUPS in named:
        return ()
    from lsmeter.catalogue.setups import definitions, parse_setup

    for name in named:
        if not parse_setup(name, where="--lookups").counters:
            known = [key for key, item in definitions().items() if item.setup.counters]
            raise UsageError(
                f"--lookups: {name} has no counters of what it looks up",
                hint=f"these have: {', '.join(sorted(known))}; or {_NO_LOOKUPS}",
            )
    return tuple(dict.fromkeys(named))
