# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter bisect`: find the commit from which on an operation costs too much."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lsmeter.cli.console import SCREEN
from lsmeter.cli.options import argument, but, declared, make_experiment
from lsmeter.core.errors import ExitCode, LsmeterError
from lsmeter.questions.bisect.options_command import CommitOptions
from lsmeter.questions.gate.command import InconclusiveOption, RuleOptions

if TYPE_CHECKING:
    from lsmeter.questions.bisect.document import Difference
    from lsmeter.questions.bisect.workshop_command import Workshop
    from lsmeter.questions.gate.rules import Rule


@dataclass(frozen=True)
class JudgeOptions(RuleOptions):
    """The options of gate; what is not known well enough is no step to skip."""

    inconclusive: InconclusiveOption = "pass"


def bisect(
    options: Annotated[CommitOptions, but("kernel", run_dir="runs/bisect-…")],
    judging: JudgeOptions,
    tree: Annotated[Path, argument("TREE", "A kernel's git work tree; only read.")],
    good: Annotated[str, declared("bisect.good")],
    bad: Annotated[str, declared("bisect.bad")] = "HEAD",
) -> int:
    """Find the first commit that breaks a rule.

    It builds, boots and judges each step by itself. The good commit is measured first, and each
    step is held against it by the rules of `lsmeter gate`. Kernels are built in a work tree of
    lsmeter's own, in one directory of objects, so that a step compiles what the commits changed. A
    commit is bad when a rule is broken for certain, as it is at --bad; one that does not build or
    boot is skipped. In the end the first bad commit is measured with the one before it, and the
    hooks and functions that moved are shown. Stop it at any time (Ctrl-C): the same command goes on
    from there.

        lsmeter bisect ~/linux --good v6.11 --bad v6.12 -s selinux -b open
        lsmeter bisect . --good HEAD~16 -b stat --max 'stat<=9insns' -c ./a.config

    Exit code 0: the commit is known; 1: it is one of several that could not be judged.
    """
    from lsmeter.cli.show import show
    from lsmeter.core.storage import locked
    from lsmeter.measure.results.held import HOME
    from lsmeter.questions.bisect.document import document
    from lsmeter.questions.bisect.history import find_history, own_history
    from lsmeter.questions.bisect.search import STATE_FILE, Question
    from lsmeter.questions.bisect.search import bisect as search
    from lsmeter.questions.bisect.workshop_command import Workshop, held_workshop

    history = find_history(tree)
    ends = history.commit(good, "--good"), history.commit(bad, "--bad")
    history.check_order(*ends)
    keys = options.commit_keys()
    chosen = judging.choose()
    _check(options, keys, chosen)
    said = (repr(sorted(keys.items())), *options.configs, *(item.text for item in chosen))
    question = Question(*ends, (*said, judging.inconclusive))
    name = hashlib.sha256(repr((history.key, question)).encode()).hexdigest()[:10]
    home = options.run_dir or HOME / f"bisect-{name}"
    with held_workshop(home, "bisection", STATE_FILE), locked(f"bisect-{history.key}"):
        if options.fresh:
            (home / STATE_FILE).unlink(missing_ok=True)
        workshop = Workshop(own_history(history), home, options, keys)
        test = partial(workshop.judge, chosen, judging.inconclusive, ends[0])
        state, suspects = search(history, question, home, test, SCREEN.say)
        where = _difference(workshop, suspects)
        named = {step.commit for step in state.steps} | {*suspects}
        commits = {item: history.describe(item) for item in named}
    show(document(state, suspects, commits, [rule.text for rule in chosen], where))
    SCREEN.say(f"results {home}")
    return int(ExitCode.OK if len(suspects) == 1 else ExitCode.INCOMPLETE)


def _check(options: CommitOptions, keys: Mapping[str, Any], rules: Sequence[Rule]) -> None:
    """Say what is wrong with setups, benchmarks and rules before anything is built."""
    from lsmeter.guest.probe import catalogue, find_probe
    from lsmeter.measure.experiment.plan import look_up
    from lsmeter.measure.instruments import find_instrument
    from lsmeter.questions.bisect.workshop_command import check_machine
    from lsmeter.questions.gate.judge import check_rules

    found = make_experiment(dict(keys))
    files = check_machine(options, found).filesystems
    setups, benchmarks = look_up(found, catalogue(find_probe()), files)
    names = {setup.name for setup in setups}
    check_rules(rules, benchmarks, names, find_instrument(found.instrument))


def _difference(workshop: Workshop, suspects: Sequence[str]) -> Difference:
    """Measure the first bad commit and the one before it again, and say which hook moved."""
    from lsmeter.questions.attribution.account import counterparts
    from lsmeter.questions.attribution.load import run_cells
    from lsmeter.questions.attribution.tables import diff_document
    from lsmeter.questions.bisect.document import Difference
    from lsmeter.questions.bisect.history import SHORT
    from lsmeter.questions.bisect.workshop_command import ATTRIBUTED

    if len(suspects) != 1:
        return Difference()
    (first,) = suspects
    before = workshop.history.parent(first)
    SCREEN.say(f"where it comes from: {before[:SHORT]} against {first[:SHORT]}")
    try:
        runs = [
            workshop.measure(commit, workshop.build(commit).name, ATTRIBUTED, task="attribute")
            for commit in (before, first)
        ]
        sides = [run_cells(run)[0] for run in runs]
    except LsmeterError as error:
        return Difference(note=f"which hook it comes from is not known: {error.title}")
    accounts = list(counterparts(*sides))
    if not accounts:
        return Difference(note="which hook it comes from is not known: no attribution")
    found = diff_document(accounts, before[:SHORT], first[:SHORT])
    return Difference(found.sections, found.data)
