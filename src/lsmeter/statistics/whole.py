# SPDX-License-Identifier: GPL-2.0-or-later
"""From the windows of whole cycles of one boot to the cost of a cycle; pure.

A cycle costs what it takes in line, the mean over all windows, and what it leaves to be done later:
by how much more the guest does after a whole window than after a short one. What the guest does for
itself, ticks and the machinery of grace periods among it, is the same after both.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from lsmeter.core.model import BenchmarkStatus, Round, Whole

# Instructions: by so much a pair of ticks may differ from what is usual; beyond, the guest did
# something of its own in one of them, as it does in every tenth tick or so (3,400 to 25,000).
# Variants of one path through the scheduler lie 440 apart.
OWN_WORK = 600
# Windows of 16 that leave the same (so many instructions apart) beside what is usual, from which on
# it is of the cycles. Of 972 differences between two setups that do the same, 46 on Linux 7.2 and
# 29 on 6.1 were beyond 2.6 standard errors without it, 23 and 21 with it; with two windows 13 and
# 14, but the median standard error was 3.3 and 5.7 instructions instead of 1.4 and 1.9.
OFTEN, ALIKE = 3, 300
PLAIN_TICKS = 2  # writing back, and one tick: nothing is left to be done after a window
# Instructions: between boots, what whole windows leave over short ones differs by this standard
# error, by the scheduler's state at the ticks (16 boots of five operations that make objects).
STATE = 300.0
# Instructions of a window, standard error: RCU takes other batches after windows of another length.
# It is that of 97 pairs of lengths (4 to 48 cycles; six operations that leave something, Debian's
# 6.1 and 7.2 and the selftest's kernel, x86-64 and arm64); the largest was 1,126.
OTHER_BATCHES = 415.0
# Standard errors from which on deferred work that falls into another tick each time counts. Of a
# guest's own work, ten windows of each kind differ by three in every hundredth boot.
EXCESS_Z = 4.5

_Numbers = npt.NDArray[np.float64]
_Rounds = tuple[Sequence[Round], list[Round], list[Round]]  # all, whole ones, short ones


@dataclass(frozen=True, slots=True)
class CycleCost:
    """What one cycle costs in one boot, in instructions.

    deferred is the part of value that is done later, error the standard error of value, with so
    many degrees of freedom. windows are the in-line costs, without ticks, of windows of so many
    operations each. plain: they leave nothing to be done.
    """

    value: float
    error: float
    freedom: float
    deferred: float
    deferred_error: float
    plain: bool
    cycles: int
    windows: Sequence[float]
    operations: tuple[int, ...]


class Windows(Sequence[Round]):
    """Windows of which is known what a cycle costs; they themselves are read if asked for.

    digest tells them from others, count says how many they are.
    """

    __slots__ = ("_count", "_digest", "_read", "cost")

    def __init__(
        self,
        cost: CycleCost | None,
        digest: bytes,
        count: int,
        read: Callable[[], Sequence[Round]],
    ) -> None:
        self.cost = cost
        self._digest, self._count, self._read = digest, count, read

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Round: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Round]: ...
    def __getitem__(self, at: int | slice) -> Round | Sequence[Round]:
        return self._read()[at]

    def __iter__(self) -> Iterator[Round]:
        return iter(self._read())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Windows):
            return self._digest == other._digest
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))


def cycle_costs(wholes: Sequence[Whole | None]) -> list[CycleCost | None]:
    """Return the cost of each cycle in one boot; None where it was not measured.

    What the windows of alike shape left is worked out at once: an array is costly, a number is not.
    """
    known: list[CycleCost | None] = [None] * len(wholes)
    groups: dict[tuple[int, ...], list[tuple[int, _Rounds]]] = {}
    for place, whole in enumerate(wholes):
        if whole is None or whole.status is not BenchmarkStatus.OK:
            continue
        if isinstance(whole.rounds, Windows):
            known[place] = whole.rounds.cost
        else:
            full, brief = seen_rounds(whole.rounds)
            if full and brief:
                shape = len(full), len(brief), len(full[0].taken)
                groups.setdefault(shape, []).append((place, (whole.rounds, full, brief)))
    for group in groups.values():
        places, rounds = zip(*group, strict=True)
        for place, cost in zip(places, _costs(rounds), strict=True):
            known[place] = cost
    return known


def _costs(group: Sequence[_Rounds]) -> Iterator[CycleCost]:
    """Return the costs of cycles whose windows were seen through equally often, as long."""
    whole, brief = (
        np.array([[item.taken for item in each[side]] for each in group], dtype=float)
        for side in (1, 2)
    )
    ticks = _ticks(brief)
    pairs = min(whole.shape[1], brief.shape[1])
    left = _left(np.stack((whole[:, :pairs], brief[:, :pairs]), axis=1))
    lines = _in_line([rounds for rounds, _, _ in group], ticks)
    for (_, full, short), line, (deferred, error) in zip(group, lines, left, strict=True):
        apart = full[0].operations - short[0].operations
        yield CycleCost(
            value=line.mean + deferred / apart,
            error=math.hypot(line.error, error / apart),
            freedom=line.freedom,
            deferred=deferred / apart,
            deferred_error=error / apart,
            plain=len(full[0].taken) <= PLAIN_TICKS,
            cycles=sum(line.operations),
            windows=line.windows,
            operations=line.operations,
        )


@dataclass(frozen=True)
class _Line:
    """What a cycle took in each window, and the mean with its standard error."""

    windows: tuple[float, ...]
    mean: float
    error: float
    freedom: float
    operations: tuple[int, ...]


def _in_line(group: Sequence[Sequence[Round]], ticks: Sequence[float]) -> list[_Line]:
    """Return what cycles took in their windows, those of the same operations worked out at once."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for place, rounds in enumerate(group):
        alike.setdefault(tuple([item.operations for item in rounds]), []).append(place)
    found: dict[int, _Line] = {}
    for operations, places in alike.items():
        weights = np.array(operations, dtype=float)
        squares = weights**2
        freedom = float(squares.sum() ** 2 / (weights**4).sum()) - 1
        alone = [[item.bulk - item.loop for item in group[place]] for place in places]
        fell = [[item.ticks for item in group[place]] for place in places]
        tick = np.array([ticks[place] for place in places])[:, None]
        # The ticks that fell into a window are no part of its cycles.
        lines = (np.array(alone, dtype=float) - np.array(fell, dtype=float) * tick) / weights
        rows = zip(places, lines.tolist(), *_weighted(lines, weights), strict=True)
        for place, windows, mean, error in rows:
            found[place] = _Line(tuple(windows), mean, error, freedom, operations)
    return [found[place] for place in range(len(group))]


