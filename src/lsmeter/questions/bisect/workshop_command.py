# SPDX-License-Identifier: GPL-2.0-or-later
"""Where `lsmeter bisect` builds, measures and judges commits of a kernel, one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsmeter.cli.console import SCREEN
from lsmeter.cli.options import Options, make_experiment
from lsmeter.core.errors import BuildError, ExitCode, UsageError
from lsmeter.core.storage import HeldError, hold, make_dir, need_dir
from lsmeter.measure.results.held import HOME
from lsmeter.questions.bisect.history import SHORT, History, check_out
from lsmeter.questions.bisect.search import STATE_FILE, Ruling, Step

if TYPE_CHECKING:
    from lsmeter.core.model import Kernel
    from lsmeter.measure.results.directory import RunData
    from lsmeter.questions.gate.judge import Gated
    from lsmeter.questions.gate.rules import Rule

RUNS, ATTRIBUTED = "runs", "attributed"  # in a bisection's directory
_LOCK = ".lock"
_RULINGS = {ExitCode.OK: Ruling.GOOD, ExitCode.INCOMPLETE: Ruling.BAD}


@dataclass(frozen=True)
class Workshop:
    """Builds and measures any commit of a history; keys are those of an experiment."""

    history: History
    tree: Path  # our own, whose files are those of the commit that is built
    home: Path  # the bisection's directory
    options: Options
    keys: Mapping[str, Any]
    configs: Sequence[str]

    def build(self, commit: str) -> Kernel:
        """Return the kernel of a commit; BuildError if it does not build."""
        from lsmeter.cli.live import LiveTasks
        from lsmeter.sources.kernels.build.builder import build_kernel
        from lsmeter.sources.kernels.resolve import Request

        check_out(self.tree, commit)
        with LiveTasks(SCREEN.err) as tasks:
            name, request = f"bisect-{commit[:SHORT]}", Request(progress=tasks)
            return build_kernel(str(self.tree), self.configs, (), name, request)

    def measure(self, commit: str, kernel: str, *, attribute: bool = False) -> RunData:
        """Measure a kernel; KeyboardInterrupt where that was stopped."""
        from lsmeter.cli.measure import measure
        from lsmeter.measure.results.directory import read_run

        keys = {**self.keys, "kernels": [kernel], "title": f"Commit {commit[:SHORT]}"}
        keys |= {"task": "attribute"} if attribute else {}
        home = make_dir(self.home / (ATTRIBUTED if attribute else RUNS))
        options = replace(self.options, run_dir=home / commit[:SHORT])
        path, code = measure([make_experiment(keys)], "bisect", options, announce=False)
        if code is ExitCode.INTERRUPTED:
            raise KeyboardInterrupt
        return read_run(path)

    def judge(self, rules: Sequence[Rule], inconclusive: str, good: str, commit: str) -> Step:
        """Build, boot and gate a commit; what does not build or boot is a step to skip."""
        from lsmeter.measure.results.directory import read_run
        from lsmeter.questions.gate.judge import judge_runs

        began = time.monotonic()
        try:
            kernel = self.build(commit)
        except BuildError as error:
            return Step(commit, Ruling.SKIP, error.title, round(time.monotonic() - began, 1))
        built = time.monotonic()
        run = self.measure(commit, kernel.name)
        took_s = round(built - began, 1), round(time.monotonic() - built, 1)
        if not run.manifest.cells:
            why = next((item.title for item in run.manifest.problems), "nothing was measured")
            return Step(commit, Ruling.SKIP, why, *took_s)
        first = read_run(self.home / RUNS / good[:SHORT])
        gated = judge_runs(first, run, rules, inconclusive)
        ruling = _RULINGS.get(gated.code, Ruling.SKIP)
        return Step(commit, ruling, _why(gated), *took_s, decided_by=_decided_by(gated))


def _why(gated: Gated) -> str:
    """Return the line of the finding that decided; "" where every rule is kept."""
    from lsmeter.questions.gate.document import lines
    from lsmeter.questions.gate.judge import Outcome

    if gated.code is ExitCode.OK:
        return ""
    kinds = (Outcome.BROKEN, Outcome.MISSING, Outcome.OPEN)
    found = next(texts for kind in kinds if (texts := lines(gated, kind)))
    return found[0] + (f"; and {len(found) - 1} more" if len(found) > 1 else "")


def _decided_by(gated: Gated) -> str:
    """Return the number that decided the finding of `_why`; "" where every rule is kept."""
    from lsmeter.questions.gate.judge import Outcome

    if gated.code is ExitCode.OK:
        return ""
    kinds = (Outcome.BROKEN, Outcome.MISSING, Outcome.OPEN)
    found = next((item for kind in kinds for item in gated.judged.of(kind)), None)
    return "" if found is None or found.decided_by is None else found.decided_by.value


@contextmanager
def held_bisection(home: Path, *, fresh: bool) -> Iterator[None]:
    """Hold a bisection's directory, made where it is missing; fresh forgets its steps."""
    if home.parent != HOME:  # which is made as it is for runs
        need_dir(home.parent, "--run-dir")
    state = home / STATE_FILE
    if home.is_dir() and not state.exists():
        known = {RUNS, ATTRIBUTED, _LOCK}
        if others := [item.name for item in home.iterdir() if item.name not in known]:
            raise UsageError(
                f"--run-dir: {home} is no bisection's directory: it holds {others[0][:80]}",
                hint="name a new or an empty directory",
            )
    make_dir(home)
    try:
        with hold(home / _LOCK, str(home), 0):
            if fresh:
                state.unlink(missing_ok=True)
            yield
    except HeldError as error:
        raise UsageError(
            f"--run-dir: another lsmeter works in {home}: {error.who}",
            hint="wait until it has ended, or name another directory",
        ) from error
