# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns a plot into an inline SVG that needs no network, no script and no colour of its own."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import vl_convert

from lsmeter.tables.data import scrub_text, scrubbed
from lsmeter.tables.look import PROPERTIES, Specification

_SPACE = "{http://www.w3.org/2000/svg}"
_ELEMENTS = frozenset({"svg", "g", "path", "rect", "line", "text", "tspan", "circle", "symbol"})
_ATTRIBUTES = frozenset(
    {"width", "height", "viewBox", "transform", "d", "x", "y", "x1", "x2", "y1", "y2", "dx", "dy"}
    | {"fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap"}
    | {"opacity", "fill-opacity", "stroke-opacity", "text-anchor", "font-size", "font-weight"}
    | {"stroke-miterlimit", "cx", "cy", "r"}
)
_ID = re.compile(r"[a-z0-9-]+")


def drawn(
    specification: Specification | None, *, identity: str, title: str, description: str
) -> str:
    """Draw a plot in Vega-Lite as an SVG element to be put into a page; "" where there is none.

    identity is unique in the page. Only known elements and attributes are kept, so that text of
    a guest can become neither a link nor a script.
    """
    if specification is None:
        return ""
    if not _ID.fullmatch(identity):
        raise ValueError(f"not an identity for HTML: {identity!r}")
    text = vl_convert.vegalite_to_svg(scrubbed(specification), allowed_base_urls=[])
    # The XML is vl-convert's: well-formed, without a document type or entities.
    root = ET.fromstring(text)  # noqa: S314
    _clean(root)
    root.attrib = {
        "class": "plot",
        "role": "img",
        "aria-labelledby": f"{identity}-title {identity}-text",
        **root.attrib,
    }
    said = (("title", "title", title), ("desc", "text", description))
    for place, (tag, name, words) in enumerate(said):
        element = ET.Element(tag, {"id": f"{identity}-{name}"})
        element.text = scrub_text(words)
        root.insert(place, element)
    return ET.tostring(root, encoding="unicode")


def _clean(element: ET.Element) -> None:
    """Keep what draws, drop all else; name colours by the style sheet's properties."""
    element.tag = element.tag.removeprefix(_SPACE)
    element.attrib = {
        name: f"var({PROPERTIES[value]})" if value in PROPERTIES else value
        for name, value in element.attrib.items()
        if name in _ATTRIBUTES and "url(" not in value
    }
    for child in list(element):
        if child.tag.removeprefix(_SPACE) in _ELEMENTS:
            _clean(child)
        else:
            element.remove(child)
