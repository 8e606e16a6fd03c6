# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounts: one attributed cell against another, by typical call and by whole cycle; pure.

An account is of a setup over its baseline, of a layer over the setup below it, or of a setup in
two runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from lsmeter.core.groups import grouped
from lsmeter.core.model import Place
from lsmeter.questions.attribution.cost import Kept, combined, exact_sum
from lsmeter.questions.attribution.explain import Cause, Explanation, explain, sum_causes
from lsmeter.questions.attribution.load import AttributedCell
from lsmeter.questions.attribution.profile import Context, Tree
from lsmeter.questions.cells.cells import pair_by_kernels
from lsmeter.questions.cells.layers import LayeredCost
from lsmeter.statistics.compare import compare

UNSTEADY = "not known to repeat"  # how the doubt begins that is about readings, and not about trees


@dataclass(frozen=True)
class Pair:
    """Two trees of the same peak; doubt says why they may not be, and is empty if they are."""

    baseline: Kept
    tested: Kept
    doubt: str = ""


@dataclass(frozen=True)
class Explained:
    """One average of all benchmarks that two cells have: explanations by benchmark."""

    benchmarks: Mapping[str, Explanation]

    @cached_property
    def by_operation(self) -> Mapping[str, Explanation]:
        """The mean over the variants of each operation."""
        found = grouped((operation(name), item) for name, item in self.benchmarks.items())
        return {name: _combined(items, 1 / len(items)) for name, items in found.items()}

    @cached_property
    def total(self) -> Explanation:
        """The sum over operations, each counted once, however many variants it has."""
        return _combined(tuple(self.by_operation.values()), 1)

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """Causes of non-hook cost, summed over the operations that have them."""
        return sum_causes(cause for item in self.by_operation.values() for cause in item.causes)

    def callers(self, hook: str) -> list[str]:
        """Name the benchmarks that call a hook in line, on either side."""
        key = (Context.CALL, hook)
        return sorted(
            name
            for name, item in self.benchmarks.items()
            if key in item.baseline.hook_calls or key in item.tested.hook_calls
        )


def operation(benchmark: str) -> str:
    """Return the operation that a benchmark is a variant of: `open` of `open depth=4`."""
    return benchmark.partition(" ")[0]


def _combined(items: Sequence[Explanation], factor: float) -> Explanation:
    """Sum explanations, each times a factor; reported if that is known of all."""
    if len(items) == 1:
        return items[0]
    known = [item.reported_insns for item in items if item.reported_insns is not None]
    before = combined((item.baseline, factor) for item in items)
    after = combined((item.tested, factor) for item in items)
    clock = exact_sum(insns * factor for insns in known) if len(known) == len(items) else None
    return explain(before, after, reported=clock)


@dataclass(frozen=True)
class Account:
    """Where the cost of one cell over another comes from.

    pairs are the trees of the typical calls that were compared. whole is empty where no whole
    costs were measured.
    """

    baseline: AttributedCell
    tested: AttributedCell
    pairs: Mapping[str, Pair]
    typical: Explained
    whole: Explained

    @property
    def place(self) -> Place:
        """Where the tested cell's numbers belong."""
        return self.tested.cell.place

    @property
    def label(self) -> str:
        """Name both sides; no two accounts of a run have the same."""
        place = self.place
        where = f"{place.kernel}, {place.suite}, {place.filesystem}, {place.user}"
        return f"{place.setup} over {self.baseline.cell.place.setup} ({where})"

    @property
    def missing(self) -> tuple[str, ...]:
        """Benchmarks that have a value, and that could not be explained."""
        known = {*self.tested.values, *self.baseline.values}
        return tuple(sorted(known - set(self.typical.benchmarks)))

    @property
    def before(self) -> dict[str, Tree]:
        """The baseline's trees that were compared."""
        return {name: pair.baseline.tree for name, pair in self.pairs.items()}

    @property
    def after(self) -> dict[str, Tree]:
        """The tested side's trees that were compared."""
        return {name: pair.tested.tree for name, pair in self.pairs.items()}


def run_accounts(cells: Sequence[AttributedCell], baseline_setup: str) -> tuple[Account, ...]:
    """Explain every setup of a run against its baseline in the same place."""
    return tuple(
        account(baseline, tested)
        for tested in cells
        for baseline in cells
        if tested.cell.place.setup != baseline_setup
        and baseline.cell.place.setup == baseline_setup
        and baseline.cell.place.beside == tested.cell.place.beside
    )


