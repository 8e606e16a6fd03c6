# SPDX-License-Identifier: GPL-2.0-or-later
"""Phoronix Test Suite: composite.xml of a result, or its export as JSON; all runs of each test.

A file may hold several systems; one of them is imported at a time.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree as ET

from lsmeter.core.model import Benchmark, Better
from lsmeter.core.registry import unknown
from lsmeter.questions.importing import (
    MOST_READINGS,
    ForeignError,
    Format,
    Parsed,
    Reading,
    benchmark,
    number,
    plain,
)

_RELEASE = re.compile(r"\bKernel: (\S+)")
_BETTER = {"HIB": Better.HIGHER, "LIB": Better.LOWER}
_SUITE = "phoronix"
_MOST_NAMED = 12  # systems


@dataclass(frozen=True)
class _Result:
    """What a file says of one test: "" for what it does not say; values of a system, in order."""

    values: Mapping[str, Sequence[str]]
    identifier: str
    title: str
    description: str
    arguments: str
    scale: str
    proportion: str


# Version of the suite and release of the kernel of each system, and what there is of each test.
_File = tuple[Mapping[str, tuple[str, str]], tuple[_Result, ...]]


def parse(text: str, system: str) -> Parsed:
    """Read a file of results; ForeignError with what is wrong with it."""
    systems, results = _from_json(text) if text.lstrip()[:1] == "{" else _from_xml(text)
    if not systems:
        raise ForeignError("it names no system")
    if system and system not in systems:
        raise unknown("system", system, systems, where="--system")
    if not system and len(systems) > 1:
        names = ", ".join([*systems][:_MOST_NAMED])
        raise ForeignError(f"it has {len(systems)} systems: name one: --system NAME ({names})")
    chosen = system or next(iter(systems))
    left: list[str] = []
    found = tuple(_readings(results, chosen, left))
    if not found:
        raise ForeignError(f"it has no number of {chosen}")
    return Parsed(found, *systems[chosen], chosen, tuple(left))


def _readings(results: tuple[_Result, ...], system: str, left: list[str]) -> Iterator[Reading]:
    taken: list[tuple[_Result, Benchmark]] = []
    for result in results:
        title = f"{result.title}: {result.description}"
        better = _BETTER.get(result.proportion)
        if not result.identifier:
            left.append(f"{title}: no test, but what installing it took")
            continue
        values = result.values.get(system)
        if better is None or not values:
            why = "no value" if better is not None else "neither HIB nor LIB"
            left.append(f"{title}: {why}")
            continue
        test = result.identifier.rpartition("/")[2].rpartition("-")[0]
        kind = benchmark(
            *(_SUITE, title, result.scale or "units", better),
            operation=test or title,
            params=(("test", plain(result.arguments or result.description)),),
        )
        taken.append((result, kind))
    count = Counter(kind.id for _, kind in taken)
    for result, kind in taken:
        values = result.values[system]
        if len(values) > MOST_READINGS:
            raise ForeignError(f"{kind.id} has more than {MOST_READINGS} values")
        # A test with several results: each is named, by what it says of itself alone.
        more = ("result", plain(f"{result.description} {result.scale}"))
        params = (*kind.params, more) if count[kind.id] > 1 else kind.params
        yield Reading(replace(kind, params=params), tuple(map(number, values)))


class _Tree(ET.TreeBuilder):
    """Refuses a document type: results have none, and it could make text grow without end."""

    def doctype(self, name: str, _public: str | None, _system: str | None) -> None:
        raise ForeignError(f"it declares a document type ({name[:40]}), which no result does")


def _from_xml(text: str) -> _File:
    try:
        root = ET.fromstring(text, parser=ET.XMLParser(target=_Tree()))  # noqa: S314  (no DOCTYPE)
    except ET.ParseError as error:
        raise ForeignError(f"it is no whole XML file: {error}") from None
    except (ValueError, LookupError) as error:
        raise ForeignError(f"it is no XML file: {error}") from None
    if root.tag != "PhoronixTestSuite" or root.find("Result") is None:
        raise ForeignError("it is no composite.xml of the Phoronix Test Suite with results")
    systems = {}
    for item in root.findall("System"):
        release = _RELEASE.search(_said(item, "Software"))
        version = _said(item, "TestClientVersion")
        systems[_said(item, "Identifier")] = (version, release[1] if release else "")
    return systems, tuple(map(_xml_result, root.findall("Result")))


def _xml_result(result: ET.Element) -> _Result:
    names = ("Identifier", "Title", "Description", "Arguments", "Scale", "Proportion")
    values: dict[str, list[str]] = {}
    for entry in result.findall("Data/Entry"):
        name = _said(entry, "Identifier")
        # The values of all runs, the one value where they are not kept.
        each = [text for text in _said(entry, "RawString").split(":") if text]
        values.setdefault(name, []).extend(each or filter(None, [_said(entry, "Value")]))
    return _Result(values, *(_said(result, name) for name in names))


def _said(item: ET.Element, name: str) -> str:
    return (item.findtext(name) or "").strip()


def _from_json(text: str) -> _File:
    """Read what `phoronix-test-suite result-file-to-json` writes; it leaves out what is empty."""
    try:
        # Numbers stay as they are printed.
        root = json.loads(text, parse_float=str, parse_int=str)
        json.dumps(root, ensure_ascii=False).encode()  # half a character is a ValueError as well
    except (ValueError, RecursionError) as error:
        raise ForeignError(f"it is no whole JSON file: {error}") from None
    systems, results = root.get("systems"), root.get("results")
    if isinstance(results, list) or (isinstance(results, dict) and systems is None):
        raise ForeignError(
            "it was written by a version before 10.8.3, which does not say which direction is "
            "better: import the composite.xml beside it"
        )
    if not isinstance(systems, dict) or not isinstance(results, dict):
        raise ForeignError("it is no result of the Phoronix Test Suite: no systems, or no results")
    found = {name: _json_system(item) for name, item in systems.items()}
    return found, tuple(map(_json_result, results.values()))


def _json_system(system: object) -> tuple[str, str]:
    kernel = _part(_part(system).get("software")).get("Kernel")
    version = _part(system).get("client_version")
    return _words(version), _words(kernel).partition(" ")[0]


def _json_result(said: object) -> _Result:
    result = _part(said)
    names = ("identifier", "title", "description", "arguments", "scale", "proportion")
    values = {}
    for name, item in _part(result.get("results")).items():
        each = _part(item).get("raw_values") or [_part(item).get("value")]
        if not isinstance(each, list):
            raise ForeignError(f"the runs of {name[:40]} are no list")
        values[name] = [text for text in map(_words, each) if text]
    return _Result(values, *(_words(result.get(name)) for name in names))


def _part(value: object) -> Mapping[str, Any]:
    """Return a part that has names; PHP writes one without any as a list."""
    if isinstance(value, dict):
        return value
    if value in (None, []):
        return {}
    raise ForeignError(f"'{str(value)[:40]}' stands where names and values should")


def _words(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


FORMAT = Format(
    name="phoronix",
    title="Phoronix Test Suite: test-results/NAME/composite.xml, or result-file-to-json's file",
    covers="each test decides itself how often it runs, and what a run is",
    parse=parse,
)
