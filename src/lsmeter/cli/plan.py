# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows a plan before it is carried out: what is measured, how guests start, how long it takes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from lsmeter.cli.console import SCREEN
from lsmeter.cli.live import clock
from lsmeter.cli.options import Options
from lsmeter.core.host import cores
from lsmeter.core.model import Kernel
from lsmeter.machines import Machine, Spreads
from lsmeter.measure.experiment.plan import Plan, describe_size, setups_of
from lsmeter.measure.instruments import find_instrument
from lsmeter.measure.run import took
from lsmeter.measure.run.execute import is_stored
from lsmeter.measure.run.pace import Pace
from lsmeter.sources.kernels.sources.built import PREFIX as BUILT
from lsmeter.tables.lines import wrapped


def show_plan(plan: Plan, machine: Machine, *, commands: bool) -> None:
    """Print what will be measured, and how guests are started where that is wanted."""
    experiment = plan.experiment
    if experiment.title:
        SCREEN.say(experiment.title, style="bold")
    if experiment.question:
        _say_wrapped(" ".join(experiment.question.split()))
    instrument = find_instrument(experiment.instrument)
    base = setups_of(experiment)[0].name
    setups = dict.fromkeys(cell.setup.name for cell in plan.cells)
    named = (f"{name} (baseline)" if name == base else name for name in setups)
    facts = [
        *(("kernel", _described(cell.kernel)) for cell in plan.cells),
        ("setups", ", ".join(named)),
        ("instrument", f"{instrument.name}: {instrument.title}"),
        ("machine", f"{machine.name}: {machine.title}"),
        ("plan", describe_size(plan)),
    ]
    for name, text in dict.fromkeys(facts):
        _say_wrapped(f"{name:<12}{text}", " " * 12)
    for problem in plan.problems:
        SCREEN.say(problem.title, lead="problem     ", style="yellow")
    for cell in plan.cells if commands or SCREEN.verbose else ():
        tell = SCREEN.tell if commands else SCREEN.say
        tell(f"# {cell.setup.name} on {cell.kernel.name}")
        there = cell.image is None or cell.image.sha256  # else its size is not known yet
        tell(shlex.join(machine.command(cell)) if there else "# known once its image is built")


def _say_wrapped(text: str, indent: str = "") -> None:
    """Say a line, broken at spaces where it is shown: a terminal would cut through names."""
    screen = SCREEN.err
    for line in wrapped(text, screen.width, indent) if screen.is_terminal else (text,):
        SCREEN.say(line)


def _described(kernel: Kernel) -> str:
    version = f", package {kernel.version}" if kernel.version else ""
    return f"{kernel.name} ({kernel.release}{version})"


def show_times(
    plan: Plan, machine: Machine, options: Options, counted: set[str] | None = None
) -> float | None:
    """Say how long each part of a plan would take, by how long such parts took before.

    counted: kernels and images that an earlier plan has made by then; those of this one are added.
    Returns the sum in seconds, None where a part's length is not known.
    """
    times, instrument = took.read(), find_instrument(plan.experiment.instrument)
    kernels = {cell.kernel.name for cell in plan.cells if not cell.kernel.is_here}
    images = {cell.image.name for cell in plan.cells if cell.image and not cell.image.sha256}
    counted = set() if counted is None else counted
    parts = [_foretell_kernel(name, times) for name in sorted(kernels - counted)]
    parts += [
        (f"build image {name}", times.get(f"image {name}")) for name in sorted(images - counted)
    ]
    counted |= kernels | images
    places = machine.places if isinstance(machine, Spreads) else cores()
    jobs = (options.jobs or places) if instrument.side_by_side else 1
    again = options.fresh or not instrument.reusable
    known = [boot for boot in plan.boots if not again and is_stored(boot)]
    pace = Pace(plan.boots, jobs, known, lambda boot: took.length_s(times, machine.name, boot))
    boots = f"{len(plan.boots) - len(known)} boots, {jobs} at a time"
    boots += f" ({len(known)} more are known from earlier runs)" if known else ""
    parts.append((boots, pace.left_s(0.0)))
    for name, length_s in parts:
        about = "not known: none like it was made here" if length_s is None else clock(length_s)
        SCREEN.say(f"{'takes':<12}{name}: {'about ' * (length_s is not None)}{about}")
    lengths = [length_s for _, length_s in parts if length_s is not None]
    return sum(lengths) if len(lengths) == len(parts) else None


def _foretell_kernel(name: str, times: Mapping[str, float]) -> tuple[str, float | None]:
    made = "build" if name.startswith(BUILT) else "fetch"
    return f"{made} kernel {name}", times.get(made)
