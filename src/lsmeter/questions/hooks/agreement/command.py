# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter hooks agree`: what source, counting, attribution and slopes say, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lsmeter.cli import names
from lsmeter.cli.options import Options, argument, declared, make_experiment
from lsmeter.core.errors import ExitCode, UsageError
from lsmeter.measure.tasks.sweep import DEFAULT, parse_delays

if TYPE_CHECKING:
    from lsmeter.core.model import Kernel
    from lsmeter.measure.experiment.options import Experiment
    from lsmeter.measure.results.directory import RunData


def agree(
    options: Options,
    runs: Annotated[
        list[Path] | None,
        argument(
            "RUN", "Runs that counted, attributed or swept; without one, measure.", names.runs
        ),
    ] = None,
    source: Annotated[str | None, declared("hooks-agree.source")] = None,
    config: Annotated[str | None, declared("hooks-agree.config")] = None,
) -> int:
    """Compare what four views say of the hooks of each operation.

    The views are source, counting, attribution and slopes. Says how many benchmarks agree exactly,
    which do not, and why: a reason is shown with its evidence, and what has none is open. Without
    RUN it attributes, counts and sweeps delays in one run, whose report shows the agreement as
    well.

        lsmeter hooks agree --setup selinux --source linux-6.1
        lsmeter run --attribute --run-dir a; lsmeter hooks count --run-dir c
        lsmeter hooks agree a c --source linux-6.1 --config debian:6.1
    """
    from lsmeter.cli.measure import check_shown, measure, showing
    from lsmeter.cli.show import show
    from lsmeter.questions.cells.verify import damage_code
    from lsmeter.questions.hooks.agreement.document import shown_of
    from lsmeter.questions.hooks.agreement.gather import agree as compared
    from lsmeter.questions.hooks.command import analysed

    given = runs or []
    if config is not None and source is None:
        raise UsageError("--config says what of a source is compiled", hint="add --source TREE")
    code = ExitCode.OK
    if given:
        check_shown(options, given[0])
    else:
        keys = options.keys(title="Agreement of views on hooks", boots=1, seed=1)
        setups = keys.pop("setups", ["capability"])

        def plan_kernels(kernels: Sequence[Kernel]) -> list[Experiment]:
            return [item for one in kernels for item in _experiments(one, setups, keys)]

        kernels = options.kernel or ["debian:6.1"]
        named = make_experiment({**keys, "kernels": kernels, "setups": setups})
        made, code = measure(plan_kernels, "hooks-agree", options, named=[named])
        given = [made]
    with showing(code):
        data = _read(given, source)
        # The runs first: a wrong name is an error before a tree is read.
        used = dict.fromkeys(cell.place.filesystem for item in data for cell in item.manifest.cells)
        inventory = analysed(source, config, used) if source is not None else None
        found, damaged = compared(data, inventory), max(map(damage_code, data))
        if not found.compared and not (code or damaged):
            raise UsageError(
                "nothing to compare: no two views have the same benchmark at one place",
                hint="name runs of the same kernel, file system, user and benchmarks",
            )
        show(shown_of(data[0], found))
    return int(code or damaged)


def _experiments(kernel: Kernel, setups: Sequence[str], keys: dict[str, Any]) -> list[Experiment]:
    """Attribute and count a kernel's setups, and sweep its delays where a setup of it can."""
    from lsmeter.questions.slopes.command import sweeping

    able = sweeping(kernel)
    # A tree is that of the most frequent reading; whole costs have no part in it.
    readings = {"samples": 15, "whole_ppm": 0}
    tasks: list[dict[str, Any]] = [
        {"task": "attribute", "setups": [*setups], "baseline": setups[0], "sampling": readings},
        {"task": "count", "setups": list(setups)},
    ]
    if able:
        delays = list(parse_delays(DEFAULT))
        sampling = {"samples": 11, "warmup": 3}
        sweep = {"setups": able[:1], "delays_ns": delays, "sampling": sampling}
        tasks.append({"task": "sweep", "image": None, **sweep})
    return [make_experiment({**keys, "kernels": [kernel.name], **task}) for task in tasks]


def _read(given: Sequence[Path], source: str | None) -> list[RunData]:
    """Read the runs; UsageError when they have fewer than two views together."""
    from lsmeter.measure.results.directory import read_run

    data = [read_run(path) for path in dict.fromkeys(given)]
    tasks = {cell.task.name for item in data for cell in item.manifest.cells}
    views = tasks & {"attribute", "count", "sweep"}
    views |= {"attribute"} if "events" in tasks else set()
    if not views or len(views) + (source is not None) < 2:
        raise UsageError(
            "nothing to compare: at least two of counting, attribution, slopes and --source are "
            f"needed, and the runs have {', '.join(sorted(views)) or 'none'}",
            hint="lsmeter hooks agree RUN RUN, or lsmeter hooks agree RUN --source TREE",
        )
    known = {setup.name: setup for item in data for setup in item.manifest.setups}
    for setup in (setup for item in data for setup in item.manifest.setups):
        if keys := known[setup.name].differs(setup):
            raise UsageError(
                f"{setup.name} is defined differently in the runs ({', '.join(keys)})",
                hint="views of one setup agree or not: name runs that define it alike",
            )
    return data
