# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows declared once, by their columns: tables, data for programs and schema follow; pure."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import Any, NamedTuple

from lsmeter.core.groups import grouped
from lsmeter.tables.data import plain
from lsmeter.tables.model import Column, Kind, Raw, Table, Value

_WORDS = frozenset({Kind.NAME, Kind.PROSE, Kind.CODE})
_GIVEN = "of the whole document"
_TYPES = {bool: "boolean", int: "integer", str: "string"}


class Field(NamedTuple):
    """A column, and its value of each thing that has a row.

    value: a function, or the name of an attribute; by default that of the key. of: what programs
    get, an annotation or a Row (also in Each, By or Maybe); by default what the kind has. flat: its
    key in a table for programs, where that is another: of a Row what the keys of its columns begin
    with; "-" where it has none, "=" before a whole key. text: how a list or mapping stands in such
    a table; without it, it does not. rare: left out where there is nothing.
    """

    key: str
    head: str = ""
    value: Callable[[Any], Any] | str = ""
    kind: Kind = Kind.COUNT
    joined: bool = False
    of: Any = None
    flat: str | None = None
    text: Callable[[Any], Raw] | None = None
    rare: bool = False

    def read(self) -> Callable[[Any], Any]:
        """Return what gives the value of a thing."""
        value = self.value or self.key
        return attrgetter(value) if isinstance(value, str) else value

    @property
    def type(self) -> Any:
        """What programs get."""
        by_kind = str if self.kind in _WORDS else bool if self.kind is Kind.YES else float
        return by_kind if self.of is None else self.of


def named(key: str, value: Callable[[Any], Value] | str = "", head: str = "") -> Field:
    """Make a field of names; the head is the key by default."""
    return Field(key, head or key, value, Kind.NAME)


def given(key: str, of: type) -> Field:
    """Make a field whose value is that of the whole document."""
    return Field(key, of=of, value=_GIVEN)


class Each(NamedTuple):
    """A list."""

    of: Any


class By(NamedTuple):
    """Values by name, of a mapping or of pairs."""

    of: Any


class Maybe(NamedTuple):
    """A row, or nothing."""

    of: Any


@dataclasses.dataclass(frozen=True)
class Row:
    """What programs get of one thing: its fields."""

    fields: tuple[Field, ...]

    def entry(self, item: object, **whole: object) -> dict[str, Any]:
        """Return the values by key; `whole` has those of the document."""
        found = {
            field.key: _written(field.type, _value(field, item, whole), whole)
            for field in self.fields
        }
        rare = {field.key for field in self.fields if field.rare}
        return {key: value for key, value in found.items() if value or key not in rare}

    def schema(self) -> dict[str, Any]:
        """Return what describes an entry, as JSON Schema."""
        return {
            "type": "object",
            "properties": {field.key: _schema(field.type) for field in self.fields},
            "required": [field.key for field in self.fields if not field.rare],
            "additionalProperties": False,
        }

    def flat(self, entry: Mapping[str, Any] | None) -> dict[str, Raw]:
        """Return an entry as a row of a table for programs; of None, its columns alone."""
        return dict(self._flat(entry, ""))

    def _flat(self, entry: Mapping[str, Any] | None, begin: str) -> Iterator[tuple[str, Raw]]:
        for field in self.fields:
            value = None if entry is None else entry.get(field.key)
            inner = field.type.of if isinstance(field.type, Maybe) else field.type
            name = field.key if field.flat is None else field.flat
            if name == "-":
                continue
            if isinstance(inner, Row):
                yield from inner._flat(value, f"{begin}{name}_" if name else "")  # noqa: SLF001
            elif field.text or not isinstance(inner, Each | By):
                key = begin.rstrip("_") if begin and name == "value" else f"{begin}{name}"
                key = name[1:] if name[0] == "=" else key
                yield key, field.text(value) if field.text and value is not None else value


class Contract(NamedTuple):
    """A document's form for programs: its name, its version, and its fields."""

    name: str
    version: int
    row: Row

    def schema(self) -> dict[str, Any]:
        """Return what describes it, as JSON Schema."""
        found = self.row.schema()
        head = {"format": {"const": self.name}, "version": {"const": self.version}}
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$comment": "SPDX-License-Identifier: GPL-2.0-or-later",
            "title": f"{self.name.replace('-', ' ')}, version {self.version}",
            **found,
            "properties": {**head, **found["properties"]},
            "required": [*head, *found["required"]],
        }


