# SPDX-License-Identifier: GPL-2.0-or-later
"""Sums of whole costs and of causes over operations, each counted once; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum

from lsmeter.hooks.attribution.causes import Cause
from lsmeter.hooks.attribution.whole import WholeCost, combined
from lsmeter.hooks.attribution.whole_explain import WholeExplanation, explain_whole


@dataclass(frozen=True)
class CauseSum:
    """A cause over operations: its instructions, how many have it, and its dearest functions."""

    words: str
    insns: float
    operations: int
    functions: tuple[tuple[str, float], ...]  # the largest first


def whole_total(
    baseline: Mapping[str, WholeCost],
    tested: Mapping[str, WholeCost],
    explained: Mapping[str, WholeExplanation],
) -> WholeExplanation | None:
    """Explain the sum over the operations that were explained; None without any."""
    if not explained:
        return None
    before = combined((baseline[name], 1.0) for name in explained)
    after = combined((tested[name], 1.0) for name in explained)
    reported = [item.reported for item in explained.values()]
    known = [item for item in reported if item is not None]
    return explain_whole(
        before, after, reported=fsum(known) if len(known) == len(reported) else None
    )


def sum_causes(causes: Iterable[Cause]) -> tuple[CauseSum, ...]:
    """Sum causes with the same words, the largest sum first."""
    found: dict[str, list[Cause]] = {}
    for cause in causes:
        found.setdefault(cause.words, []).append(cause)
    sums = (
        CauseSum(words, fsum(item.insns for item in items), len(items), _functions(items))
        for words, items in found.items()
    )
    return tuple(sorted(sums, key=lambda item: (-item.insns, item.words)))


def _functions(causes: Iterable[Cause]) -> tuple[tuple[str, float], ...]:
    found: dict[str, float] = {}
    for cause in causes:
        for name, insns in cause.functions:
            found[name] = found.get(name, 0.0) + insns
    return tuple(sorted(found.items(), key=lambda item: (-abs(item[1]), item[0])))
