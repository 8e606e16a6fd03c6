# SPDX-License-Identifier: GPL-2.0-or-later
"""From an experiment to the cells and boots that answer it; pure.

The plan also holds what cannot be measured, with the reason, so that nothing is left out
silently.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from lsmeter.catalogue.setups import one_each, parse_setup
from lsmeter.catalogue.workloads import Offer, is_workload, load_workload
from lsmeter.core.errors import UsageError
from lsmeter.core.model import Benchmark, BootId, Cell, Conditions, Image, Kernel, Problem, Setup
from lsmeter.core.model.arch import ARCHES, MEMORY_DISK
from lsmeter.core.model.cell import AS_IT_RUNS
from lsmeter.core.model.filesystems import DISK_OPTIONS, FILESYSTEMS, MADE_BY
from lsmeter.core.model.setup import again
from lsmeter.core.model.suites import SUITE_MODULES
from lsmeter.core.model.workload import disk_module
from lsmeter.core.registry import unknown
from lsmeter.measure.experiment.options import Experiment
from lsmeter.measure.experiment.running import as_running, why_unsupported
from lsmeter.measure.experiment.select import is_left_out, select_benchmarks
from lsmeter.measure.instruments import find_instrument
from lsmeter.measure.tasks import TaskKind, find_task
from lsmeter.measure.tasks.workload import why_unconfined


@dataclass(frozen=True)
class PlannedBoot:
    """One boot to come: the cell, which of its boots, and the seed of QEMU's random numbers."""

    cell: Cell
    index: int
    seed: int

    @property
    def id(self) -> BootId:
        """Name the boot without its cell."""
        return BootId(self.cell.hash, self.index, self.seed)


@dataclass(frozen=True)
class Plan:
    """All that a run will do, in order."""

    experiment: Experiment
    cells: tuple[Cell, ...]
    boots: tuple[PlannedBoot, ...]
    problems: tuple[Problem, ...]  # what was asked for and cannot be measured
    benchmarks: tuple[Benchmark, ...]
    skipped: tuple[Problem, ...] = ()  # of the problems, what was not asked for by name


def make_plan(  # noqa: PLR0913, PLR0917
    experiment: Experiment,
    kernels: Sequence[Kernel],
    catalogue: Sequence[Benchmark] | Offer,
    identity: Mapping[str, str],
    filesystems: Sequence[str],
    images: Mapping[str, Image | str] | None = None,
    programs: Mapping[str, str] | None = None,
    lacks: Callable[[Setup], str] = lambda _: "",
) -> Plan:
    """Lay out every cell and boot of `experiment`.

    catalogue is every benchmark that the probe has, or the workload that is the suite of an
    experiment of that task; filesystems are those that the guest can make; identity names further
    facts that change results (QEMU, probe, what makes a file system). images are the root file
    systems at hand, by name, or why one is not; programs the digests of those that setups bring.
    lacks says why a machine that is not booted cannot be under a setup, "" where it can.
    Raises UsageError for names that nothing knows.
    """
    kind = find_task(experiment.task)
    setups, selected = look_up(experiment, catalogue, filesystems)
    instrument = find_instrument(experiment.instrument)
    unit = instrument.unit
    control = [again(setups[0])] if instrument.again and kind.costs else []
    offer = catalogue if isinstance(catalogue, Offer) else None
    benchmarks = tuple(replace(item, metric=replace(item.metric, unit=unit)) for item in selected)
    cells: list[Cell] = []
    problems: list[Problem] = []
    skipped = _left_out(experiment, selected)
    for kernel in kernels:
        lacking = _lacking(kernel, experiment.filesystems, offer)
        problems += _without_filesystem(kernel, lacking)
        there = [name for name in experiment.filesystems if name not in lacking]
        for named in (*setups, *control):
            setup = as_running(named) if kernel.runs else named
            if not kernel.runs and is_dac(kernel) != (setup.lsms == ()):
                continue  # the other kind of kernel: see _without_kernel
            if why := why_unsupported(named, kernel, lacks) or _unable(
                experiment, kernel, setup, offer
            ):
                problems.append(why)
                continue
            rootfs = image_of(experiment, offer) if offer else setup.image
            image = (images or {})[rootfs] if rootfs else None
            if isinstance(image, str):
                title = f"{setup.name} is skipped on {kernel.name}: its image {rootfs} is not built"
                (skipped if offer else problems).append(
                    Problem(
                        title, kernel.name, setup.name, detail=image, suite=experiment.suites[0]
                    )
                )
                continue
            facts = {**identity, **{name: (programs or {})[name] for name in programs_of(setup)}}
            facts |= {"again": setup.name} if named in control else {}
            identity_facts = tuple(sorted(facts.items()))
            made = _cells(experiment, there, kernel, setup, benchmarks, identity_facts, image)
            cells += (_loaded(cell, offer, experiment) for cell in made) if offer else made
    problems.extend(_without_kernel(setups, [item for item in kernels if not item.runs]))
    lost = (*problems, *skipped)
    return Plan(experiment, tuple(cells), _boots(experiment, cells), lost, benchmarks, (*skipped,))


