# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter hooks`: hooks as a kernel's source has them, what they cost, how often they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from lsmeter.cli.console import SCREEN
from lsmeter.cli.names import runs
from lsmeter.cli.options import (
    CalibrationOption,
    Options,
    RunArgument,
    argument,
    declared,
)
from lsmeter.cli.show import calibration_for, deliver, show, write
from lsmeter.core.errors import ExitCode, InfrastructureError, UsageError

if TYPE_CHECKING:
    from lsmeter.core.model import Problem
    from lsmeter.questions.attribution.account import Account
    from lsmeter.questions.attribution.load import AttributedCell
    from lsmeter.questions.hooks.source.config import Config
    from lsmeter.questions.hooks.source.model import SourceAnalysis
    from lsmeter.tables.model import Detail, Document

NO_CONFIG = "none"

# The suites whose operations are no other suite's.
COUNTED_SUITES = ("file", "process", "ipc", "net", "syscall")

_TITLE = "Where the cost of each operation comes from"

_Attributed = Annotated[Path, argument("RUN", "A run that was made with --attribute.", runs)]


def source(
    tree: Annotated[
        str, argument("TREE", "A kernel's source, a tarball of it, or debian-source:6.1.")
    ],
    config: Annotated[str | None, declared("hooks-source.config")] = None,
    explain: Annotated[tuple[str, str] | None, declared("hooks-source.explain")] = None,
    graph: Annotated[Literal["text", "dot"], declared("hooks-source.graph")] = "text",
    filesystem: Annotated[str | None, declared("hooks-source.filesystem")] = None,
    arch: Annotated[str | None, declared("hooks-source.arch")] = None,
    fresh: Annotated[bool, declared("hooks-source.fresh")] = False,
) -> None:
    """List the hooks of a kernel's source, and what reaches them.

    No build is needed; any kernel from 5.3 on is understood. It says who implements each hook. A
    configuration (a file, or that of a kernel: debian:6.12) leaves out what is not compiled;
    with none, every option is taken to be on.

        lsmeter hooks source debian-source:6.12 --config debian:6.12
        lsmeter hooks source linux-6.12 --explain open inode_permission
    """
    from lsmeter.core.printable import printable
    from lsmeter.questions.hooks.source import document as documents

    named = (filesystem,) if filesystem is not None else ()
    found = analysed(tree, config, named, arch=arch, fresh=fresh)
    if explain is None:
        show(documents.document(found, filesystem))
        return
    chain, dot = documents.explain(found, *explain, filesystem)
    if graph == "text":
        show(chain)
    else:
        deliver(printable(dot, keep="\n"))


def analysed(
    named: str,
    config: str | None,
    filesystems: Iterable[str],
    *,
    arch: str | None = None,
    fresh: bool = False,
) -> SourceAnalysis:
    """Analyse a source for the usual file systems and for others, and show that it goes on.

    A folder is read as it stands, whatever was built in it; all else is fetched or unpacked.
    """
    from lsmeter.cli.live import LiveTasks
    from lsmeter.core.model.arch import find_arch
    from lsmeter.questions.hooks.source.analysis import DEFAULT_FILESYSTEMS, analyse
    from lsmeter.sources.kernels.build.source import resolve_source
    from lsmeter.sources.kernels.resolve import Request

    wanted = (*DEFAULT_FILESYSTEMS, *filesystems)
    with LiveTasks(SCREEN.err) as progress:
        tree = Path(named).expanduser()
        if not tree.is_dir():
            tree = resolve_source(named, Request(progress=progress)).path
        chosen = _configuration(tree, config)
        name = find_arch(arch, where="--arch").name if arch else chosen.own_arch
        chosen = replace(chosen, arch=name)
        return analyse(tree, config=chosen, progress=progress, cache=not fresh, filesystems=wanted)


