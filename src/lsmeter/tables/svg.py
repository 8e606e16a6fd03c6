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
    text = vl_convert.vegalite_to_svg(scrubbed(specification), allowed_base_urls=[])
    return _inlined(text, _ELEMENTS, (identity, title, description))


def inlined(drawing: str, *, identity: str, title: str, description: str) -> str:
    """Return an SVG document that lsmeter drew as an element to be put into a page.

    It is cleaned as plots are, but keeps the titles that show on hover.
    """
    return _inlined(scrub_text(drawing), _ELEMENTS | {"title"}, (identity, title, description))


def _inlined(drawing: str, elements: frozenset[str], words: tuple[str, str, str]) -> str:
    identity, title, description = map(scrub_text, words)
    if not _ID.fullmatch(identity):
        raise ValueError(f"not an identity for HTML: {identity!r}")
    # The XML is vl-convert's or our own: well-formed, without a document type or entities.
    root = ET.fromstring(drawing)  # noqa: S314
    _clean(root, elements)
    for old in root.findall("title"):
        root.remove(old)
    root.attrib = {
        "class": "plot",
        "role": "img",
        "aria-labelledby": f"{identity}-title {identity}-text",
        **root.attrib,
    }
    said = (("title", "title", title), ("desc", "text", description))
    for place, (tag, name, text) in enumerate(said):
        element = ET.Element(tag, {"id": f"{identity}-{name}"})
        element.text = text
        root.insert(place, element)
    return ET.tostring(root, encoding="unicode")


def _clean(element: ET.Element, elements: frozenset[str]) -> None:
    """Keep what draws, drop all else; name colours by the style sheet's properties."""
    element.tag = element.tag.removeprefix(_SPACE)
    element.attrib = {
        name: _coloured(value)
        for name, value in element.attrib.items()
        if name in _ATTRIBUTES and "url(" not in value
    }
    for child in list(element):
        if child.tag.removeprefix(_SPACE) in elements:
            _clean(child, elements)
        else:
            element.remove(child)


def _coloured(value: str) -> str:
    name = PROPERTIES.get(value)
    return f"var({name})" if name else value
