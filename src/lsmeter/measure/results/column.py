# SPDX-License-Identifier: GPL-2.0-or-later
"""Readings as they are stored: an array that is a sequence of numbers to everybody else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt


class Column(Sequence[int]):
    """Readings as an array that cannot be changed, which a tuple of them is equal to."""

    __slots__ = ("_array",)

    def __init__(self, array: npt.NDArray[np.signedinteger[Any]]) -> None:
        self._array = array

    def __array__(
        self, dtype: npt.DTypeLike | None = None, *, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return the array itself, where nothing else is asked for."""
        return np.array(self._array, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self._array)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[int, ...]: ...
    def __getitem__(self, at: int | slice) -> int | tuple[int, ...]:
        return tuple(self._array[at].tolist()) if isinstance(at, slice) else int(self._array[at])

    def __iter__(self) -> Iterator[int]:
        return iter(self._array.tolist())

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))
