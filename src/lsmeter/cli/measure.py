# SPDX-License-Identifier: GPL-2.0-or-later
"""What the commands that measure share: planning, carrying out, and stopping cleanly."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from pathlib import Path

import typer

from lsmeter.cli.arches import by_arch, check_arches, tools_of
from lsmeter.cli.console import SCREEN
from lsmeter.cli.live import LiveRun, LiveTasks
from lsmeter.cli.options import Options
from lsmeter.cli.plan import show_plan, show_times
from lsmeter.cli.show import write
from lsmeter.core.errors import (
    BuildError,
    ExitCode,
    InfrastructureError,
    LsmeterError,
    UsageError,
)
from lsmeter.core.host import cores, host_facts
from lsmeter.core.limits import Limits
from lsmeter.core.model import Benchmark, Image, Kernel
from lsmeter.core.model.arch import Arch, arch_of
from lsmeter.core.storage import need_dir
from lsmeter.guest.filesystem import makers
from lsmeter.guest.probe import catalogue, find_probe, find_program
from lsmeter.machines import (
    HasHosts,
    Machine,
    Prepares,
    Spreads,
    find_machine,
    identity_for,
    tuned,
)
from lsmeter.measure.experiment.options import Experiment, with_copies
from lsmeter.measure.experiment.plan import (
    Plan,
    PlannedBoot,
    image_of,
    look_up,
    make_plan,
    merge_plans,
    modules_for,
    programs_of,
    setups_of,
    with_blocks,
)
from lsmeter.measure.experiment.running import on_running
from lsmeter.measure.experiment.select import split_workloads
from lsmeter.measure.instruments import DEFAULT, find_instrument, instruments
from lsmeter.measure.results.directory import (
    MANIFEST_FILE,
    RunData,
    create_run,
    read_manifest,
    read_run,
)
from lsmeter.measure.results.documents import DamagedResultError
from lsmeter.measure.results.held import describe_making, held, is_torn, new_directory
from lsmeter.measure.results.manifest import make_manifest
from lsmeter.measure.results.samples import start_reader
from lsmeter.measure.run import took
from lsmeter.measure.run.execute import Settings, execute, is_kept, is_stored
from lsmeter.measure.run.stopping import stopped_early
from lsmeter.measure.tasks import find_task
from lsmeter.questions.cells.cells import still_open
from lsmeter.questions.cells.verify import damage_code
from lsmeter.sources.images.build import resolve_image
from lsmeter.sources.kernels.resolve import DEFAULT_MODULES, Request, expand, is_pattern, resolve
from lsmeter.statistics.family import Looks

Experiments = Sequence[Experiment] | Callable[[Sequence[Kernel]], Sequence[Experiment]]

_MOST_SPREAD = 4096  # guests at a time on other machines, of which each has its own number
_PLOTS = (".svg", ".png")


def measure(
    experiments: Experiments,
    stem: str,
    options: Options,
    *,
    named: Sequence[Experiment] = (),
    dry_run: bool = False,
    announce: bool = True,
    tune: bool = False,
    resume: Path | None = None,
) -> tuple[Path, ExitCode]:
    """Plan experiments as one run, show the plan, and carry it out.

    A function makes the experiments once their kernels are known; `named` has all other keys of
    them. Without announce, the plan is not shown. resume: the --run-dir with which the user's
    command goes on, where that is another than the run's. Returns the run directory, and OK,
    INCOMPLETE when something gave no number, or INTERRUPTED.
    """
    known = named if callable(experiments) else experiments
    machine = machine_for(options, known)
    plan = _planned(experiments, known, machine, {}, build=not dry_run)
    if announce:
        show_plan(plan, machine, commands=dry_run)
    if dry_run:
        show_times(plan, machine, options)
        return Path(), ExitCode.OK
    if not plan.boots and not plan.problems:
        raise UsageError("nothing to measure")
    if options.run_dir is not None:
        need_dir(options.run_dir.parent, "--run-dir")
    where = options.run_dir or new_directory(stem)
    instrument = find_instrument(plan.experiment.instrument)
    with held(where), tuned(machine, SCREEN.say) if tune else nullcontext():
        if instrument.side_by_side:
            start_reader()  # what was measured is read as soon as the last guest has ended
        code = _carry_out(plan, machine, where, options)
        if code is ExitCode.INTERRUPTED:
            # What repeats is in the store; all else is only in its run directory.
            into = resume or (None if instrument.reusable or options.run_dir else where)
            command = "the same command" + (f" with --run-dir {into}" if into else "")
            SCREEN.say(f"stopped; what was measured is kept, and {command} resumes it")
        return where, code


def foretell(
    experiments: Sequence[Experiment],
    options: Options,
    unbuilt: Mapping[str, Kernel],
    counted: set[str],
) -> float | None:
    """Say how long experiments would take; return it in seconds, None where it is not known.

    unbuilt: kernels that are built first, by name. counted: see show_times.
    """
    machine = machine_for(options, experiments)
    plan = _planned(experiments, experiments, machine, unbuilt, build=False)
    return show_times(plan, machine, options, counted)


def _planned(
    experiments: Experiments,
    named: Sequence[Experiment],
    machine: Machine,
    unbuilt: Mapping[str, Kernel],
    *,
    build: bool,
) -> Plan:
    """Plan experiments: check their names, then fetch their kernels and build their images."""
    running = machine.kernels() if isinstance(machine, HasHosts) else ()
    own = {kernel.name: kernel for kernel in running}
    if not callable(experiments):
        experiments = named = [_as_on(item, machine) for item in named]
    elif own:
        raise UsageError(
            f"--machine {machine.name}: this command boots guests",
            hint="leave --machine out; lsmeter run measures a machine as it runs",
        )
    for item in named:
        check_instrument(item, machine)
    own_benchmarks = (benchmark for item in named for benchmark in item.own_benchmarks)
    benchmarks = (*catalogue(find_probe()), *own_benchmarks)
    for item, offer in (part for whole in named for part in split_workloads(whole, benchmarks)):
        # What is wrong with them is said before anything is fetched.
        look_up(item, offer or benchmarks, machine.filesystems)
    with LiveTasks(SCREEN.err) as tasks:
        modules = (*DEFAULT_MODULES, *modules_for(named))
        request = Request(modules=modules, offline=not build, progress=tasks)
        named = [_with_kernels(item, request) for item in named]
        if not callable(experiments):
            experiments = named
        names = dict.fromkeys(name for item in named for name in item.kernels)
        known = {**own, **unbuilt}
        found = {name: known.get(name) or _kernel(name, request) for name in names}
        made = experiments(tuple(found.values())) if callable(experiments) else experiments
        check_arches(made, found)
        return _plan(made, found, benchmarks, machine, tasks, build=build)


def _with_kernels(experiment: Experiment, request: Request) -> Experiment:
    """Return an experiment with the kernels that its patterns (debian:6.12.*) stand for."""
    if not any(is_pattern(name) for name in experiment.kernels):
        return experiment
    return experiment.model_copy(update={"kernels": [*expand(experiment.kernels, request)]})


def _as_on(experiment: Experiment, machine: Machine) -> Experiment:
    """Return an experiment as it is on a machine, whose kernels run already or are booted."""
    if not isinstance(machine, HasHosts):
        return with_copies(experiment, cores())
    return on_running(with_copies(experiment, machine.cpus), machine.kernels(), machine.users)


def machine_for(options: Options, experiments: Sequence[Experiment]) -> Machine:
    """Return the machine that options name, else that of the experiments."""
    name = _join_machines(options.machine) or _machine_of(experiments)
    return find_machine(name, insecure=options.insecure)


def _join_machines(names: Sequence[str] | None) -> str:
    """Return one name for the machines that were named; several are hosts behind ssh."""
    if names and len(names) > 1:
        if other := [name for name in names if not name.startswith("ssh:")]:
            raise UsageError(
                f"--machine {other[0]}: only hosts behind ssh can be several at once",
                hint="name one machine, or --machine ssh:USER@HOST for each host",
            )
        return "ssh:" + ",".join(name.removeprefix("ssh:") for name in names)
    return names[0] if names else ""


def _machine_of(experiments: Sequence[Experiment]) -> str:
    """Return the machine that experiments name, else that of the first one's instrument."""
    named = next((item.machine for item in experiments if item.machine), None)
    instrument = experiments[0].instrument if experiments else DEFAULT
    return named or find_instrument(instrument).machines[0]


