# SPDX-License-Identifier: GPL-2.0-or-later
"""What the commands that measure share: planning, carrying out, and stopping cleanly."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lsmeter import __version__
from lsmeter.cli.console import SCREEN
from lsmeter.core.errors import (
    BuildError,
    ExitCode,
    InfrastructureError,
    LsmeterError,
    UsageError,
)
from lsmeter.core.host import cores, host_facts
from lsmeter.core.limits import Limits

if TYPE_CHECKING:
    from lsmeter.cli.live import LiveTasks
    from lsmeter.cli.options import Asked
    from lsmeter.core.model import Benchmark, Image, Kernel
    from lsmeter.machines import Machine
    from lsmeter.measure.experiment.asked import Experiment
    from lsmeter.measure.experiment.plan import Plan, PlannedBoot
    from lsmeter.measure.results.directory import RunData
    from lsmeter.measure.run.execute import Settings
    from lsmeter.sources.kernels.resolve import Request
    from lsmeter.statistics.family import Looks

    Experiments = Sequence[Experiment] | Callable[[Sequence[Kernel]], Sequence[Experiment]]

_PLOTS = (".svg", ".png")


def measure(
    asked: Experiments,
    stem: str,
    how: Asked,
    *,
    named: Sequence[Experiment] = (),
    dry_run: bool = False,
    announce: bool = True,
    tune: bool = False,
    resume: Path | None = None,
) -> tuple[Path, ExitCode]:
    """Plan experiments as one run, show the plan, and carry it out.

    A function lays out the experiments once their kernels are known; `named` has all of their
    words then. Without announce, the plan is not shown. resume: the --run-dir with which the user's
    command goes on, where that is another than the run's. Returns the run directory, and OK,
    INCOMPLETE when something gave no number, or INTERRUPTED.
    """
    from lsmeter.cli.live import LiveTasks
    from lsmeter.cli.show import show_plan
    from lsmeter.core.storage import need_dir
    from lsmeter.guest.probe import catalogue, find_probe
    from lsmeter.machines import HasHosts, find_machine, tuned
    from lsmeter.measure.experiment.plan import look_up, modules_for, split_workloads
    from lsmeter.measure.results.held import held, new_directory
    from lsmeter.sources.kernels.resolve import DEFAULT_MODULES, Request

    worded = named if callable(asked) else asked
    machine = find_machine(_joined(how.machine) or _machine_of(worded))
    running = machine.kernels() if isinstance(machine, HasHosts) else ()
    own = {kernel.name: kernel for kernel in running}
    if not callable(asked):
        asked = worded = [_at(item, machine) for item in asked]
    elif own:
        raise UsageError(
            f"--machine {machine.name}: this command boots guests",
            hint="leave --machine out; lsmeter run measures a machine as it runs",
        )
    for item in worded:
        _check_instrument(item, machine)
    benchmarks = catalogue(find_probe())
    for item, offer in (part for whole in worded for part in split_workloads(whole)):
        # What is wrong with them is said before anything is fetched.
        look_up(item, offer or benchmarks, machine.filesystems)
    names = [name for item in worded for name in item.kernels]
    with LiveTasks(SCREEN.err) as tasks:
        modules = (*DEFAULT_MODULES, *modules_for(worded))
        request = Request(modules=modules, offline=dry_run, progress=tasks)
        found = {name: own.get(name) or _kernel(name, request) for name in dict.fromkeys(names)}
        experiments = asked(tuple(found.values())) if callable(asked) else asked
        plan = _plan(experiments, found, benchmarks, machine, tasks, build=not dry_run)
    if announce:
        show_plan(plan, machine, commands=dry_run)
    if dry_run:
        _show_times(plan, machine, how)
        return Path(), ExitCode.OK
    if not plan.boots and not plan.problems:
        raise UsageError("nothing to measure")
    if how.run_dir is not None:
        need_dir(how.run_dir.parent, "--run-dir")
    where = how.run_dir or new_directory(f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}-{stem}")
    with held(where), tuned(machine, SCREEN.say) if tune else nullcontext():
        return where, _carried_out(plan, machine, where, how, resume)


def _at(asked: Experiment, machine: Machine) -> Experiment:
    """Return what was asked as it is for a machine, whose kernels run already or are booted."""
    from lsmeter.machines import HasHosts
    from lsmeter.measure.experiment.asked import with_copies
    from lsmeter.measure.experiment.running import on_running

    if not isinstance(machine, HasHosts):
        return with_copies(asked, cores())
    return on_running(with_copies(asked, machine.cpus), machine.kernels(), machine.users)


def _carried_out(
    plan: Plan, machine: Machine, where: Path, how: Asked, resume: Path | None
) -> ExitCode:
    """Carry a plan out, and say with which words a command that was stopped goes on."""
    from lsmeter.measure.instruments import find_instrument

    code = _carry_out(plan, machine, where, how)
    if code is ExitCode.INTERRUPTED:
        # What repeats is in the store; all else is only in its run directory.
        stored = find_instrument(plan.experiment.instrument).reusable
        into = resume or (None if stored or how.run_dir else where)
        words = "the same command" + (f" with --run-dir {into}" if into else "")
        SCREEN.say(f"stopped; what was measured is kept, and {words} resumes it")
    return code


def _joined(words: Sequence[str] | None) -> str:
    """Return the word for a machine that was named; several are hosts behind ssh."""
    if words and len(words) > 1:
        if other := [word for word in words if not word.startswith("ssh:")]:
            raise UsageError(
                f"--machine {other[0]}: only hosts behind ssh can be several at once",
                hint="name one machine, or --machine ssh:USER@HOST for each host",
            )
        return "ssh:" + ",".join(word.removeprefix("ssh:") for word in words)
    return words[0] if words else ""


def _machine_of(asked: Sequence[Experiment]) -> str:
    """Return the machine that experiments name, else that of the first one's instrument."""
    from lsmeter.measure.instruments import DEFAULT, find_instrument

    named = next((item.machine for item in asked if item.machine), None)
    instrument = asked[0].instrument if asked else DEFAULT
    return named or find_instrument(instrument).machines[0]


