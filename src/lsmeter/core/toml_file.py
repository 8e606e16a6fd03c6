# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a TOML file that a person wrote; what is wrong with it is said in one line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import AliasChoices, BaseModel, ValidationError

from lsmeter.core.errors import UsageError
from lsmeter.core.former import tell_former
from lsmeter.core.inputs import check_shape, read_file
from lsmeter.core.registry import nearest

M = TypeVar("M", bound=BaseModel)

MAX_FILE_BYTES = 1 << 20
_MAX_DOTS = 1000  # in a line: tomllib takes minutes for a key of 50,000 parts


def read_toml(
    path: Path, kind: str, *, hint: str, where: str = "", missing: str = ""
) -> dict[str, Any]:
    """Return the tables of a TOML file.

    kind: what the file should be, such as "an experiment file". hint: what to do when it is none.
    where: which word named it, such as "--setup". missing: what is said of a file that is not
    there, instead of "cannot read it".
    """
    named = f"{where}: {path}" if where else f"{path}"
    try:
        text = read_file(path, MAX_FILE_BYTES, kind, where=where, hint=hint).decode()
        if max(line.count(".") for line in text.split("\n")) > _MAX_DOTS:
            raise UsageError(f"{path}: not valid TOML: a key of more than {_MAX_DOTS} parts")
        data = tomllib.loads(text)
        check_shape(data, str(path))
    except UnicodeDecodeError as error:
        raise UsageError(f"{named}: cannot read it: it is not UTF-8 text", hint=hint) from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}", hint=hint) from error
    except (ValueError, RecursionError) as error:
        said = "lists too deep" if isinstance(error, RecursionError) else "a number too long"
        raise UsageError(f"{path}: not valid TOML: {said}", hint=hint) from error
    except OSError as error:
        said = f"cannot read it: {error.strerror}"
        if missing and isinstance(error, FileNotFoundError):
            said = missing
        raise UsageError(f"{named}: {said}", hint=hint) from error
    return data


def checked(
    kind: type[M], data: dict[str, Any], *, where: str, hint: str, context: object = None
) -> M:
    """Return the tables of a file as the type that says what they may hold."""
    try:
        found = kind.model_validate(data, context=context)
    except ValidationError as error:
        raise wrong_key(error, kind, where=where, hint=hint) from None
    for name, field in kind.model_fields.items():
        other = field.validation_alias
        for old in other.choices if isinstance(other, AliasChoices) else ():
            if old in data and old != name:
                tell_former(f"{where}: {old}", name)
    return found


def wrong_key(
    error: ValidationError, table: type[BaseModel], *, where: str, hint: str
) -> UsageError:
    """Build the error for a key of a table that is not as it has to be.

    An unknown key comes first: what is missing may be it, mistyped.
    """
    first = min(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
    # Where several types are allowed, the one that was tried last stands behind the place.
    place = [str(part) for part in first["loc"] if not str(part).startswith("constrained-")]
    key = ".".join(place)[:80] or "(top level)"
    if first["type"] == "extra_forbidden":
        for word in place[:-1]:
            table = next(_tables(_kind(table, word)), table)
        known = sorted(table.model_fields)
        return UsageError(
            f"{where}: unknown key '{key}'{nearest(place[-1], known)}",
            hint=f"known keys: {', '.join(known)}",
        )
    if first["type"] == "missing":
        return UsageError(f"{where}: {key}: missing", hint=hint)
    expected = first["msg"].replace("Input should be", "expected").replace("Value error, ", "")
    given = str(first.get("input"))[:60]
    return UsageError(
        f"{where}: {key}: {expected[0].lower()}{expected[1:]}, not {given!r}", hint=hint
    )


def _kind(table: type[BaseModel], key: str) -> object:
    """Return the type of what a table holds under a key or another name of it, None elsewhere."""
    for name, field in table.model_fields.items():
        other = field.validation_alias
        if key == name or (isinstance(other, AliasChoices) and key in other.choices):
            return field.annotation
    return None


def _tables(kind: object) -> Iterator[type[BaseModel]]:
    """Yield the tables in a type: itself, or those of a list."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for part in get_args(kind):
        yield from _tables(part)
