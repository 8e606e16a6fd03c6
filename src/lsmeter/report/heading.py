# SPDX-License-Identifier: GPL-2.0-or-later
"""What the smaller reports (slopes, counts of hooks, agreement) have in common; pure."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from lsmeter.report.format import RenderOptions

_LEAST_WIDTH = 100  # columns: what their rows need


@dataclass(frozen=True)
class Heading:
    """What a report is of, and how it was made; created is ISO 8601, UTC."""

    title: str
    created: str
    lsmeter_version: str
    command: str
    filesystem: str
    user: str

    def document(self, name: str, version: int) -> dict[str, Any]:
        """Return the first keys of the report as JSON; name and version are the format's."""
        return {"format": name, "version": version, **vars(self)}


def text_console(options: RenderOptions) -> tuple[Console, io.StringIO]:
    """Return a console for a report, at least 100 columns wide, and where its text goes."""
    text = io.StringIO()
    console = Console(
        file=text,
        width=max(options.width, _LEAST_WIDTH),
        color_system="standard" if options.colour else None,
        force_terminal=options.colour,
        highlight=False,
        markup=False,
        emoji=False,
    )
    return console, text


def markdown_row(cells: Iterable[str]) -> str:
    """Return one row of a table in Markdown; the cells are Markdown already."""
    return f"| {' | '.join(cells)} |"


def markdown_text(text: str) -> str:
    """Keep text of a guest or user from being read as markup."""
    for char in "\\`*_[]<>|#":
        text = text.replace(char, "\\" + char)
    return " ".join(text.split())