def _check_instrument(asked: Experiment, machine: Machine) -> None:
    """Refuse an instrument that cannot read what the machine gives, or a client without a host."""
    from lsmeter.measure.instruments import find_instrument, instruments

    if asked.client == "host" and machine.name != "pair":
        raise UsageError("--client host: which host?", hint="--server ssh:HOST --client ssh:HOST")
    if machine.name in find_instrument(asked.instrument).machines:
        return
    others = [item.name for item in instruments().values() if machine.name in item.machines]
    raise UsageError(
        f"--machine {machine.name}: the instrument {asked.instrument} cannot read it",
        hint=f"lsmeter run --instrument {others[0]} can" if others else "",
    )


def _plan(
    experiments: Sequence[Experiment],
    kernels: dict[str, Kernel],
    benchmarks: tuple[Benchmark, ...],
    machine: Machine,
    tasks: LiveTasks,
    *,
    build: bool,
) -> Plan:
    from lsmeter.guest.probe import find_program
    from lsmeter.machines import HasHosts
    from lsmeter.measure.experiment.plan import (
        image_of,
        make_plan,
        merge_plans,
        programs_of,
        setups_of,
        split_workloads,
    )

    plans = []
    for item, offer in (part for asked in experiments for part in split_workloads(asked)):
        setups = setups_of(item)
        named = {name for setup in setups for name in programs_of(setup)}
        programs = {name: find_program(name).sha256 for name in named}
        own = {image_of(item, offer)} if offer else {setup.image for setup in setups}
        wanted = sorted(own - {""})
        images = {name: _image(name, item.image, tasks, build=build) for name in wanted}
        identity = machine.identity(_plugins([item.task]))
        mine = [kernels[name] for name in dict.fromkeys(item.kernels)]
        plans.append(
            make_plan(
                item,
                mine,
                offer or benchmarks,
                identity,
                machine.filesystems,
                images,
                programs,
                machine.why_unsupported if isinstance(machine, HasHosts) else lambda _: "",
            )
        )
    return merge_plans(plans)


def _kernel(name: str, request: Request) -> Kernel:
    """Return a kernel; for a plan alone, one without a digest where it would have to be fetched."""
    from lsmeter.core.model import BootProtocol, Kernel
    from lsmeter.sources.kernels.resolve import resolve

    try:
        return resolve(name, request)
    except InfrastructureError:
        if not request.offline:
            raise
        return Kernel(name, "not here yet", "", "", Path("KERNEL"), "", BootProtocol.PVH)


