# SPDX-License-Identifier: GPL-2.0-or-later
"""Readings with an event vector of each, by function as well; what the plugin writes of them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lsmeter.measure.tasks import TaskKind
from lsmeter.measure.tasks.attribute import ATTRIBUTION
from lsmeter.measure.tasks.readings import costs

EVENTS_OUTPUT = "events"  # in Capture.outputs, and the plugin's argument that asks for it
HEADER = "lsmeter-events 1"
MAX_READINGS = 4096  # of a region
_MAX_REGIONS = 8192  # a region may be written more than once while it grows
_MAX_DIGITS = 18

# What is counted, in the order of a vector, with a title (`lsmeter help events` defines each).
EVENTS: Mapping[str, str] = tomllib.loads(
    Path(__file__).with_name("events.toml").read_text("utf-8")
)
# They depend on where things lie in memory, which another seed of the guest changes.
BY_ADDRESS = frozenset(name for name in EVENTS if name.endswith(("_lines", "_pages", "_misses")))

TASK = TaskKind(
    "events",
    "readings, whole costs, call trees and event vectors",
    costs,
    plugin=ATTRIBUTION,
    also=(EVENTS_OUTPUT,),
    costs=True,
)

_REGION = re.compile(r"region (0|[1-9][0-9]{0,4}) ([0-9]{1,18})")
# What the plugins of the versions before count: less of the last events.
_NAMES = tuple(EVENTS)[: len(EVENTS) - 1], tuple(EVENTS)

Vector = tuple[int, ...]  # as EVENTS; of a version before it is shorter


class DamagedEventsError(Exception):
    """What is wrong with an output: one line."""


@dataclass(frozen=True)
class RegionEvents:
    """One region: a vector for each reading in order, None for one that the plugin lost.

    more are readings that found no room, the last ones.
    """

    region: int
    readings: tuple[Vector | None, ...]
    more: int


def parse_events(text: str) -> Mapping[int, RegionEvents]:
    """Read the regions by number; DamagedEventsError for anything unexpected.

    A guest that was killed leaves no `eof`, and its last region may be cut: what is whole counts.
    A region that comes again replaces what came before.
    """
    *whole, _ = text.split("\n")  # what stands behind the last newline was cut off
    lines = enumerate(whole, 1)
    if next(lines, (0, ""))[1] != HEADER:
        raise DamagedEventsError(f"it does not begin with '{HEADER}'")
    said = next(lines, (0, ""))[1]
    named = next((names for names in _NAMES if said == f"names {' '.join(names)}"), None)
    if named is None:
        raise DamagedEventsError("line 2 does not name the events of this version")
    vector = re.compile(rf"v(?: [0-9]{{1,{_MAX_DIGITS}}}){{{len(named)}}}")
    found: dict[int, RegionEvents] = {}
    for count, item in enumerate(_regions(lines, vector)):
        if count == _MAX_REGIONS:
            raise DamagedEventsError(f"it has more than {_MAX_REGIONS} regions")
        found[item.region] = item
    return found


def _regions(lines: Iterator[tuple[int, str]], vector: re.Pattern[str]) -> Iterator[RegionEvents]:
    for number, line in lines:
        if line == "eof":
            break
        begin = _REGION.fullmatch(line)
        if begin is None:
            raise _wrong(number, line)
        readings: list[Vector | None] = []
        for at, inner in lines:
            if inner == f"end {begin[1]}":
                yield RegionEvents(int(begin[1]), tuple(readings), int(begin[2]))
                break
            if len(readings) == MAX_READINGS or not (inner == "x" or vector.fullmatch(inner)):
                raise _wrong(at, inner)
            readings.append(None if inner == "x" else tuple(map(int, inner.split()[1:])))
    for number, line in lines:
        raise _wrong(number, line)


def _wrong(number: int, line: str) -> DamagedEventsError:
    return DamagedEventsError(f"line {number} cannot stand there: {line[:60]!r}")