def _unable(
    experiment: Experiment, kernel: Kernel, setup: Setup, offer: Offer | None
) -> Problem | None:
    """Say why a setup cannot be measured on a kernel; None where it can."""
    title = f"{setup.name} cannot be measured"
    if setup.before and max(experiment.counted_copies) > 1:
        what = "what it does before each reading is of the whole guest"
        return Problem(f"{title} in several copies", kernel.name, setup.name, detail=what)
    kind = find_task(experiment.task)
    has_image = bool(image_of(experiment, offer) if offer else setup.image)
    if missing := _missing(kernel, setup, kind, has_image=has_image):
        what = f"the kernel was built without {', '.join(missing)}"
        return Problem(f"{title} on {kernel.name}: {what}", kernel.name, setup.name)
    if offer and (why := why_unconfined(setup, offer.workload)):
        with_it = f"{title} with the workload {offer.workload.name}: {why}"
        return Problem(with_it, kernel.name, setup.name)
    return None


def image_of(experiment: Experiment, offer: Offer) -> str:
    """Return the image that a workload's guests need; "" where its services run already."""
    return "" if experiment.client == "host" else offer.workload.image


def modules_for(experiments: Iterable[Experiment]) -> tuple[str, ...]:
    """Return the kernel modules that guests need besides those that all may need."""
    asked = tuple(experiments)
    suites = [name for item in asked for name in item.suites]
    loaded = [item for item in asked if any(map(is_workload, item.suites))]
    linked = any(item.client == "guest" for item in loaded)
    names = dict.fromkeys(name for item in asked for name in item.filesystems)
    setups = (parse_setup(word) for item in asked for word in item.setups)
    return (
        *(find_task("workload").modules if loaded else ()),
        *chain.from_iterable(find_task(item.task).modules for item in asked),
        *(("virtio_net",) if linked else ()),
        *(disk_module(load_workload(name).workload) for name in suites if is_workload(name)),
        *chain.from_iterable(FILESYSTEMS[name].modules for name in names if name in FILESYSTEMS),
        *chain.from_iterable(SUITE_MODULES.get(name, ()) for name in suites),
        *chain.from_iterable(setup.modules for setup in setups),
    )


def _loaded(cell: Cell, offer: Offer, experiment: Experiment) -> Cell:
    """Return the cell with a workload, its memory and its batches: as it says, or as was asked."""
    said = experiment.sampling.model_dump(include={"samples", "warmup"}, exclude_unset=True)
    memory_mib = max(cell.conditions.memory_mib, offer.workload.memory_mib)
    return replace(
        cell,
        suite=offer.workload.name,
        benchmarks=tuple(item.id for item in offer.benchmarks if item.id in cell.benchmarks),
        conditions=replace(cell.conditions, memory_mib=memory_mib),
        sampling=replace(offer.sampling, **said),
        task=replace(cell.task, workload=replace(offer.workload, client=experiment.client)),
    )


def look_up(
    experiment: Experiment, catalogue: Sequence[Benchmark] | Offer, filesystems: Sequence[str]
) -> tuple[tuple[Setup, ...], tuple[Benchmark, ...]]:
    """Return the setups and benchmarks of an experiment; UsageError for a name nothing knows.

    No kernel is needed: what is wrong is said before one is fetched.
    """
    kind = find_task(experiment.task)
    setups = setups_of(experiment)
    for setup in setups if kind.setups else ():
        if setup.name not in kind.setups:
            raise unknown(f"setup of a {kind.name}", setup.name, kind.setups, where="--setup")
    for name in experiment.filesystems:
        if name not in filesystems:
            raise unknown("file system", name, filesystems, where="--filesystem")
    offered = catalogue.benchmarks if isinstance(catalogue, Offer) else catalogue
    return setups, select_benchmarks(
        offered, experiment.suites, experiment.benchmarks, controls=kind.costs
    )


def merge_plans(plans: Sequence[Plan]) -> Plan:
    """Join plans into one whose cells have several tasks; the first gives the experiment."""
    first = plans[0]
    benchmarks = dict.fromkeys(item for plan in plans for item in plan.benchmarks)
    return Plan(
        first.experiment,
        tuple(cell for plan in plans for cell in plan.cells),
        tuple(boot for plan in plans for boot in plan.boots),
        tuple(problem for plan in plans for problem in plan.problems),
        tuple(benchmarks),
        tuple(problem for plan in plans for problem in plan.skipped),
    )


