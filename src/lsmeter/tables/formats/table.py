# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables for the terminal: split rather than wrapped where they are too wide, with colours."""

from __future__ import annotations

from lsmeter.tables import lines
from lsmeter.tables.model import Detail, Document, Tone
from lsmeter.tables.render import Format, Options

_LEAST_WIDTH = 40
_COLOURS = {Tone.WORSE: 31, Tone.BETTER: 32, Tone.QUIET: 2, Tone.WARNING: 33, Tone.HEADING: 1}


def render(document: Document, options: Options) -> str:
    """Return text for a terminal of `options.width` columns."""
    width = max(options.width, _LEAST_WIDTH)
    paint = _painted if options.colour else lines.unpainted
    found = lines.document_lines(
        document, width, rule="\N{BOX DRAWINGS LIGHT HORIZONTAL}", paint=paint
    )
    return "\n".join(line.rstrip() for line in found) + "\n"


def _painted(text: str, tone: Tone) -> str:
    inner = text.strip()
    if tone not in _COLOURS or not inner:
        return text
    return text.replace(inner, f"\x1b[{_COLOURS[tone]}m{inner}\x1b[0m", 1)


FORMAT = Format("table", "tables for the terminal", ".txt", Detail.SHORT, render)
