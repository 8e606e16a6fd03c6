# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables as lines of plain text: split rather than wrapped where they are too wide; pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rich.cells import cell_len

from lsmeter.report.listing import Kind, Listing

_GAP = 2  # columns between two cells
_LONGEST_NAME = 24
_HEAD = 12  # of a head that can be broken
_QUOTE = "    | "


def lines(listing: Listing, width: int) -> Iterator[str]:
    """Return a listing as lines of at most `width` columns, without its title."""
    for text in listing.lead:
        yield from (*wrapped(text, width), "")
    if listing.sayings:
        for saying in listing.sayings:
            yield from wrapped(f"- {saying.sentence}", width, indent="  ")
            for text in saying.quoted:
                yield from _quoted(text, width)
    else:
        yield from _tables(listing, width)
    for text in listing.more:
        yield from ("", *wrapped(text, width))


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Break a text into lines of `width` columns; wide characters count double."""
    wide = any(cell_len(char) > 1 for char in text)
    return textwrap.wrap(
        text, width // 2 if wide else width, subsequent_indent=indent, break_on_hyphens=False
    ) or [""]


def _quoted(text: str, width: int) -> list[str]:
    return [_QUOTE + line for line in wrapped(text, width - len(_QUOTE))]


def _tables(listing: Listing, width: int) -> Iterator[str]:
    keys: dict[str, str] = {}
    # A row of one cell is a heading of those below it, as long as it likes.
    whole = [row for row in listing.rows if len(row) == len(listing.columns)]
    first = [
        _short(row[0], keys) if len(row) == len(listing.columns) else "" for row in listing.rows
    ]
    heads = [_broken(column.head) for column in listing.columns]
    widths = [
        max([*(cell_len(line) for line in head), *(cell_len(row[at]) for row in whole)])
        for at, head in enumerate(heads)
    ]
    widths[0] = max([*(cell_len(line) for line in heads[0]), *map(cell_len, first)], default=0)
    for name, key in keys.items():
        yield from wrapped(f"{key} = {name}", width, indent="  ")
    for at, part in enumerate(_parts(widths, width)):
        if at:
            yield ""
        yield from _heads(listing, heads, widths, part)
        for label, row in zip(first, listing.rows, strict=True):
            if len(row) < len(listing.columns):
                yield from wrapped(row[0], width, indent="  ")
                continue
            yield _line([label, *(row[place] for place in part)], listing, widths, part)


def _short(name: str, keys: dict[str, str]) -> str:
    """Return a name that fits its column: a key, explained above the table, where it is long."""
    if cell_len(name) <= _LONGEST_NAME:
        return name
    return keys.setdefault(name, f"[{len(keys) + 1}]")


def _broken(head: str) -> list[str]:
    """Break a head at its spaces, so that it is no wider than it must be."""
    return textwrap.wrap(head, _HEAD, break_long_words=False, break_on_hyphens=False) or [""]


def _parts(widths: list[int], width: int) -> Iterator[list[int]]:
    """Share the columns but the first over tables that fit; one alone is kept where it does not."""
    part: list[int] = []
    left = width - widths[0]
    for at in range(1, len(widths)):
        if part and widths[at] + _GAP > left:
            yield part
            part, left = [], width - widths[0]
        part.append(at)
        left -= widths[at] + _GAP
    if part or len(widths) == 1:
        yield part


def _heads(
    listing: Listing, heads: list[list[str]], widths: list[int], part: list[int]
) -> Iterator[str]:
    shown = [heads[0], *(heads[at] for at in part)]
    height = max(map(len, shown))
    padded = [[""] * (height - len(head)) + head for head in shown]
    for at in range(height):
        yield _line([head[at] for head in padded], listing, widths, part)
    yield "-" * (widths[0] + sum(widths[at] + _GAP for at in part))


def _line(cells: list[str], listing: Listing, widths: list[int], part: list[int]) -> str:
    text = _left(cells[0], widths[0])
    for cell, at in zip(cells[1:], part, strict=True):
        right = listing.columns[at].kind is Kind.NUMBER
        text += " " * _GAP + (_right(cell, widths[at]) if right else _left(cell, widths[at]))
    return text.rstrip()


def _left(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text
