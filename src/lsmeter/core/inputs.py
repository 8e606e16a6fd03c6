# SPDX-License-Identifier: GPL-2.0-or-later
"""Inputs from outside: their kind, size, count and depth are checked before they are read."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from lsmeter.core.errors import UsageError

_MAX_DIGITS = 18  # any such number fits into 64 bits
_MAX_BITS = 63
_MAX_ENTRIES = 4096
_MAX_DEPTH = 16
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


def open_file(path: Path, where: str = "") -> BufferedReader:
    """Open a regular file for reading; anything else, which may never end, is a UsageError.

    Raises OSError as `open` does. where: which word named the file, such as "--setup".
    """
    # Without O_NONBLOCK a FIFO would be waited for.
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    kind = stat.S_IFMT(os.fstat(file.fileno()).st_mode)
    if kind == stat.S_IFREG:
        return file
    file.close()
    named = f"{where}: {path}" if where else str(path)
    raise UsageError(
        f"{named}: {_KINDS.get(kind, 'something else')}, where a regular file is needed",
        hint="write it to a file first, and name that",
    )


def read_file(path: Path, most_bytes: int, kind: str, *, where: str = "", hint: str = "") -> bytes:
    """Return the content of a regular file of at most `most_bytes`; kind says what it should be.

    Raises OSError as `open` does, UsageError for what is too large or no file.
    """
    with open_file(path, where) as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise UsageError(f"{path}: larger than {most_bytes} bytes: not {kind}", hint=hint)
    return data


def beside(file: Path, name: str, where: str) -> Path:
    """Return the file that another file of a user's names: it is beside that one, or below.

    Anything else is a UsageError, a link that leads elsewhere as well: who passes a file on may not
    choose among the files of who uses it. where: which key names it.
    """
    home, inside = os.path.realpath(file.parent), "\0" not in name and name[:1] not in "/~"
    if inside and ".." not in Path(name).parts:
        found = os.path.realpath(file.parent / name)
        if Path(found).is_relative_to(home):
            return file.parent / name
    raise UsageError(
        f"{where}: {name[:80]!r} is not beside {file.name}",
        hint="put it there, and name it by a relative path without '..'",
    )


def check_shape(data: object, where: str) -> None:
    """Refuse data of too many entries in one place or too deep for a person to have written."""
    level = [data]
    for _ in range(_MAX_DEPTH):
        level = [list(item.values()) if isinstance(item, dict) else item for item in level]
        if any(isinstance(item, int) and item.bit_length() > _MAX_BITS for item in level):
            raise UsageError(f"{where}: a number of more than {_MAX_BITS} bits")
        lists = [item for item in level if isinstance(item, list)]
        if (most := max(map(len, lists), default=0)) > _MAX_ENTRIES:
            raise UsageError(f"{where}: {most} entries in one place; at most {_MAX_ENTRIES}")
        level = [inner for item in lists for inner in item]
    if level:
        raise UsageError(f"{where}: tables or lists more than {_MAX_DEPTH} deep")


def whole_number(text: str) -> int | None:
    """Return a number of at most 18 digits; None for any other text."""
    fine = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    return int(text) if fine else None