def missing_options(kernel: Kernel, needed: Iterable[str]) -> tuple[str, ...]:
    """Return which of the options that are needed `kernel` was built without, if that is known."""
    if not kernel.config:
        return ()
    unsaid = "n" if kernel.is_here else "y"  # by default, in one that is not built yet
    lacking = (name for name in needed if kernel.config.get(name, unsaid) not in {"y", "m"})
    return tuple(f"CONFIG_{name}" for name in lacking)


def _missing(kernel: Kernel, setup: Setup, kind: TaskKind, *, has_image: bool) -> tuple[str, ...]:
    """Return what the kernel lacks: options, and files that should have been made with it."""
    files = {item.artifact for item in setup.files if item.artifact} - set(kernel.artifacts)
    needed = (*setup.needs_config, *kind.needs)
    if has_image and not kernel.runs:
        arch = ARCHES[kernel.arch]
        board = arch.boards[kernel.boot_protocol]
        in_memory = MEMORY_DISK in kind.modules
        needed += arch.disk_in_memory.disk_needs if in_memory else board.disk_needs
    return (*missing_options(kernel, needed), *sorted(files))


def _lacking(kernel: Kernel, filesystems: Iterable[str], offer: Offer | None) -> dict[str, str]:
    """Name what `kernel` is known to lack for each file system, or for the disk that it lies on."""
    found, disk = {}, disk_module(offer.workload if offer else None)
    for name in () if kernel.runs else filesystems:  # the machine has it mounted, or has not
        needed = FILESYSTEMS[name]
        lacking = missing_options(kernel, needed.options)
        without = missing_options(kernel, [DISK_OPTIONS[disk]] if needed.on_disk else ())
        one_of = " or ".join(lacking) if len(lacking) == len(needed.options) else ""
        found[name] = " and ".join(filter(None, (one_of, *without)))
    return {name: why for name, why in found.items() if why}


def _without_filesystem(kernel: Kernel, lacking: Mapping[str, str]) -> list[Problem]:
    """Name the file systems that a kernel was built without."""
    return [
        Problem(
            f"{name} cannot be measured on {kernel.name}: the kernel was built without {why}",
            kernel=kernel.name,
        )
        for name, why in lacking.items()
    ]


def _left_out(experiment: Experiment, benchmarks: Sequence[Benchmark]) -> list[Problem]:
    """Name the benchmarks that take too long for a run of everything, by file system."""
    found = {
        name: [item.id for item in benchmarks if is_left_out(item, experiment.benchmarks, name)]
        for name in experiment.filesystems
    }
    why = "thousands of directories are made for it, which takes longer than all others"
    return [
        Problem(
            f"left out on {name}: {', '.join(of)}: {why}",
            detail="name it to measure it: --benchmark NAME",
        )
        for name, of in found.items()
        if of
    ]


def programs_of(setup: Setup) -> set[str]:
    """Return the names of lsmeter's own programs that a setup brings along."""
    return {item.program for item in setup.files if item.program}


def is_dac(kernel: Kernel) -> bool:
    """Say whether `kernel` was built without security modules: such a kernel is for dac only."""
    return bool(kernel.config) and kernel.config.get("SECURITY", "n") != "y"


def _without_kernel(setups: Sequence[Setup], kernels: Sequence[Kernel]) -> list[Problem]:
    """Name the setups for which no kernel of the right kind was given, among those to boot."""
    if not kernels:
        return []
    kinds = {is_dac(kernel) for kernel in kernels}
    words = {True: ("without", "dac"), False: ("with", "lsm-all")}
    return [
        Problem(
            f"{setup.name} cannot be measured: no kernel {word} CONFIG_SECURITY was named",
            setup=setup.name,
            detail=f"build one: lsmeter kernel build debian-source:6.1 --config {config}",
        )
        for setup in setups
        for word, config in [words[setup.lsms == ()]]
        if (setup.lsms == ()) not in kinds
    ]


def setups_of(experiment: Experiment) -> tuple[Setup, ...]:
    """Return the setups of an experiment, the baseline first.

    The baseline may be called by the name of a setup whose file is among the setups.
    """
    named = [(word, parse_setup(word)) for word in experiment.setups]
    word = experiment.baseline_setup
    baseline = (word, one_each(named).get(word) or parse_setup(word, where="--baseline"))
    # The baseline is measured even where only the others were named.
    return tuple(one_each([baseline, *named]).values())


def _with_lsms(setup: Setup, names: str) -> Setup:
    """Return the setup with further modules active; one without any, or the default, as it is."""
    further = [name for name in names.split(",") if name and name not in (setup.lsms or ())]
    return replace(setup, lsms=(*setup.lsms, *further)) if setup.lsms and further else setup


