# SPDX-License-Identifier: GPL-2.0-or-later
"""Says what comparisons found: differences and their relevance, causes, controls, boots; pure."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence

from lsmeter.conclusion import Comparison, Difference, Estimate, Verdict
from lsmeter.report import numbers, three
from lsmeter.report.content import Grid
from lsmeter.report.model import Report

_MOVED = frozenset({Verdict.SLOWER, Verdict.FASTER})
_SHOWN = 3  # counts that differ most between boots, by name


def many(number: int, noun: str) -> str:
    """Write a number of things: 1 boot, 2 boots."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def values(report: Report, item: Comparison) -> str:
    """Write the typical counts of both sides: 5,515 → 8,139 instructions."""
    return (
        f"{numbers.count(item.baseline_value)} \N{RIGHTWARDS ARROW} "
        f"{numbers.count(item.value)} {numbers.unit_word(report.unit)}"
    )


def differences(report: Report, grid: Grid, index: int) -> Iterator[str]:
    """Say which benchmarks are the same, show no difference, or differ by less than the margin."""
    same = _named(grid, index, _identical)
    if same:
        yield f"Untouched, identical in every number: {', '.join(same)}."
    unseen = _named(grid, index, _unseen)
    if unseen:
        yield f"No difference seen: {', '.join(unseen)}."
    small = [c for c in _tested(grid, index) if _small(c)]
    if small:
        verb = "differs" if len(small) == 1 else "differ"
        yield f"{len(small):,} {verb} by less than the margin ({_range(report, small)})."


def untouched(grid: Grid, index: int) -> bool:
    """Say whether all benchmarks but the controls are identical in every number."""
    found = _tested(grid, index)
    return bool(found) and all(map(_identical, found))


def _tested(grid: Grid, index: int) -> list[Comparison]:
    return [item for item in grid.comparisons(index) if not item.benchmark.control]


def _identical(item: Comparison) -> bool:
    if item.benchmark.control or item.verdict is not Verdict.EQUIVALENT:
        return False
    return item.found is Difference.NONE


def _unseen(item: Comparison) -> bool:
    if item.benchmark.control or item.verdict is not Verdict.EQUIVALENT:
        return False
    return item.found is Difference.UNSEEN


def _small(item: Comparison) -> bool:
    return item.verdict is Verdict.EQUIVALENT and item.found is Difference.SEEN


def _named(grid: Grid, index: int, wanted: Callable[[Comparison], bool]) -> list[str]:
    """Name the operations of which every variant is wanted, and single variants of others."""
    names: list[str] = []
    for group in grid.groups:
        found = [row.slots[index].comparison for row in group.rows]
        chosen = [item.benchmark.id for item in found if item is not None and wanted(item)]
        names += [group.operation] if chosen and len(chosen) == len(found) else chosen
    return names


def _range(report: Report, found: Sequence[Comparison]) -> str:
    """Write the least and the largest difference that is there for certain, in any number."""
    shown = [
        max(changes, key=lambda change: abs(change.difference)).difference
        for item in found
        if (changes := three.certain(item))
    ]
    peaks = len(found) - len(shown)
    whose = "its" if peaks == 1 else "their"
    if not shown:
        return f"in {whose} peaks only"
    low, high = (numbers.change(round(value) + 0.0) for value in (min(shown), max(shown)))
    span = low if low == high else f"{low} to {high}"
    rest = f"; {peaks:,} in {whose} peaks only" if peaks else ""
    return f"{span} {numbers.unit_word(report.unit)}{rest}"


def causes(grid: Grid, index: int) -> Iterator[str]:
    """Name each inconclusive benchmark with its cause; equal causes are said once."""
    found = [c for c in grid.comparisons(index) if c.verdict is Verdict.INCONCLUSIVE]
    told = []
    for cause in dict.fromkeys(item.cause for item in found):
        names = ", ".join(_named(grid, index, functools.partial(_open, cause)))
        told.append(f"{names} ({cause})" if cause else names)
    if told:
        yield f"{many(len(found), 'comparison')} inconclusive: {'; '.join(told)}."


def _open(cause: str, item: Comparison) -> bool:
    return item.verdict is Verdict.INCONCLUSIVE and item.cause == cause


