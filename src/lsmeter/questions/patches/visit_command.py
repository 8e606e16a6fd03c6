# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a series, builds and measures its commits, and holds each against the one before it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lsmeter.catalogue.setups import definitions
from lsmeter.cli.console import SCREEN
from lsmeter.cli.show import calibration_for
from lsmeter.core.errors import BuildError, GuestError, UsageError
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.bisect.history import SHORT, History, own_history
from lsmeter.questions.bisect.workshop_command import ATTRIBUTED, SURVEY, Visit, Workshop
from lsmeter.questions.cells.frame import run_facts
from lsmeter.questions.patches.document import Series
from lsmeter.questions.patches.figures import (
    Member,
    Outcome,
    choose_benchmarks,
    compare_commits,
    judge_member,
    why_no_number,
)
from lsmeter.questions.patches.series import (
    Patch,
    apply_files,
    read_range,
    touched_functions,
    touched_modules,
)
from lsmeter.questions.time.calibration import Calibration
from lsmeter.questions.time.figures import predict_differences
from lsmeter.tables.values import some

HEAD = "HEAD"  # what files are applied to, unless another base is named
_SURVEYED = 3  # samples of each benchmark, to see what it runs
_COVER = "0000-cover-letter"  # in the names that git format-patch gives
_NAMED = 4  # functions in a sentence


@dataclass(frozen=True)
class Commits:
    """A series that was read; history is that of our own tree, which has all its commits."""

    history: History
    base: str
    patches: Sequence[Patch]

    @property
    def last(self) -> str:
        """The last commit that can be built."""
        made = (item.commit for item in reversed(self.patches) if not item.why)
        return next(made, self.base)


def read_series(history: History, words: Sequence[str], base: str) -> Commits:
    """Read a range, or apply files of patches in our own tree."""
    files = [Path(word) for word in words]
    if len(words) == 1 and not files[0].exists():
        if base != HEAD:
            raise UsageError(
                f"--base {base[:60]}: {words[0][:60]} is a range, which says where it begins",
                hint="leave --base out, or name files of patches",
            )
        start, found = read_range(history, words[0])
        return Commits(own_history(history), start, found)
    start, own = history.commit(base, "--base"), own_history(history)
    patches = [path for path in files if _COVER not in path.name]
    if len(patches) < len(files):
        SCREEN.say("left out: a cover letter, which changes nothing")
    return Commits(own, start, tuple(apply_files(own.tree, start, patches)))


def touched_setups(found: Commits) -> tuple[str, ...]:
    """Name the setups of the modules whose files a series changes."""
    known = definitions()
    touched = touched_modules(found.history.tree, found.base, found.last)
    return tuple(name for name in touched if name in known)


def measure_series(shop: Workshop, found: Commits, calibration: str | None) -> Series:
    """Measure the base and each commit, and say what they change.

    calibration: the one by which times are predicted, None for that of this machine.
    """
    SCREEN.say(f"the base: {found.history.named(found.base)}")
    shop, chosen = _narrow(shop, found)
    base = _measure_base(shop, found.base, ATTRIBUTED)
    by = calibration_for(calibration, base)
    visited = [*_visit(shop, found, base, by)]
    members = tuple(member for member, _ in visited)
    end, last = next(
        ((member.commit, run) for member, run in reversed(visited) if run is not None),
        (found.base, base),
    )
    total = () if last is base else compare_commits(base, last, by)
    told = None if by is None else predict_differences(base, last, by)
    return Series(
        *(found.base, found.history.describe(found.base), members, end, total),
        (*_facts(base), *([("benchmarks", chosen)] if chosen else [])),
        shlex.join(["lsmeter", *sys.argv[1:]]),
        told,
    )


def _measure_base(shop: Workshop, base: str, folder: str, **more: object) -> RunData:
    """Measure what a series is held against; without it there is nothing to say."""
    tried = _measure_commit(shop, base, folder, **more)
    if tried.run is None:
        kind = GuestError if tried.built else BuildError
        raise kind(
            f"the base {base[:SHORT]} has no number: {tried.why}",
            hint="name a base that builds and boots, or another --config",
        )
    return tried.run


def _measure_commit(shop: Workshop, commit: str, folder: str, **more: object) -> Visit:
    """Measure a commit; a run without a number is none."""
    tried = shop.visit(commit, folder, **more)
    why = tried.why if tried.run is None else why_no_number(tried.run)
    return replace(tried, run=None, why=why) if why else tried


def _narrow(shop: Workshop, found: Commits) -> tuple[Workshop, str]:
    """Take the benchmarks that run what the series changes, where none was named.

    Returns what to say of that, too.
    """
    if shop.keys.get("benchmarks"):
        return shop, ""
    functions = touched_functions(found.history.tree, found.base, found.last)
    if not functions:
        return shop, "all: what the series changes is not in functions alone"
    few = {"samples": _SURVEYED, "whole_ppm": 0}
    survey = _measure_base(shop, found.base, SURVEY, task="attribute", sampling=few)
    named = some(sorted(functions), _NAMED)
    chosen = choose_benchmarks(survey, functions)
    if not chosen:
        return shop, f"all: no call tree has each of {named}"
    SCREEN.say(f"benchmarks that run {named}: {', '.join(chosen)}")
    keys = {**shop.keys, "benchmarks": [*chosen]}
    return replace(shop, keys=keys), f"those that run {named}"


def _visit(
    shop: Workshop, found: Commits, base: RunData, by: Calibration | None
) -> Iterator[tuple[Member, RunData | None]]:
    """Measure each commit, and hold it against the last one that has a number."""
    last, against = base, found.base
    for number, patch in enumerate(found.patches, 1):
        told = patch.told
        SCREEN.say(f"{number}/{len(found.patches)}: {patch.commit[:SHORT]} {told.subject[:60]}")
        member, run = Member(patch.commit, told, Outcome.NOT_APPLIED, patch.why), None
        if not patch.why:
            tried = _measure_commit(shop, patch.commit, ATTRIBUTED)
            run, lost = tried.run, Outcome.NOT_MEASURED if tried.built else Outcome.NOT_BUILT
            member = Member(
                patch.commit, told, lost, tried.why, against, tried.build_s, tried.run_s
            )
        if run is not None:
            member, last, against = judge_member(member, last, run, by), run, patch.commit
        took = f"build {member.build_s:.0f} s, run {member.run_s:.0f} s"
        SCREEN.say(f"{member.outcome}{': ' * bool(member.why)}{member.why} ({took})")
        yield member, run


def _facts(run: RunData) -> tuple[tuple[str, str], ...]:
    """Say how the series was measured."""
    kernel = run.manifest.kernels[0]
    setups = ", ".join(setup.name for setup in run.manifest.setups)
    facts = ("kernel", f"Linux {kernel.release}, {kernel.origin}"), ("setups", setups)
    return (*facts, *(fact for fact in run_facts(run) if fact[0] != "kernels"))
