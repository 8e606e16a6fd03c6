# SPDX-License-Identifier: GPL-2.0-or-later
"""Call paths with a vector of counts, as profilers show them; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Call(NamedTuple):
    """A function by name, and the module it belongs to ("" for none)."""

    function: str
    module: str = ""


class Stack(NamedTuple):
    """A call path, the outermost function first, and what is counted at its end alone.

    base: it is of the side that the other one is compared with.
    """

    path: tuple[Call, ...]
    counts: tuple[int, ...]
    labels: Mapping[str, str]
    base: bool = False


@dataclass(frozen=True)
class Stacks:
    """Call paths of two sides; read makes them when they are written.

    counters name the counts of a vector. left_out says what has no paths, a line each.
    """

    name: str
    title: str
    counters: tuple[str, ...]
    read: Callable[[], Iterable[Stack]]
    left_out: tuple[str, ...] = ()
