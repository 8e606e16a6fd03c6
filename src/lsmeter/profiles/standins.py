# SPDX-License-Identifier: GPL-2.0-or-later
"""Which benchmarks stand for which system call: stand-ins.toml, read and checked."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources
from typing import Any

FILE = "stand-ins.toml"
ANY_SUITE = "*"
_READING = re.compile(
    r"(?P<suite>[a-z]+|\*): (?P<pattern>[^/]+?)"
    r"(?: - (?P<less_suite>[a-z]+): (?P<less>[^/]+?))?(?: / (?P<calls>[2-9]))?"
)

Name = tuple[str, str]  # of a benchmark: its suite, and its id


@dataclass(frozen=True)
class Reading:
    """Benchmarks, of which each reading is `calls` calls and, besides, another benchmark."""

    suite: str
    pattern: str
    less: Name | None = None
    calls: int = 1

    def matches(self, name: Name) -> bool:
        """Tell whether a benchmark is one of them."""
        return self.suite in {name[0], ANY_SUITE} and fnmatchcase(name[1], self.pattern)


@dataclass(frozen=True)
class StandIn:
    """What stands for a system call; within: another call, whose benchmarks have this one in them.

    kinds are what the call may be made on.
    """

    kinds: tuple[tuple[Reading, ...], ...] = ()
    failed: tuple[Reading, ...] = ()
    within: str = ""

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites that it needs."""
        every = (reading.suite for kind in self.kinds for reading in kind)
        return tuple(dict.fromkeys(name for name in every if name != ANY_SUITE))


@dataclass(frozen=True)
class StandIns:
    """All of them, by the name of the call as strace has it; and what else calls are named."""

    aliases: Mapping[str, str]
    of: Mapping[str, StandIn]

    def name(self, call: str) -> str:
        """Return the usual name of a call."""
        return self.aliases.get(call, call)


@functools.cache
def stand_ins() -> StandIns:
    """Read what is shipped."""
    file = resources.files("lsmeter.profiles") / FILE
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    found: dict[str, StandIn] = {}
    for entry in data["calls"]:
        one = StandIn(
            tuple(_readings(kind) for kind in entry.get("kinds", ())),
            _readings(entry.get("failed", ())),
            entry.get("within", ""),
        )
        for name in entry["names"]:
            if name in found:
                raise ValueError(f"{FILE}: {name} stands there twice")
            found[name] = one
    return StandIns(data["aliases"], found)


def _readings(texts: Iterable[Any]) -> tuple[Reading, ...]:
    return tuple(_reading(str(text)) for text in texts)


def _reading(text: str) -> Reading:
    found = _READING.fullmatch(text)
    if found is None:
        raise ValueError(f"{FILE}: not a benchmark: {text!r}")
    less = (found["less_suite"], found["less"]) if found["less"] else None
    return Reading(found["suite"], found["pattern"], less, int(found["calls"] or 1))
