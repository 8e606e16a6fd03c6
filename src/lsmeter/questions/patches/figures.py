# SPDX-License-Identifier: GPL-2.0-or-later
"""What each commit of a series changes, by run against run; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Benchmark, Place
from lsmeter.core.model.conclusion import Comparison, Difference, Number
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.attribution.account import counterparts, operation
from lsmeter.questions.attribution.load import run_cells
from lsmeter.questions.bisect.history import Commit
from lsmeter.questions.cells.cells import cell_results
from lsmeter.questions.cost.build import compare_runs, make_report
from lsmeter.questions.gate.judge import Moved, most_moved
from lsmeter.questions.time.calibration import Calibration
from lsmeter.questions.time.figures import PredictedDifference, predict_differences
from lsmeter.sources.kernels.functions import base_name

_MOST_CHOSEN = 8  # operations that are measured where none is named


class Outcome(StrEnum):
    """What came of a commit."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"  # not identical, and nothing that chance would not do
    IDENTICAL = "identical"
    NOT_APPLIED = "not applied"
    NOT_BUILT = "not built"
    NOT_MEASURED = "not measured"  # not booted, or without a number


NO_NUMBER = frozenset({Outcome.NOT_APPLIED, Outcome.NOT_BUILT, Outcome.NOT_MEASURED})


@dataclass(frozen=True)
class Effect:
    """One benchmark under one setup on both sides, and where its cost moved most.

    predicted: its times, where events were counted and a calibration knows what they take.
    """

    item: Comparison
    moved: Moved | None
    predicted: PredictedDifference | None = None

    @property
    def place(self) -> Place:
        """Where it was measured."""
        return self.item.place

    @property
    def benchmark(self) -> Benchmark:
        """What was measured."""
        return self.item.benchmark


@dataclass(frozen=True)
class Member:
    """One commit of a series, and what it changes against the last one that was measured.

    against is that one: the parent, unless that gave no number. same_kernel: the images are equal.
    """

    commit: str
    told: Commit
    outcome: Outcome
    why: str = ""
    against: str = ""
    build_s: float = 0.0
    run_s: float = 0.0
    same_kernel: bool = False
    effects: tuple[Effect, ...] = ()


def why_no_number(run: RunData) -> str:
    """Say why a run has no number of any benchmark; "" where it has one."""
    if any(result.estimates for result in cell_results(run)):
        return ""
    first = next(iter(make_report(run).problems), None)
    if first is None:
        return "nothing was measured"
    return f"{first.title}: {first.detail}" if first.detail else first.title


def compare_commits(
    before: RunData, after: RunData, calibration: Calibration | None = None
) -> tuple[Effect, ...]:
    """Compare what two commits cost, each setup with its namesake, without the controls."""
    sides = counterparts(run_cells(before)[0], run_cells(after)[0])
    accounts = {item.place: item for item in sides}
    told = None if calibration is None else predict_differences(before, after, calibration)
    times = {(one.place, one.benchmark.id): one for one in told.differences} if told else {}

    def effect(item: Comparison) -> Effect:
        account, time = accounts.get(item.place), times.get((item.place, item.benchmark.id))
        if account is None or item.found is not Difference.SEEN:
            return Effect(item, None, time)
        whole = item.decided_by is not Number.TYPICAL and account.whole.benchmarks
        known = (account.whole if whole else account.typical).benchmarks.get(item.benchmark.id)
        return Effect(item, None if known is None else most_moved(known), time)

    found = compare_runs(before, after).comparisons
    return tuple(effect(item) for item in found if not item.benchmark.control)


def judge_member(
    member: Member, before: RunData, after: RunData, calibration: Calibration | None = None
) -> Member:
    """Say what a commit that was measured changes."""
    try:
        effects = compare_commits(before, after, calibration)
    except UsageError as error:
        return replace(member, outcome=Outcome.NOT_MEASURED, why=error.title)
    old, new = ({kernel.image_sha256 for kernel in run.manifest.kernels} for run in (before, after))
    member = replace(member, why="", same_kernel=old == new, effects=effects)
    kinds = {effect.item.found for effect in effects}
    if not kinds:
        why = "no benchmark has a number on both sides"
        return replace(member, outcome=Outcome.NOT_MEASURED, why=why)
    outcome = Outcome.IDENTICAL if kinds == {Difference.NONE} else Outcome.UNCHANGED
    return replace(member, outcome=Outcome.CHANGED if Difference.SEEN in kinds else outcome)


def choose_benchmarks(run: RunData, functions: Collection[str]) -> tuple[str, ...]:
    """Name benchmarks that run all of these functions, together; () where not even all do.

    Of each operation it is the first variant that runs most of them; of operations, first come
    those that run most. A function that few operations run is not left out.
    """
    runs: dict[str, frozenset[str]] = {}
    for cell in run_cells(run)[0]:
        for name, tree in cell.trees.items():
            named = frozenset(base_name(node.function.name) for node in tree.nodes)
            runs[name] = runs.get(name, frozenset()) | (named & {*functions})
    if not functions or frozenset().union(*runs.values()) != frozenset(functions):
        return ()
    best: dict[str, str] = {}
    for name in sorted(runs, key=lambda name: -len(runs[name])):
        best.setdefault(operation(name), name)
    few: list[str] = []
    reached: frozenset[str] = frozenset()
    for name in best.values():
        if runs[name] and (len(few) < _MOST_CHOSEN or not runs[name] <= reached):
            few.append(name)
            reached |= runs[name]
    return tuple(few)


def changes_of(effects: Iterable[Effect]) -> list[Effect]:
    """Return what differs for certain, the largest difference first."""
    seen = [effect for effect in effects if effect.item.found is Difference.SEEN]
    return sorted(seen, key=lambda effect: -abs(effect.item.difference))
