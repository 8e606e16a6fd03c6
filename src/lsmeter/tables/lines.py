# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents as lines of plain text: tables are split rather than wrapped; pure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from rich.cells import cell_len

from lsmeter.tables import values
from lsmeter.tables.model import Document, Kind, Section, Shown, Table, Tone

Paint = Callable[[str, Tone], str]

_QUOTE = "    | "
_FIRM = "\N{NO-BREAK SPACE}"
_HEAD = 12  # columns of a head that can be broken
_PROSE = 24  # columns that prose gets at least
_RUN = 40  # columns of the longest cell of prose that is set as running text
_SCREEN = 22  # lines that a terminal of 24 shows of what a command says, above the next prompt
# Longest name in a head and in a row; longer ones are broken over lines.
_ENDLESS = 10_000
_LIMITS = tuple((head, label) for label in (_ENDLESS, 24, 20) for head in (_ENDLESS, 24, 12, 9))


def unpainted(text: str, tone: Tone) -> str:  # noqa: ARG001 - the tone is for those who paint
    """Return a text without colour."""
    return text


def document_lines(
    document: Document, width: int, *, rule: str, paint: Paint = unpainted
) -> Iterator[str]:
    """Return a document as lines of at most `width` columns; rule underlines heads.

    The answer comes first, and again last where all that it rests on pushes it off the screen.
    """
    answer = [line for text in document.answer for line in wrapped(text, width, indent="  ")]
    body = list(_body(document, width, rule, paint))
    if answer:
        yield from (*answer, "")
    yield from body
    if answer and len(answer) + len(body) >= _SCREEN:
        yield from ("", *answer)


def _body(document: Document, width: int, rule: str, paint: Paint) -> Iterator[str]:
    yield from _heading(document.title, width, paint)
    for name, value in document.facts:
        yield from wrapped(f"{name}: {value}", width, indent="  ")
    for text in document.lead:
        yield from wrapped(text, width)
    for section in document.sections:
        yield from _section(section, width, rule, paint)
    if document.notes:
        yield ""
    for text in document.notes:
        yield from wrapped(f"Note: {text}", width, indent="  ")


def _heading(text: str, width: int, paint: Paint, indent: str = "") -> Iterator[str]:
    for line in wrapped(text, width, indent) if text else ():
        yield paint(line, Tone.HEADING)


