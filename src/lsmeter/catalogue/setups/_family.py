# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the setups that come with lsmeter: a TOML file for a family of them.

Each is said as a setup of a user's own is (_file.py). What a family shares, and what hangs on
parameters, is resolved here; `lsmeter help adding-things` lists the keys.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lsmeter.catalogue.setups._computed import COMPUTED
from lsmeter.catalogue.setups._file import to_setup
from lsmeter.catalogue.setups._parameters import Choice, Number, Parameter, Word, changed
from lsmeter.core.errors import UsageError
from lsmeter.core.model.setup import Setup
from lsmeter.core.toml_file import read_toml

_PLACE = re.compile(r"\{([a-z_]+)\}")
# Keys of a setup that are resolved here; the others are those of a setup.
_RESOLVED = ("like", "parameters", "values", "conflicts", "variants", "when")


@dataclass(frozen=True)
class _Scope:
    """What the words of a setup stand for."""

    values: Mapping[str, Any]
    lists: Mapping[str, Any]
    changed: frozenset[str]  # the parameters that differ from their defaults
    parameters: frozenset[str]

    def holds(self, when: str | Iterable[str]) -> bool:
        """Say whether conditions hold: a value (cold=on), or another than the default (avc)."""
        return all(map(self._holds, [when] if isinstance(when, str) else when))

    def _holds(self, condition: str) -> bool:
        name, equals, word = condition.partition("=")
        if equals:
            return bool(self.values[name] == word)
        return name in self.changed if name in self.parameters else bool(self.values[name])

    def fill(self, value: object) -> Any:
        """Put in values, and lists by their names; leave out what is under other conditions."""
        if isinstance(value, str):
            return _PLACE.sub(lambda found: str(self.values[found[1]]), value)
        if isinstance(value, list):
            return [scope.fill(part) for item in value for part, scope in self._items(item)]
        if isinstance(value, dict):
            return {
                scope.fill(key): scope.fill(part)
                for key, item in value.items()
                for part, scope in self._items(item)
            }
        return value

    def _items(self, item: object) -> Iterator[tuple[object, "_Scope"]]:
        """Yield what stands for an item: nothing, itself, or one for each of several values."""
        if isinstance(item, str) and item.startswith("@"):
            yield from (found for part in self.lists[item[1:]] for found in self._items(part))
        elif isinstance(item, dict):
            if self.holds(item.get("when", ())):
                rest = {key: part for key, part in item.items() if key not in ("when", "each")}
                plain = rest["text"] if rest.keys() == {"text"} else rest
                for more in self.values[item["each"]] if "each" in item else ({},):
                    yield plain, replace(self, values={**self.values, **more})
        else:
            yield item, self


@dataclass(frozen=True)
class SetupDefinition:
    """How a setup is built from values of its parameters, which all lie within their limits."""

    file: Path
    shared: Mapping[str, Any]  # the tables of the file that all of its setups share
    table: Mapping[str, Any]  # the setup's own
    parameters: tuple[Parameter, ...]

    @property
    def setup(self) -> Setup:
        """The setup with the defaults of its parameters."""
        return self.configure({})

    def configure(self, given: Mapping[str, int | str]) -> Setup:
        """Return the setup for these values; UsageError for those that do not go together."""
        name, differing = self.table["name"], changed(self.parameters, given)
        known = self.shared["parameters"]
        values: dict[str, Any] = {key: str(item.default) for key, item in known.items()}
        values |= {key: str(value) for key, value in given.items()}
        values |= {"name": name, "settings": differing}
        differ = frozenset(key for key in known if values[key] != str(known[key].default))
        scope = _Scope(values, self.shared["lists"], differ, frozenset(known))
        for one, other, why in self.table.get("conflicts", ()):
            if scope.holds((one, other)):
                raise UsageError(f"{name}: {one} does not go with {other}: {why}")
        if self.file.stem in COMPUTED:
            values |= COMPUTED[self.file.stem](values, self.shared["lists"])
        variants = [item for item in self.table.get("variants", ()) if scope.holds(item["when"])]
        parts = (self.table, *variants)
        for part in (self.shared, *parts):
            values |= {key: scope.fill(text) for key, text in part.get("values", {}).items()}
        table = {key: value for part in parts for key, value in part.items()}
        filled = scope.fill({key: table[key] for key in table if key not in _RESOLVED})
        filled["name"] += differing
        for key, mark in (("title", ", "), ("note", "; ")):
            if isinstance(filled.get(key), list):
                filled[key] = mark.join(filled[key])
        return to_setup(filled, self.file)


def read_family(file: Path) -> Iterator[SetupDefinition]:
    """Yield every setup of a family that comes with lsmeter."""
    data = read_toml(file, "a family of setups", hint="lsmeter help adding-things")
    known = {name: _parameter(name, **item) for name, item in data.get("parameters", {}).items()}
    shared = {"values": {}, "lists": {}, **data, "parameters": known}
    tables: dict[str, dict[str, Any]] = {}
    for own in data["setups"]:
        base = tables[own["like"]] if "like" in own else {}
        values = base.get("values", {}) | own.get("values", {})
        table = tables[own["name"]] = {**base, **own, "values": values}
        offered = tuple(known[name] for name in table.get("parameters", ()))
        yield SetupDefinition(file, shared, table, offered)


def _parameter(name: str, **table: Any) -> Parameter:
    if "limits" in table:
        low, high = table.pop("limits")
        return Number(name, limits=(low, high), **table)
    if "choices" in table:
        return Choice(name, choices=tuple(table.pop("choices")), **table)
    return Word(name, **table)