def guests_at_once(machine: Machine, options: Options) -> int:
    """Return how many guests run at a time at most."""
    return options.jobs or (_MOST_SPREAD if isinstance(machine, Spreads) else cores())


def check_instrument(experiment: Experiment, machine: Machine) -> None:
    """Refuse an instrument that cannot read what the machine gives, or a client without a host."""
    if experiment.client == "host" and machine.name != "pair":
        raise UsageError("--client host: which host?", hint="--server ssh:HOST --client ssh:HOST")
    if machine.name in find_instrument(experiment.instrument).machines:
        return
    others = [item.name for item in instruments().values() if machine.name in item.machines]
    raise UsageError(
        f"--machine {machine.name}: the instrument {experiment.instrument} cannot read it",
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
    names = {name for item in experiments for name in item.filesystems}
    made = {} if isinstance(machine, HasHosts) else makers(names)
    plans = []
    for item, offer in (
        part for whole in experiments for part in split_workloads(whole, benchmarks)
    ):
        setups = setups_of(item)
        named = {name for setup in setups for name in programs_of(setup)}
        own = {image_of(item, offer)} if offer else {setup.image for setup in setups}
        wanted = sorted(own - {""})
        mine = [kernels[name] for name in dict.fromkeys(item.kernels)]
        plans += [
            make_plan(
                item,
                of_arch,
                offer or benchmarks,
                {**identity_for(machine, arch, _plugins([item.task])), **made},
                machine.filesystems,
                {name: _image(name, arch, item.image, tasks, build=build) for name in wanted},
                {name: find_program(name, arch).sha256 for name in named},
                machine.why_unsupported if isinstance(machine, HasHosts) else lambda _: "",
            )
            for arch, of_arch in by_arch(mine)
        ]
    return merge_plans(plans)


def _kernel(name: str, request: Request) -> Kernel:
    """Return a kernel; for a plan alone, one without a digest where it would have to be fetched."""
    try:
        return resolve(name, request)
    except InfrastructureError:
        if not request.offline:
            raise
        return Kernel.foreseen(name, arch_of(name))


def _image(name: str, arch: Arch, own: str | None, tasks: LiveTasks, *, build: bool) -> Image | str:
    """Return an image, built if it has to be, or why it cannot be; one that was named has to be."""
    try:
        return resolve_image(own or name, tasks, arch, build=build)
    except (BuildError, InfrastructureError) as error:
        if own:
            raise
        return f"{error.title}; {error.hint}".strip("; ")


def _carry_out(plan: Plan, machine: Machine, out: Path, options: Options) -> ExitCode:
    """Carry a plan out; one that grows, look by look until its verdicts stand."""
    experiment = plan.experiment
    if experiment.looks is None:
        return _stage(plan, machine, out, options)
    _check_looks(out, experiment.looks)
    began_s, since = time.monotonic(), 0
    for at in experiment.looks.planned:
        code = _stage(with_blocks(plan, at), machine, out, options, since)
        if code is ExitCode.INTERRUPTED:
            break
        left, of = still_open(read_run(out))
        SCREEN.say(f"after {at} blocks: {left} of {of} comparisons have no verdict yet")
        if not left:
            break
        if experiment.minutes_max and time.monotonic() - began_s > 60 * experiment.minutes_max:
            SCREEN.say(f"--minutes-max {experiment.minutes_max}: no more blocks")
            break
        since = at
    return code


def _check_looks(out: Path, looks: Looks) -> None:
    """Refuse to go on with a run under other bounds: its looks have spent a part of the error."""
    try:
        known = read_manifest(out).looks if (out / MANIFEST_FILE).exists() else looks
    except DamagedResultError:
        return  # it is written anew
    if known != looks:
        said = "no bound" if known is None else f"--boots {known.first} --blocks-max {known.most}"
        raise UsageError(
            f"--run-dir: {out} was begun with {said}",
            hint="go on with the same options, or name another directory",
        )


def _stage(plan: Plan, machine: Machine, out: Path, options: Options, since: int = 0) -> ExitCode:
    """Carry out the blocks of a plan from `since` on; the run directory is told of all of them."""
    instrument = find_instrument(plan.experiment.instrument)
    tools = tools_of(plan, machine, _plugins(cell.task.name for cell in plan.cells))
    circumstances = describe_making(machine.name, host_facts(), tools)
    if isinstance(machine, Prepares):
        machine.prepare(plan.cells)
    commands = {cell.hash: machine.command(cell) for cell in plan.cells}
    manifest = make_manifest(plan, circumstances, commands)
    if said := create_run(out, manifest):
        SCREEN.say(said)
    jobs = guests_at_once(machine, options) if instrument.side_by_side else 1
    fresh = options.fresh or not instrument.reusable
    todo = replace(plan, boots=tuple(boot for boot in plan.boots if boot.index >= since))
    kept = not (instrument.reusable or options.fresh)
    limits = Limits(boot_s=options.boot_deadline)
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
        with LiveRun(SCREEN.err, plan, jobs, known, machine) as live:
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
    experiments: Experiments,
    stem: str,
    options: Options,
    *,
    named: Sequence[Experiment] = (),
    tasks: Collection[str] = (),
    **own: object,
) -> Iterator[tuple[RunData, int]]:
    """Give the run at `run`, else one that is measured first, and the exit code that it ends in.

    A run that is shown again ends as damaged when no boot of these tasks is left. UsageError for
    one that never had any, and for options of measuring with it: own are those of the command.
    """
    if run is not None:
        check_shown(options, run, **own)
    found = (
        (run, ExitCode.OK) if run is not None else measure(experiments, stem, options, named=named)
    )
    with showing(found[1]):
        data = read_run(found[0])
        if run is not None and not {cell.task.name for cell in data.manifest.cells} & {*tasks}:
            command = f"lsmeter {stem.replace('-', ' ')}"
            raise UsageError(
                f"{data.title}: nothing was measured in it that {command} shows",
                hint="leave RUN out, and it is measured",
            )
        yield data, int(found[1] or damage_code(data, tasks))