def _section(section: Section, width: int, rule: str, paint: Paint) -> Iterator[str]:
    yield ""
    yield from _heading(section.title, width, paint)
    for text in section.lead:
        yield from wrapped(text, width)
    for place, item in enumerate(section.items):
        if item.tone is Tone.HEADING:
            yield from [""] if place or section.title else []
            yield from _heading(item.text, width, paint)
        else:
            found = wrapped(f"- {item.text}", width, indent="  ")
            yield from (paint(line, item.tone) for line in found)
        for text in item.quoted:
            yield from (_QUOTE + line for line in wrapped(text, width - len(_QUOTE)))
        yield from (f"    {text}" for text in item.commands)
    before = bool(section.title or section.lead or section.items)
    for table in section.tables:
        yield from [""] if before else []
        before = True
        yield from _heading(table.title, width, paint)
        yield from table_lines(table, width, rule=rule, paint=paint)


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Break a text into lines of `width` columns; a number keeps its per cent sign and its bounds.

    Wide characters count double.
    """
    wide = any(cell_len(char) > 1 for char in text)
    found = textwrap.wrap(
        re.sub(" (?=[%\N{PLUS-MINUS SIGN}])", _FIRM, text),
        width // 2 if wide else width,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    return [line.replace(_FIRM, " ") for line in found] or [""]


def table_lines(table: Table, width: int, *, rule: str, paint: Paint = unpainted) -> Iterator[str]:
    """Return a table as lines of at most `width` columns, without its title."""
    for text in table.lead:
        yield from wrapped(text, width)
    if table.rows:
        sheet = _Sheet(table, width)
        layout = sheet.layout()
        for place, part in enumerate(layout.parts):
            if place or table.lead:
                yield ""
            yield from sheet.running(part) or sheet.lines(layout, part, rule, paint)
    if table.more:
        yield ""
    for text in table.more:
        yield from wrapped(text, width)


@dataclass(frozen=True)
class _Layout:
    """A table shared out over parts that fit."""

    heads: list[list[str]]  # each broken over lines
    labels: list[list[str]]  # the first cell of each row, broken over lines
    parts: list[dict[int, int]]  # the width of each column
    gap: int


class _Sheet:
    """A table's cells as text, and how they can be laid out; a row of one cell is a heading."""

    def __init__(self, table: Table, width: int) -> None:
        self.table = table
        self.width = width
        self.rows = [
            [values.shown(*cell) for cell in zip(row, table.columns, strict=False)]
            for row in table.rows
        ]
        for at, column in enumerate(table.columns):
            if column.kind in values.NUMBERS:
                self._trim(at)
        self.right = [column.kind in values.NUMBERS for column in table.columns]
        self._columns = range(len(table.columns))
        whole = [row for row in self.rows if not self.is_heading(row)]
        self._natural = [
            max([cell_len(row[at].text) for row in whole] or [0]) for at in self._columns
        ]

    def _trim(self, at: int) -> None:
        """Take the blanks away that all numbers of a column end in."""
        rows = [row for row in self.rows if not self.is_heading(row) and row[at].text.strip()]
        blanks = min((len(row[at].text) - len(row[at].text.rstrip()) for row in rows), default=0)
        for row in rows:
            row[at] = replace(row[at], text=row[at].text[: len(row[at].text) - blanks])

    def is_heading(self, row: list[Shown]) -> bool:
        """Say whether a row is a heading of those below it."""
        return len(row) < len(self.table.columns)

    def layout(self) -> _Layout:
        """Return the layout with the fewest parts, then the fewest lines of names and of heads."""
        found = (self._layout(*limits, gap) for limits in _LIMITS for gap in (2, 1))
        return min(
            found,
            key=lambda item: (
                *(len(item.parts), sum(map(len, item.labels))),
                *(sum(map(len, item.heads)), -item.gap),
            ),
        )

    def _layout(self, head_limit: int, label_limit: int, gap: int) -> _Layout:
        kind = self.table.columns[0].kind
        limit = _ENDLESS if kind is Kind.PROSE else min(label_limit, self.width // 2)
        labels = [
            [row[0].text] if self.is_heading(row) else _folded(row[0].text, limit)
            for row in self.rows
        ]
        each = [
            cell_len(line)
            for row, label in zip(self.rows, labels, strict=True)
            for line in label
            if not self.is_heading(row)
        ]
        sizes = (max(each, default=0), *self._natural[1:])
        titles = [column.head for column in self.table.columns]
        broken = [_broken(head, head_limit) for head in titles]
        natural = [
            max(size, *map(cell_len, head)) for size, head in zip(sizes, broken, strict=True)
        ]
        return _Layout(broken, labels, self._parts(natural, gap), gap)

    def _parts(self, natural: list[int], gap: int) -> list[dict[int, int]]:
        """Share the columns over parts that fit; the first ones stand in each part."""
        kinds = [column.kind for column in self.table.columns]
        least = [
            min(size, _PROSE) if kind is Kind.PROSE or (at and kind is Kind.CODE) else size
            for at, (size, kind) in enumerate(zip(natural, kinds, strict=True))
        ]
        fixed = list(self._columns[: self.table.fixed])
        if sum(least[at] for at in fixed) > self.width * 2 // 3:
            fixed = fixed[:1]
        blocks: list[list[int]] = []
        for at in self._columns[len(fixed) :]:
            if self.table.columns[at].joined and blocks:
                blocks[-1].append(at)
            else:
                blocks.append([at])
        parts: list[list[int]] = []
        left = 0
        for block in blocks:
            needed = sum(least[at] + gap for at in block)
            if not parts or needed > left:
                parts.append([*fixed])
                left = self.width - sum(least[at] + gap for at in fixed) + gap
            parts[-1] += block
            left -= needed
        return [self._widths(part, natural, least, gap) for part in parts or [fixed]]

    def _widths(
        self, part: list[int], natural: list[int], least: list[int], gap: int
    ) -> dict[int, int]:
        """Give prose the room that is left; take from the widest where there is too little.

        No number is broken over lines while there is text that can be.
        """
        found = {at: least[at] for at in part}
        room = self.width - gap * (len(part) - 1)
        for at in part:
            found[at] += max(0, min(room - sum(found.values()), natural[at] - found[at]))
        while sum(found.values()) > room:
            widest = max(found, key=lambda at: (found[at] > 8 and not self.right[at], found[at]))
            found[widest] -= min(sum(found.values()) - room, max(1, found[widest] // 2))
        return found

    def running(self, part: dict[int, int]) -> list[str]:
        """Return a column of short prose that found no room beside the others as running text.

        As a table it would repeat every label, and have a line for each.
        """
        at = max(part)
        alone = len(part) == 2 and len(self._columns) > 2
        if not alone or self.table.columns[at].kind is not Kind.PROSE or self._natural[at] > _RUN:
            return []
        none = {"", values.MISSING}
        rows = [r for r in self.rows if not self.is_heading(r) and r[at].text.strip() not in none]
        texts = [f"{row[0].text.strip()} {row[at].text.strip()}" for row in rows]
        head = self.table.columns[at].head.capitalize()
        return wrapped(f"{head}: {'; '.join(texts)}.", self.width, indent="  ") if texts else []

    def lines(
        self, layout: _Layout, part: dict[int, int], rule: str, paint: Paint
    ) -> Iterator[str]:
        """Return one part of the table."""

        def painted(cells: list[list[str]], row: list[Shown]) -> Iterator[str]:
            for texts in zip_longest(*cells, fillvalue=""):
                found = []
                for at, text in zip(part, texts, strict=True):
                    space = " " * (part[at] - cell_len(text))
                    whole = space + text if self.right[at] else text + space
                    found.append(paint(whole, row[at].tone) if row else whole)
                yield (" " * layout.gap).join(found)

        heads = [
            [line for text in layout.heads[at] for line in _cut(text, part[at])] for at in part
        ]
        height = max(map(len, heads))
        if any(map(any, heads)):
            yield from painted([[""] * (height - len(head)) + head for head in heads], [])
            yield rule * (sum(part.values()) + layout.gap * (len(part) - 1))
        for row, label in zip(self.rows, layout.labels, strict=True):
            if self.is_heading(row):
                yield from _heading(label[0], self.width, paint, indent="  ")
            else:
                cells = [
                    [line for text in (() if at else label) for line in _cut(text, part[at])]
                    or _cut(row[at].text, part[at])
                    for at in part
                ]
                yield from painted(cells, row)


def _folded(name: str, limit: int) -> list[str]:
    """Break a name that is too long over lines, at its signs."""
    found = [""]
    for piece in re.split(r"(?<=[-_+:,/ ])", name):
        if found[-1].strip() and cell_len(found[-1] + piece) > limit:
            found.append("  ")
        found[-1] += piece
    return [line for text in found for line in _cut(text.rstrip(), limit)]


def _broken(head: str, limit: int) -> list[str]:
    """Break a head at its spaces, long names in it at signs, and beyond the limit by a hyphen."""
    found: list[str] = []
    for line in textwrap.wrap(head, _HEAD, break_long_words=False, break_on_hyphens=False):
        found.append("")
        for piece in re.split(r"(?<=[-_])|(?=[+:])", line):
            if found[-1] and cell_len(line) > _HEAD < cell_len(found[-1] + piece):
                found.append("")
            found[-1] += piece
    if " " in head or cell_len(head) < _HEAD:
        return found or [""]
    return [part for line in found for part in _hyphenated(line, limit)]


def _hyphenated(word: str, limit: int) -> Iterator[str]:
    """Break a word into parts of about the same length, of at most `limit` columns."""
    parts = 1 if cell_len(word) <= limit else -(-cell_len(word) // (limit - 1))
    size = -(-len(word) // parts)
    for at in range(0, len(word), size):
        part = word[at : at + size]
        yield part if at + size >= len(word) or not part[-1].isalnum() else f"{part}-"


def _cut(text: str, width: int) -> list[str]:
    """Break a cell over lines where it does not fit."""
    if cell_len(text) <= width:
        return [text]
    blank = text[: len(text) - len(text.lstrip())]
    return [blank + line for line in wrapped(text.strip(), max(2, width - len(blank)))]
