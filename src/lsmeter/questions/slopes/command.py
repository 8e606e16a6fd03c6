# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter slopes`: how often each operation calls hooks that consult the policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lsmeter.cli import names, options
from lsmeter.cli.options import Asked
from lsmeter.cli.show import show
from lsmeter.core.errors import UsageError
from lsmeter.measure.tasks.sweep import DEFAULT, parse_delays

if TYPE_CHECKING:
    from lsmeter.core.model import Kernel
    from lsmeter.measure.experiment.asked import Experiment

_TITLE = "Calls of hooks that consult the policy"

# The setups whose counters are read where none is named.
_LOOKUPS = ("selinux",)
_NO_LOOKUPS = "none"


@options.measuring
def slopes(
    asked: Asked,
    run: options.RunArgument = None,
    setup: Annotated[
        list[str] | None,
        names.setup_option(
            "tunable (the module, in kernels built with it) or tunable-bpf (BPF programs, "
            "in kernels with BPF LSM). Default: the first that the kernel has."
        ),
    ] = None,
    delays: Annotated[
        str,
        typer.Option(
            help="What a call that consults the policy waits, in ns: FIRST:LAST:STEP or 0,500,900."
        ),
    ] = DEFAULT,
    lookups: Annotated[
        list[str] | None,
        names.setup_option(
            "Show what a module looks up, too, by its own count. Repeat for more; none: "
            "nothing. Default: selinux, where the kernel has it.",
            "--lookups",
        ),
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Samples at each delay.")] = 11,
    warmup: Annotated[int, typer.Option(min=0, help="Samples discarded before.")] = 3,
    plot: options.PlotOption = None,
) -> int:
    """Count the calls of hooks that consult the policy, by making them wait.

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
    from lsmeter.measure.tasks import find_task
    from lsmeter.questions.slopes.document import document, specification
    from lsmeter.questions.slopes.figures import find_slopes

    check_plot(plot)
    sampling = {"samples": samples, "warmup": warmup}
    words = asked.words(title=_TITLE, boots=1, seed=1, sampling=sampling)
    sweep = {**words, "task": "sweep", "delays_ns": list(parse_delays(delays))}
    looked = {**words, "task": "lookups"}
    beside = _lookup_setups(lookups)
    kernels = {"kernels": asked.kernel or ["debian:6.1"]}
    swept = setup or list(find_task("sweep").setups)
    named = [options.experiment({**sweep, **kernels, "setups": swept})]
    named += [options.experiment({**looked, **kernels, "setups": [*beside]})] if beside else []

    def lay_out(kernels: Sequence[Kernel]) -> list[Experiment]:
        return _asked(kernels, setup, beside, sweep, looked)

    with measured(run, lay_out, "slopes", asked, named=named, tasks=["sweep"]) as (data, code):
        show(document(data))
        draw(plot, lambda: specification(find_slopes(data)))
    return code


def _asked(
    kernels: Sequence[Kernel],
    setups: list[str] | None,
    beside: Sequence[str] | None,
    sweep: dict[str, Any],
    looked: dict[str, Any],
) -> list[Experiment]:
    """Sweep each kernel with the setups asked for, else the first that it has.

    beside are the setups whose counters are read; None for the usual ones, where a kernel is
    known to have them.
    """
    from lsmeter.measure.tasks import find_task

    found = []
    for kernel in kernels:
        possible = sweeping(kernel)
        swept = setups or possible[:1] or list(find_task("sweep").setups)
        named = {"kernels": [kernel.name]}
        found.append(options.experiment({**sweep, **named, "setups": swept}))
        read = list(_able(kernel, _LOOKUPS) if beside is None and kernel.config else beside or ())
        if read and possible:
            found.append(options.experiment({**looked, **named, "setups": read}))
    return found


def sweeping(kernel: Kernel) -> list[str]:
    """Name the setups that can make the hooks of a kernel wait, the better one first."""
    from lsmeter.measure.tasks import find_task

    return _able(kernel, find_task("sweep").setups)


def _able(kernel: Kernel, setups: Sequence[str]) -> list[str]:
    from lsmeter.catalogue.setups import parse_setup
    from lsmeter.measure.experiment.plan import missing_options

    return [n for n in setups if not missing_options(kernel, parse_setup(n).needs_config)]


def _lookup_setups(words: list[str] | None) -> tuple[str, ...] | None:
    """Return the setups whose counters are to be read, from the words of a user.

    Raises UsageError for a setup of which no counters are known.
    """
    if words is None:
        return None
    if _NO_LOOKUPS in words:
        return ()
    from lsmeter.catalogue.setups import definitions, parse_setup

    for name in words:
        if not parse_setup(name, where="--lookups").counters:
            known = [key for key, item in definitions().items() if item.setup.counters]
            raise UsageError(
                f"--lookups: {name} has no counters of what it looks up",
                hint=f"these have: {', '.join(sorted(known))}; or {_NO_LOOKUPS}",
            )
    return tuple(dict.fromkeys(words))
