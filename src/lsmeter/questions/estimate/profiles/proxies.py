# SPDX-License-Identifier: GPL-2.0-or-later
"""The proxy benchmarks of each system call: proxies.toml, read and checked."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

FILE = "proxies.toml"
ANY_SUITE = "*"
_TERM = re.compile(r"(?P<suite>[a-z]+|\*): (?P<name>[^/]+?)(?: / (?P<calls>[2-9]))?")
_SIGN = re.compile(r" ([+-]) (?=[a-z]+: )")

Name = tuple[str, str]  # of a benchmark: its suite, and its id


@dataclass(frozen=True)
class Reading:
    """Benchmarks, shared by `calls` calls, and what is added: other ones, each so many times."""

    suite: str
    pattern: str
    calls: int = 1
    more: tuple[tuple[Name, float], ...] = ()

    def matches(self, name: Name) -> bool:
        """Tell whether a benchmark is one of them."""
        return self.suite in {name[0], ANY_SUITE} and fnmatchcase(name[1], self.pattern)


@dataclass(frozen=True)
class Proxy:
    """Proxy benchmarks of a call; within: another call, whose benchmarks have this one in them.

    kinds are what the call may be made on, by name: "" where it is one. failed has those of which
    a call that fails costs something else: "" is any other.
    """

    kinds: Mapping[str, tuple[Reading, ...]] = field(default_factory=dict)
    failed: Mapping[str, tuple[Reading, ...]] = field(default_factory=dict)
    within: str = ""

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites that it needs."""
        return self.suites_of(self.kinds)

    def suites_of(self, kinds: Iterable[str]) -> tuple[str, ...]:
        """Return the suites that it needs for some kinds of things."""
        every = [reading for kind in kinds for reading in self.kinds.get(kind, ())]
        needed = [item.suite for item in every] + [
            name[0] for item in every for name, _ in item.more
        ]
        return tuple(dict.fromkeys(name for name in needed if name != ANY_SUITE))


@dataclass(frozen=True)
class Proxies:
    """All of them, by the name of the call as strace has it; and what else calls are named."""

    aliases: Mapping[str, str]
    of: Mapping[str, Proxy]

    @property
    def kinds(self) -> tuple[str, ...]:
        """All kinds of things that calls may be made on."""
        named = dict.fromkeys(name for item in self.of.values() for name in item.kinds if name)
        return tuple(named)

    def name(self, call: str) -> str:
        """Return the usual name of a call."""
        return self.aliases.get(call, call)


@functools.cache
def proxies() -> Proxies:
    """Read what is shipped."""
    data = tomllib.loads(Path(__file__).with_name(FILE).read_text(encoding="utf-8"))
    found: dict[str, Proxy] = {}
    for entry in data["calls"]:
        kinds, failed = (_kinds(entry.get(key, {})) for key in ("kinds", "failed"))
        one = Proxy(kinds, failed, entry.get("within", ""))
        for name in entry["names"]:
            if name in found:
                raise ValueError(f"{FILE}: {name} stands there twice")
            found[name] = one
    return Proxies(data["aliases"], found)


def _kinds(entry: Any) -> Mapping[str, tuple[Reading, ...]]:  # noqa: ANN401  (a list or a table)
    named = entry if isinstance(entry, dict) else {"": entry}
    return {name: tuple(_reading(str(text)) for text in of) for name, of in named.items()}


def _reading(text: str) -> Reading:
    first, *rest = _SIGN.split(text)
    terms = [_TERM.fullmatch(term) for term in (first, *rest[1::2])]
    found = [term for term in terms if term is not None]
    if len(found) < len(terms):
        raise ValueError(f"{FILE}: not a benchmark: {text!r}")
    more = tuple(
        ((term["suite"], term["name"]), (1 if sign == "+" else -1) / int(term["calls"] or 1))
        for sign, term in zip(rest[::2], found[1:], strict=True)
    )
    return Reading(found[0]["suite"], found[0]["name"], int(found[0]["calls"] or 1), more)