def _configuration(tree: Path, named: str | None) -> Config:
    """Return the configuration that is named: a file's, a kernel's, or the tree's own."""
    from lsmeter.core.model.series import series_of
    from lsmeter.questions.hooks.source.config import EVERYTHING, Config, read_config
    from lsmeter.sources.kernels.resolve import resolve

    own = tree / ".config"
    if named == NO_CONFIG or (named is None and not own.is_file()):
        return EVERYTHING
    path = own if named is None else Path(named)
    if named is None or path.is_file():
        return read_config(path)
    try:
        kernel = resolve(named)
    except UsageError as error:
        title = error.title.removeprefix("--kernel: ")
        raise UsageError(f"--config: no such file, and {title}", hint=error.hint) from error
    return Config(dict(kernel.config), named, str(series_of(kernel.release) or ""))


def cost(
    options: Options,
    run: RunArgument = None,
    graphs: Annotated[Path | None, declared("hooks-cost.graphs")] = None,
) -> int:
    """Show which hooks and functions a cost comes from.

    Without RUN it measures capability and selinux. With RUN, a run that was made with
    --attribute, --setup shows only these setups of it.

        lsmeter hooks cost --setup selinux --setup smack --run-dir r
        lsmeter hooks cost r --setup smack --graphs smack-graphs
        lsmeter hooks cost r --setup smack --format pprof -o smack.pb.gz
    """
    from lsmeter.cli.measure import check_shown, measure, showing
    from lsmeter.core.storage import output_dir
    from lsmeter.questions.attribution.account import run_accounts
    from lsmeter.questions.attribution.flame import graph_files
    from lsmeter.questions.attribution.load import load_run
    from lsmeter.questions.attribution.tables import cost_document

    code, only = ExitCode.OK, options.setup
    if run is None:
        setups = ["capability", "selinux"]
        experiment = options.experiment(title=_TITLE, task="attribute", setups=setups)
        run, code = measure([experiment], "hooks-cost", options)
        only = None
    else:
        check_shown(replace(options, setup=None), run)
    with showing(code):
        data, cells, damaged = load_run(run)
        _warn(damaged)
        found = run_accounts(cells, data.manifest.baseline_setup)
        accounts = _only([item for item in found if item.typical.benchmarks], only)
        if not accounts and damaged:
            raise _too_damaged(f"{run}: too much of its attribution is damaged to explain a setup")
        if not accounts:
            raise UsageError(
                f"{run}: no setup to explain against the baseline {data.manifest.baseline_setup}",
                hint="the run needs the baseline and one more setup, both with attribution",
            )
        if graphs is not None:
            output_dir(graphs, "--graphs")
            for name, text in graph_files(accounts).items():
                write(graphs / name, text.encode(), "--graphs")
        show(partial(cost_document, accounts))
    return int(ExitCode.INCOMPLETE if code is ExitCode.OK and damaged else code)


def _too_damaged(what: str) -> InfrastructureError:
    return InfrastructureError(what, hint="measure again: the same command with --fresh")


def _warn(damaged: Iterable[Problem]) -> None:
    for problem in damaged:
        SCREEN.say(f"{problem.title}: {problem.detail}")


def _only(accounts: Sequence[Account], setups: Sequence[str] | None) -> Sequence[Account]:
    """Return the accounts of these setups; UsageError for one that the run does not have."""
    from lsmeter.core.registry import unknown

    known = {item.place.setup for item in accounts}
    for name in setups or ():
        if name not in known:
            raise unknown("setup", name, known, where="--setup")
    return [item for item in accounts if not setups or item.place.setup in setups]


