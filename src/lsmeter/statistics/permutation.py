# SPDX-License-Identifier: GPL-2.0-or-later
"""Permutation tests over blocks; pure.

Where a setup changes nothing, its name is a label: in each block the two sides could as well be
swapped, which turns the sign of the block's difference (Fisher 1935). Sides that were not measured
together are mixed as wholes. All arrangements are tried where they are few, else so many drawn with
a fixed seed (Phipson and Smyth 2010 count the one that was seen).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lsmeter.statistics.blocks import Times

DRAWS = 9_999
_ALL = 13  # blocks up to which every arrangement of signs is tried: 4,096, as one sign is free
_SLACK = 1e-12  # of the sums: what is equal but for rounding
_DRAWN_SLACK = 1e-6  # the same, where half the digits make the sums several times as fast


class Permuted(NamedTuple):
    """The two-sided p, and the least that there could have been with so many blocks."""

    p: float
    least: float


def sign_flips(differences: Times) -> Permuted:
    """Test differences of pairs for being around 0."""
    if not differences.size:
        return Permuted(1.0, 1.0)
    signs, drawn = _signs(differences.size), differences.size > _ALL
    seen = abs(float(differences.sum()))
    slack = (_DRAWN_SLACK if drawn else _SLACK) * float(np.abs(differences).sum())
    sums = np.abs(signs @ differences.astype(signs.dtype))
    return _counted(int((sums >= seen - slack).sum()), len(signs), drawn=drawn)


def label_swaps(before: Times, after: Times) -> Permuted:
    """Test two samples for being of one kind."""
    if not before.size or not after.size:
        return Permuted(1.0, 1.0)
    pooled = np.concatenate([before, after])
    seen = abs(float(after.mean() - before.mean()))
    picked = _picks(before.size, pooled.size)
    first = picked @ pooled
    means = (pooled.sum() - first) / after.size - first / before.size
    slack = _SLACK * float(np.abs(pooled).sum())
    return _counted(int((np.abs(means) >= seen - slack).sum()), len(picked), drawn=True)


def _counted(extreme: int, tried: int, *, drawn: bool) -> Permuted:
    """Of all arrangements, the one that was seen is one; of drawn ones, it is one more."""
    if drawn:
        return Permuted((extreme + 1) / (tried + 1), 1 / (tried + 1))
    return Permuted(extreme / tried, 1 / tried)


@functools.cache
def _signs(blocks: int) -> npt.NDArray[np.floating[Any]]:
    """Return arrangements of signs, a row each; the first sign is always +."""
    if blocks <= _ALL:
        bits = np.arange(2 ** (blocks - 1))[:, None] >> np.arange(blocks - 1)
        rest = 1.0 - 2.0 * (bits & 1)
        return np.hstack([np.ones((len(rest), 1)), rest])
    drawn = np.random.default_rng(blocks).choice([-1.0, 1.0], (DRAWS, blocks))
    return drawn.astype(np.float32)


@functools.cache
def _picks(first: int, both: int) -> npt.NDArray[np.float64]:
    """Return draws of `first` of so many, a row each: 1 for those that are picked."""
    order = np.random.default_rng([first, both]).random((DRAWS, both)).argsort(axis=1)
    return (order < first).astype(float)
