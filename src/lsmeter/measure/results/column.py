# SPDX-License-Identifier: GPL-2.0-or-later
"""Readings as they are stored: an array that is a sequence of numbers to everybody else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.signedinteger[Any]]


class Column(Sequence[int]):
    """Readings as an array that cannot be changed, which a tuple of them is equal to."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[int, ...]: ...
    def __getitem__(self, at: int | slice) -> int | tuple[int, ...]:
        return tuple(self.array[at].tolist()) if isinstance(at, slice) else int(self.array[at])

    def __iter__(self) -> Iterator[int]:
        return iter(self.array.tolist())

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))


def as_array(values: Sequence[int]) -> Array:
    """Return readings as an array, which is their own where they are stored as one."""
    # numpy would find that out as well, in 10 us.
    return values.array if isinstance(values, Column) else np.asarray(values, np.int64)
