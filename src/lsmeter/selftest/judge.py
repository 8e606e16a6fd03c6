# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds what a run says of each scenario against what is true of it; pure.

A scenario passes if nothing that was said of it is wrong. Each way to be wrong is a reason, in
words that a person can act on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lsmeter.conclusion import Change, Comparison, Difference
from lsmeter.selftest.costs import Context, Site
from lsmeter.selftest.scenarios import Part, Scenario

CLOSE = 0.02  # of the truth: so far may a whole cost or what a function is charged be from it
# Of the baseline's whole cost: where nothing changes in all, no interval may be wider. An interval
# in which everything fits says nothing.
WIDEST = 0.02
# Part of the calls: what is rarer is not in the 100 readings of a boot, nor in their mean.
RAREST = Fraction(1, 100)


@dataclass(frozen=True)
class Charge:
    """By how much a function costs more by attribution, in instructions of one whole operation.

    hook is "" outside of hooks and has no security_. context is None where no cost is injected,
    as in interrupts.
    """

    function: str
    hook: str
    context: Context | None
    insns: float


@dataclass(frozen=True)
class Counted:
    """What the module counted for an operation of one side, in the mean over boots.

    slack is what one cost more or less is worth in it; insns is None where a place was never met.
    """

    insns: float | None
    slack: float
    lost: int


@dataclass(frozen=True)
class Seen:
    """All that a run says of one scenario.

    charges are those of all functions, the largest first; None where nothing was attributed.
    missing says why there is no comparison or no attribution.
    """

    comparison: Comparison | None
    before: Counted
    after: Counted
    charges: tuple[Charge, ...] | None
    missing: str = ""


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
        return None if before is None or after is None else after - before

    @property
    def named(self) -> tuple[Charge, ...]:
        """The charges of the functions that had to be named, as far as they were."""
        charges = self.seen.charges or ()
        found = (find_charge(site, charges) for site in self.scenario.sites)
        return tuple(charge for charge in found if charge is not None)


def judge(scenario: Scenario, seen: Seen) -> Judgement:
    """Say all that is wrong with what was seen of a scenario."""
    return Judgement(scenario, seen, tuple(_reasons(scenario, seen)))


def judge_bystander(scenario: Scenario, seen: Seen) -> Judgement:
    """Say what is wrong with what was seen where nothing was injected, its verdict alone."""
    if seen.comparison is None:
        return Judgement(scenario, seen, (_without_numbers(seen),))
    return Judgement(scenario, seen, tuple(_wrong_verdict(scenario, seen.comparison)))


def find_charge(site: Site, charges: Iterable[Charge]) -> Charge | None:
    """Return what a function is charged where it should be: in its context, below its hook."""
    return next(
        (
            item
            for item in charges
            if item.function == site.function
            and item.context is site.context
            and (item.hook == site.hook or not (site.hook or site.context is Context.CALL))
        ),
        None,
    )


def _reasons(scenario: Scenario, seen: Seen) -> Iterator[str]:
    if seen.comparison is None:
        yield _without_numbers(seen)
        return
    yield from _wrong_truth(scenario, seen)
    yield from _wrong_verdict(scenario, seen.comparison)
    yield from _wrong_typical(scenario, seen.comparison)
    yield from _wrong_mean(scenario, seen.comparison.mean)
    yield from _wrong_whole(scenario, seen.comparison.whole)
    yield from _wrong_names(scenario, seen)


def _without_numbers(seen: Seen) -> str:
    return f"no numbers: {seen.missing or 'one of its setups was not measured'}"


def _wrong_truth(scenario: Scenario, seen: Seen) -> Iterator[str]:
    """Hold the counters of the module against the definition of what it injects."""
    lost = seen.before.lost + seen.after.lost
    if lost:
        yield f"the truth is not known: the module could not put off {lost} costs"
    for side, injection in ((seen.before, scenario.before), (seen.after, scenario.after)):
        expected = float(scenario.injected_insns(injection, Part.WHOLE))
        if side.insns is None:
            yield "the truth is not known: the module was never at a place that it had to be at"
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
    inodes = scenario.expected_insns(Part.IN_LINE) if scenario.is_least else 0
    possible = {there - here + inodes for there in after for here in before}
    if found.typical.difference not in possible:
        shown = ", ".join(f"{insns:+,d}" for insns in sorted(map(int, possible)))
        yield f"typical {found.typical.difference:+,.0f}: no call differs by that, but by {shown}"


def _wrong_mean(scenario: Scenario, mean: Change | None) -> Iterator[str]:
    if mean is None:
        yield "the in-line mean was not measured"
        return
    rarest = min(part for side in scenario.peaks() for part in side.values())
    truth = float(scenario.expected_insns(Part.IN_LINE))
    if rarest >= RAREST and not _is_right(scenario, mean, truth):
        yield f"in-line mean {_bounded(mean)}, and {truth:+,.1f} were injected"


def _is_right(scenario: Scenario, found: Change, truth: float) -> bool:
    """Say whether a difference is close to the truth or cannot be told from it."""
    if scenario.is_least and found.difference > truth:
        return True
    close = abs(found.difference - truth) <= CLOSE * abs(truth)
    return close or found.low <= truth <= found.high


def _bounded(item: Change) -> str:
    return f"{item.difference:+,.1f} ({item.low:+,.1f} to {item.high:+,.1f})"


def _wrong_whole(scenario: Scenario, whole: Change | None) -> Iterator[str]:
    if whole is None:
        yield "the whole cost was not measured"
        return
    truth = float(scenario.expected_insns(Part.WHOLE))
    if not _is_right(scenario, whole, truth):
        yield f"whole {_bounded(whole)}, and {truth:+,.1f} were injected"
    if truth and whole.low <= 0 <= whole.high:
        yield f"whole {whole.low:+,.1f} to {whole.high:+,.1f}: not told apart from nothing"
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
        near = CLOSE * float(scenario.site_cost(site)) + slack
        if truth and charge is None:
            yield f"{site.function} is not named ({place_of(site)})"
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


def place_of(site: Site) -> str:
    """Say where the instructions of a site run."""
    where = f"below security_{site.hook}" if site.hook else "outside of hooks"
    return where if site.context is Context.CALL else f"{where}, {site.context}"
