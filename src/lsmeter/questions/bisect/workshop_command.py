# SPDX-License-Identifier: GPL-2.0-or-later
"""Where commits of a kernel are built and measured, one after the other, and judged by a gate."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsmeter.cli.console import SCREEN
from lsmeter.cli.options import Options, make_experiment
from lsmeter.core.errors import BuildError, ExitCode, InfrastructureError, UsageError
from lsmeter.core.model import BootStatus
from lsmeter.core.model.arch import Arch, arch_of_host, find_arch
from lsmeter.core.storage import HeldError, hold, make_dir, need_dir
from lsmeter.measure.results.held import HOME
from lsmeter.questions.bisect.history import SHORT, History, check_out
from lsmeter.questions.bisect.options_command import CommitOptions
from lsmeter.questions.bisect.search import Ruling, Step

if TYPE_CHECKING:
    from lsmeter.core.model import Kernel
    from lsmeter.machines import Machine
    from lsmeter.measure.experiment.options import Experiment
    from lsmeter.measure.results.directory import RunData
    from lsmeter.questions.gate.judge import Gated
    from lsmeter.questions.gate.rules import Rule

RUNS, ATTRIBUTED, SURVEY = "runs", "attributed", "survey"  # of a bisection or a series
_LOCK = ".lock"
_RULINGS = {ExitCode.OK: Ruling.GOOD, ExitCode.INCOMPLETE: Ruling.BAD}


@dataclass(frozen=True)
class Visit:
    """A commit that was tried: what was measured, or why nothing was, and how long it took."""

    run: RunData | None
    why: str
    build_s: float
    run_s: float = 0.0
    built: bool = True


@dataclass(frozen=True)
class Workshop:
    """Builds and measures any commit of a history; keys are those of an experiment."""

    history: History  # in a tree of our own, whose files are those of the commit that is built
    home: Path  # the directory of the bisection or the series
    options: CommitOptions
    keys: Mapping[str, Any]

    @property
    def arch(self) -> Arch:
        """What kernels are built for."""
        names = self.options.arch or [arch_of_host().name]
        return find_arch(names[0], where="--arch")

    def build(self, commit: str) -> Kernel:
        """Return the kernel of a commit; BuildError if it does not build."""
        from lsmeter.cli.live import LiveTasks
        from lsmeter.sources.kernels.build.builder import build_kernel
        from lsmeter.sources.kernels.resolve import Request

        tree, configs = self.history.tree, self.options.configs
        check_out(tree, commit)
        # Another configuration, architecture or clone has kernels of its own of the same commit.
        of = repr((self.history.key, configs, self.arch.name)).encode()
        name = f"commit-{commit[:SHORT]}-{hashlib.sha256(of).hexdigest()[:6]}"
        with LiveTasks(SCREEN.err) as tasks:
            request = Request(progress=tasks)
            return build_kernel(str(tree), configs, (), name, request, self.arch)

    def measure(self, commit: str, kernel: str, folder: str = RUNS, **more: Any) -> RunData:
        """Measure a kernel into a folder, with more keys; KeyboardInterrupt if it is stopped."""
        from lsmeter.cli.measure import measure
        from lsmeter.measure.results.directory import read_run

        keys = {**self.keys, "kernels": [kernel], "title": f"Commit {commit[:SHORT]}", **more}
        options = replace(self.options, run_dir=make_dir(self.home / folder) / commit[:SHORT])
        path, code = measure([make_experiment(keys)], "commit", options, announce=False)
        if code is ExitCode.INTERRUPTED:
            raise KeyboardInterrupt
        return read_run(path)

    def visit(self, commit: str, folder: str = RUNS, **more: Any) -> Visit:
        """Build and measure a commit; what does not build or boot is said."""
        began = time.monotonic()
        try:
            kernel = self.build(commit)
        except BuildError as error:
            build_s = round(time.monotonic() - began, 1)
            return Visit(None, error.title, build_s, built=False)
        built = time.monotonic()
        run = self.measure(commit, kernel.name, folder, **more)
        took_s = round(built - began, 1), round(time.monotonic() - built, 1)
        if run.manifest.cells:
            return Visit(run, "", *took_s)
        why = next((item.title for item in run.manifest.problems), "nothing was measured")
        return Visit(None, why, *took_s)

    def judge(self, rules: Sequence[Rule], inconclusive: str, good: str, commit: str) -> Step:
        """Build, boot and gate a commit; what does not build or boot is a step to skip."""
        from lsmeter.measure.results.directory import read_run
        from lsmeter.questions.gate.judge import judge_runs

        tried = self.visit(commit)
        took_s = tried.build_s, tried.run_s
        if tried.run is None:
            return Step(commit, Ruling.SKIP, tried.why, *took_s)
        first = read_run(self.home / RUNS / good[:SHORT])
        gated = judge_runs(first, tried.run, rules, inconclusive)
        ruling = _RULINGS.get(gated.code, Ruling.SKIP)
        lost = [boot for boot in tried.run.boots if boot.status is BootStatus.INFRASTRUCTURE]
        if lost and ruling is Ruling.SKIP:  # the commit is not to be blamed for it
            raise InfrastructureError(
                f"{commit[:SHORT]} cannot be judged: {lost[0].detail}",
                hint="the same command tries it again",
            )
        why, number = _finding(gated)
        return Step(commit, ruling, why, *took_s, decided_by=number)


def _finding(gated: Gated) -> tuple[str, str]:
    """Return the line of the finding that decided, and its number; "" where every rule is kept."""
    from lsmeter.questions.gate.document import lines
    from lsmeter.questions.gate.judge import Outcome

    if gated.code is ExitCode.OK:
        return "", ""
    kinds = (Outcome.BROKEN, Outcome.MISSING, Outcome.OPEN)
    kind, texts = next((kind, texts) for kind in kinds if (texts := lines(gated, kind)))
    first = next(iter(gated.of(kind)), None)
    number = "" if first is None or first.decided_by is None else first.decided_by.value
    return texts[0] + (f"; and {len(texts) - 1} more" if len(texts) > 1 else ""), number


def check_machine(options: Options, experiment: Experiment) -> Machine:
    """Return the machine that commits are measured on; UsageError for what cannot, unbuilt."""
    from lsmeter.cli.measure import check_instrument, machine_for
    from lsmeter.machines import HasHosts

    if len(options.arch or ()) > 1:
        raise UsageError("--arch: commits are built for one architecture")
    machine = machine_for(options, [experiment])
    if isinstance(machine, HasHosts):
        raise UsageError(
            f"--machine {machine.name}: commits are measured in guests, which boot them",
            hint="leave --machine out",
        )
    check_instrument(experiment, machine)
    return machine


@contextmanager
def held_workshop(home: Path, what: str, *own: str) -> Iterator[None]:
    """Hold the directory of a bisection or a series, made where it is missing.

    own: the files that it may have; one with the first of them is taken whatever else is in it.
    """
    if home.parent != HOME:  # which is made as it is for runs
        need_dir(home.parent, "--run-dir")
    if home.is_dir() and not (home / own[0]).exists():
        known = {RUNS, ATTRIBUTED, SURVEY, _LOCK, *own}
        if others := [item.name for item in home.iterdir() if item.name not in known]:
            raise UsageError(
                f"--run-dir: {home} is no {what}'s directory: it holds {others[0][:80]}",
                hint="name a new or an empty directory",
            )
    make_dir(home)
    try:
        with hold(home / _LOCK, str(home), 0):
            yield
    except HeldError as error:
        raise UsageError(
            f"--run-dir: another lsmeter works in {home}: {error.who}",
            hint="wait until it has ended, or name another directory",
        ) from error
