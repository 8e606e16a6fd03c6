# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes out of a run what it says of each scenario; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from lsmeter.analysis import cell_results, compare_cells
from lsmeter.conclusion import Comparison
from lsmeter.hooks.attribution.contexts import Context as Where
from lsmeter.hooks.attribution.load import AttributedCell, explain_wholes
from lsmeter.hooks.attribution.modules import base_name
from lsmeter.hooks.attribution.whole_explain import WholeExplanation
from lsmeter.model import Problem
from lsmeter.policy import StateReading
from lsmeter.results.directory import RunData
from lsmeter.selftest.costs import Context, Injection
from lsmeter.selftest.judge import Charge, Counted, Seen
from lsmeter.selftest.scenarios import Part, Scenario, counted_insns, counted_slack, lost

_HOOK = "security_"
_CONTEXTS = {
    Where.CALL: Context.CALL,
    Where.TASK_WORK: Context.TASK_WORK,
    Where.RCU: Context.RCU,
    Where.WORKQUEUE: Context.WORKER,
    Where.THREAD: Context.WORKER,
}


class Gatherer:
    """A run with its attribution, asked scenario by scenario; sides are compared once."""

    def __init__(self, run: RunData, attributed: Iterable[AttributedCell]) -> None:
        self._margin = run.manifest.margin
        self._results = {result.cell.setup: result for result in cell_results(run)}
        self._attributed = {item.cell.setup: item for item in attributed}
        self._compared: dict[tuple[str, str], Mapping[str, Comparison]] = {}
        self._explained: dict[tuple[str, str], Mapping[str, WholeExplanation]] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All that went wrong in the boots."""
        return tuple(item for result in self._results.values() for item in result.problems)

    def seen(self, scenario: Scenario) -> Seen:
        """Return all that the run says of a scenario."""
        sides = (scenario.baseline, scenario.tested)
        comparison = self._comparisons(sides).get(scenario.benchmark)
        explanation = self._explanations(sides).get(scenario.benchmark)
        return Seen(
            comparison=comparison,
            before=self._counted(scenario, scenario.baseline, scenario.before),
            after=self._counted(scenario, scenario.tested, scenario.after),
            charges=None if explanation is None else charges(explanation),
            missing=self._missing(scenario, attributed=comparison is not None),
        )

    def _comparisons(self, sides: tuple[str, str]) -> Mapping[str, Comparison]:
        if sides not in self._compared:
            before, after = (self._results.get(name) for name in sides)
            found = compare_cells(before, after, self._margin) if before and after else ()
            self._compared[sides] = {item.benchmark.id: item for item in found}
        return self._compared[sides]

    def _explanations(self, sides: tuple[str, str]) -> Mapping[str, WholeExplanation]:
        if sides not in self._explained:
            before, after = (self._attributed.get(name) for name in sides)
            self._explained[sides] = explain_wholes(before, after) if before and after else {}
        return self._explained[sides]

    def _counted(self, scenario: Scenario, setup: str, injection: Injection) -> Counted:
        result = self._results.get(setup)
        boots = result.boots if result is not None else ()
        return counted(
            scenario,
            injection,
            [
                state
                for stored in boots
                for state in stored.boot.states
                if state.benchmark == scenario.benchmark
            ],
        )

    def _missing(self, scenario: Scenario, *, attributed: bool) -> str:
        """Say why a scenario has no numbers, or no attribution."""
        for setup in (scenario.baseline, scenario.tested):
            if attributed:
                cell = self._attributed.get(setup)
                reason = cell.no_whole.get(scenario.benchmark, "") if cell is not None else ""
                if reason:
                    return f"{setup}: {reason}"
                continue
            result = self._results.get(setup)
            for problem in result.problems if result is not None else ():
                if problem.benchmark in {"", scenario.benchmark}:
                    return f"{problem.title}: {problem.detail}".removesuffix(": ")
        return ""


def counted(scenario: Scenario, injection: Injection, states: Sequence[StateReading]) -> Counted:
    """Return what the module counted around a benchmark, in the mean over boots."""
    words = (scenario.operation, Part.WHOLE)
    found = [counted_insns(item.before, item.after, *words) for item in states]
    known = [float(item) for item in found if item is not None]
    slack = [counted_slack(injection, item.before, item.after, *words) for item in states]
    return Counted(
        insns=fmean(known) if known and len(known) == len(found) else None,
        slack=float(max(slack, default=0)),
        lost=sum(lost(item.after) for item in states),
    )


def charges(explanation: WholeExplanation) -> tuple[Charge, ...]:
    """Return what every function is charged, in hooks and outside of them, the largest first."""
    changes = (
        *(item for hook in explanation.hooks for item in hook.functions),
        *explanation.outside,
    )
    found = (
        Charge(
            function=base_name(item.place.function),
            hook=item.place.hook.removeprefix(_HOOK),
            context=_CONTEXTS.get(item.place.context),
            insns=item.difference,
        )
        for item in changes
    )
    return tuple(sorted(found, key=lambda item: (-abs(item.insns), item.function)))
