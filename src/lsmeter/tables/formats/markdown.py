# SPDX-License-Identifier: GPL-2.0-or-later
"""GitHub Markdown for pull requests and issues."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lsmeter.tables import values
from lsmeter.tables.model import Detail, Document, Kind, Section, Shown, Table, Tone
from lsmeter.tables.render import Format, Options

# An underscore inside a word is no emphasis in GitHub's dialect; https://, www. and addresses are
# links by themselves there.
_SPECIAL = re.compile(r"[\\`*\[\]|~#!$@]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|:(?=//)|(?<=www)\.")
_ANCHOR = re.compile(r"[a-z0-9.-]+")
# What begins a list, or underlines a heading.
_BEGIN = re.compile(r"^(\d*)([-+=.)])(?=[-+=\s]|$)")


def escape(text: str) -> str:
    """Return `text` so that Markdown shows it as it is, and no HTML comes of it."""
    text = text.strip().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\g<0>", text)


def _line(text: str) -> str:
    """Return `text` so that it can stand at the beginning of a line."""
    return _BEGIN.sub(r"\1\\\2", escape(text))


def render(document: Document, options: Options) -> str:
    """Return headings, sentences and tables."""
    lines = [f"# {escape(document.title)}", ""]
    lines += [*(f"- {_line(text)}" for text in document.answer), *([""] if document.answer else [])]
    lines += [f"- {_line(name)}: {escape(value)}" for name, value in document.facts]
    lines += [*([""] if document.facts else []), *_paragraphs(document.lead)]
    for section in document.sections:
        lines += _section(section)
    lines += [f"- Note: {escape(text)}" for text in document.notes]
    return "\n".join(lines).rstrip("\n") + "\n"


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (_line(text), "")


def _section(section: Section) -> Iterator[str]:
    if section.title:
        yield from (f"## {escape(section.title)}", "")
    yield from _paragraphs(section.lead)
    for item in section.items:
        if item.tone is Tone.HEADING:
            yield from ("", f"**{escape(item.text)}**", "")
            continue
        yield f"- {_line(item.text)}"
        if quoted := (*item.quoted, *item.commands):
            yield from ("", *("      " + line for line in quoted), "")
    if section.items:
        yield ""
    for table in section.tables:
        yield from _table(table)


def _table(table: Table) -> Iterator[str]:
    if table.title:
        yield from (f"### {escape(table.title)}", "")
    yield from _paragraphs(table.lead)
    if table.rows:
        yield _row(escape(column.head) for column in table.columns)
        yield _row("---:" if c.kind in values.NUMBERS else "---" for c in table.columns)
        for row in table.rows:
            cells = [values.shown(*cell) for cell in zip(row, table.columns, strict=False)]
            texts = [_cell(cell) for cell in cells]
            if len(row) < len(table.columns) or cells[0].tone is Tone.HEADING:
                texts[0] = f"**{texts[0]}**"
            texts += [""] * (len(table.columns) - len(row))
            codes = (column.kind is Kind.CODE for column in table.columns)
            yield _row(
                f"<code>{text}</code>" if code and text != values.MISSING else text
                for text, code in zip(texts, codes, strict=True)
            )
        yield ""
    yield from _paragraphs(table.more)


def _cell(cell: Shown) -> str:
    """Return a cell, as a link and named for links where it is."""
    text = escape(cell.text + f" ({cell.detail})" * bool(cell.detail))
    name = f'<a name="{cell.anchor}"></a>' if _ANCHOR.fullmatch(cell.anchor) else ""
    return name + (f"[{text}](#{cell.link})" if _ANCHOR.fullmatch(cell.link) else text)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


FORMAT = Format("markdown", "GitHub Markdown with tables", ".md", Detail.FULL, render)