def check_shown(options: Options, shown: object, word: str = "RUN", /, **own: object) -> None:
    """Refuse options of measuring where something is shown as it was measured.

    word is the argument that names it; own are options of the command alone, None if not given.
    """
    given = [item.name for item in fields(options) if getattr(options, item.name) != item.default]
    for name in (*given, *(name for name, value in own.items() if value is not None)):
        told = f"--{name.replace('_', '-')}: {shown} is shown as it was measured"
        raise UsageError(told, hint=f"leave {word} out")


def _plugins(tasks: Iterable[str]) -> set[str]:
    return {plugin for task in tasks if (plugin := find_task(task).plugin)}


def check_plot(plot: Path | None) -> None:
    """Refuse a plot's file whose name ends in no known form, or that is in no directory."""
    if plot is None:
        return
    if plot.suffix not in _PLOTS:
        raise UsageError(f"--plot: {plot} is no {' or '.join(_PLOTS)} file")
    need_dir(plot.parent, "--plot")


def draw(plot: Path | None, specification: Callable[[], dict[str, object]]) -> None:
    """Write a Vega-Lite plot to a file, if one was named."""
    if plot is None:
        return
    import vl_convert

    as_form = vl_convert.vegalite_to_png if plot.suffix == ".png" else vl_convert.vegalite_to_svg
    drawn: bytes | str = as_form(specification(), allowed_base_urls=[])
    write(plot, drawn.encode() if isinstance(drawn, str) else drawn, "--plot")
