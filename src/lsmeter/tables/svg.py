# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns a plot into an inline SVG that needs no network, no script and no colour of its own."""

from __future__ import annotations

import re
import resource
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

from lsmeter.core.host import limit_mib
from lsmeter.core.signals import RECEIVED
from lsmeter.tables import look
from lsmeter.tables.data import scrub_text
from lsmeter.tables.look import PROPERTIES, Specification
from lsmeter.tables.model import Figure, UndrawnError

_SPACE = "{http://www.w3.org/2000/svg}"
_ELEMENTS = frozenset({"svg", "g", "path", "rect", "line", "text", "tspan", "circle", "symbol"})
_ATTRIBUTES = frozenset(
    {"width", "height", "viewBox", "transform", "d", "x", "y", "x1", "x2", "y1", "y2", "dx", "dy"}
    | {"fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap"}
    | {"opacity", "fill-opacity", "stroke-opacity", "text-anchor", "font-size", "font-weight"}
    | {"stroke-miterlimit", "cx", "cy", "r"}
)
_ID = re.compile(r"[a-z0-9-]+")
_ADDRESSES_MIB = 72 << 10  # that the library takes, or it ends the process; most of them stay empty
_MOST_VALUES = 400_000  # of a plot: more take minutes
_MOST_CHARS = 200  # of a name: much longer ones take minutes
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")  # the library cuts labels in the middle of one


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
    if (mib := limit_mib(resource.RLIMIT_AS)) is not None and mib < _ADDRESSES_MIB:
        raise UndrawnError(
            f"ulimit -v leaves a process {mib} MiB of addresses; drawing needs {_ADDRESSES_MIB}"
        )
    # It is heavy: the other formats do not wait for it.
    import vl_convert

    try:
        text = vl_convert.vegalite_to_svg(_safe(specification, []), allowed_base_urls=[])
    except BaseException as error:
        if isinstance(error, UndrawnError | KeyboardInterrupt) or RECEIVED:
            raise
        # Whatever else it is: a panic of the library is no Exception.
        words = scrub_text(f"{type(error).__name__}: {error}")
        raise UndrawnError(f"the plot library fails: {words[:_MOST_CHARS]}") from error
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


def figure(title: str, caption: str, specification: Specification) -> Figure:
    """Make a figure of a plot that has no look of its own, in the colours of a page."""
    plot = look.finish({key: part for key, part in specification.items() if key != "title"})
    plot["config"] = {**plot["config"], "range": {"category": list(look.SERIES)}}
    return plotted(title, caption, lambda: plot)


def plotted(
    title: str,
    caption: str,
    make: Callable[[], Specification | None],
    scale: tuple[tuple[str, str], ...] = (),
    *,
    named: str = "",
    said: str = "",
) -> Figure:
    """Make a figure of a plot, which is made when it is drawn.

    named and said: title and description of the drawing itself, where they are others.
    """

    def draw(identity: str) -> str:
        return drawn(make(), identity=identity, title=named or title, description=said or caption)

    return Figure(title, caption, draw, scale)


def _safe(value: Any, values: list[None]) -> Any:
    """Return a part of a plot with names that can be drawn; values counts its parts."""
    values.append(None)
    if len(values) > _MOST_VALUES:
        raise UndrawnError(f"it has more than {_MOST_VALUES} values")
    if isinstance(value, dict):
        return {key: _safe(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(item, values) for item in value]
    if not isinstance(value, str):
        return value
    half = _MOST_CHARS // 2
    if len(value) > _MOST_CHARS:
        value = f"{value[:half]}…{value[-half:]}"
    return _ASTRAL.sub("\N{REPLACEMENT CHARACTER}", scrub_text(value))


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
