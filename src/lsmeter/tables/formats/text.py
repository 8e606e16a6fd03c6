# SPDX-License-Identifier: GPL-2.0-or-later
"""Plain text of at most 72 columns, for mails and commit messages."""

from __future__ import annotations

from lsmeter.tables import lines
from lsmeter.tables.model import Detail, Document
from lsmeter.tables.render import Format, Options

WIDTH = 72


def render(document: Document, options: Options) -> str:
    """Return text that fits a mail; no line is a comment to git."""
    found = (line.rstrip() for line in lines.document_lines(document, WIDTH - 1, rule="-"))
    return "\n".join(f" {line}" if line.startswith("#") else line for line in found) + "\n"


FORMAT = Format(
    "text", "plain text of 72 columns for mails", ".txt", Detail.SHORT, render, ("commit",)
)