def _value(field: Field, item: object, whole: Mapping[str, Any]) -> Any:
    if field.value == _GIVEN:
        return whole[field.key]
    return item[field.key] if isinstance(item, Mapping) else field.read()(item)


def fields_of(kind: type, *names: str, of: str = "") -> tuple[Field, ...]:
    """Return the fields that a class declares, or those named; `of` is where it is held."""
    shown = names or [field.name for field in dataclasses.fields(kind)]
    return tuple(Field(name, value=f"{of}{name}", of=_hint(kind, name)) for name in shown)


def _hint(kind: type, name: str) -> Any:
    """Return the type of an attribute, or of a property."""
    found = getattr(kind, name, None)
    if isinstance(found, property):
        return typing.get_type_hints(found.fget)["return"]
    return typing.get_type_hints(kind)[name]


def _written(of: object, value: Any, whole: Mapping[str, Any]) -> Any:
    """Return a value as programs get it."""
    if value is None:
        return None
    if isinstance(of, Row):
        return of.entry(value, **whole)
    if isinstance(of, Each):
        return [_written(of.of, item, whole) for item in value]
    if isinstance(of, By):
        return {key: _written(of.of, item, whole) for key, item in dict(value).items()}
    return _written(of.of, value, whole) if isinstance(of, Maybe) else plain(value)


def _schema(of: Any) -> dict[str, Any]:  # noqa: PLR0911  (one for each kind of type)
    if isinstance(of, Row):
        return of.schema()
    if isinstance(of, Maybe):
        return {"anyOf": [_schema(of.of), {"type": "null"}]}
    if isinstance(of, Each):
        return {"type": "array", "items": _schema(of.of)}
    if isinstance(of, By):
        return {"type": "object", "additionalProperties": _schema(of.of)}
    origin, inner = typing.get_origin(of), typing.get_args(of)
    if origin in {types.UnionType, typing.Union}:
        return {"anyOf": [{"type": "null"} if i is type(None) else _schema(i) for i in inner]}
    if origin is not None:
        by_name = issubclass(origin, Mapping)
        return _schema(By(inner[1]) if by_name else Each(inner[0]))
    if dataclasses.is_dataclass(of) and isinstance(of, type):
        return Row(fields_of(of)).schema()
    if issubclass(of, StrEnum):
        return {"enum": [item.value for item in of]}
    if issubclass(of, Mapping):
        return {"type": "object"}
    return {"type": _TYPES.get(of, ["number", "null"])}


# Of what a number is of.
BENCHMARK = named("benchmark", "benchmark.id")
SETUP = named("setup", "place.setup")


def tabled(
    key: str,
    title: str,
    fields: Sequence[Field],
    items: Iterable[object],
    *,
    lead: tuple[str, ...] = (),
    more: tuple[str, ...] = (),
    fixed: int = 1,
) -> Table:
    """Make a table with a row for each thing."""
    columns = tuple(Column(item.key, item.head, item.kind, item.joined) for item in fields)
    read = [item.read() for item in fields]
    rows = tuple(tuple(value(item) for value in read) for item in items)
    return Table(key, title, columns, rows, lead, more, fixed)


def headed(table: Table, heads: Iterable[Value]) -> Table:
    """Put the rows of a table below headings; there is one for each row, and equal ones are one."""
    rows = grouped(zip(heads, table.rows, strict=True))
    shown = (row for head, mine in rows.items() for row in ((head,), *mine))
    return dataclasses.replace(table, rows=tuple(shown))


def flat_table(key: str, rows: Sequence[Mapping[str, Raw]], heads: Iterable[str] = ()) -> Table:
    """Make a table for programs, whose columns are the keys of its rows."""
    columns = tuple(dict.fromkeys([*heads, *(name for row in rows for name in row)]))
    cells = tuple(tuple(row.get(name) for name in columns) for row in rows)
    return Table(key, "", tuple(Column(name, name) for name in columns), cells)
