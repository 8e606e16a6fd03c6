# SPDX-License-Identifier: GPL-2.0-or-later
"""What comparisons found: where the three numbers disagree, what differs, controls; pure.

The three numbers of a benchmark are the typical count, the in-line mean and the whole cost. A cell
shows the one that decided, and marks it where that is not the typical one.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from lsmeter.core.groups import grouped
from lsmeter.core.model.conclusion import Change, Comparison, Difference, Estimate, Number, Verdict
from lsmeter.measure.instruments import Words
from lsmeter.questions.cost.blocks import MOVED, needed
from lsmeter.questions.cost.grids import Grid
from lsmeter.questions.cost.model import Report
from lsmeter.questions.cost.repeats import by_boot
from lsmeter.statistics.verdict import NO_TYPICAL
from lsmeter.tables import numbers
from lsmeter.tables.values import change, count, many, percent, some

_FIRST = (Verdict.SLOWER, Verdict.FASTER, Verdict.INCONCLUSIVE, Verdict.EQUIVALENT)
_NAMED = 4  # of the benchmarks that have no typical count
_FEW = 6  # operations of a cause in short
DISAGREE = "the numbers disagree"  # as statistics/verdict.py says it
_OPEN = 12  # names of a cause why they are inconclusive; the table marks all


def apart(item: Comparison, other: Change | None, margin: float) -> bool:
    """Say whether another number differs otherwise than the typical one, beyond the margin.

    Compared in the unit of the values: the base of a whole cost is another one.
    """
    typical = item.typical
    if other is None or (other.low <= typical.high and other.high >= typical.low):
        return False
    allowed = margin * abs(typical.baseline_value)
    return abs(other.difference - typical.difference) > allowed


def mark(item: Comparison, margin: float) -> str:
    """Return the mark of a cell that the typical count decided, and others say more or less."""
    if item.verdict not in MOVED or item.decided_by is not Number.TYPICAL:
        return ""
    odd = apart(item, item.whole, margin) or apart(item, item.mean, margin)
    return numbers.APART_MARK if odd else ""


class Operation(NamedTuple):
    """What a table says of an operation: the verdict, of which variants, and their medians.

    The medians are not a number where none of these variants has an overhead.
    """

    verdict: Verdict
    number: Number  # that decided most of them
    some: bool  # other variants have another verdict, or another number decided
    overhead: float  # a fraction; positive is worse
    old: float
    new: float

    @property
    def difference(self) -> float:
        """The difference of the medians."""
        return self.new - self.old


def operation(found: Sequence[Comparison]) -> Operation:
    """Sum up an operation's variants: those with the verdict, by what decided most of them."""
    verdict = leading(found)
    mine = [item for item in found if item.verdict is verdict]
    number = Counter(item.decided_by for item in mine).most_common(1)[0][0]
    mine = [item for item in mine if item.decided_by is number]
    known = [item.decided for item in mine if math.isfinite(item.overhead)]
    medians = (
        statistics.median([getattr(item, name) for item in known] or [math.nan])
        for name in ("overhead", "baseline_value", "value")
    )
    return Operation(verdict, number, len(mine) < len(found), *medians)


def tested(found: Iterable[Comparison]) -> list[Comparison]:
    """Return the comparisons that have an overhead; controls are left out."""
    return [c for c in found if not c.benchmark.control and math.isfinite(c.overhead)]


def verdicts(found: Iterable[Verdict]) -> str:
    """Count verdicts: 52 slower, 9 equivalent."""
    counts = Counter(found)
    return ", ".join(f"{counts[kind]} {kind}" for kind in Verdict if counts[kind])


class Part(NamedTuple):
    """One number of a comparison."""

    item: Comparison
    number: Number
    change: Change

    @property
    def overhead(self) -> float:
        """The overhead, as a fraction."""
        return self.change.overhead


def most(found: Iterable[Comparison], margin: float) -> Part:
    """Return the number with the largest overhead, of all numbers of comparisons that have one.

    Of a comparison the one that decided counts, unless another is for certain no 0 and is larger by
    more than the margin.
    """
    return max((_most(item, margin) for item in found), key=_size)


def decided(item: Comparison) -> Part:
    """Return the number that decided."""
    return Part(item, item.decided_by, item.decided)


def _most(item: Comparison, margin: float) -> Part:
    first = decided(item)
    every = [Part(item, number, getattr(item, number.value)) for number in Number]
    certain = [
        part
        for part in every
        if part.change is not None
        and math.isfinite(part.overhead)
        and (part.change.low > 0 or part.change.high < 0)
    ]
    other = max(certain, key=_size, default=first)
    return other if _size(other) > _size(first) + margin else first


