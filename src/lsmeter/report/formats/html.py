# SPDX-License-Identifier: GPL-2.0-or-later
"""One HTML page that holds its plots and styles and needs no network."""

from __future__ import annotations

import functools

import jinja2
from markupsafe import Markup

from lsmeter.report import content, numbers, origin, three, words
from lsmeter.report.chapters import chapters
from lsmeter.report.format import RenderOptions, ReportFormat
from lsmeter.report.model import Report


@functools.cache
def _environment() -> jinja2.Environment:
    """Escape everything, and stop at any name that the template has wrong."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lsmeter.report.html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["svg"] = _trusted
    environment.filters["firm"] = _firm
    return environment


def _trusted(markup: str) -> Markup:
    """Mark what lsmeter.report.html.svg made: it holds no text that was not escaped."""
    return Markup(markup)  # noqa: S704


def _firm(text: str) -> str:
    """Keep a number and its per cent sign on one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def render(report: Report, options: RenderOptions) -> str:  # noqa: ARG001 - width has no meaning
    """Return the page. Plots are drawn while it is made: about a second."""
    # The plot libraries are heavy; the other formats must not wait for them.
    from lsmeter.report.html import flames, page, palette, stacks  # noqa: PLC0415

    grids = content.grids(report)
    overview = words.overview(report, grids)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            overview=overview,
            sections=page.sections(report, grids, overview),
            chapters=chapters(report),
            drawn={"layers": stacks.figures(report)},
            origins=flames.origins(report),
            origin_heading=origin.HEADING,
            origin_rule=origin.RULE,
            baseline=words.baseline(report, grids),
            measured=words.measured(report),
            typical=words.typical(report),
            three_rule=three.RULE,
            apart_mark=numbers.APART_MARK,
            sizes=words.sizes(report),
            margin=words.margin(report),
            legend=words.legend(report),
            sign_rule=words.SIGN_RULE,
            glossary=page.glossary(),
            heat_legend=palette.heat_legend(),
            problems=content.problem_groups(report),
        )
        + "\n"
    )


FORMAT = ReportFormat("html", "one self-contained HTML page with plots", ".html", render)
