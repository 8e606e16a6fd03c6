# SPDX-License-Identifier: GPL-2.0-or-later
"""From the readings of two sides to differences and a verdict; pure.

A positive overhead is always worse. The sides are compared as distributions: readings of one boot
are paired by their place where both sides run in step, peaks are held against peaks, and the whole
costs against each other. Where there is no typical count, the in-line mean stands in for it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from lsmeter.core.model import Better
from lsmeter.core.model.conclusion import Change, Compared, Difference, Number, Verdict
from lsmeter.statistics.blocks import Interval, quantile
from lsmeter.statistics.estimate import (
    CONFIDENCE,
    LEAST_SHARE,
    BootReadings,
    Side,
    Typical,
    Values,
    as_side,
    counts,
    cycles_half_width,
    half_width,
    mode,
    modes,
    state_half_width,
)
from lsmeter.statistics.verdict import Numbers, Ruling, of_call, verdict
from lsmeter.statistics.whole import batches_error, difference_errors

IN_STEP = 0.5  # of the pairs differ by one number: the sides run in step
MANY_BOOTS = 8  # of which the furthest two hold the median in 99 %, as Student's interval the mean
LEAST_PEAK = 0.02  # share of the readings from which on a value counts as a peak
_Numbers = npt.NDArray[np.number[Any]]  # readings or rounds
_Means = Mapping[int, float]  # by seed
_Z = 3.29  # of a normal distribution, 0.1 % on both sides: a share that moved so far has moved


def compare(
    baseline: Iterable[BootReadings],
    tested: Iterable[BootReadings],
    margin: float,
    better: Better = Better.LOWER,
    *,
    calls: bool = True,
    **_of_times: object,
) -> Compared:
    """Compare two sides of one benchmark, whenever each was measured; each must have readings.

    margin is a fraction: differences inside ± margin do not matter. calls says that the benchmark
    makes any system call: one that makes none leaves nothing behind, and has no whole cost.
    """
    baseline, tested = map(as_side, (baseline, tested))
    base, test = baseline.typical, tested.typical
    pairs = _pairs(baseline, tested)
    apart = counts(np.concatenate(pairs)) if pairs else {}
    step = _step(apart)
    between = _typical_difference(base, test, pairs, apart if step else {})
    # A count that stands out in no boot is chance, and so are its peaks, unless most readings lie
    # around it by less than matters. So is one that boots do not agree on: two states, as of a
    # search that some boots meet, are no overhead. Nor is one reading.
    out = step is not None or all(_stands_out(side, margin) for side in (base, test))
    out &= min(side.values.size for side in (baseline, tested)) > 1
    stands = out and between.high - between.low <= 2 * margin * abs(base.value)
    known = between if stands else Interval(*(math.nan,) * 3)
    most = change(base.value, test.value, known, better)
    if stands:
        mean = _mean_change(baseline, tested, pairs, better)
        whole = _whole_change(baseline, tested, better)
    else:
        mean, whole = _in_pairs_of_boots(baseline, tested, pairs, better, states=out)
    peaks = _moved(baseline, tested, int(between.value), base.value)
    moved = peaks if stands else _scattered(baseline, tested)
    call = mean.baseline_value if mean is not None and not stands else base.value
    found = Numbers(
        typical=most if stands else None,
        mean=mean,
        whole=of_call(whole, call),
        moved=moved,
        needed=frozenset({Number.TYPICAL, Number.WHOLE} if calls else {Number.TYPICAL}),
    )
    ruling = verdict(found, margin)
    if ruling.verdict is Verdict.INCONCLUSIVE:  # only then does it say how whole costs vary
        ruling = verdict(replace(found, spread=_spread(baseline, tested)), margin)
    seen = peaks > 0 or any(x and (x.low > 0 or x.high < 0) for x in (most, mean, whole))
    difference = Difference.SEEN if seen else Difference.UNSEEN
    if base.value == test.value and _alike(baseline, tested):
        difference = Difference.NONE
        if whole is not None or not calls:
            ruling = Ruling(Verdict.EQUIVALENT, found.head)
    unknown = out and not stands and ruling.verdict is Verdict.INCONCLUSIVE
    numbers = {Number.TYPICAL: most, Number.MEAN: mean, Number.WHOLE: whole}
    decided = (None if unknown else numbers[ruling.decided_by]) or most
    return Compared(
        *(most, mean, whole, step, moved, difference),
        *(ruling.verdict, ruling.cause, ruling.decided_by, decided),
        cycles=min(map(_cycles, (baseline, tested))),
    )


def _stands_out(side: Typical, margin: float) -> bool:
    near = side.high - side.low <= margin * abs(side.value)
    return side.evidence.share >= LEAST_SHARE or near


def _cycles(side: Side) -> int:
    """Return how many cycles a side made back to back; else how many readings it has."""
    return sum(cost.cycles for cost in side.cycles.values()) or side.values.size


def _alike(baseline: Side, tested: Side) -> bool:
    """Say whether both sides have the same boots, and all numbers of each are the same."""
    before, after = ({boot.boot: boot for boot in side} for side in (baseline, tested))
    return before.keys() == after.keys() and all(
        one.ticked == two.ticked
        and one.whole == two.whole
        and np.array_equal(one.values, two.values)
        for one, two in ((before[seed], after[seed]) for seed in before)
    )


def _in_pairs_of_boots(
    baseline: Side, tested: Side, pairs: Sequence[Values], better: Better, *, states: bool
) -> tuple[Change | None, Change | None]:
    """Compare in-line means and whole costs where boots differ by more than their readings do.

    Those of one seed, if there are any, are alike in that; else the boot is what was drawn. With
    states, in which single boots are, a few such pairs bound nothing: see `_past_states`.
    """
    seeds = {boot.boot for boot in baseline} & {boot.boot for boot in tested}
    if seeds:
        baseline, tested = (
            Side(boot for boot in side if boot.boot in seeds) for side in (baseline, tested)
        )
    mean = _mean_change(baseline, tested, pairs, better)
    whole = _whole_change(baseline, tested, better)
    if seeds and not states:
        return mean, whole
    half = _past_states if seeds else _over_boots
    clean = (baseline.clean_means, tested.clean_means)
    cycles = (_values(baseline), _values(tested))
    return _widened(mean, half, clean, better), _widened(whole, half, cycles, better)


def _values(side: Side) -> _Means:
    return {seed: cycle.value for seed, cycle in side.cycles.items()}


def _widened(
    found: Change | None,
    wide: Callable[[Change, _Means, _Means], tuple[float, float]],
    sides: Sequence[_Means],
    better: Better,
) -> Change | None:
    """Widen a difference to what its boots allow."""
    if found is None:
        return None
    low, high = wide(found, *sides)
    between = Interval(found.difference, min(found.low, low), max(found.high, high))
    return change(found.baseline_value, found.value, between, better)


def _over_boots(found: Change, before: _Means, after: _Means) -> tuple[float, float]:
    """Return the interval by the means of boots alone."""
    half = _welch(*(np.array([*side.values()]) for side in (before, after)))
    return found.difference - half, found.difference + half


def _past_states(found: Change, before: _Means, after: _Means) -> tuple[float, float]:
    """Widen bounds by what pairs of boots differ by among themselves.

    What is smaller than that may be the states that boots happened to be in. Of many boots the
    interval says how often they are.
    """
    each = [after[seed] - before[seed] for seed in before if seed in after]
    wide = max(each) - min(each) if 0 < len(each) < MANY_BOOTS else 0.0
    return found.low - wide, found.high + wide


def change(base: float, value: float, between: Interval, better: Better = Better.LOWER) -> Change:
    """Return a difference with its overheads: of a throughput with the sign turned.

    With a base of 0 the overhead is 0 if nothing changed, and not a number otherwise.
    """
    ends = (between.value, between.low, between.high)
    if base <= 0:
        shares = (math.nan if any(ends) else 0.0,) * 3
    elif better is Better.HIGHER:
        shares = (-ends[0] / base + 0.0, -ends[2] / base + 0.0, -ends[1] / base + 0.0)
    else:
        shares = (ends[0] / base, ends[1] / base, ends[2] / base)
    return Change(base, value, *ends, *shares)


def _pairs(baseline: Side, tested: Side) -> list[Values]:
    """Return tested - baseline by place, for each boot that both sides have whole."""
    known = {boot.boot: boot.values for boot in baseline}
    return [
        boot.values - known[boot.boot]
        for boot in tested
        if boot.boot in known and known[boot.boot].size == boot.values.size
    ]


def _step(apart: Mapping[int, int]) -> float | None:
    """Return the share of the most frequent difference of pairs, where it is most of them."""
    share = apart[mode(apart)] / sum(apart.values()) if apart else 0.0
    return share if share >= IN_STEP else None


def _typical_difference(
    base: Typical, test: Typical, pairs: Sequence[Values], apart: Mapping[int, int]
) -> Interval:
    """Return the difference of most pairs, or of the most frequent readings."""
    if apart:
        each = [value for value, _ in modes(pairs)]
        return Interval(mode(apart), min(each), max(each))
    return Interval(test.value - base.value, test.low - base.high, test.high - base.low)


def _mean_change(
    baseline: Side, tested: Side, pairs: Sequence[Values], better: Better
) -> Change | None:
    sides = (baseline, tested)
    if not all(side.has_mean for side in sides):
        return None
    pooled = [side.clean_values for side in sides]
    if pairs and not any(side.ticked for side in sides):
        half = half_width(np.concatenate(pairs))
    else:
        half = _welch(*pooled)
    base, test = (float(values.mean()) for values in pooled)
    return _means_change(base, test, (baseline.clean_means, tested.clean_means), half, better)


def _whole_change(baseline: Side, tested: Side, better: Better) -> Change | None:
    sides = (baseline, tested)
    if not all(side.cycles for side in sides):
        return None
    values = (_values(baseline), _values(tested))
    base, test = (float(np.mean([*side.values()])) for side in values)
    cycles = [list(side.cycles.values()) for side in sides]
    errors = [*_errors(*sides), batches_error(*cycles)]
    half = max(
        cycles_half_width(errors, chain.from_iterable(cycles)),
        baseline.rare_cost,
        tested.rare_cost,
        state_half_width(base, baseline, tested),
    )
    return _means_change(base, test, values, half, better)


def _errors(*sides: Side) -> list[float]:
    """Return the standard errors that the difference of two sides is made of, by seed if paired."""
    before, after = (side.cycles for side in sides)
    if before.keys() == after.keys():
        pairs = [(before[seed], after[seed]) for seed in before]
        return [error / len(pairs) for error in difference_errors(pairs)]
    return [item.error / len(side) for side in (before, after) for item in side.values()]


def _means_change(
    base: float, test: float, sides: tuple[_Means, _Means], half: float, better: Better
) -> Change:
    """Return a difference of means, bounded by its interval and by what boots say of it.

    What differs between boots is no noise of readings; boots of one seed vary alike, and are held
    against each other where there are any. A few bound the difference by the furthest two, which
    are the further apart the more there are; many, by the interval of their mean.
    """
    first, then = sides
    common = first.keys() & then.keys()
    each = [then[seed] - first[seed] for seed in common]
    difference = float(np.mean(each)) if len(common) == len(first) == len(then) else test - base
    if len(each) >= MANY_BOOTS:
        middle, wide = float(np.mean(each)), half_width(each)
        each = [middle - wide, middle + wide]
    if not each:
        old, new = first.values(), then.values()
        each = [min(new) - max(old), max(new) - min(old)]
    between = Interval(difference, min(difference - half, *each), max(difference + half, *each))
    return change(base, test, between, better)


def _welch(base: _Numbers, test: _Numbers) -> float:
    """Return the half-width of the interval of a difference of means (Welch 1947)."""
    if len(base) < 2 or len(test) < 2:
        return math.inf
    first = float(np.var(base, ddof=1)) / len(base)
    second = float(np.var(test, ddof=1)) / len(test)
    if first + second == 0:
        return 0.0
    freedom = (first + second) ** 2 / (first**2 / (len(base) - 1) + second**2 / (len(test) - 1))
    return quantile(freedom, CONFIDENCE) * math.sqrt(first + second)


def _spread(baseline: Side, tested: Side) -> str:
    """Say how far whole costs are apart, between boots or between windows, where that is most."""
    found: list[tuple[float, str]] = []
    for name, side in (("baseline", baseline), ("tested", tested)):
        cycles = {boot.index: boot.cycle for boot in side if boot.cycle}
        means = {index: item.value for index, item in cycles.items()}
        low, high = (pick(means, key=means.__getitem__, default=0) for pick in (min, max))
        text = f"boot {low} {means.get(low, 0):,.0f}, boot {high} {means.get(high, 0):,.0f}"
        if len(means) > 1:
            found.append((means[high] - means[low], f"; {name}: {text}"))
        for index, item in cycles.items():
            costs = item.windows
            text = f"windows of boot {index} {min(costs):,.0f} to {max(costs):,.0f}"
            # A mean of windows is known better than one of them is.
            found.append(((max(costs) - min(costs)) / math.sqrt(len(costs)), f"; {name}: {text}"))
    return max(found, default=(0.0, ""))[1]


def _moved(baseline: Side, tested: Side, shift: int, base: float) -> float:
    """Return what peaks are worth whose share is another, once the tested side is shifted back."""
    before = baseline.counts
    after = {value - shift: times for value, times in tested.counts.items()}
    total_before, total_after = sum(before.values()), sum(after.values())
    centre, worth = mode(before), 0.0
    for value in before.keys() | after.keys():
        first, second = before.get(value, 0) / total_before, after.get(value, 0) / total_after
        if max(first, second) < LEAST_PEAK:
            continue
        joint = (before.get(value, 0) + after.get(value, 0)) / (total_before + total_after)
        error = math.sqrt(joint * (1 - joint) * (1 / total_before + 1 / total_after))
        if abs(second - first) > _Z * error:
            worth += abs(second - first) * abs(value - centre)
    return worth / base if base > 0 else 0.0


def _scattered(baseline: Side, tested: Side) -> float:
    """Return how far readings are moved between calls, on average, as a fraction of their mean.

    The least that makes one distribution the other once their means are equal (Wasserstein's
    distance): costs that cancel on average are seen where no peak stands out.
    """
    if not (baseline.clean and tested.clean):
        return 0.0
    first, then = (np.sort(side.clean_values) for side in (baseline, tested))
    at = (np.arange(max(first.size, then.size)) + 0.5) / max(first.size, then.size)
    before, after = (each[(at * each.size).astype(int)] - each.mean() for each in (first, then))
    mean = float(first.mean())
    return float(np.abs(after - before).mean()) / mean if mean > 0 else 0.0