def _size(part: Part) -> float:
    return abs(part.overhead)


class Medians(NamedTuple):
    """Medians of the overheads (fractions); None where there is none."""

    typical: float | None
    mean: float | None
    whole: float | None

    def text(self, words: Words) -> str:
        """Write all of them, each with what it covers."""
        whole = ["whole cost not measured"] if words.repeats else []
        if self.whole is not None:
            whole = [f"whole cost {percent(self.whole)}"]
        named = ((words.typical, self.typical), (words.mean, self.mean))
        said = [f"{name} {percent(share)}" for name, share in named if share is not None]
        return ", ".join((*said, *whole))


def medians(items: Sequence[Comparison]) -> Medians:
    """Return the median overhead of each number."""

    def median(changes: Iterable[Change | None]) -> float | None:
        found = [c.overhead for c in changes if c is not None and math.isfinite(c.overhead)]
        return statistics.median(found) if found else None

    return Medians(*(median(getattr(item, number.value) for item in items) for number in Number))


def leading(found: Sequence[Comparison]) -> Verdict:
    """Return the verdict that stands for several, the same for a table, a card and its colour.

    Slower or faster where any is; where some are slower and some faster, what the median is.
    """
    kinds = {item.verdict for item in found}
    if kinds >= MOVED:
        known = [item.overhead for item in found if item.verdict in MOVED]
        return Verdict.SLOWER if statistics.median(known) > 0 else Verdict.FASTER
    return min(kinds, key=_FIRST.index)


def unmeasured(report: Report) -> Iterator[str]:
    """Say that no whole cost was measured, where one can be."""
    if report.unit != "insns" or not report.estimates:
        return
    if all(item.whole is None for item in report.estimates):
        quick = " (--quick)" if ("whole_ppm", "0") in report.conditions else ""
        yield (
            f"amortised and deferred costs were not measured{quick}; no verdict 'equivalent' is "
            "given."
        )


def spread(found: Iterable[Estimate]) -> Iterator[str]:
    """Say from how many cycles whole costs are, and how far single boots lie from each other."""
    costs = [(item, item.whole) for item in found if item.whole is not None]
    if not costs:
        return
    cycles = [whole.operations for _, whole in costs]
    least, most = count(min(cycles)), count(max(cycles))
    yield f"Each from {least if least == most else f'{least} to {most}'} cycles."
    spreads = sorted(
        (whole.boot_high - whole.boot_low) / whole.value
        for item, whole in costs
        if whole.boots > 1 and whole.value > 0 and item.benchmark.cycle
    )
    if spreads:
        near = spreads[math.ceil(0.95 * len(spreads)) - 1]
        middle = statistics.median(spreads)
        yield (
            f"Boots differ in a whole cost by {middle * 100:.2f} % (median), by at most "
            f"{near * 100:.2f} % in 95 % of {len(spreads):,} values, by {spreads[-1] * 100:.2f} % "
            "at most."
        )


def values(report: Report, part: Part) -> str:
    """Write a number: 5,515 → 8,139 instructions, or +209 ±17 instructions in open+close."""
    unit = numbers.unit_word(report.unit)
    if part.number is Number.WHOLE:
        return f"{numbers.amount(part.change)} {unit} in {part.item.benchmark.cycle}"
    before, after = (round(x, 1) for x in (part.change.baseline_value, part.change.value))
    return f"{count(before)} {numbers.ARROW} {count(after)} {unit}"


def differences(report: Report, grid: Grid, index: int) -> Iterator[str]:
    """Say which benchmarks are the same, show no difference, or differ by less than the margin."""
    equal = grouped(
        (item.found, item)
        for item in grid.comparisons(index)
        if item.verdict is Verdict.EQUIVALENT and not item.benchmark.control
    )
    words = {
        Difference.NONE: "Identical in every number",
        Difference.UNSEEN: "No difference seen",
    }
    for kind, text in words.items():
        if kind in equal:
            yield f"{text}: {', '.join(_named(grid, index, equal[kind]))}."
    if small := equal.get(Difference.SEEN):
        verb = "differs" if len(small) == 1 else "differ"
        yield f"{len(small):,} {verb} by less than the margin ({_range(report, small)})."


