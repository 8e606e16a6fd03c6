# SPDX-License-Identifier: GPL-2.0-or-later
"""One HTML page that holds its plots and styles and needs no network."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lsmeter.tables import values
from lsmeter.tables.model import Detail, Document, Figure, Section, UndrawnError
from lsmeter.tables.render import Format, Options

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup


@functools.cache
def _environment() -> jinja2.Environment:
    """Escape everything, and stop at any name that the template has wrong."""
    # It is heavy: the other formats do not wait for it.
    from lsmeter.tables.pages import make_environment

    environment = make_environment("lsmeter.tables")
    environment.filters["firm"] = _firm
    environment.globals.update(
        cell=values.shown, numbers=values.NUMBERS, missing=values.MISSING, key=_key
    )
    return environment


def _firm(text: str) -> str:
    """Keep a number and its per cent sign on one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _key(section: Section, place: int) -> str:
    """Return what a link to a section names."""
    words = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-")
    return section.key or f"{words or 'section'}-{place}"


def render(document: Document, options: Options) -> str:
    """Return the page. Plots are drawn while it is made: about a second."""
    from markupsafe import Markup

    numbers = itertools.count(1)

    def drawn(figures: Sequence[Figure]) -> Iterator[tuple[Figure, Markup]]:
        for figure in figures:
            try:
                drawing = figure.draw(f"plot-{next(numbers)}")
            except UndrawnError as error:
                yield figure, Markup('<p class="note">This plot is left out: {}.</p>').format(error)
                continue
            if drawing:
                # lsmeter.tables.svg or a flame graph made it: all text in it is escaped.
                yield figure, Markup(drawing)  # noqa: S704

    page = _environment().get_template("page.html.j2")
    return page.render(document=document, drawn=drawn) + "\n"


FORMAT = Format("html", "one self-contained HTML page with plots", ".html", Detail.FULL, render)
