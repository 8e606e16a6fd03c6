# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter slopes`: how often each operation calls hooks that consult the policy."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lsmeter import __version__
from lsmeter.cli.console import SCREEN
from lsmeter.cli.measure import BootDeadlineOption, images_for, kernels_and_benchmarks
from lsmeter.cli.report import OutputOption
from lsmeter.errors import ExitCode, UsageError
from lsmeter.limits import BOOT_S, Limits
from lsmeter.slopes.delays import DEFAULT, parse_delays

if TYPE_CHECKING:
    from lsmeter.backend import Backend
    from lsmeter.model import Benchmark, Cell, Problem, Setup
    from lsmeter.run.sweep import Settings, Swept
    from lsmeter.slopes.model import SlopesReport

_SUITE = "file"
_PLOTS = (".svg", ".png")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("slopes")(slopes)


def slopes(
    kernel: Annotated[
        list[str] | None,
        typer.Option(help="Kernel: debian:6.1, a path. Repeat for more. Default: debian:6.1."),
    ] = None,
    setup: Annotated[
        list[str] | None,
        typer.Option(
            help="tunable (the module, in kernels built with it) or tunable-bpf (BPF programs, "
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
        typer.Option(
            metavar="SETUP",
            help="Show what a module looks up, too, by its own count. Repeat for more; none: "
            "nothing. Default: selinux, where the kernel has it.",
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None, typer.Option(help="Only these: an operation or a pattern: 'open*'.")
    ] = None,
    filesystem: Annotated[str, typer.Option(help="tmpfs or ext4.")] = "tmpfs",
    samples: Annotated[int, typer.Option(min=1, help="Samples at each delay.")] = 11,
    warmup: Annotated[int, typer.Option(min=0, help="Samples thrown away before.")] = 3,
    seed: Annotated[int, typer.Option(help="Seed of the guest's random numbers.")] = 1,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Guests at a time; default: the cores.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure again what is already known.")
    ] = False,
    boot_deadline: BootDeadlineOption = BOOT_S,
    form: Annotated[str, typer.Option("--format", "-f", help="table, markdown or json.")] = "table",
    output: OutputOption = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write the plot to this file, too: .svg or .png.")
    ] = None,
) -> int:
    """Count the calls of hooks that consult the policy, by making them wait.

    The latency of each operation is fitted to what such a call waits: the slope is how many
    of them the operation makes, and the slopes over the depth of the path say what one of its
    components costs. A module may look up more or less than once in a call; beside the slopes
    stand the look-ups in SELinux's cache, as the kernel counts them. What has ended is kept,
    and not measured again.

        lsmeter slopes
        lsmeter slopes --kernel debian:6.12 --benchmark open --benchmark stat
        lsmeter slopes --kernel ./vmlinux --setup tunable --format json -o slopes.json
    """
    from lsmeter.backend import find_backend
    from lsmeter.host import cores
    from lsmeter.model import Cell, Conditions, Instrument, Sampling
    from lsmeter.registry import unknown
    from lsmeter.run.sweep import Settings
    from lsmeter.setup import parse_setup
    from lsmeter.slopes.formats import FORMATS
    from lsmeter.slopes.plan import SETUPS, lookup_setups, plan_cells

    looked = lookup_setups(lookups) if lookups else None
    delays_ns = parse_delays(delays)
    if form not in FORMATS:
        raise unknown("format", form, FORMATS, where="--format")
    if plot is not None and plot.suffix not in _PLOTS:
        raise UsageError(f"--plot: {plot} is no {' or '.join(_PLOTS)} file")
    backend = find_backend(Instrument.EXACT.value)
    if filesystem not in backend.filesystems():
        raise unknown("file system", filesystem, backend.filesystems(), where="--filesystem")
    kernels, benchmarks = kernels_and_benchmarks(
        kernel or ["debian:6.1"], _SUITE, benchmark or ["*"]
    )
    template = Cell(
        kernel=kernels[0],
        setup=parse_setup(SETUPS[0]),
        suite=_SUITE,
        filesystem=filesystem,
        user="root",
        instrument=Instrument.EXACT,
        conditions=Conditions(),
        sampling=Sampling(samples=samples, warmup=warmup),
        benchmarks=tuple(item.id for item in benchmarks),
        identity=tuple(sorted(backend.identity().items())),
    )
    cells, problems = plan_cells(kernels, setup or (), delays_ns, template)
    beside, lacking, notes = _plan_lookups(cells, looked, template)
    settings = Settings(jobs or cores(), fresh, Limits(boot_s=boot_deadline))
    swept = _measure((*cells, *beside), benchmarks, backend, seed, settings)
    report = _report(swept, (*problems, *lacking), delays_ns, template)
    report = replace(report, notes=(*report.notes, *notes))
    _show(report, form, output, plot)
    return int(ExitCode.INCOMPLETE if report.problems else ExitCode.OK)


