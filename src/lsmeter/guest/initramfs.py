# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the guest's initramfs as a newc cpio archive: bytes in, bytes out, no root needed.

Format: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel. The archive
is not compressed, because unpacking under emulation costs more than the bytes saved.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass

_TRAILER = "TRAILER!!!"
_ALIGN = 4
CONSOLE = (5, 1)  # major and minor number of /dev/console


@dataclass(frozen=True)
class Entry:
    """One file, directory or node. path has no leading slash."""

    path: str
    mode: int  # type and permissions, as in st_mode
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def file(path: str, data: bytes, permissions: int = 0o644) -> Entry:
    """Make an entry for a regular file."""
    return Entry(path, stat.S_IFREG | permissions, data)


def directory(path: str) -> Entry:
    """Make an entry for a directory."""
    return Entry(path, stat.S_IFDIR | 0o755)


def archive(entries: tuple[Entry, ...]) -> bytes:
    """Write the entries as one archive.

    The kernel unpacks several archives one after the other, so a small one with what changes
    can follow a large one that does not.
    """
    parts = [_member(number, entry) for number, entry in enumerate(entries, 1)]
    return b"".join((*parts, _member(0, Entry(_TRAILER, 0))))


def base(probe: bytes) -> bytes:
    """Write the part that every guest shares: the probe as init, and the console it begins with."""
    return archive(
        (
            directory("dev"),
            Entry("dev/console", stat.S_IFCHR | 0o600, device=CONSOLE),
            file("init", probe, 0o755),
        )
    )


def guest_files(
    request: bytes, modules: tuple[tuple[str, bytes], ...] = (), image: bytes | None = None
) -> bytes:
    """Write the part of one boot: its request, modules by path, and the file system's image.

    Module paths are those of the request, such as `/modules/brd.ko`.
    """
    entries = [file("request", request)]
    if modules:
        made: set[str] = set()
        for path, data in modules:
            name = path.lstrip("/")
            parents = name.split("/")[:-1]
            for depth in range(1, len(parents) + 1):
                parent = "/".join(parents[:depth])
                if parent not in made:
                    made.add(parent)
                    entries.append(directory(parent))
            entries.append(file(name, data, 0o755))  # some are programs
    if image is not None:
        entries.append(file("fs.img", image))
    return archive(tuple(entries))


def _member(number: int, entry: Entry) -> bytes:
    name = entry.path.encode() + b"\0"
    major, minor = entry.device
    fields = (
        number,  # inode
        entry.mode,
        0,  # owner
        0,  # group
        1,  # links
        0,  # time of change: always the same, so that the same files give the same bytes
        len(entry.data),
        0,  # device of the archive
        0,
        major,
        minor,
        len(name),
        0,  # checksum, not used in this format
    )
    head = b"070701" + b"".join(f"{field:08x}".encode() for field in fields) + name
    return _padded(head) + _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGN)