def difference_errors(pairs: Sequence[tuple[CycleCost, CycleCost]]) -> list[float]:
    """Return the standard errors of the differences of two cycles in boots of one seed each.

    What the guest does now and then, such as taking a new slab, is in the same windows of both.
    """
    distinct = {(id(base), id(test)): (base, test) for base, test in pairs}
    if len(distinct) < len(pairs):  # exact boots mostly agree
        known = dict(zip(distinct, difference_errors([*distinct.values()]), strict=True))
        return [known[id(base), id(test)] for base, test in pairs]
    found = [math.hypot(base.error, test.error) for base, test in pairs]
    alike: dict[tuple[int, ...], list[int]] = {}
    for place, (base, test) in enumerate(pairs):
        both = min(len(base.operations), len(test.operations))
        if base.operations[:both] == test.operations[:both]:
            alike.setdefault(base.operations[:both], []).append(place)
    for operations, places in alike.items():
        both = len(operations)
        first, then = (
            np.array([pairs[place][side].windows[:both] for place in places]) for side in (0, 1)
        )
        _, spreads = _weighted(then - first, np.array(operations, dtype=float))
        for place, spread in zip(places, spreads, strict=True):
            deferred = (item.deferred_error for item in pairs[place])
            found[place] = min(found[place], math.hypot(spread, *deferred))
    return found