def _plan_lookups(
    swept: Sequence[Cell], asked: Sequence[Setup] | None, template: Cell
) -> tuple[tuple[Cell, ...], tuple[Problem, ...], tuple[str, ...]]:
    """Lay out the guests whose counters are read: cells, problems, notes."""
    from lsmeter.cli.live import LiveTasks
    from lsmeter.slopes.plan import plan_lookups, plan_usual_lookups

    kernels = tuple(dict.fromkeys(cell.kernel for cell in swept))
    if asked is None:
        cells, notes = plan_usual_lookups(kernels, template)
        return cells, (), notes
    with LiveTasks(SCREEN.err) as tasks:
        images = images_for(sorted({s.image for s in asked if s.image}), None, tasks)
    return *plan_lookups(kernels, asked, template, images), ()


def _measure(
    cells: Sequence[Cell],
    benchmarks: Sequence[Benchmark],
    backend: Backend,
    seed: int,
    settings: Settings,
) -> tuple[Swept, ...]:
    from lsmeter.cli.live import LiveTasks
    from lsmeter.run.sweep import sweep_cells

    with LiveTasks(SCREEN.err) as tasks:

        def show(cell: Cell, finished: int) -> None:
            name = _name(cell)
            tasks.update(name, finished, cell.units, unit="benchmarks")
            if finished == cell.units:
                tasks.finish(name)

        return asyncio.run(
            sweep_cells(
                cells,
                benchmarks,
                backend,
                seed=seed,
                settings=settings,
                on_finished=show,
            )
        )


def _name(cell: Cell) -> str:
    """Name a guest: more than one may be of the same kernel and setup."""
    what = ", look-ups" if cell.read_counters else ""
    return f"{cell.setup.name} on {cell.kernel.name}{what}"


def _report(
    swept: Sequence[Swept], problems: Sequence[Problem], delays_ns: tuple[int, ...], template: Cell
) -> SlopesReport:
    from lsmeter.report.heading import Heading
    from lsmeter.slopes.fit import fit_depths
    from lsmeter.slopes.model import SlopesReport
    from lsmeter.slopes.reference import table6

    found = tuple(slope for item in swept for slope in item.slopes)
    return SlopesReport(
        heading=Heading(
            title="Calls of hooks that consult the policy, in each operation",
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            lsmeter_version=__version__,
            command=shlex.join(["lsmeter", *sys.argv[1:]]),
            filesystem=template.filesystem,
            user=template.user,
        ),
        delays_ns=delays_ns,
        conditions=tuple((key, str(value)) for key, value in vars(template.conditions).items()),
        slopes=found,
        depths=fit_depths(found),
        published=table6(),
        problems=(*problems, *(problem for item in swept for problem in item.problems)),
        notes=tuple(
            f"{_name(item.cell)}: one guest, {item.wall_s:.1f} s"
            + (" (measured earlier)" if item.reused else "")
            for item in swept
        ),
        lookups=tuple(found for item in swept for found in item.lookups),
    )


def _show(report: SlopesReport, form: str, output: Path | None, plot: Path | None) -> None:
    from lsmeter.cli.show import print_text
    from lsmeter.report.format import RenderOptions
    from lsmeter.slopes.formats import FORMATS
    from lsmeter.storage import write_atomic

    colour = SCREEN.colour and output is None
    text = FORMATS[form](report, RenderOptions(width=SCREEN.out.width, colour=colour))
    if output is None:
        print_text(text)
    else:
        write_atomic(output, text.encode())
        SCREEN.say(f"written to {output}")
    if plot is not None:
        write_atomic(plot, _drawn(report, plot.suffix))
        SCREEN.say(f"written to {plot}")


def _drawn(report: SlopesReport, suffix: str) -> bytes:
    import vl_convert

    from lsmeter.slopes.plot import specification

    if suffix == ".png":
        drawn: bytes = vl_convert.vegalite_to_png(specification(report), allowed_base_urls=[])
        return drawn
    text: str = vl_convert.vegalite_to_svg(specification(report), allowed_base_urls=[])
    return text.encode()
