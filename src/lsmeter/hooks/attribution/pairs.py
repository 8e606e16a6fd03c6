# SPDX-License-Identifier: GPL-2.0-or-later
"""Chooses the two trees whose difference is explained: one of each side, of the same peak; pure.

A benchmark whose readings have several values has several trees. Where the trees of two sides are
not of the same one, what tells the values apart (where a buffer lies in its page, say) would look
like a cost of the setup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsmeter.hooks.attribution.explain import Cost, take_apart
from lsmeter.hooks.attribution.profile import Tree


@dataclass(frozen=True)
class Kept:
    """A tree that the plugin kept, and how many samples had its total."""

    tree: Tree
    samples: int


@dataclass(frozen=True)
class Pair:
    """Two trees of the same peak; doubt says why they may not be, and is empty if they are."""

    baseline: Tree
    tested: Tree
    doubt: str = ""


def choose_pair(
    baseline: Sequence[Kept], tested: Sequence[Kept], difference: int | None = None
) -> Pair:
    """Choose one tree of each side, both of which must have one.

    difference is the one that the readings have, paired: the trees then have to differ by it. Of
    several pairs, those whose trees are frequent come first; then it is the one in which the
    kernel outside of the security modules differs least, and of several such pairs the one with
    the most samples.
    """
    outside = {id(item): _outside(item.tree) for item in (*baseline, *tested)}

    def rank(pair: tuple[Kept, Kept]) -> tuple[int, int]:
        old, new = pair
        return _apart(outside[id(old)], outside[id(new)]), -min(old.samples, new.samples)

    frequent = [(old, new) for old in _frequent(baseline) for new in _frequent(tested)]
    every = [(old, new) for old in baseline for new in tested]
    for pairs in (frequent, every):
        fitting = [
            (old, new)
            for old, new in pairs
            if difference is None or new.tree.insns - old.tree.insns == difference
        ]
        if fitting:
            old, new = min(fitting, key=rank)
            return Pair(old.tree, new.tree)
    old, new = min(frequent, key=rank)
    doubt = f"no two trees that were kept differ by {difference:+,}"
    return Pair(old.tree, new.tree, doubt)


def _frequent(trees: Sequence[Kept]) -> list[Kept]:
    """Return those that have at least half as many samples as the one that has the most."""
    most = max(item.samples for item in trees)
    return [item for item in trees if 2 * item.samples >= most]


def _outside(tree: Tree) -> dict[str, Cost]:
    """Return the functions that are in no hook and of no security module, by name."""
    found: dict[str, Cost] = {}
    for function, cost in take_apart(tree).outside.items():
        if not function.module:
            found[function.name] = found.get(function.name, Cost()) + cost
    return found


def _apart(one: dict[str, Cost], other: dict[str, Cost]) -> int:
    """Return how many instructions are on one side only."""
    return sum(
        abs(one.get(name, Cost()).self_insns - other.get(name, Cost()).self_insns)
        for name in one.keys() | other.keys()
    )
