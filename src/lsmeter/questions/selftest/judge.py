# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes out of a run what it says of each scenario, and holds it against what is true; pure.

A scenario passes if nothing that was said of it is wrong. Each way to be wrong is a reason, in
words that a person can act on.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean

from lsmeter.catalogue.setups.inject import Injection, Way
from lsmeter.core.model import Problem, StateReading
from lsmeter.core.model.conclusion import Change, Comparison, Difference
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.attribution.explain import Explanation, explain
from lsmeter.questions.attribution.load import AttributedCell
from lsmeter.questions.attribution.profile import Context as Runner
from lsmeter.questions.cells.cells import cell_results, compare_cells
from lsmeter.questions.selftest.scenarios import (
    Context,
    Part,
    Scenario,
    Site,
    counted_insns,
    counted_slack,
    lost,
)
from lsmeter.sources.kernels.functions import base_name

CLOSE = 0.02  # of the truth: so far may a whole cost or what a function is charged be from it
# Of the baseline's whole cost: where nothing changes in all, no interval may be wider. An interval
# in which everything fits says nothing.
WIDEST = 0.02
# Part of a call by which boots of a kernel as it ships differ.
BOOTS = 0.0015
# Part of the calls: what is rarer is not in the 100 readings of a boot, nor in their mean.
RAREST = Fraction(1, 100)

_CONTEXTS = {
    Runner.CALL: Context.CALL,
    Runner.TASK_WORK: Context.TASK_WORK,
    Runner.RCU: Context.RCU,
    Runner.WORKQUEUE: Context.WORKER,
    Runner.THREAD: Context.WORKER,
}


@dataclass(frozen=True)
class Charge:
    """By how much a function costs more by attribution, in instructions of one whole operation."""

    function: str
    hook: str  # without security_; "" outside of hooks
    context: Context | None  # None where no cost is injected, as in interrupts
    insns: float


@dataclass(frozen=True)
class Counted:
    """What the module counted for an operation of one side, in the mean over boots."""

    insns: float | None  # None where a point was never met
    slack: float  # what one cost more or less is worth in it
    lost: int


@dataclass(frozen=True)
class Seen:
    """All that a run says of one scenario."""

    comparison: Comparison | None
    before: Counted
    after: Counted
    charges: tuple[Charge, ...] | None  # the largest first; None where nothing was attributed
    missing: str = ""  # why there is no comparison or no attribution


@dataclass(frozen=True)
class Judgement:
    """A scenario, what was seen of it, and what of that is wrong; nothing if it passed."""

    scenario: Scenario
    seen: Seen
    reasons: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.reasons

    @property
    def truth_insns(self) -> float:
        """The whole cost that was injected, by definition; for a blob the least."""
        return float(self.scenario.expected_insns(Part.WHOLE))

    @property
    def counted_insns(self) -> float | None:
        """The same by the module's counters; None where they do not have it."""
        before, after = self.seen.before.insns, self.seen.after.insns
        if before is None or after is None or self.scenario.is_least:
            return None
        return after - before

    @property
    def named(self) -> tuple[Charge, ...]:
        """The charges of the functions that had to be named, as far as they were."""
        charges = self.seen.charges or ()
        found = (find_charge(site, charges) for site in self.scenario.site_insns)
        return tuple(charge for charge in found if charge is not None)


