# SPDX-License-Identifier: GPL-2.0-or-later
"""From a system-call profile and what runs say of each call to what every setup would cost; pure.

A call costs what its proxy benchmarks cost more under a setup than under the baseline.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from lsmeter.questions.estimate.known import EXACT, NOTHING, Cost, Counted, Known
from lsmeter.questions.estimate.profiles.model import Calls, Profile
from lsmeter.questions.estimate.profiles.objects import object_shares, with_new
from lsmeter.questions.estimate.profiles.proxies import Name, Proxy, Reading, proxies

_LEAST_PART = 0.0005  # of the calls: less would be shown as 0.0 %
_ASKED, _COUNTED, _EXPECTED = "asked", "counted", "expected"  # who says what calls are made on


@dataclass(frozen=True)
class CallCost:
    """One call of the profile: its proxy benchmarks, and what one costs under each setup.

    why says of what nothing is known, and why: "" is of nothing. on is on which share of each kind
    of thing it is made: {} where there is one kind, or nothing but --on says. parts are the shares
    of the calls that are made on kinds of which something is known, by setup.
    """

    call: Calls
    benchmarks: tuple[Name, ...]
    within: str
    costs: Mapping[str, Cost]  # of one call
    failed: Mapping[str, Cost]
    why: str = ""
    on: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, float] = field(default_factory=dict)

    def part(self, setup: str) -> float:
        """Return the share of the calls that is covered under a setup."""
        return self.parts.get(setup, 1.0) if setup in self.costs else 0.0

    def cost(self, setup: str) -> Cost | None:
        """Return what all calls of the profile cost under a setup; None where nothing is known."""
        one = self.costs.get(setup)
        if one is None:
            return None
        fine = one.times(self.call.calls - self.call.errors)
        other = self.failed.get(setup, one).times(self.call.errors)
        return fine.plus(other).times(self.part(setup))


@dataclass(frozen=True)
class SetupCost:
    """What a setup costs a profile, in all or of a second or a unit of it, and how much it covers.

    value is None where nothing is known of any call, low and high where nothing says how far it may
    be off. share is that of share_of. counted is what was counted in the workload itself. uncovered
    are the calls of which nothing, or not all, is known.
    """

    setup: str
    value: float | None
    low: float | None
    high: float | None
    share: float | None
    share_of: str | None
    calls_share: float
    time_share: float | None
    counted: float | None
    uncovered: tuple[str, ...]


@dataclass(frozen=True)
class Estimated:
    """What a profile would cost, by one kind of results."""

    profile: Profile
    known: Known
    setups: tuple[SetupCost, ...]
    calls: tuple[CallCost, ...]  # in the order of the profile
    counted: Counted | None = None  # the workload that the profile is of, where one was counted

    @property
    def told_by(self) -> str:
        """Who says what calls were made on, where --on does not."""
        counted = self.profile.made_on
        return "hooks counted beside them say" if counted else "the other calls suggest"


@dataclass(frozen=True)
class _Objects:
    """On which share of each kind of thing a call is made, and who says so."""

    shares: Mapping[str, float]
    by: str


def estimate(
    profile: Profile,
    known: Known,
    on: Mapping[str, str] | None = None,
    counted: Counted | None = None,
) -> Estimated:
    """Return what every setup of some results would cost a profile, which may be a workload's.

    on says of which kind the things are that a call is made on: by its name, and under "" for all
    others that have this kind. What it leaves open the profile says, where it does.
    """
    told = _told(profile, on or {})
    bases = {
        setup: {name: Cost(*(known.base[name],) * 3) for name in costs if name in known.base}
        for setup, costs in known.costs.items()
    }
    calls, under_base = (
        tuple(_call_cost(item, one, told, profile.errors_unknown) for item in profile.calls)
        for one in (known, replace(known, costs=bases))
    )
    checked = counted if counted and _comparable(known, counted) else None
    setups = (_setup_cost(profile, calls, under_base, name, checked) for name in known.costs)
    return Estimated(profile, known, tuple(setups), calls, counted)


def _comparable(known: Known, counted: Counted) -> bool:
    same = (known.kernel, known.baseline) == (counted.kernel, counted.baseline)
    return same and known.instrument == EXACT and known.unit == "insns"


def _told(profile: Profile, on: Mapping[str, str]) -> Mapping[str, _Objects]:
    """Return what is told of each call, by its usual name: by whoever asks, counts, or by calls."""
    table, expected = proxies(), object_shares(profile)
    found: dict[str, _Objects] = {}
    for name in {table.name(item.name) for item in profile.calls} & {*table.of}:
        kind = on.get(name, on.get("", ""))
        if kind and kind in table.of[name].kinds:
            one = _Objects({kind: 1.0}, _ASKED)
        elif name in profile.made_on:
            one = _Objects(profile.made_on[name], _COUNTED)
        elif name in expected:
            one = _Objects(expected[name], _EXPECTED)
        else:
            continue
        found[name] = replace(one, shares=with_new(profile, name, one.shares))
    return found


def _setup_cost(
    profile: Profile,
    calls: Sequence[CallCost],
    under_base: Sequence[CallCost],
    setup: str,
    counted: Counted | None,
) -> SetupCost:
    costs = [cost for item in calls if (cost := item.cost(setup)) is not None]
    whole = reduce(Cost.plus, costs) if costs else None
    one = whole.times(profile.per[0]) if whole else None
    covered = math.fsum(item.call.calls * item.part(setup) for item in calls)
    time_s = profile.time_s
    timed = math.fsum((item.call.time_s or 0.0) * item.part(setup) for item in calls)
    low, high = (one.bounds if one else None) or (None, None)
    base, share_of = _kernel_of(calls, under_base, setup), "what the kernel does in these calls"
    if counted:
        base, share_of = counted.baseline_insns, "all that the kernel does for this service"
    share = whole.value / base if whole and base > 0 else None
    return SetupCost(
        *(setup, one.value if one else None, low, high),
        *(share, None if share is None else share_of),
        covered / profile.total,
        timed / time_s if time_s else None,
        counted.added_insns.get(setup) if counted else None,
        tuple(item.call.name for item in calls if item.part(setup) < 1),
    )


def _kernel_of(calls: Sequence[CallCost], under_base: Sequence[CallCost], setup: str) -> float:
    """Return what the kernel does in calls under the baseline; 0 where that is not known of all.

    The times of a profile are no whole: those of strace may be of the wall (-w), and do not say so.
    """
    pairs = zip(calls, under_base, strict=True)
    known = all(base.part(setup) == item.part(setup) for item, base in pairs)
    return (
        math.fsum(one.value for item in under_base if (one := item.cost(setup))) if known else 0.0
    )


def _call_cost(
    call: Calls, known: Known, told: Mapping[str, _Objects], unknown: frozenset[str]
) -> CallCost:
    table = proxies()
    name = table.name(call.name)
    proxy = table.of.get(name)
    if proxy is None:
        return CallCost(call, (), "", {}, {}, "it has no proxy benchmark")
    if proxy.within:
        outer = _call_cost(Calls(proxy.within, 0.0), known, told, unknown)
        return CallCost(call, (), proxy.within, dict.fromkeys(outer.costs, NOTHING), {}, outer.why)
    on = told.get(name)
    costs: dict[str, Cost] = {}
    failed: dict[str, Cost] = {}
    parts: dict[str, float] = {}
    used: dict[Name, None] = {}
    for setup, differences in known.costs.items():
        one, parts[setup] = _of_kinds(proxy.kinds, on, differences, used)
        other, all_failed = _of_kinds(proxy.failed, on, differences, {})
        if one is None:
            continue
        if other is not None and all_failed == 1:
            failed[setup] = other
            if call.name in unknown:  # any of them may have failed
                one = Cost(one.value, min(one.low, other.low), max(one.high, other.high))
        costs[setup] = one
    why = _why(proxy, known, on, {name: parts[name] for name in costs})
    shares = on.shares if on and on.by != _ASKED and len(proxy.kinds) > 1 else {}
    return CallCost(call, tuple(used), "", costs, failed, why, shares, parts)


def _why(proxy: Proxy, known: Known, on: _Objects | None, parts: Mapping[str, float]) -> str:
    lacking = [name for name in known.costs if parts.get(name, 0.0) < 1]
    if not lacking:
        return ""
    have = {suite for of in known.costs.values() for suite, _ in of}
    kinds = [kind for kind in proxy.kinds if not on or on.shares.get(kind)]
    named = [kind for kind in kinds if not have & {*proxy.suites_of([kind])}]
    named = [kind for kind in named if _usual(kind) == kind or _usual(kind) not in named]
    suites_of = proxy.suites_of(named or kinds or proxy.kinds)
    needed = [suite for suite in suites_of if suite not in have]
    if len(lacking) < len(known.costs):
        return f"its benchmarks gave no number under {', '.join(lacking)}"
    on_what = f"on {', '.join(named)} " if on and any(named) else ""
    guess = not on and len(proxy.kinds) > 1 and have & {*proxy.suites}
    unsaid = "nothing says on what (--on), and " if guess else ""
    suites = f": --suite {', --suite '.join(needed)}" if needed else ""
    return f"{unsaid}{on_what}not in these runs{suites}"


def _of_kinds(
    kinds: Mapping[str, Sequence[Reading]],
    on: _Objects | None,
    differences: Mapping[Name, Cost],
    used: dict[Name, None],
) -> tuple[Cost | None, float]:
    """Return the mean over the kinds of things that a call is made on, and their share.

    One kind is never the proxy of another: the share of one of which nothing is known is left out.
    Where nothing says on what a call is made, all kinds must be known, and their median counts.
    What is expected of other calls may be wrong: bounds are those of all kinds then.
    """
    wanted = {kind: share for kind, share in on.shares.items() if share > 0} if on else {}
    if not {*wanted} & {*kinds}:
        wanted = {}
    some = kinds if not wanted or (on and on.by == _EXPECTED) else [*wanted, *map(_usual, wanted)]
    costs = {
        kind: cost
        for kind, readings in kinds.items()
        if kind in some and (cost := _median(_variants(readings, differences, used)))
    }
    middle = _median(costs.values())
    if middle is None or (not wanted and {_usual(kind) for kind in kinds} - costs.keys()):
        return None, 0.0
    if not wanted:
        return middle, 1.0
    found = [
        (cost, share)
        for kind, share in wanted.items()
        if (cost := costs.get(kind) or costs.get(_usual(kind)))
    ]
    part = math.fsum(share for _, share in found) / math.fsum(wanted.values())
    if part < _LEAST_PART:
        return None, 0.0
    whole = math.fsum(share for _, share in found)
    mean = reduce(Cost.plus, (cost.times(share / whole) for cost, share in found))
    if on and on.by == _EXPECTED:
        mean = Cost(mean.value, middle.low, middle.high)
    return mean, part if part < 1 - _LEAST_PART else 1.0


def _usual(kind: str) -> str:
    """Return the kind without its first use: a new socket's first read is still one of it."""
    return kind.removesuffix("-new")


def _variants(
    kind: Sequence[Reading], differences: Mapping[Name, Cost], used: dict[Name, None]
) -> Iterator[Cost]:
    for reading in kind:
        if any(name not in differences for name, _ in reading.more):
            continue
        more = (differences[name].times(times) for name, times in reading.more)
        rest = reduce(Cost.plus, more, NOTHING)
        for name, found in differences.items():
            if reading.matches(name):
                used[name] = None
                yield found.times(1 / reading.calls).plus(rest)


def _median(costs: Iterable[Cost]) -> Cost | None:
    found = list(costs)
    if not found:
        return None
    value = statistics.median(item.value for item in found)
    return Cost(value, min(item.low for item in found), max(item.high for item in found))