def _cells(
    experiment: Experiment,
    filesystems: Iterable[str],
    kernel: Kernel,
    setup: Setup,
    benchmarks: Sequence[Benchmark],
    identity: tuple[tuple[str, str], ...],
    image: Image | None,
) -> Iterable[Cell]:
    def chosen(suite: str, filesystem: str) -> list[Benchmark]:
        mine = (item for item in benchmarks if item.suite == suite)
        return [item for item in mine if not is_left_out(item, experiment.benchmarks, filesystem)]

    return (
        Cell(
            kernel=kernel,
            setup=_with_lsms(setup, experiment.conditions.lsms),
            suite=suite,
            filesystem=filesystem,
            user=user,
            instrument=experiment.instrument,
            conditions=_conditions(experiment, kernel),
            sampling=experiment.sampling_model(),
            benchmarks=tuple(item.id for item in mine),
            identity=tuple(
                fact
                for fact in identity
                if not fact[0].startswith(MADE_BY) or fact[0] == MADE_BY + filesystem
            ),
            task=experiment.task_model(setup.name),
            image=image,
            copies=copies,
            populous=filesystem != "tmpfs" and any(item.populous for item in mine),
        )
        for copies in experiment.counted_copies
        for suite in experiment.suites
        for filesystem in filesystems
        for mine in [chosen(suite, filesystem)]
        for user in experiment.users
    )


def _conditions(experiment: Experiment, kernel: Kernel) -> Conditions:
    """Return the conditions, with the processor of the kernel's architecture if none is named."""
    found, arch = experiment.conditions_model(), ARCHES[kernel.arch]
    if found.mitigations not in (*arch.mitigations, AS_IT_RUNS):
        raise UsageError(
            f"conditions.mitigations: {kernel.name} has no '{found.mitigations}'",
            hint=f"{arch.name} has {', '.join(arch.mitigations)}",
        )
    said = "cpu" in experiment.conditions.model_fields_set
    return found if said else replace(found, cpu=arch.cpu)


def _boots(experiment: Experiment, cells: Sequence[Cell]) -> tuple[PlannedBoot, ...]:
    """Order the boots in blocks: every cell once, in an order drawn from the seed, then again.

    Each boot of a cell has another seed, so that a count that repeats does so although timer
    ticks and random numbers fall elsewhere. Cells that share their hash are booted once.
    """
    draw = _draw(experiment.seed)
    distinct = list({cell.hash: cell for cell in cells}.values())
    boots: list[PlannedBoot] = []
    blocks = experiment.blocks_max if experiment.until_conclusive else experiment.boots
    for index in range(blocks):
        block = distinct[:]
        draw.shuffle(block)
        boots.extend(PlannedBoot(cell, index, experiment.seed + index) for cell in block)
    return tuple(boots)


def with_blocks(plan: Plan, blocks: int) -> Plan:
    """Return the plan with so many blocks."""
    return replace(plan, boots=tuple(boot for boot in plan.boots if boot.index < blocks))


def describe_size(plan: Plan) -> str:
    """Say in one line how much the plan is: "14 boots of 7 cells, 61 benchmarks each"."""
    distinct = {cell.hash: cell for cell in plan.cells}
    samples = sorted({cell.sampling.samples for cell in distinct.values()})
    each = " or ".join(map(str, samples)) or "no"
    most = "at most " if plan.experiment.until_conclusive else ""
    return (
        f"{most}{len(plan.boots)} boots of {len(distinct)} cells, "
        f"{len(plan.benchmarks)} benchmarks of {each} samples each"
    )


def boot_order(benchmarks: Sequence[str], seed: int) -> tuple[str, ...]:
    """Return the ids in the order of the boot with this seed: always the same one.

    What ran before leaves its traces in the kernel's allocators, so each boot has another order: a
    count that depends on it is then seen to differ between boots.
    """
    order = list(benchmarks)
    _draw(seed).shuffle(order)
    return tuple(order)


def delay_order(delays_ns: Sequence[int], seed: int) -> tuple[int, ...]:
    """Return the delays of a sweep in the order of the boot with this seed: always the same one.

    What an operation costs may grow from reading to reading (ext4 looks at each inode that was
    deleted of late), which ascending delays would take for their effect. Of 64 orders it is the
    one that has least to do with a straight growth.
    """
    draw, middle = _draw(seed), sum(delays_ns) / max(1, len(delays_ns))

    def with_growth(order: Iterable[int]) -> float:
        return abs(sum(at * (delay_ns - middle) for at, delay_ns in enumerate(order)))

    orders = (draw.sample(delays_ns, len(delays_ns)) for _ in range(64))
    return tuple(min(orders, key=with_growth))


def _draw(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311  (an order, not a secret)
