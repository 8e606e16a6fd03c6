# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of text that every format can place: a title, columns, rows; pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What stands in a column, and so how it is set."""

    NAME = "name"
    NUMBER = "number"
    PROSE = "prose"  # may be broken over lines
    CODE = "code"  # the same, in letters of one width


@dataclass(frozen=True)
class Column:
    """A column: its head, and what stands in it."""

    head: str
    kind: Kind = Kind.NUMBER


@dataclass(frozen=True)
class Saying:
    """A row as a sentence, for where a table would be too wide, with lines of a log under it."""

    sentence: str
    quoted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Listing:
    """A table: what it lists, its columns, and its rows as text; the first column is a name.

    lead explains the columns, more says what is left out, or more than the rows. Where there are
    sayings they say the same as the rows, and text formats show them instead. In plain text a row
    of one cell is a heading.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    lead: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    sayings: tuple[Saying, ...] = ()


@dataclass(frozen=True)
class Chapter:
    """A part of a report that is a heading, a rule for reading it, and tables."""

    identity: str
    heading: str
    rule: str
    listings: tuple[Listing, ...]


def names(*heads: str) -> tuple[Column, ...]:
    """Make columns of names."""
    return tuple(Column(head, Kind.NAME) for head in heads)


def numbers(*heads: str) -> tuple[Column, ...]:
    """Make columns of numbers."""
    return tuple(Column(head) for head in heads)