def untouched(grid: Grid, index: int) -> bool:
    """Say whether all benchmarks but the controls are identical in every number."""
    found = [item for item in grid.comparisons(index) if not item.benchmark.control]
    same = (Verdict.EQUIVALENT, Difference.NONE)
    return bool(found) and all((item.verdict, item.found) == same for item in found)


def _named(grid: Grid, index: int, wanted: Sequence[Comparison]) -> list[str]:
    """Name the operations of which every variant is wanted, and single variants of others."""
    ids = {item.benchmark.id for item in wanted}
    names: list[str] = []
    for group in grid.groups:
        chosen = [c.benchmark.id for c in group.comparisons(index) if c.benchmark.id in ids]
        names += [group.operation] if chosen and len(chosen) == len(group.rows) else chosen
    return names


def _range(report: Report, found: Sequence[Comparison]) -> str:
    """Write the least and the largest difference of which 0 is no possible value."""
    shown = []
    for item in found:
        changes = [c for c in (item.typical, item.mean, item.whole) if c is not None]
        certain = [c.difference for c in changes if c.low > 0 or c.high < 0]
        shown += [max(certain, key=abs)] if certain else []
    peaks = len(found) - len(shown)
    whose = "its" if peaks == 1 else "their"
    if not shown:
        return f"in {whose} peaks only"
    low, high = (change(round(value) + 0.0) for value in (min(shown), max(shown)))
    span = low if low == high else f"{low} to {high}"
    rest = f"; {peaks:,} in {whose} peaks only" if peaks else ""
    return f"{span} {numbers.unit_word(report.unit)}{rest}"


def causes(grid: Grid, index: int) -> Iterator[str]:
    """Name each inconclusive benchmark with its cause; equal causes are given once."""
    found = grouped((cause, item) for item, cause in _inconclusive(grid, index))
    texts = []
    for cause, items in found.items():
        names = _named(grid, index, items)
        said = some(names, _OPEN)
        why = "; ".join(filter(None, (cause, needed(items))))
        texts.append(f"{said} ({why})" if why else said)
    if texts:
        number = many(sum(map(len, found.values())), "comparison")
        yield f"{number} inconclusive: {'; '.join(texts)}."


def causes_in_short(columns: Iterable[tuple[str, Grid, int]]) -> Iterator[str]:
    """Say once each kind of cause, with what it leaves open: operations are counted.

    columns are titles, each with its place in a grid. What is of one benchmark of several, such
    as the numbers that disagree, is left to where there is room.
    """
    found: dict[str, list[tuple[str, Comparison, str]]] = {}
    for title, grid, index in columns:
        for item, cause in _inconclusive(grid, index):
            kind = re.split("[:,]", item.cause)[0]
            if meaning := _meaning(item):
                kind += f": {meaning}"
            elif cause != item.cause:
                kind = " and ".join(filter(None, (kind, "counts do not repeat")))
            (name,) = _named(grid, index, [item])
            said = f"{name} ({cause})" if cause else name
            found.setdefault(kind, []).append((title, item, said))
    for kind, items in found.items():
        if len(items) == 1:
            ((title, _, said),) = items
            yield f"{title}: 1 comparison inconclusive: {said}."
            continue
        why = "; ".join(filter(None, (kind, needed(item for _, item, _ in items))))
        titles = grouped((title, item) for title, item, _ in items)
        said = ", ".join(f"{title} {len(own)}" for title, own in titles.items())
        if len(titles) == 1:
            said = f"{title} {_counted([item for _, item, _ in items])}"
        yield f"{len(items):,} comparisons inconclusive ({why}): {said}."


def _inconclusive(grid: Grid, index: int) -> Iterator[tuple[Comparison, str]]:
    """Yield the open comparisons of a column, each with all that is said of its cause."""
    for row in grid.rows:
        slot = row.slots[index]
        item = slot.comparison
        if item is not None and item.verdict is Verdict.INCONCLUSIVE:
            sides = (row.baseline, slot.estimate)
            boots = [
                f"{e.place.setup}: {by_boot(e)}"
                for e in sides
                if e and e.high > e.low and e.evidence.by_boot
            ]
            meaning = _meaning(item, item.benchmark.cycle)
            yield item, "; ".join(filter(None, (item.cause, meaning, *boots)))


