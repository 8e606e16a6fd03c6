# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables made of their columns: each knows what it shows of a thing that has a row; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from lsmeter.tables.model import Column, Kind, Table, Value


class Field(NamedTuple):
    """A column, and its value of each thing that has a row.

    value: a function, or the name of an attribute; by default that of the key.
    """

    key: str
    head: str
    value: Callable[[Any], Value] | str = ""
    kind: Kind = Kind.COUNT
    joined: bool = False

    def read(self) -> Callable[[Any], Value]:
        """Return what gives the value of a thing."""
        value = self.value or self.key
        return attrgetter(value) if isinstance(value, str) else value


def named(key: str, value: Callable[[Any], Value] | str = "", head: str = "") -> Field:
    """Make a field of names; the head is the key by default."""
    return Field(key, head or key, value, Kind.NAME)


# Of what a number is of.
BENCHMARK = named("benchmark", "benchmark.id")
SETUP = named("setup", "place.setup")


def tabled(
    key: str,
    title: str,
    fields: Sequence[Field],
    items: Iterable[object],
    *,
    lead: tuple[str, ...] = (),
    more: tuple[str, ...] = (),
    fixed: int = 1,
) -> Table:
    """Make a table with a row for each thing."""
    columns = tuple(Column(item.key, item.head, item.kind, item.joined) for item in fields)
    read = [item.read() for item in fields]
    rows = tuple(tuple(value(item) for value in read) for item in items)
    return Table(key, title, columns, rows, lead, more, fixed)
