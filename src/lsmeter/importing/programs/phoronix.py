# SPDX-License-Identifier: GPL-2.0-or-later
"""Phoronix Test Suite: composite.xml of a result, with all runs of each test.

A file may hold several systems; one of them is imported at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from lsmeter.base.registry import unknown
from lsmeter.importing import ForeignError, Format, Parsed, Reading, benchmark, number, plain
from lsmeter.model import Better

_RELEASE = re.compile(r"\bKernel: (\S+)")
_BETTER = {"HIB": Better.HIGHER, "LIB": Better.LOWER}
_SUITE = "phoronix"


class _Tree(ET.TreeBuilder):
    """Refuses a document type: results have none, and it could make text grow without end."""

    def doctype(self, name: str, _public: str | None, _system: str | None) -> None:
        raise ForeignError(f"it declares a document type ({name[:40]}), which no result does")


def parse(text: str, system: str) -> Parsed:
    """Read a file of results; ForeignError with what is wrong with it."""
    try:
        root = ET.fromstring(text, parser=ET.XMLParser(target=_Tree()))  # noqa: S314  (no DOCTYPE)
    except ET.ParseError as error:
        raise ForeignError(f"it is no whole XML file: {error}") from None
    except (ValueError, LookupError) as error:
        raise ForeignError(f"it is no XML file: {error}") from None
    if root.tag != "PhoronixTestSuite" or root.find("Result") is None:
        raise ForeignError("it is no composite.xml of the Phoronix Test Suite with results")
    systems = {_said(item, "Identifier"): item for item in root.iter("System")}
    if not systems:
        raise ForeignError("it names no system")
    if system and system not in systems:
        raise unknown("system", system, systems, where="--system")
    if not system and len(systems) > 1:
        names = ", ".join(systems)
        raise ForeignError(f"it has {len(systems)} systems: name one: --system NAME ({names})")
    chosen = system or next(iter(systems))
    left: list[str] = []
    found = tuple(_results(root, chosen, left))
    if not found:
        raise ForeignError(f"it has no number of {chosen}")
    software = _said(systems[chosen], "Software")
    release = _RELEASE.search(software)
    version = _said(systems[chosen], "TestClientVersion")
    return Parsed(found, version, release[1] if release else "", chosen, tuple(left))


def _results(root: ET.Element, system: str, left: list[str]) -> Iterator[Reading]:
    known: set[str] = set()
    for result in root.iter("Result"):
        title = f"{_said(result, 'Title')}: {_said(result, 'Description')}"
        better = _BETTER.get(_said(result, "Proportion"))
        if not _said(result, "Identifier"):
            left.append(f"{title}: no test, but what installing it took")
            continue
        entries = [e for e in result.iter("Entry") if _said(e, "Identifier") == system]
        values = [text for e in entries for text in _values(e)]
        if better is None or not values:
            why = "no value" if better is not None else "neither HIB nor LIB"
            left.append(f"{title}: {why}")
            continue
        test = _said(result, "Identifier").rpartition("/")[2].rpartition("-")[0]
        arguments = plain(_said(result, "Arguments") or _said(result, "Description"))
        kind = benchmark(
            *(_SUITE, title, _said(result, "Scale") or "units", better),
            operation=test or title,
            params=(("test", arguments),),
        )
        if kind.id in known:
            raise ForeignError(f"it has two results of {kind.id}")
        known.add(kind.id)
        yield Reading(kind, tuple(map(number, values)))


def _values(entry: ET.Element) -> list[str]:
    """Return the values of all runs, the one value where they are not kept."""
    each = [text for text in _said(entry, "RawString").split(":") if text]
    return each or [text for text in [_said(entry, "Value")] if text]


def _said(item: ET.Element, name: str) -> str:
    return (item.findtext(name) or "").strip()


FORMAT = Format(
    name="phoronix",
    title="Phoronix Test Suite: test-results/NAME/composite.xml",
    covers="each test decides itself how often it runs, and what a run is",
    parse=parse,
)