def _meaning(item: Comparison, cycle: str = "") -> str:
    """Say of numbers that contradict each other what costs less, and what costs more."""
    if not item.cause.startswith(DISAGREE):
        return ""
    numbers_of = (
        ("the usual call", item.typical),
        ("the mean call", item.mean),
        (" ".join(filter(None, ("its cycle", cycle, "with deferred work"))), item.whole),
    )
    said = grouped(
        (found.low > 0, name)
        for name, found in numbers_of
        if found is not None and (found.low > 0 or found.high < 0)
    )
    texts = [
        f"{' and '.join(names).replace('the usual call and the mean call', 'the call alone')} "
        f"{'slower' if worse else 'faster'}"
        for worse, names in said.items()
    ]
    return ", ".join(texts)


def _counted(found: Sequence[Comparison]) -> str:
    """Count variants, and name operations with how many of each."""
    suites = {item.place.suite for item in found}
    times = Counter(_of_suite(item, item.benchmark.operation, suites) for item in found)
    by = "\N{MULTIPLICATION SIGN}"
    shown = [f"{name} {by}{n}" if n > 1 else name for name, n in times.most_common(_FEW)]
    left = len(found) - sum(n for _, n in times.most_common(_FEW))
    return f"{len(found)}: {', '.join([*shown, f'{left:,} more'] if left else shown)}"


def _of_suite(item: Comparison, name: str, suites: Collection[str]) -> str:
    """Name what several suites may have by its suite as well, where there are several."""
    return f"{item.place.suite} {name}" if len(suites) > 1 else name


def without_typical(found: Sequence[Comparison]) -> Iterator[str]:
    """Say what the verdicts of benchmarks without a typical count rest on."""
    suites = {item.place.suite for item in found}
    named = grouped(
        (item.cause, _of_suite(item, item.benchmark.id, suites))
        for item in found
        if item.verdict is not Verdict.INCONCLUSIVE and item.cause.startswith(NO_TYPICAL)
    )
    for cause, ids in named.items():
        yield f"{cause}: {some(dict.fromkeys(ids), _NAMED)}."


def disagreements(report: Report, found: Sequence[Comparison]) -> Iterator[str]:
    """Say how often the numbers disagree, with the benchmark that does so most."""
    words, margin = report.words, report.margin
    odd = [item for item in found if mark(item, margin)]
    if not odd:
        return
    most = max(odd, key=_disagreement)
    texts = [f"{words.typical} {numbers.amount(most.typical)}"]
    if most.mean is not None and apart(most, most.mean, margin):
        texts.append(f"{words.mean} {numbers.amount(most.mean)}")
    if most.whole is not None:
        texts.append(f"whole {numbers.amount(most.whole)} ({most.benchmark.cycle})")
    yield (
        f"The numbers disagree by more than the margin in {len(odd):,} "
        f"({numbers.APART_MARK}), most in {most.benchmark.id}: {', '.join(texts)}."
    )


def _disagreement(item: Comparison) -> float:
    others = [change for change in (item.mean, item.whole) if change is not None]
    base = abs(item.typical.baseline_value) or 1.0
    return max(abs(change.difference - item.typical.difference) for change in others) / base


def changed_controls(report: Report, found: Iterable[Comparison]) -> Iterator[str]:
    """Name each control that changed."""
    for item in found:
        if not item.benchmark.control or _still(item) or item.place.setup in report.every_call:
            continue
        whole = f", whole {numbers.amount(item.whole)}" if item.whole is not None else ""
        yield (
            f"the control {item.benchmark.id} changed by {percent(item.overhead)} "
            f"({values(report, decided(item))}{whole}), although no security module can change it: "
            "something else differs between the two."
        )


def _still(item: Comparison) -> bool:
    """No other typical count, and nothing beyond the margin; without such a count, no verdict."""
    same = item.typical.difference == 0 or item.tests is not None or not item.has_typical
    return same and item.verdict not in MOVED


def controls(grids: Iterable[Grid], every_call: Collection[str] = ()) -> str:
    """Say whether the controls are unchanged; setups that add to every call are left out."""
    found = [c for grid in grids for i in range(len(grid.columns)) for c in grid.comparisons(i)]
    if not found:
        return "Nothing was compared."
    asked = [c for c in found if c.benchmark.control and c.place.setup not in every_call]
    if not asked and any(c.benchmark.control for c in found):
        return "Every setup adds to every call: no control shows that only the setup differed."
    if not asked:
        return "No control was measured: nothing shows that only the security setup differed."
    names = ", ".join(dict.fromkeys(c.benchmark.id for c in asked))
    moved = sum(not _still(c) for c in asked)
    if moved:
        return f"Controls ({names}) changed in {moved} of {len(asked)} comparisons: see warnings."
    return f"Controls ({names}) unchanged in all {many(len(asked), 'comparison')}."
