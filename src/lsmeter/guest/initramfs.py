# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the guest's initramfs as newc cpio archives: bytes in, bytes out, no root needed.

Format: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel. The kernel
unpacks several archives one after the other, so that a small one with what changes follows a
large one that does not. They are not compressed, because unpacking under emulation costs more
than the bytes saved.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import PurePosixPath

from lsmeter.sources.commands.tree import Entry

_CONSOLE = (5, 1)  # major and minor number of /dev/console
_TRAILER = "TRAILER!!!"
_DIRECTORY = stat.S_IFDIR | 0o755


def base(init: bytes) -> bytes:
    """Write the part that every guest shares: its first program, and the console of that."""
    console = _member(2, "dev/console", stat.S_IFCHR | 0o600, device=_CONSOLE)
    program = _member(3, "init", stat.S_IFREG | 0o755, init)
    return b"".join((_member(1, "dev", _DIRECTORY), console, program, _member(0, _TRAILER, 0)))


def archive(files: Mapping[str, bytes]) -> bytes:
    """Write regular files by their path, with the directories that they are in.

    Those in a directory are executable: some are programs.
    """
    members: dict[str, Entry] = {}
    for path, data in files.items():
        name = PurePosixPath(path.lstrip("/"))
        members |= {str(above): Entry(_DIRECTORY) for above in name.parents[-2::-1]}
        mode = stat.S_IFREG | (0o755 if len(name.parts) > 1 else 0o644)
        members[str(name)] = Entry(mode, data)
    return tree_archive(members)


def tree_archive(members: Mapping[str, Entry]) -> bytes:
    """Write members by their path, each with the directories that it is in before it."""
    written = (
        _member(number, path, item.mode, item.data, mtime_s=item.mtime_s)
        for number, (path, item) in enumerate(members.items(), 1)
    )
    return b"".join((*written, _member(0, _TRAILER, 0)))


def _member(
    number: int,
    path: str,
    mode: int,
    data: bytes = b"",
    device: tuple[int, int] = (0, 0),
    mtime_s: int = 0,
) -> bytes:
    name = os.fsencode(path) + b"\0"
    # Inode, mode, owner, group, links, time of change (of lsmeter's own files always the same, so
    # that the same files give the same bytes), size, device of the archive, device, size of the
    # name, checksum (not used in this format).
    fields = (number, mode, 0, 0, 1, mtime_s, len(data), 0, 0, *device, len(name), 0)
    head = b"070701" + b"".join(f"{field:08x}".encode() for field in fields) + name
    return _padded(head) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