def _show_times(plan: Plan, machine: Machine, how: Asked) -> None:
    """Say how long each part of a plan would take, by how long such parts took before."""
    from lsmeter.cli.live import clock
    from lsmeter.measure.instruments import find_instrument
    from lsmeter.measure.run import took
    from lsmeter.measure.run.execute import is_stored
    from lsmeter.measure.run.pace import Pace

    times, instrument = took.read(), find_instrument(plan.experiment.instrument)
    kernels = {cell.kernel.name for cell in plan.cells if not cell.kernel.image_sha256}
    images = {cell.image.name for cell in plan.cells if cell.image and not cell.image.sha256}
    parts = [(f"fetch kernel {name}", times.get("fetch")) for name in sorted(kernels)]
    parts += [(f"build image {name}", times.get(f"image {name}")) for name in sorted(images)]
    jobs = (how.jobs or cores()) if instrument.side_by_side else 1
    again = how.fresh or not instrument.reusable
    known = [boot for boot in plan.boots if not again and is_stored(boot)]
    pace = Pace(plan.boots, jobs, known, lambda boot: took.length_s(times, machine.name, boot))
    boots = f"{len(plan.boots) - len(known)} boots, {jobs} at a time"
    boots += f" ({len(known)} more are known from earlier runs)" if known else ""
    parts.append((boots, pace.left_s(0.0)))
    for name, length_s in parts:
        about = "not known: none like it was made here" if length_s is None else clock(length_s)
        SCREEN.say(f"{'takes':<12}{name}: {'about ' * (length_s is not None)}{about}")


def _image(name: str, asked: str | None, tasks: LiveTasks, *, build: bool) -> Image | str:
    """Return an image, built if it has to be, or why it cannot be; one that was named has to be."""
    from lsmeter.sources.images.build import resolve_image

    try:
        return resolve_image(asked or name, tasks, build=build)
    except (BuildError, InfrastructureError) as error:
        if asked:
            raise
        return f"{error.title}; {error.hint}".strip("; ")


def _carry_out(plan: Plan, machine: Machine, out: Path, how: Asked) -> ExitCode:
    """Carry a plan out; one that grows, look by look until its verdicts stand."""
    from lsmeter.measure.experiment.plan import with_blocks
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.cost.growing import still_open

    asked = plan.experiment
    if asked.looks is None:
        return _stage(plan, machine, out, how)
    _check_looks(out, asked.looks)
    began_s, since = time.monotonic(), 0
    for at in asked.looks.planned:
        code = _stage(with_blocks(plan, at), machine, out, how, since)
        if code is ExitCode.INTERRUPTED:
            break
        left, of = still_open(read_run(out))
        SCREEN.say(f"after {at} blocks: {left} of {of} comparisons have no verdict yet")
        if not left:
            break
        if asked.minutes_max and time.monotonic() - began_s > 60 * asked.minutes_max:
            SCREEN.say(f"--minutes-max {asked.minutes_max}: no more blocks")
            break
        since = at
    return code


def _check_looks(out: Path, looks: Looks) -> None:
    """Refuse to go on with a run under other bounds: its looks have spent a part of the error."""
    from lsmeter.measure.results.directory import MANIFEST_FILE, read_manifest
    from lsmeter.measure.results.documents import DamagedResultError

    try:
        known = read_manifest(out).looks if (out / MANIFEST_FILE).exists() else looks
    except DamagedResultError:
        return  # it is written anew
    if known != looks:
        said = "no bound" if known is None else f"--boots {known.first} --blocks-max {known.most}"
        raise UsageError(
            f"--run-dir: {out} was begun with {said}",
            hint="go on with the same words, or name another directory",
        )