def layer_accounts(
    layers: Iterable[LayeredCost], cells: Iterable[AttributedCell]
) -> tuple[Account, ...]:
    """Explain each layer of which both setups have attribution."""
    known = {item.cell.place: item for item in cells}
    wanted: dict[tuple[Place, Place], None] = {}
    for cost in layers:
        below = cost.base
        for layer in cost.layers:
            place = replace(cost.place, setup=layer.setup)
            wanted[replace(below, setup=layer.over), place] = None
            below = place
    found = (account(known[a], known[b]) for a, b in wanted if a in known and b in known)
    return tuple(item for item in found if item.typical.benchmarks)


def counterparts(
    before: Sequence[AttributedCell], after: Sequence[AttributedCell]
) -> Iterator[Account]:
    """Explain cells of the same setup, suite, file system and user of two runs."""
    key = pair_by_kernels(*([item.cell.place.kernel for item in side] for side in (before, after)))
    for old, new in product(before, after):
        if key(old.cell.place) == key(new.cell.place):
            yield account(old, new)


def account(baseline: AttributedCell, tested: AttributedCell) -> Account:
    """Explain every benchmark that both cells have."""
    pairs: dict[str, Pair] = {}
    typical: dict[str, Explanation] = {}
    whole: dict[str, Explanation] = {}
    for name in tested.values:
        if name not in baseline.values:
            continue
        compared = compare(baseline.readings[name], tested.readings[name], tested.margin)
        # Of sides in several states, which have no typical difference, that of the shown counts.
        difference = tested.values[name] - baseline.values[name]
        if not math.isnan(compared.typical.difference):
            difference = int(compared.typical.difference)
        if name in baseline.kept and name in tested.kept:
            # Where the sides do not run in step, the difference is that of two peaks, which need
            # not be the same one.
            wanted = None if compared.in_step is None else difference
            pair = choose_pair(baseline.kept[name], tested.kept[name], wanted)
            apart = pair.tested.tree.insns - pair.baseline.tree.insns
            if not pair.doubt and apart != difference:
                doubt = f"the trees that were compared differ by {apart:+,}, not {difference:+,}"
                pair = replace(pair, doubt=doubt)
            pairs[name] = pair
            sides = [i.cell.place.setup for i in (baseline, tested) if name not in i.repeats]
            unsteady = f"{UNSTEADY}: {', '.join(sides)}" if sides else ""
            typical[name] = explain(
                *(pair.baseline.cost, pair.tested.cost),
                reported=difference,
                doubt=pair.doubt or unsteady,
            )
        if name in baseline.wholes and name in tested.wholes:
            reported = None if compared.whole is None else compared.whole.difference
            whole[name] = explain(baseline.wholes[name], tested.wholes[name], reported=reported)
    return Account(baseline, tested, pairs, Explained(typical), Explained(whole))


def choose_pair(
    baseline: Sequence[Kept], tested: Sequence[Kept], difference: int | None = None
) -> Pair:
    """Choose one tree of each side, both of which must have one.

    Where trees are of two peaks, what tells these apart (where a buffer lies in its page, say)
    would look like a cost of the setup.
    difference is the one that the readings have, paired: the trees then have to differ by it. Of
    several pairs, those whose trees are frequent come first; then it is the one in which the
    kernel outside of the security modules differs least, and of several such pairs the one with
    the most samples.
    """

    def rank(pair: tuple[Kept, Kept]) -> tuple[float, int]:
        old, new = pair
        one, other = old.outside, new.outside
        # Instructions that are on one side only.
        apart = sum(abs(one.get(key, 0) - other.get(key, 0)) for key in one.keys() | other.keys())
        return apart, -min(old.samples, new.samples)

    frequent = list(product(_frequent(baseline), _frequent(tested)))
    for pairs in (frequent, product(baseline, tested)):
        fitting = [
            (old, new)
            for old, new in pairs
            if difference in {None, new.tree.insns - old.tree.insns}
        ]
        if fitting:
            return Pair(*min(fitting, key=rank))
    doubt = f"no two trees that were kept differ by {difference:+,}"
    return Pair(*min(frequent, key=rank), doubt)


def _frequent(trees: Sequence[Kept]) -> list[Kept]:
    """Return those that have at least half as many samples as the one that has the most."""
    most = max(item.samples for item in trees)
    return [item for item in trees if 2 * item.samples >= most]