def batches_error(baseline: Collection[CycleCost], tested: Collection[CycleCost]) -> float:
    """Return the standard error of a difference of two sides whose windows differ in length.

    Each length has one of its own, the same in all boots: more of them do not lessen it.
    """
    shares: dict[int, float] = defaultdict(float)
    for boots, sign in ((baseline, -1), (tested, 1)):
        for boot in boots:
            if not boot.plain:
                shares[max(boot.operations) - min(boot.operations)] += sign / len(boots)
    return OTHER_BATCHES * math.hypot(*(share / apart for apart, share in shares.items()))


def _weighted(values: _Numbers, weights: _Numbers) -> tuple[list[float], list[float]]:
    """Return the means of rows with weights, and their standard errors.

    Each window's residual is taken as its own, from the mean of the others (MacKinnon and White
    1985): a few long windows are most of all cycles.
    """
    shares = weights / weights.sum()
    found = (shares * values).sum(axis=1)
    means: list[float] = found.tolist()
    if values.shape[1] < 2:
        return means, [math.inf] * len(means)
    residuals = shares * (values - found[:, None]) / (1 - shares)
    errors: list[float] = np.sqrt((residuals**2).sum(axis=1)).tolist()
    return means, errors


def seen_rounds(rounds: Sequence[Round]) -> tuple[list[Round], list[Round]]:
    """Return the windows that were seen through: whole ones and short ones."""
    seen = [item for item in rounds if item.taken]
    most = max((item.operations for item in seen), default=0)
    full = [item for item in seen if item.operations == most]
    return full, [item for item in seen if item.operations < most]


def _ticks(brief: _Numbers) -> list[float]:
    """Return what a tick takes that falls into a window; brief: by cycle, window and tick.

    It is as the first ones after it are: plain, or with the machinery of a grace period. Callbacks
    may run in one of the two.
    """
    ticks: list[float] = np.median(brief[:, :, 1:3], axis=1).min(axis=1).tolist()
    return ticks


def _left(sides: _Numbers) -> Iterator[tuple[float, float]]:
    """Yield what whole windows leave over short ones, and the standard error of that.

    Whole and short windows follow each other, and are held against each other in pairs: what state
    the scheduler is in is then the same on both sides. What a few windows of either kind leave
    alike, such as a slab that is freed once in 60 cycles, is of the cycles; what one of them leaves
    is the guest's own. sides: by cycle, kind (whole, short), pair and tick.
    """
    near = np.abs(sides[:, :, :, None] - sides[:, :, None]) <= OWN_WORK
    near[..., 0] = True  # writing back is all kept
    place = near.sum(axis=3).argmax(axis=2)  # the window that most others of its kind are near
    like = np.take_along_axis(near, place[:, :, None, None], axis=2)[:, :, 0]
    middle = (np.where(like, sides, 0).sum(axis=2) / like.sum(axis=2))[:, :, None]
    cycles, _, pairs, ticks = sides.shape
    beyond = (sides - middle).reshape(cycles, 2 * pairs, ticks)
    other = ~like.reshape(beyond.shape)
    alike = (np.abs(beyond[:, :, None] - beyond[:, None]) <= ALIKE) & other[:, None]
    often = (other & (alike.sum(axis=2) >= OFTEN)).reshape(like.shape)
    usual = _summed(np.where(like, sides, middle))
    kept = _summed(np.where(like | often, sides, middle))
    each = (usual, _summed(sides) - usual, kept)
    of_all = STATE if ticks > PLAIN_TICKS else 0.0
    for (value, error), (rare, rare_error), known in zip(*map(_means, each), strict=True):
        if abs(rare) > EXCESS_Z * rare_error:
            yield value + rare, math.hypot(error, of_all, rare_error)
        else:
            yield known[0], math.hypot(known[1], of_all)


def _summed(sides: _Numbers) -> _Numbers:
    """Return by how much each whole window left more than the short one of its pair."""
    left: _Numbers = (sides[:, 0] - sides[:, 1]).sum(axis=2)
    return left


def _means(values: _Numbers) -> Iterator[tuple[float, float]]:
    """Return the means of rows with their standard errors, infinite for single values."""
    count = values.shape[1]
    means: list[float] = values.mean(axis=1).tolist()
    if count < 2:
        return zip(means, [math.inf] * len(means), strict=True)
    return zip(means, (values.std(axis=1, ddof=1) / math.sqrt(count)).tolist(), strict=True)
