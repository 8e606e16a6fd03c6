# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents as a terminal shows them: Markdown laid out for its width."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, MarkdownElement, TableElement
from rich.table import Table


class _Table(TableElement):
    """A table whose long words are broken, not cut."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                for column in part.columns:
                    column.overflow = "fold"
            yield part


class _Document(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "table_open": _Table,
    }


def print_document(text: str, console: Console) -> None:
    """Print Markdown at the width of a terminal; links are shown by their text."""
    console.print(_Document(text))