def diff(
    run_a: _Attributed,
    run_b: _Attributed,
    setup: Annotated[list[str] | None, declared("only_setup", text="Only these.")] = None,
    calibration: CalibrationOption = None,
) -> int:
    """Show which hooks and functions changed between two runs.

    Setups of the same name are compared: two kernels, or a kernel before and after a patch. Of runs
    with --events it predicts what calls take more, as this machine or --calibration tells it.

        lsmeter hooks diff before after
        lsmeter hooks diff before after -s selinux --format pprof -o selinux.pb.gz
    """
    from lsmeter.questions.attribution.account import counterparts
    from lsmeter.questions.attribution.load import load_run
    from lsmeter.questions.attribution.tables import diff_document
    from lsmeter.questions.cost.build import differing
    from lsmeter.questions.time.differences import add_differences
    from lsmeter.questions.time.figures import predict_differences

    (old, before, damaged), (new, after, more) = load_run(run_a), load_run(run_b)
    lost = (*damaged, *more)
    _warn(lost)
    accounts = list(counterparts(before, after))
    chosen = _only(accounts, setup) if accounts else accounts
    explained = any(item.typical.benchmarks or item.whole.benchmarks for item in chosen)
    if not explained and lost:
        raise _too_damaged(
            f"{run_a} and {run_b}: too much of their attribution is damaged to compare a setup"
        )
    if not explained:
        what = "benchmark" if chosen else "setup"
        raise UsageError(
            f"{run_a} and {run_b} have no {what} in common",
            hint=f"compare runs of the same {what}s, file systems and users",
        )
    by = calibration_for(calibration, old, new)
    told = None if by is None else predict_differences(old, new, by)
    if told is not None and setup:
        kept = (item for item in told.differences if item.place.setup in setup)
        told = replace(told, differences=tuple(kept))
    notes = (*differing(old.manifest, new.manifest), *_alone(accounts, before, after, setup))

    def document(detail: Detail) -> Document:
        made = diff_document(chosen, str(run_a), str(run_b), notes, detail)
        return add_differences(made, told, detail)

    show(document)
    return int(ExitCode.INCOMPLETE if lost else ExitCode.OK)


def _alone(
    accounts: Iterable[Account],
    before: Iterable[AttributedCell],
    after: Iterable[AttributedCell],
    setups: Sequence[str] | None,
) -> Iterator[str]:
    """Say which of these setups only one of two runs has."""
    pairs = [(item.baseline.cell.place, item.place) for item in accounts]
    for at, (word, cells) in enumerate((("first", before), ("second", after))):
        paired = {pair[at] for pair in pairs}
        for place in (item.cell.place for item in cells):
            if place not in paired and (not setups or place.setup in setups):
                yield f"{place.label}: only in the {word} run, not compared"


def count(options: Options, run: RunArgument = None) -> int:
    """Count how often each hook runs in one operation.

    The kernel is not changed. Only the measured system call is counted, not what sets it up or
    undoes it.

        lsmeter hooks count
        lsmeter hooks count --kernel debian:7.2 --setup selinux --benchmark open
        lsmeter hooks count --format json -o counts.json
    """
    from lsmeter.cli.measure import measured
    from lsmeter.questions.hooks.count import document

    title = "Runs of each hook in one operation"
    setups = ["capability"]
    found = options.experiment(title=title, task="count", setups=setups, boots=1, seed=1)
    with measured(run, [found], "hooks-count", options, tasks=["count"]) as (data, code):
        show(document(data))
    return code


def coverage(options: Options, run: RunArgument = None) -> int:
    """Show which hooks each suite reaches, and why it does not reach others.

    Without RUN every suite of system calls is counted, or taken from what was counted before.
    With RUN, a run of `hooks count`, only what that run has.

        lsmeter hooks coverage --kernel debian:6.12
        lsmeter hooks coverage --kernel debian:6.12 --setup selinux --suite net
    """
    from lsmeter.cli.measure import measured
    from lsmeter.questions.hooks.coverage import coverage_document

    title, suites = "Hooks that the suites reach", list(COUNTED_SUITES)
    found = options.experiment(
        title=title, task="count", setups=["capability"], suites=suites, boots=1, seed=1
    )
    with measured(run, [found], "hooks-coverage", options, tasks=["count"]) as (data, code):
        show(coverage_document(data))
    return code