def disagreements(found: Sequence[Comparison], margin: float) -> Iterator[str]:
    """Say how often the numbers disagree, with the benchmark that does so most."""
    odd = [item for item in found if three.apart(item, margin)]
    if not odd:
        return
    most = max(odd, key=_disagreement)
    told = [f"typical {three.amount(most.typical)}"]
    if most.mean is not None and three.mean_apart(most, margin):
        told.append(f"in-line mean {three.amount(most.mean)}")
    if most.whole is not None:
        told.append(f"whole {three.amount(most.whole)} ({most.benchmark.cycle})")
    yield (
        f"The numbers disagree by more than the margin in {len(odd):,} "
        f"({numbers.APART_MARK}), most of all {most.benchmark.id}: {', '.join(told)}."
    )


def _disagreement(item: Comparison) -> float:
    others = [change for change in (item.mean, item.whole) if change is not None]
    base = abs(item.baseline_value) or 1.0
    return max(abs(change.difference - item.difference) for change in others) / base


def moved_controls(report: Report, found: Iterable[Comparison]) -> Iterator[str]:
    """Name each control that did not stay still."""
    for item in found:
        if not item.benchmark.control or _still(item):
            continue
        whole = f", whole {three.amount(item.whole)}" if item.whole is not None else ""
        yield (
            f"the control {item.benchmark.id} moved by {numbers.percent(item.overhead)} "
            f"({values(report, item)}{whole}), although no security module can change it: "
            "something else differs between the two."
        )


def _still(item: Comparison) -> bool:
    """No other typical count, and nothing that is beyond the margin."""
    return item.difference == 0 and item.verdict not in _MOVED


def controls(grids: Iterable[Grid]) -> str:
    """Say whether the controls stayed still; empty when nothing was compared."""
    found = [c for grid in grids for i in range(len(grid.columns)) for c in grid.comparisons(i)]
    if not found:
        return ""
    tested = [c for c in found if c.benchmark.control]
    if not tested:
        return "No control was measured: nothing shows that only the security setup differed."
    names = ", ".join(dict.fromkeys(c.benchmark.id for c in tested))
    moved = sum(not _still(c) for c in tested)
    if moved:
        return f"Controls ({names}) moved in {moved} of {len(tested)} comparisons: see warnings."
    return (
        f"Controls ({names}) were still in all {many(len(tested), 'comparison')}: the same "
        "typical count, nothing beyond the margin."
    )


def between_boots(report: Report) -> Iterator[str]:
    """Say how many typical counts differ between boots, and by how much."""
    if report.estimates and all(item.boots == 1 for item in report.estimates):
        yield "one boot of each setup: nothing shows whether counts repeat."
        return
    odd = [item for item in report.estimates if item.boots > 1 and item.high > item.low]
    if not odd:
        return
    names = {item.benchmark.id for item in odd}
    apart = [item.high - item.low for item in odd]
    low, high = numbers.count(min(apart)), numbers.count(max(apart))
    middle = numbers.count(statistics.median(apart))
    span = low if low == high else f"{low} to {high}"
    text = (
        f"typical counts of {many(len(names), 'benchmark')} differ between boots by {span} "
        f"{numbers.unit_word(report.unit)}"
    )
    text += "" if low == high else f", {middle} in the median"
    yield f"{text} (boots vary the order of benchmarks and where objects lie in slabs)."
    far = sorted(
        (item for item in odd if item.value > 0 and _boot_spread(item) > report.margin),
        key=_boot_spread,
        reverse=True,
    )
    if far:
        yield _far(far)


def _far(far: Sequence[Estimate]) -> str:
    """Name those whose boots differ by more than the margin, each benchmark once."""
    worst: dict[str, Estimate] = {}
    for item in far:
        worst.setdefault(item.benchmark.id, item)
    told = [
        f"{name} under {item.setup} {numbers.count(item.low)} to {numbers.count(item.high)}"
        for name, item in list(worst.items())[:_SHOWN]
    ]
    more = len(worst) - _SHOWN
    told += [f"{more:,} more"] if more > 0 else []
    return f"boots differ by more than the margin in the typical count of {', '.join(told)}."


def _boot_spread(item: Estimate) -> float:
    return (item.high - item.low) / item.value
