# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of results: JSON that carries its own digest, and what is read only if a digest fits.

The digest of a document is that of its bytes with zeros where the digest stands, so it covers
every other bit of the file. Nothing but JSON is parsed before its digest was found right.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.inputs import open_file

MAX_FILE_BYTES = 64 << 20
_MAX_PARTS = 8_000_000  # of a document
_MAX_DIGITS = 18  # of a number: any such fits into 64 bits
SEALED = 3  # the first format version whose documents carry a digest

_ZEROS = b"0" * 64
_HEAD_BYTES = 512  # in which a document says what it is
_SEAL = re.compile(rb'\{\s*"format": "([\w-]+)",\s*"version": (\d+),\s*"sha256": "([0-9a-f]{64})"')
_DIGITS = bytes.maketrans(b"123456789", b"000000000")

_MEASURE = "the command that made it measures again what is damaged: type it once more"

K = TypeVar("K")


class DamagedResultError(InfrastructureError):
    """A file of results is not what was written; what it belongs to is no result."""

    def __init__(self, path: Path, reason: str, hint: str = _MEASURE) -> None:
        super().__init__(f"{path}: damaged or not a result of lsmeter: {reason}", hint=hint)


def digest_of(data: bytes) -> str:
    """Return the digest that documents carry, of themselves and of other files."""
    return hashlib.sha256(data).hexdigest()


def sealed(name: str, version: int, content: Mapping[str, Any] | bytes) -> bytes:
    """Return JSON of a format name and version, with its own digest.

    content: an object, written to be read by people too, or one that is written already.
    """
    head = {"format": name, "version": version, "sha256": _ZEROS.decode()}
    if isinstance(content, bytes):
        data = json.dumps(head).encode()[:-1] + b", " + content[1:]
    else:
        data = json.dumps({**head, **content}, indent=1).encode()
    return data.replace(_ZEROS, digest_of(data).encode(), 1)


def read_document(path: Path, name: str, versions: tuple[int, ...]) -> dict[str, Any]:
    """Read a JSON file of ours, checking its digest, format name and version."""
    return _document(path, *prove_document(path), name, versions)


def read_as(
    kind: TypeAdapter[K],
    path: Path,
    name: str,
    versions: tuple[int, ...],
    parse: Callable[[bytes], K],
) -> K:
    """Read a JSON file of ours, as read_document does, as the type that it must be.

    What is as it has to be becomes that type by `parse`; of anything else, which makes that raise
    ValueError, it is said what is wrong. A float may still be infinite.
    """
    data, seal = prove_document(path)
    if seal and seal[1].decode() == name and int(seal[2]) in versions:
        with suppress(ValueError):
            return parse(data)
    return validated(kind, _document(path, data, seal, name, versions), path)


def validated_text(kind: TypeAdapter[K], data: bytes) -> K:
    """Return JSON as the type that it must be; ValueError, also for a number that is too long."""
    if b"0" * (_MAX_DIGITS + 1) in data.translate(_DIGITS):
        raise ValueError(f"a number of over {_MAX_DIGITS} digits")
    return kind.validate_json(data, strict=True)


def prove_document(path: Path) -> tuple[bytes, re.Match[bytes] | None]:
    """Return what a file holds, once its digest is found right, and where it says what it is.

    Raises DamagedResultError for a document that has not the digest that it says.
    """
    data = read_plain(path)
    seal = _SEAL.match(data)
    if seal:
        found = hashlib.sha256(data[: seal.start(3)] + _ZEROS)
        found.update(memoryview(data)[seal.end(3) :])
        if found.hexdigest().encode() != seal[3]:
            raise DamagedResultError(path, "its digest is not the one it carries")
    if len(data) > _MAX_PARTS and (most := max(map(data.count, b",[{"))) > _MAX_PARTS:
        raise DamagedResultError(path, f"{most} parts; at most {_MAX_PARTS}")
    return data, seal


def _document(
    path: Path, data: bytes, seal: object, name: str, versions: tuple[int, ...]
) -> dict[str, Any]:
    try:
        document = json.loads(data, parse_int=_whole, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise DamagedResultError(path, f"not valid JSON ({error})") from None
    if not isinstance(document, dict) or document.get("format") != name:
        raise DamagedResultError(path, f"its format is not {name}")
    found = document.get("version")
    if not seal and found not in range(1, SEALED):
        raise DamagedResultError(path, "it carries no digest")
    if found not in versions:
        raise InfrastructureError(
            f"{path}: format version {found!r:.40}; this lsmeter reads version {versions[-1]}",
            hint="read it with the version of lsmeter that wrote it, or measure again",
        )
    return document


def _whole(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    if not math.isfinite(found := float(text)):
        raise ValueError(f"{text[:_MAX_DIGITS]} is beyond all numbers")
    return found


def read_seal(path: Path) -> str:
    """Return the digest that a document says it has, which nobody has checked; "" for none."""
    seal = _SEAL.match(_begin(path, _HEAD_BYTES))
    return seal[3].decode() if seal else ""


def read_plain(path: Path, digest: str = "") -> bytes:
    """Return what a regular file holds, if it has that digest (any, if none is named)."""
    data = _begin(path, MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise DamagedResultError(path, f"larger than {MAX_FILE_BYTES} bytes")
    if digest and digest_of(data) != digest:
        raise DamagedResultError(path, "its digest is not the one that was written")
    return data


def _begin(path: Path, most: int) -> bytes:
    """Return the first bytes of a regular file."""
    try:
        with open_file(path) as file:
            return file.read(most)
    except FileNotFoundError:
        raise DamagedResultError(path, "the file is missing") from None
    except (UsageError, IsADirectoryError):
        raise DamagedResultError(path, "no regular file") from None
    except OSError as error:
        raise DamagedResultError(path, error.strerror or str(error)) from None


def validated(kind: TypeAdapter[K], value: object, path: Path) -> K:
    """Return a part of the document at `path` as the type that it must be."""
    try:
        return kind.validate_json(json.dumps(value), strict=True)
    except RecursionError:
        raise DamagedResultError(path, "lists in lists without end") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise DamagedResultError(path, f"{key}: {first['msg']}") from None


def texts_of(value: Any) -> Iterator[str]:  # noqa: ANN401  (JSON of any shape)
    """Yield every text of a document, its keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.items():
            yield from texts_of(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_of(item)
