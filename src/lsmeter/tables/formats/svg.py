# SPDX-License-Identifier: GPL-2.0-or-later
"""Plots as SVG files for papers: each with its caption and its own colours."""

from __future__ import annotations

import functools
import re
import xml.etree.ElementTree as ET
from importlib import resources

from lsmeter.core.errors import UsageError
from lsmeter.tables.lines import wrapped
from lsmeter.tables.model import Detail, Document, Figure, UndrawnError
from lsmeter.tables.render import Files, Format, Options

_NAME = "http://www.w3.org/2000/svg"
_LINE, _LETTER, _BOX = 16, 6.2, 12  # pixels
_FONT = {"font-family": "Liberation Sans, Arial, sans-serif"}


def render(document: Document, options: Options) -> Files:
    """Return a file for each plot; UsageError where the document has none."""
    files: dict[str, bytes] = {}
    left_out: list[str] = []
    for number, figure in enumerate(document.figures, 1):
        words = re.sub(r"[^a-z0-9]+", "-", figure.title.lower()).strip("-")
        try:
            drawing = figure.draw(f"plot-{number}")
        except UndrawnError as error:
            left_out.append(f"{figure.title}: not drawn: {error}")
            continue
        if drawing.startswith("<svg"):
            files[f"{number:02}-{words}.svg"] = _alone(drawing, figure)
        elif drawing:
            left_out.append(f"{figure.title}: made of HTML, not SVG: --format html")
    if not files:
        raise UsageError(
            "; ".join((f"--format svg: {document.title}: there are no plots", *left_out)),
            hint="runs with at least two setups have plots; --format html shows tables",
        )
    return Files(files, tuple(left_out))


@functools.cache
def _colours() -> dict[str, str]:
    """Return the light colours of the page's style sheet by name."""
    text = resources.files("lsmeter.tables").joinpath("templates/style.css").read_text("utf-8")
    light = re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", text)
    return dict(reversed(light))  # the dark ones stand below


def _alone(drawing: str, figure: Figure) -> bytes:
    """Return a drawing of a page as a file: with real colours, their scale and the caption."""
    colours = _colours()
    # lsmeter.tables.svg made it, without document type or entities.
    root = ET.fromstring(re.sub(r"var\(--([a-z0-9-]+)\)", lambda m: colours[m[1]], drawing))  # noqa: S314
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    x = 4.0
    for name, words in figure.scale:
        box = {"x": f"{x:.0f}", "y": f"{height + 2:.0f}", "fill": colours[name]}
        ET.SubElement(root, "rect", {**box, "width": f"{_BOX}", "height": f"{_BOX}"})
        _write(root, words, x + _BOX + 4, height + _BOX, colours["ink"])
        x += _BOX + 16 + _LETTER * len(words)
    height += _LINE * bool(figure.scale)
    width = max(width, x)
    for line in wrapped(f"{figure.title}. {figure.caption}", int((width - 8) / _LETTER)):
        height += _LINE
        _write(root, line, 4, height, colours["ink"])
    height += _LINE / 2
    size = {"width": f"{width:.0f}", "height": f"{height:.0f}"}
    root.attrib |= {**size, **_FONT, "viewBox": f"0 0 {width:.0f} {height:.0f}", "xmlns": _NAME}
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _write(root: ET.Element, text: str, x: float, y: float, colour: str) -> None:
    at = {"x": f"{x:.0f}", "y": f"{y:.0f}", "fill": colour, "font-size": "12"}
    ET.SubElement(root, "text", at).text = text


FORMAT = Format(
    "svg", "the plots as SVG files for papers", ".svg", Detail.FULL, render, binary=True
)
