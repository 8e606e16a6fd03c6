# SPDX-License-Identifier: GPL-2.0-or-later
"""What every command shows: a document of sections of tables; pure, and free of any format.

Values keep their type, so that a format for machines writes the number and a format for people
writes it with separators, sign and unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from lsmeter.core.errors import UsageError
from lsmeter.tables.results import Results
from lsmeter.tables.stacks import Stacks

Raw = str | int | float | bool | None


class Kind(StrEnum):
    """What stands in a column, and so how it is written for people."""

    NAME = "name"  # text that is not broken
    PROSE = "prose"  # text that may be broken over lines
    CODE = "code"  # the same, in letters of one width
    COUNT = "count"  # 1,234 or 1,234.5
    CHANGE = "change"  # +1,234
    PERCENT = "percent"  # a fraction, written as +12.3 %
    SHARE = "share"  # a fraction, written as 12.3 %
    YES = "yes"  # yes or no


class Tone(StrEnum):
    """What colour may underline; never the only sign of anything."""

    PLAIN = "plain"
    WORSE = "worse"
    BETTER = "better"
    QUIET = "quiet"
    WARNING = "warning"
    HEADING = "heading"


class Detail(StrEnum):
    """How much a format has room for; a document may be made for it."""

    SHORT = "short"  # a terminal, a mail
    TERMINAL = "terminal"  # all of it in text, where that is asked for
    FULL = "full"  # a page
    DATA = "data"  # programs


@dataclass(frozen=True)
class Shown:
    """A value that people see as another text than its column's kind would give it.

    detail is a second text where there is room for one, hover what a page says of the cell.
    anchor names the cell for links, link is the anchor or the section that a click leads to; both
    are lower-case letters, digits, full stops and hyphens.
    """

    value: Raw
    text: str
    tone: Tone = Tone.PLAIN
    detail: str = ""
    hover: str = ""
    anchor: str = ""
    link: str = ""


Value = Raw | Shown


@dataclass(frozen=True)
class Column:
    """A column: its key for machines (with the unit), its head for people, and its kind.

    joined keeps it beside the column before it where a table is split.
    """

    key: str  # overhead_fraction
    head: str  # overhead
    kind: Kind = Kind.COUNT
    joined: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of values; the first column names the row.

    key names the table in JSON. lead explains the columns, more says what is left out. A row of
    one value is a heading of those below it. Where a table is split, each part repeats the first
    `fixed` columns.
    """

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    lead: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    fixed: int = 1


@dataclass(frozen=True)
class Item:
    """A sentence of a list, with lines of a log under it, and commands, which are not broken."""

    text: str
    quoted: tuple[str, ...] = ()
    tone: Tone = Tone.PLAIN
    commands: tuple[str, ...] = ()


class UndrawnError(Exception):
    """Why a plot is left out: one line."""


@dataclass(frozen=True)
class Figure:
    """A plot, for formats that can show one, with what it shows in words.

    draw takes an identity that is unique in the page, and returns SVG made by lsmeter.tables.svg,
    or HTML of which all text is escaped; UndrawnError where it cannot be drawn.
    scale explains colours: names of properties of the page's style sheet, with their words.
    """

    title: str
    caption: str
    draw: Callable[[str], str]
    scale: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Section:
    """A heading, how to read what follows, sentences, plots, and tables.

    key is what a link inside a page goes to; by default it is made of the title.
    """

    title: str
    lead: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    items: tuple[Item, ...] = ()
    key: str = ""
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Document:
    """All that a command shows.

    answer says in a sentence each what came out: it begins a document, and ends one in text that
    fills a screen. picture shows the same where plots can be.
    name and version are those of its JSON form. facts say what was measured, with what and in
    which unit. data is its form for machines, where that has more than the tables: frozen
    dataclasses, mappings, sequences and plain values. results are what formats of CI show, stacks
    those of profilers.
    """

    name: str  # lsmeter-slopes
    version: int
    title: str
    facts: tuple[tuple[str, str], ...] = ()
    lead: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    data: object | None = None
    answer: tuple[str, ...] = ()
    picture: Figure | None = None
    results: Results | None = None
    stacks: tuple[Stacks, ...] = ()

    def results_for(self, form: str) -> Results:
        """Return its results for a format; UsageError where it can have none."""
        if self.results is None:
            raise UsageError(
                f"--format {form}: {self.title}: it has no results of benchmarks",
                hint="--format json has all of it",
            )
        return self.results

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All plots, the picture first."""
        first = () if self.picture is None else (self.picture,)
        return (*first, *(figure for section in self.sections for figure in section.figures))

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, section by section."""
        return tuple(table for section in self.sections for table in section.tables)


def columns(kind: Kind, *heads: str) -> tuple[Column, ...]:
    """Make columns of one kind, whose keys are their heads with underscores."""
    return tuple(Column(head.replace(" ", "_"), head, kind) for head in heads)
