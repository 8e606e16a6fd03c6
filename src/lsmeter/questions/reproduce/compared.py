# SPDX-License-Identifier: GPL-2.0-or-later
"""Printed tables with ours beside them, and the points of plots: all that is computed; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Any

from lsmeter.catalogue.studies.shown import Cell, Compared, Plot, printed_cells
from lsmeter.catalogue.studies.study import Study
from lsmeter.questions.reproduce import quantities
from lsmeter.questions.reproduce.checks import words_of
from lsmeter.questions.reproduce.judge import Known, places_of
from lsmeter.questions.reproduce.parts import Where
from lsmeter.questions.reproduce.quantities import PERCENT, MissingError, Quantity
from lsmeter.questions.reproduce.rules import Evaluation, Rule, RuleError

NEAR = 1.5  # within this factor sizes agree: instructions are not seconds


class Agreement(StrEnum):
    """What can be said of a printed number and ours."""

    SIZE = "sign and size"  # within a factor of NEAR
    SIGN = "sign"
    OTHER = "other sign"
    EQUAL = "equal"
    DIFFERENT = "different"
    BELOW = "within the bound"
    ABOVE = "above the bound"
    OPEN = "not told"
    NONE = ""  # nothing to be compared


@dataclass(frozen=True)
class Ours:
    """What was measured at a place: a number, or why there is none."""

    where: Where
    number: Quantity | None
    why: str = ""


@dataclass(frozen=True)
class Pair:
    """A printed value, ours at each place, and what agrees at all of them."""

    printed: Cell
    ours: tuple[Ours, ...]
    agreement: Agreement


@dataclass(frozen=True)
class Beside:
    """A printed table with ours."""

    table: Compared
    places: tuple[Where, ...]
    pairs: tuple[Pair, ...]

    @property
    def counts(self) -> dict[Agreement, int]:
        """How many values agree how."""
        return {
            kind: found
            for kind in Agreement
            if kind and (found := sum(pair.agreement is kind for pair in self.pairs))
        }


@dataclass(frozen=True)
class Point:
    """A point of a plot."""

    where: Where
    series: str
    x: str
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class Plotted:
    """A plot with its points; lacking says which could not be worked out, and why."""

    plot: Plot
    points: tuple[Point, ...]
    lacking: tuple[str, ...]


def compare_table(study: Study, table: Compared, rules: Mapping[str, Rule], known: Known) -> Beside:
    """Work a table out at each of its places."""
    places = tuple(places_of(table, known))
    pairs = []
    for cell in printed_cells(table, study.home, study.tables):
        many = len(cell.known.get("benchmarks", ())) > 1
        own = f"own.{cell.row}" if cell.row in table.own else ""
        rule = rules.get(f"{table.id}.{own or ('several' if many else 'ours')}")
        words = {**cell.known, "benchmarks": [""]} if own else cell.known
        ours = tuple(_ours(study, rule, words, known[table.part, where], where) for where in places)
        found = [_agreement(cell, item, table) for item in ours if item.number is not None]
        pairs.append(Pair(cell, ours, _worst(found)))
    return Beside(table, places, tuple(pairs))


def _ours(
    study: Study,
    rule: Rule | None,
    words: Mapping[str, Any],
    functions: Mapping[str, Callable[..., Any]],
    where: Where,
) -> Ours:
    if rule is None or words.get("benchmarks") == []:
        return Ours(where, None, "no row here")
    try:
        found = Evaluation(functions, {**study.lists, **words}).number(rule)
    except (MissingError, RuleError) as error:
        return Ours(where, None, str(error))
    return Ours(where, found)


def _agreement(cell: Cell, ours: Ours, table: Compared) -> Agreement:
    number, printed = ours.number, cell.number
    if number is None or printed is None:
        return Agreement.NONE
    if cell.percent:
        return (
            compare_overheads(number, printed) if number.unit in {PERCENT, ""} else Agreement.NONE
        )
    if number.unit:
        return Agreement.NONE  # instructions beside another unit
    if table.bound:
        return compare_bound(number, printed)
    words = {True: Agreement.EQUAL, False: Agreement.DIFFERENT, None: Agreement.OPEN}
    return words[quantities.within(number - printed, -table.margin, table.margin).holds]


def compare_bound(ours: Quantity, printed: float) -> Agreement:
    """Return how a count agrees with a printed bound; of 0 the setup has none, whatever runs."""
    if not printed and ours.value > 0:
        return Agreement.NONE
    below = {True: Agreement.BELOW, False: Agreement.ABOVE, None: Agreement.OPEN}
    return below[quantities.below(ours, printed, strictly=False).holds]


def compare_overheads(ours: Quantity, printed: float) -> Agreement:
    """Return how an overhead agrees with a printed one; an interval over 0 tells no sign."""
    if ours.low <= 0 <= ours.high or not printed:
        return Agreement.OPEN
    low, high = sorted((printed / NEAR, printed * NEAR))
    if low <= ours.value <= high:
        return Agreement.SIZE
    return Agreement.SIGN if (ours.value > 0) == (printed > 0) else Agreement.OTHER


def _worst(found: Sequence[Agreement]) -> Agreement:
    order = (
        *(Agreement.OTHER, Agreement.DIFFERENT, Agreement.ABOVE, Agreement.OPEN),
        *(Agreement.SIGN, Agreement.SIZE, Agreement.EQUAL, Agreement.BELOW),
    )
    return next((kind for kind in order if kind in found), Agreement.NONE)


def plot_points(study: Study, plot: Plot, rules: Mapping[str, Rule], known: Known) -> Plotted:
    """Work the points of a plot out at each of its places."""
    points: list[Point] = []
    lacking: dict[str, None] = {}
    each = product(places_of(plot, known), words_of(study, plot.series), words_of(study, plot.x))
    for where, series, x in each:
        words = {"series": series, "x": x}
        found = _ours(study, rules[plot.id], words, known[plot.part, where], where)
        if (number := found.number) is None:
            lacking[f"{series} {x}: {found.why}".strip()] = None
        else:
            points.append(Point(where, series, x, number.value, number.low, number.high))
    return Plotted(plot, tuple(points), tuple(lacking))