def _stage(plan: Plan, machine: Machine, out: Path, how: Asked, since: int = 0) -> ExitCode:
    """Carry out the blocks of a plan from `since` on; the run directory is told of all of them."""
    from lsmeter.cli.live import LiveRun
    from lsmeter.machines import Prepares
    from lsmeter.measure.instruments import find_instrument
    from lsmeter.measure.results.directory import create_run
    from lsmeter.measure.results.held import is_torn
    from lsmeter.measure.results.manifest import Circumstances, make_manifest
    from lsmeter.measure.run import took
    from lsmeter.measure.run.execute import Settings, execute, is_kept, is_stored
    from lsmeter.measure.run.stopping import stopped_early

    instrument = find_instrument(plan.experiment.instrument)
    circumstances = Circumstances(
        lsmeter_version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=shlex.join(["lsmeter", *sys.argv[1:]]),
        machine=machine.name,
        host=host_facts(),
        tools=tuple(machine.identity(_plugins(cell.task.name for cell in plan.cells)).items()),
    )
    if isinstance(machine, Prepares):
        machine.prepare(plan.cells)
    commands = {cell.hash: machine.command(cell) for cell in plan.cells}
    manifest = make_manifest(plan, circumstances, commands)
    if said := create_run(out, manifest):
        SCREEN.say(said)
    jobs = (how.jobs or cores()) if instrument.side_by_side else 1
    fresh = how.fresh or not instrument.reusable
    todo = replace(plan, boots=tuple(boot for boot in plan.boots if boot.index >= since))
    kept = not (instrument.reusable or how.fresh)
    limits = Limits(boot_s=how.boot_deadline)
    store = instrument.reusable
    settings = Settings(jobs=jobs, fresh=fresh, kept=kept, store=store, limits=limits)
    known = [
        boot
        for boot in todo.boots
        if (is_kept(out, boot) if kept else not fresh and is_stored(boot))
    ]
    if known:
        SCREEN.say(f"{len(known)} of {len(todo.boots)} boots are known from earlier runs")

    def attempt(
        plan: Plan, settings: Settings, known: Collection[PlannedBoot] = ()
    ) -> tuple[bool, bool]:
        with LiveRun(SCREEN.err, plan, jobs, known) as live:
            stopped = stopped_early(lambda: execute(plan, out, machine, settings, live))
            took.keep(machine.name, live.took)
            return stopped, live.failed

    stopped, failed = attempt(todo, settings, known)
    if not stopped and is_torn(out, manifest.boots):
        SCREEN.say(f"{out} was removed meanwhile, or a part of it; it is made again")
        create_run(out, manifest)
        stopped, failed = attempt(plan, replace(settings, fresh=not store))
    if stopped:
        return ExitCode.INTERRUPTED
    lost = len(plan.problems) > len(plan.skipped)
    return ExitCode.INCOMPLETE if failed or lost else ExitCode.OK


@contextmanager
def showing(code: ExitCode) -> Iterator[None]:
    """Show what was measured; once interrupted, it is no error if that is too little to show."""
    try:
        yield
    except LsmeterError as error:
        if code is not ExitCode.INTERRUPTED:
            raise
        SCREEN.say(f"nothing to show yet: {error.title}")
        raise typer.Exit(int(code)) from None


@contextmanager
def measured(
    run: Path | None,
    asked: Experiments,
    stem: str,
    how: Asked,
    *,
    named: Sequence[Experiment] = (),
    tasks: Collection[str] = (),
) -> Iterator[tuple[RunData, int]]:
    """Give the run at `run`, else one that is measured first, and the exit code that it ends in.

    A run that is shown again ends as damaged when no boot of these tasks is left.
    """
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.cells.verify import damage_code

    found = (run, ExitCode.OK) if run is not None else measure(asked, stem, how, named=named)
    with showing(found[1]):
        data = read_run(found[0])
        yield data, int(found[1] or damage_code(data, tasks))


def _plugins(tasks: Iterable[str]) -> set[str]:
    from lsmeter.measure.tasks import find_task

    return {plugin for task in tasks if (plugin := find_task(task).plugin)}


def check_plot(plot: Path | None) -> None:
    """Refuse a plot's file whose name ends in no known form."""
    if plot is not None and plot.suffix not in _PLOTS:
        raise UsageError(f"--plot: {plot} is no {' or '.join(_PLOTS)} file")


def draw(plot: Path | None, specification: Callable[[], dict[str, object]]) -> None:
    """Write a Vega-Lite plot to a file, if one was asked for."""
    if plot is None:
        return
    import vl_convert

    from lsmeter.cli.show import write

    as_form = vl_convert.vegalite_to_png if plot.suffix == ".png" else vl_convert.vegalite_to_svg
    drawn: bytes | str = as_form(specification(), allowed_base_urls=[])
    write(plot, drawn.encode() if isinstance(drawn, str) else drawn, "--plot")
