# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles for pprof: call paths with exact counts, less those of the other side.

The message is profile.proto of pprof's source, of which a few fields are written.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from itertools import count
from typing import TypeVar

from lsmeter.core.errors import UsageError
from lsmeter.tables.data import scrub_text
from lsmeter.tables.model import Detail, Document
from lsmeter.tables.render import Files, Format, Options
from lsmeter.tables.stacks import Call, Stacks

_BASE = "pprof::base"  # the label by which pprof knows what a difference is taken from


def render(document: Document, options: Options) -> Files:
    """Return a file for each pair of sides; what has no call tree is said to be left out."""
    if not document.stacks:
        raise UsageError(f"--format {FORMAT.name}: {document.title}: there are no call paths")
    files = {f"{item.name}{FORMAT.suffix}": _profile(item) for item in document.stacks}
    return Files(files, tuple(text for item in document.stacks for text in item.left_out))


K = TypeVar("K", str, Call)


class _Numbers(dict[K, int]):
    """Numbers of strings, or of functions, in the order of their first use."""

    def __init__(self, first: int) -> None:
        self._next = count(first)

    def __missing__(self, key: K) -> int:
        self[key] = number = next(self._next)
        return number


def _profile(stacks: Stacks) -> bytes:
    strings, functions = _Numbers[str](0), _Numbers[Call](1)
    said = [strings[""], strings["count"], strings[_BASE], strings["true"]]

    def text(value: str) -> int:
        return strings[scrub_text(value)]

    def label(key: str, value: str) -> bytes:
        return _message(3, _number(1, text(key)), _number(2, text(value)))

    parts = [_message(1, _number(1, text(name)), _number(2, said[1])) for name in stacks.counters]
    base = _message(3, _number(1, said[2]), _number(2, said[3]))
    for stack in stacks.read():
        if any(stack.counts):
            path = _packed(1, (functions[call] for call in reversed(stack.path)))
            counts = _packed(2, (-value if stack.base else value for value in stack.counts))
            labels = [label(*pair) for pair in stack.labels.items()]
            parts.append(_message(2, path, counts, *labels, *([base] if stack.base else [])))
    for call, number in functions.items():
        line = _message(4, _number(1, number))
        parts.append(_message(4, _number(1, number), line))
        name = text(call.function)
        file = text(call.module or "kernel")
        words = (_number(2, name), _number(3, name), _number(4, file))
        parts.append(_message(5, _number(1, number), *words))
    parts += [_number(13, text(stacks.title)), _number(14, text(stacks.counters[0]))]
    parts += [_bytes(6, str(value).encode()) for value in strings]
    return gzip.compress(b"".join(parts), mtime=0)


def _varint(value: int) -> bytes:
    """Write a number; one below 0 as its two's complement of 64 bits."""
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _message(field: int, *parts: bytes) -> bytes:
    return _bytes(field, b"".join(parts))


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _bytes(field, b"".join(map(_varint, values)))


FORMAT = Format(
    "pprof",
    "call paths for pprof, as a difference",
    ".pb.gz",
    Detail.DATA,
    render,
    binary=True,
    commands=("hooks cost", "hooks diff"),
)