class Gatherer:
    """A run with its attribution, asked scenario by scenario; sides are compared once."""

    def __init__(self, run: RunData, attributed: Iterable[AttributedCell]) -> None:
        self._margin = run.manifest.margin
        self._results = {result.cell.place.setup: result for result in cell_results(run)}
        self._attributed = {item.cell.place.setup: item for item in attributed}
        self._compared: dict[tuple[str, str], Mapping[str, Comparison]] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All that went wrong in the boots."""
        return tuple(item for result in self._results.values() for item in result.problems)

    def seen(self, scenario: Scenario) -> Seen:
        """Return all that the run says of a scenario."""
        comparison = self._comparison(scenario)
        cells = (self._attributed.get(side.setup) for side in scenario.injections)
        before, after = (cell.wholes.get(scenario.benchmark) if cell else None for cell in cells)
        missing = self._unattributed if comparison is not None else self._unmeasured
        return Seen(
            comparison=comparison,
            before=self._counted(scenario, scenario.before),
            after=self._counted(scenario, scenario.after),
            charges=charges(explain(before, after)) if before and after else None,
            missing=next(missing(scenario), ""),
        )

    def _comparison(self, scenario: Scenario) -> Comparison | None:
        setups = (scenario.before.setup, scenario.after.setup)
        if setups not in self._compared:
            before, after = (self._results.get(name) for name in setups)
            found = compare_cells(before, after, self._margin) if before and after else ()
            self._compared[setups] = {item.benchmark.id: item for item in found}
        return self._compared[setups].get(scenario.benchmark)

    def _counted(self, scenario: Scenario, side: Injection) -> Counted:
        result = self._results.get(side.setup)
        states = [state for boot in (result.boots if result else ()) for state in boot.states]
        return counted(scenario, side, [s for s in states if s.benchmark == scenario.benchmark])

    def _unattributed(self, scenario: Scenario) -> Iterator[str]:
        """Say why a scenario has no attribution."""
        for side in scenario.injections:
            cell = self._attributed.get(side.setup)
            if cell is not None and (reason := cell.no_whole.get(scenario.benchmark)):
                yield f"{side.setup}: {reason}"

    def _unmeasured(self, scenario: Scenario) -> Iterator[str]:
        """Say why a scenario has no numbers."""
        found = (self._results.get(side.setup) for side in scenario.injections)
        for problem in (item for result in found if result for item in result.problems):
            if problem.benchmark in {"", scenario.benchmark}:
                yield f"{problem.title}: {problem.detail}".removesuffix(": ")


def counted(scenario: Scenario, side: Injection, states: Sequence[StateReading]) -> Counted:
    """Return what the module counted around a benchmark, in the mean over boots."""
    name = scenario.operation
    found = [counted_insns(item.before, item.after, name) for item in states]
    known = [item for item in found if item is not None]
    slack = [counted_slack(side, item.before, item.after, name) for item in states]
    return Counted(
        insns=fmean(known) if known and len(known) == len(found) else None,
        slack=float(max(slack, default=0)),
        lost=sum(lost(item.after) for item in states),
    )


def charges(explanation: Explanation) -> tuple[Charge, ...]:
    """Return what every function is charged, in hooks and outside of them, the largest first."""
    found = (
        Charge(
            base_name(item.function),
            item.hook.removeprefix("security_"),
            _CONTEXTS.get(item.context),
            item.difference_insns,
        )
        for item in explanation.changes
    )
    return tuple(sorted(found, key=lambda item: (-abs(item.insns), item.function)))


def judge(scenario: Scenario, seen: Seen) -> Judgement:
    """Say all that is wrong with what was seen of a scenario; of a bystander, its verdict alone."""
    return Judgement(scenario, seen, tuple(_reasons(scenario, seen)))


def find_charge(site: Site, charges: Iterable[Charge]) -> Charge | None:
    """Return what a function is charged where it should be: in its context, below its hook."""
    anywhere = not site.hook and site.context is not Context.CALL
    found = (
        item
        for item in charges
        if item.function == site.function
        and item.context is not None
        and item.context is (site.context or item.context)
        and (anywhere or item.hook == site.hook)
    )
    return next(found, None)


def _reasons(scenario: Scenario, seen: Seen) -> Iterator[str]:
    if seen.comparison is None:
        yield f"no numbers: {seen.missing or 'one of its setups was not measured'}"
        return
    if scenario.bystander:
        yield from _wrong_verdict(scenario, seen.comparison)
        return
    yield from _wrong_truth(scenario, seen)
    yield from _wrong_verdict(scenario, seen.comparison)
    if seen.comparison.has_typical:
        yield from _wrong_typical(scenario, seen.comparison)
    yield from _wrong_mean(scenario, seen.comparison.mean)
    yield from _wrong_whole(scenario, seen.comparison.whole)
    yield from _wrong_names(scenario, seen)


def _wrong_truth(scenario: Scenario, seen: Seen) -> Iterator[str]:
    """Hold the counters of the module against the definition of what it injects."""
    if lost := seen.before.lost + seen.after.lost:
        yield f"the truth is not known: the module could not put off {lost} costs"
    for side, injection in zip((seen.before, seen.after), scenario.injections, strict=True):
        expected = float(scenario.injected_insns(injection))
        if side.insns is None:
            yield "the truth is not known: the module was never at a point that it had to be at"
        elif abs(side.insns - expected) > CLOSE * expected + side.slack:
            yield f"the module injected {side.insns:,.1f} instructions, and not {expected:,.1f}"


def _wrong_verdict(scenario: Scenario, found: Comparison) -> Iterator[str]:
    if found.verdict not in scenario.verdicts:
        allowed = " or ".join(verdict.value for verdict in scenario.verdicts)
        cause = f" ({found.cause})" if found.cause else ""
        yield f"called {found.verdict.value}{cause}, and is {allowed}"
    if found.found is Difference.NONE and not scenario.is_control:
        yield "called identical in every number"


def _wrong_typical(scenario: Scenario, found: Comparison) -> Iterator[str]:
    """Allow for what was injected into single calls only: a typical count is that of one."""
    before, after = scenario.peaks()
    possible = {there - here for there in after for here in before}
    near = BOOTS * found.typical.baseline_value if scenario.after.way is Way.BPF else 0
    near += scenario.edge_insns
    if min(abs(found.typical.difference - insns) for insns in possible) > near:
        shown = ", ".join(f"{insns:+,d}" for insns in sorted(possible))
        yield f"typical {found.typical.difference:+,.0f}: no call differs by that, but by {shown}"


def _wrong_mean(scenario: Scenario, mean: Change | None) -> Iterator[str]:
    if mean is None:
        yield "the in-line mean was not measured"
        return
    rarest = min(part for side in scenario.peaks() for part in side.values())
    truth = float(scenario.expected_insns(Part.IN_LINE))
    if rarest >= RAREST and not _is_right(scenario, mean, truth):
        yield f"in-line mean {_bounded(mean)}, and {truth:+,.1f} were injected"


def holds(found: Change, scenario: Scenario, truth: float) -> bool:
    """Say whether an interval holds the truth; where that is a lower bound, anything above."""
    return (scenario.is_least or found.low <= truth) and truth <= found.high


def _is_right(scenario: Scenario, found: Change, truth: float) -> bool:
    """Say whether a difference is close to the truth or indistinguishable from it."""
    return abs(found.difference - truth) <= CLOSE * abs(truth) or holds(found, scenario, truth)


def _bounded(item: Change) -> str:
    return f"{item.difference:+,.1f} ({item.low:+,.1f} to {item.high:+,.1f})"


def _wrong_whole(scenario: Scenario, whole: Change | None) -> Iterator[str]:
    if whole is None:
        yield "the whole cost was not measured"
        return
    truth = float(scenario.expected_insns(Part.WHOLE))
    if not _is_right(scenario, whole, truth):
        yield f"whole {_bounded(whole)}, and {truth:+,.1f} were injected"
    if truth and whole.low <= 0 <= whole.high and not scenario.is_single:
        yield f"whole {whole.low:+,.1f} to {whole.high:+,.1f}: the interval contains 0"
    half = (whole.high - whole.low) / 2
    if not truth and not half <= WIDEST * whole.baseline_value:
        yield f"whole known within {half:,.1f} only, of {whole.baseline_value:,.1f}"


def _wrong_names(scenario: Scenario, seen: Seen) -> Iterator[str]:
    """Charge the functions that cost more with that, and no other with more."""
    if seen.charges is None:
        yield f"no function is named: {seen.missing or 'nothing was attributed'}"
        return
    truths = {site: float(insns) for site, insns in scenario.site_insns.items()}
    # A window may have one rare cost more or less than the benchmark had in the mean.
    slack = 2 * (seen.before.slack + seen.after.slack)
    for site, truth in truths.items():
        charge = find_charge(site, seen.charges)
        insns = charge.insns if charge is not None else 0.0
        near = CLOSE * float(scenario.site_cost(site)) + slack + scenario.edge_insns
        if truth and charge is None:
            below = f"below security_{site.hook}" if site.hook else "outside of hooks"
            later = "" if site.context in {None, Context.CALL} else f", {site.context}"
            yield f"{site.function} is not named ({below}{later})"
        elif abs(insns - truth) > near:
            yield f"{site.function} is charged {insns:+,.1f}, and costs {truth:+,.1f}"
    if not scenario.is_least:
        yield from _others(seen.charges, truths)


def _others(charges: Sequence[Charge], truths: dict[Site, float]) -> Iterator[str]:
    """Name functions that are charged more than the least of those that do cost more."""
    costs = [abs(truth) for truth in truths.values() if truth]
    functions = {site.function for site in truths}
    for charge in charges:
        if costs and charge.function not in functions and abs(charge.insns) >= min(costs):
            yield f"{charge.function} is charged {charge.insns:+,.1f}, and costs no more"
